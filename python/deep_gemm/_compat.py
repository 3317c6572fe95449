# SPDX-License-Identifier: MIT
"""Names and keywords of earlier releases and of forks, so that old callers run unchanged.

Every function here is a few words around a function of today. Keywords are translated by the
decorator `accepts_old_keywords`, which leaves signatures as they are.
"""
import functools
import warnings

# Keywords that only forks have. They tune kernels and change no result.
_FORK_KEYWORDS = ("enable_overlap", "max_block_n", "signal")
_warned = set()


def _translate(function, kwargs, renamed):
    for old, new in renamed.items():
        if old in kwargs:
            if new in kwargs:
                raise TypeError(f"{function}() got both {old!r} and {new!r}; they are one argument")
            kwargs[new] = kwargs.pop(old)
    for name in _FORK_KEYWORDS:
        if kwargs.pop(name, None) is not None and name not in _warned:
            _warned.add(name)
            warnings.warn(f"{function}(): {name} is ignored", stacklevel=3)
    return kwargs


def accepts_old_keywords(**renamed):
    """Decorator: old keyword names (old="new") work, fork keywords are ignored with one warning."""
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if kwargs:
                kwargs = _translate(function.__name__, kwargs, renamed)
            return function(*args, **kwargs)
        return wrapper
    return decorate


def gemm_fp8_fp8_bf16_nt(lhs, rhs, out):
    """Now fp8_gemm_nt: lhs with 1 x 128 factors, rhs with 128 x 128."""
    from .gemm import fp8_fp4_gemm_nt
    fp8_fp4_gemm_nt(lhs, rhs, out, recipe=(1, 128, 128))


def m_grouped_gemm_fp8_fp8_bf16_nt_contiguous(lhs, rhs, out, m_indices):
    """Now m_grouped_fp8_gemm_nt_contiguous."""
    from .grouped import m_grouped_fp8_fp4_gemm_nt_contiguous
    m_grouped_fp8_fp4_gemm_nt_contiguous(lhs, rhs, out, m_indices, recipe=(1, 128, 128))


def m_grouped_gemm_fp8_fp8_bf16_nt_masked(lhs, rhs, out, masked_m, expected_m):
    """Now m_grouped_fp8_gemm_nt_masked."""
    from .grouped import m_grouped_fp8_fp4_gemm_nt_masked
    m_grouped_fp8_fp4_gemm_nt_masked(lhs, rhs, out, masked_m, expected_m, recipe=(1, 128, 128))


def wgrad_gemm_fp8_fp8_fp32_nt(lhs, rhs, out):
    """out += lhs rhs^T in float32; factors 1 x 128 of both, [mn, k / 128] or [k / 128, mn]."""
    from .gemm import fp8_fp4_gemm_nt
    fp8_fp4_gemm_nt(_rows_first(lhs), _rows_first(rhs), out, c=out, recipe=(1, 1, 128))


def _rows_first(operand):
    """The pair with factors [mn, blocks]: turned round if they come as [blocks, mn]."""
    shapes = [tuple(getattr(x, "shape", ())) for x in operand] \
        if isinstance(operand, (tuple, list)) else []
    if [len(shape) for shape in shapes] != [2, 2]:
        return operand  # without factors, or wrong: the product says what is
    (mn, k), factors = shapes
    blocks = (k + 127) // 128
    turned = factors == (blocks, mn) and blocks != mn
    return operand[0], operand[1].T if turned else operand[1]


def k_grouped_wgrad_gemm_fp8_fp8_fp32_nt(lhs, rhs, out, batch_sizes):
    """out[g] += lhs_g rhs_g^T in float32; factors [sum of ceil(k_g / 128), mn]."""
    # `tn` only where shapes leave the order of factors open: those of this name have rows first
    from .k_grouped import k_grouped_fp8_gemm_tn_contiguous
    k_grouped_fp8_gemm_tn_contiguous(lhs, rhs, out, [int(size) for size in batch_sizes], None, out)


def get_col_major_tma_aligned_tensor(x):
    """Now get_mn_major_tma_aligned_tensor."""
    from .scale_layout import get_mn_major_tma_aligned_tensor
    return get_mn_major_tma_aligned_tensor(x)


def cell_div(x, y):
    """A historic misspelling of ceil_div."""
    return (x + y - 1) // y
