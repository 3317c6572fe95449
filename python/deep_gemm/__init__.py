# SPDX-License-Identifier: MIT
"""FP8, FP4 and BF16 matrix products with fine-grained scaling, dense and grouped.

    import torch, deep_gemm
    x = deep_gemm.per_token_cast_to_fp8(torch.randn(64, 256), use_ue8m0=False)
    w = deep_gemm.per_block_cast_to_fp8(torch.randn(512, 256), use_ue8m0=False)
    y = torch.empty(64, 512, dtype=torch.bfloat16)
    deep_gemm.fp8_gemm_nt(x, w, y)

Tensors of torch, numpy (with ml_dtypes) and every framework with DLPack are taken; outputs are
written in place. Products: gemm, grouped, k_grouped, contractions, hyper_connection, cublaslt; scores:
mqa_logits. Tokens to experts and back: moe. Casts: utils.math. Layouts of scale factors: scale_layout.
Settings: runtime. Layers for training: nn. Names of earlier releases work too.
"""
import sys

from . import _C, _native, utils
from ._compat import (
    cell_div, gemm_fp8_fp8_bf16_nt, get_col_major_tma_aligned_tensor,
    k_grouped_wgrad_gemm_fp8_fp8_fp32_nt, m_grouped_gemm_fp8_fp8_bf16_nt_contiguous,
    m_grouped_gemm_fp8_fp8_bf16_nt_masked, wgrad_gemm_fp8_fp8_fp32_nt)
from ._native import ArgumentError, DtypeError
from .contractions import *
from .gemm import *
from .cublaslt import *
from .grouped import *
from .hyper_connection import *
from .k_grouped import *
from .moe import *
from .mqa_logits import *
from .scale_layout import *
from .runtime import *
from .utils import *

# The release whose API this is, then our own version: gates that ask for >= 2.6 are content.
__version__ = "2.6.1+c." + _native.version()

if sys.modules.get("torch") is not None:
    from . import _ops  # torch.ops.deep_gemm


def __getattr__(name):
    # modules that not every program needs: they are imported when they are first named
    if name in ("legacy", "nn", "testing"):
        import importlib
        try:
            return importlib.import_module("." + name, __name__)
        except ImportError as error:  # hasattr() tells the truth where torch is missing
            raise AttributeError(f"deep_gemm.{name} cannot be imported: {error}") from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
