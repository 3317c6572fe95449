# SPDX-License-Identifier: MIT
"""Dense products without scale factors through cuBLASLt, NVIDIA's library: d = c + a b.

On CUDA tensors libcublasLt computes, which is opened when it is first needed: the file that DG_CUBLASLT
names, else the one torch brought along, else the toolkit's or the package nvidia-cublas's. On CPU tensors
the CPU backend does. The two letters say how a and b are stored, as in gemm.py.
"""
import functools
import sys

from . import _native
from ._tensor import is_torch, tracing

__all__ = ["cublaslt_gemm_nt", "cublaslt_gemm_nn", "cublaslt_gemm_tn", "cublaslt_gemm_tt"]

_NT, _TN_A, _NN_B = 0, 1, 2  # operands that are stored the other way round


@functools.lru_cache(None)
def _wants_torchs_handle():
    values = {name: value for name, _, _, value in _native.environment()}
    text = values["DG_USE_PYTORCH_CUBLASLT_HANDLE"]
    return text is not None and text.strip().isdigit() and int(text) != 0


def _handle(d):
    """Address of torch's own handle for d's device if it is wanted, else 0."""
    if not (_wants_torchs_handle() and is_torch(d) and d.is_cuda):
        return 0
    torch = sys.modules["torch"]
    with torch.cuda.device(d.device):  # torch has one for each device, thread and stream
        return torch.cuda.current_blas_handle()


def _cublaslt_gemm(name, transposed, a, b, d, c):
    if tracing() or _native.cublaslt_gemm(a, b, d, c, transposed, _handle(d)) is NotImplemented:
        from . import _ops
        _ops.call(name, a, b, d, c)


def cublaslt_gemm_nt(a, b, d, c=None):
    """d = c + a b^T through cuBLASLt.

    a, b    [m, k] and [n, k] of one type: bfloat16, float16, float32 or float8_e4m3fn (factors of 1);
            any strides with one stride of 1
    d       output [m, n] bfloat16 or float32, last stride 1
    c       [m, n] of d's type, may be d itself; None: d is overwritten

    On a GPU set_num_sms limits it, float32 operands are rounded to TF32, and what cuBLASLt has no
    algorithm for raises (FP8: both operands k-major, k and n multiples of 16; float16 and float32: d
    is float32); the CPU computes any of it, in float32. Raises TypeError, ValueError, RuntimeError.

    >>> deep_gemm.cublaslt_gemm_nt(x, w, y)
    """
    _cublaslt_gemm("cublaslt_gemm_nt", _NT, a, b, d, c)


def cublaslt_gemm_nn(a, b, d, c=None):
    """d = c + a b for a [m, k], b [k, n]; see cublaslt_gemm_nt."""
    _cublaslt_gemm("cublaslt_gemm_nn", _NN_B, a, b, d, c)


def cublaslt_gemm_tn(a, b, d, c=None):
    """d = c + a^T b for a [k, m], b [k, n]; see cublaslt_gemm_nt."""
    _cublaslt_gemm("cublaslt_gemm_tn", _TN_A | _NN_B, a, b, d, c)


def cublaslt_gemm_tt(a, b, d, c=None):
    """d = c + a^T b^T for a [k, m], b [n, k]; see cublaslt_gemm_nt."""
    _cublaslt_gemm("cublaslt_gemm_tt", _TN_A, a, b, d, c)
