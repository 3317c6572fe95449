# SPDX-License-Identifier: MIT
"""The libraries that products are compared with: torch, cuBLASLt through torch and through the wrappers
of the package itself, and upstream's deep_gemm from another place. Called by families.py,
random_shapes.py and gpu.py."""
import importlib
import os
import sys

import deep_gemm
import torch

from .case import attempt


def torch_mm(a, b, d):
    """BF16 (or any type torch multiplies) a [m, k], b [n, k]."""
    return attempt(lambda: torch.mm(a, b.t(), out=d))


def torch_mm_add(a, b, d, c):
    return attempt(lambda: torch.addmm(c, a, b.t(), out=d))


def torch_bf16(scope, m, n, k):
    """The same product in BF16, for FP8 cases that nothing else can do."""
    a, b = (torch.randn(mn, k, device=scope.device, generator=scope.generator).bfloat16()
            for mn in (m, n))
    return torch_mm(a, b, torch.empty(m, n, device=scope.device, dtype=torch.bfloat16))


def cublaslt(form, a, b, d, c=None):
    """cuBLASLt through cublaslt_gemm_*: what it recommends first. FP8 without factors."""
    function = getattr(deep_gemm, f"cublaslt_gemm_{form}", None)
    if function is None or a.device.type != "cuda":  # on a CPU it would be our own backend
        return None
    return attempt(lambda: function(a, b, d, c))


def scaled_mm_blocks(a, b):
    """cuBLASLt through torch with the same 1 x 128 and 128 x 128 factors."""
    return attempt(lambda: torch._scaled_mm(a[0], b[0].t(), a[1], b[1].t(),
                                            out_dtype=torch.bfloat16))


def scaled_mm_tensors(a, b, dtype):
    """cuBLASLt through torch with one factor a tensor and its fast sums: an upper bound."""
    one = torch.ones((), device=a[0].device)
    return attempt(lambda: torch._scaled_mm(a[0], b[0].t(), one, one, out_dtype=dtype,
                                            use_fast_accum=True))


def grouped_mm(a, b, offsets):
    return attempt(lambda: torch._grouped_mm(a, b, offs=offsets))


def load_upstream(place):
    """The deep_gemm of a folder (its parent of deep_gemm/) or of a module's name, beside our own.

    Both packages have one name, and upstream's modules import each other by it; so ours is put aside
    while the other is imported, and its modules go by another name afterwards.
    """
    if not os.path.isdir(place):
        return importlib.import_module(place)
    place = os.path.abspath(place)
    if not os.path.isfile(os.path.join(place, "deep_gemm", "__init__.py")):
        raise ImportError(f"{place} holds no deep_gemm/__init__.py: name the folder that does")
    ours = {name: module for name, module in sys.modules.items()
            if name == "deep_gemm" or name.startswith("deep_gemm.")}
    for name in ours:
        del sys.modules[name]
    sys.path.insert(0, place)
    try:
        package = importlib.import_module("deep_gemm")
    finally:
        sys.path.remove(place)
        for name in [n for n in sys.modules if n == "deep_gemm" or n.startswith("deep_gemm.")]:
            sys.modules["upstream_" + name] = sys.modules.pop(name)
        sys.modules.update(ours)
    return package
