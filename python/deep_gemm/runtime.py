# SPDX-License-Identifier: MIT
"""Settings. They act on the process-wide default context and are cheap: call them as often as you
like. Environment variables are read at the first use of the library, not at import."""
from . import _native

__all__ = [
    "set_num_sms", "get_num_sms", "set_tc_util", "get_tc_util", "set_pdl", "get_pdl",
    "set_batch_invariant", "get_batch_invariant", "set_ignore_compile_dims",
    "set_block_size_multiple_of", "set_mk_alignment_for_contiguous_layout",
    "get_mk_alignment_for_contiguous_layout", "get_theoretical_mk_alignment_for_contiguous_layout",
    "set_compile_mode", "get_compile_mode", "get_best_gemm_config_key", "set_num_threads",
    "get_num_threads", "get_environment",
    "use_deterministic_algorithms", "get_m_alignment_for_contiguous_layout",
    "get_k_alignment_for_contiguous_layout",
]

_compile_mode = 0


def set_num_sms(n):
    """SMs that a GPU kernel may fill; on the CPU the share of threads. 0 restores all of them."""
    _native.set_num_sms(n)


def get_num_sms():
    """SMs in use; a CPU has as many as threads."""
    return _native.get_num_sms()


def set_tc_util(p):
    """Tensor-core duty in percent; 0 restores 100. Kept, no kernel of this build reads it."""
    _native.set_tc_util(p)


def get_tc_util():
    """Tensor-core duty in percent."""
    return _native.get_tc_util()


def set_pdl(b):
    """Programmatic dependent launch on or off."""
    _native.set_pdl(bool(b))


def get_pdl():
    """Whether programmatic dependent launch is on."""
    return bool(_native.get_pdl())


def set_batch_invariant(on):
    """Whether a row's bits may not depend on the number of rows. The CPU always does this."""
    _native.set_batch_invariant(bool(on))


def get_batch_invariant():
    """Whether batch invariance is demanded."""
    return bool(_native.get_batch_invariant())


use_deterministic_algorithms = set_batch_invariant


def set_ignore_compile_dims(b):
    """Accepted for old callers: shapes are never compiled into kernels here."""


def set_block_size_multiple_of(x):
    """Tile extents become multiples of x, an int or (m, n)."""
    block_m, block_n = x if isinstance(x, (tuple, list)) else (x, x)
    _native.set_block_size_multiple_of(block_m, block_n)


def set_mk_alignment_for_contiguous_layout(x):
    """Rows to which psum and block-index groups are aligned: a power of two; 0 restores 128."""
    _native.set_mk_alignment_for_contiguous_layout(x)


def get_mk_alignment_for_contiguous_layout():
    """Rows to which psum and block-index groups are aligned."""
    return _native.get_mk_alignment_for_contiguous_layout()


get_m_alignment_for_contiguous_layout = get_mk_alignment_for_contiguous_layout
get_k_alignment_for_contiguous_layout = get_mk_alignment_for_contiguous_layout


def get_theoretical_mk_alignment_for_contiguous_layout(expected_m=None):
    """The alignment that serves groups of `expected_m` rows best on this machine."""
    return _native.get_theoretical_mk_alignment(expected_m or 0)


def set_compile_mode(mode):
    """1: calls check their arguments and have their kernels compiled, but compute nothing; 0: calls
    compute."""
    global _compile_mode
    _native.set_compile_only(mode)
    _compile_mode = int(mode)


def get_compile_mode():
    """The mode that set_compile_mode() set."""
    return _compile_mode


_GEMM_TYPES = ("Normal", "MGroupedContiguous", "MGroupedMasked")
_MMA_TYPES = ("fp8", "bf16", "bf16_fp32")


def get_best_gemm_config_key(gemm_type, mma, m, n, k, num_groups):
    """What tells the kernels for such products apart, as integers: equal keys, the same kernels.

    gemm_type is "Normal", "MGroupedContiguous" or "MGroupedMasked"; mma is "fp8", "bf16" or
    "bf16_fp32". The first GPU decides; on a machine without one all shapes share a key. Calls in
    set_compile_mode(1) for one shape of each key have everything ready.
    """
    if gemm_type not in _GEMM_TYPES or mma not in _MMA_TYPES:
        raise _native.ArgumentError(f"gemm_type: {gemm_type!r} with mma {mma!r}, expected one of "
                                    f"{', '.join(_GEMM_TYPES)} with one of {', '.join(_MMA_TYPES)}")
    kind = _GEMM_TYPES.index(gemm_type), _MMA_TYPES.index(mma)
    text = _native.config_key(*kind, m, n, k, num_groups)
    if text is None:
        return kind
    words = [word.partition("=") for word in text.split()]
    return (*kind, *(int(value) if value else int.from_bytes(name.encode(), "big")
                     for name, _, value in words))


def set_num_threads(n):
    """CPU threads of one call."""
    _native.set_num_threads(n)


def get_num_threads():
    """CPU threads of one call."""
    return _native.get_num_threads()


def get_environment():
    """The variables the library reads: a list of (name, meaning, initial, value or None)."""
    return _native.environment()


def init(library_root_path, cuda_home):
    """Accepted for old callers: there is nothing to set up."""
