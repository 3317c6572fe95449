# SPDX-License-Identifier: MIT
"""The cuBLASLt wrappers from Python to the library and back, on the driver and the cuBLASLt of paper of
tests/cuda, which computes what its descriptors say. The framework is of paper too and passes for CuPy.
Skipped where those libraries were not built beside the package."""
import json
import os
import pathlib
import subprocess
import sys

import deep_gemm
import pytest

FOLDER = pathlib.Path(deep_gemm.__path__[0]).resolve().parents[1] / "tests/cuda"
DRIVER, CUBLASLT = FOLDER / "libfake_driver.so", FOLDER / "libfake_cublaslt.so"

PROGRAM = """
import ctypes, json, os, sys, types
import numpy as np, ml_dtypes
import deep_gemm

class Fake(ctypes.Structure):  # the beginning of fake_cublaslt_t
    _fields_ = [("result", ctypes.c_int32 * 8), ("no_algorithm", ctypes.c_bool),
                ("workspace", ctypes.c_size_t)]
asked = []
class Device:
    def __init__(self, number): self.number = number
    def __str__(self): return f"cuda:{self.number}"
    def __enter__(self): pass
    def __exit__(self, *_): pass
class ndarray:
    def __init__(self, array):
        self.array, self.shape, self.device = array, array.shape, Device(0)
        self.dtype = array.dtype.name
    def data_ptr(self): return self.array.ctypes.data
    def stride(self): return tuple(s // self.array.itemsize for s in self.array.strides)
def empty(size, dtype):
    asked.append(size)
    owner = np.empty(size, dtype)
    return types.SimpleNamespace(data=types.SimpleNamespace(ptr=owner.ctypes.data), owner=owner)
stream = types.SimpleNamespace(ptr=0)
sys.modules["cupy"] = types.SimpleNamespace(ndarray=ndarray, empty=empty,
    cuda=types.SimpleNamespace(Device=Device, get_current_stream=lambda: stream))

seen = {"opened by import": "libfake_cublaslt" in open("/proc/self/maps").read()}
rng = np.random.default_rng(1)
errors = []
for form in ("nt", "nn", "tn", "tt"):
    for dtype in ("bfloat16", "float16", "float32", "float8_e4m3fn"):
        for start in (None, "apart", "d"):
            m, n, k = 6, 10, 7
            a, b = (rng.integers(-3, 4, shape) for shape in ((m, k), (n, k)))
            c = rng.integers(-3, 4, (m, n)).astype(np.float32)
            stored = [np.ascontiguousarray(x.T if turned else x).astype(
                getattr(ml_dtypes, dtype, dtype)) for x, turned in
                ((a, form[0] == "t"), (b, form[1] == "n"))]
            d = ndarray(c.copy() if start == "d" else np.full((m, n), np.nan, np.float32))
            added = {None: None, "apart": ndarray(c), "d": d}[start]
            getattr(deep_gemm, f"cublaslt_gemm_{form}")(*map(ndarray, stored), d, added)
            errors.append(float(np.abs(d.array - (a @ b.T + (0 if start is None else c))).max()))
seen["errors"] = errors
seen["workspace, none wanted"] = list(asked)

library = ctypes.CDLL(os.environ["DG_CUBLASLT"])
library.fake_cublaslt.restype = ctypes.POINTER(Fake)
fake = library.fake_cublaslt().contents
fake.workspace = 5000
x, d = ndarray(np.ones((16, 16), np.float32)), ndarray(np.zeros((16, 16), np.float32))
deep_gemm.cublaslt_gemm_nt(x, x, d)
seen["workspace"] = list(asked)
seen["sum"] = float(d.array.sum())
fake.no_algorithm = True
try:
    deep_gemm.cublaslt_gemm_tt(x, x, d)
except RuntimeError as error:
    seen["no algorithm"] = str(error)
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def seen():
    if not (DRIVER.exists() and CUBLASLT.exists()):
        pytest.skip(f"{DRIVER.name} or {CUBLASLT.name} is not built")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "DG_CUDA_DRIVER": str(DRIVER),
                               "DG_CUBLASLT": str(CUBLASLT)})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_nothing_is_opened_by_import(seen):
    assert not seen["opened by import"]


def test_results(seen):
    assert seen["errors"] == [0] * (4 * 4 * 3)


def test_workspace_is_the_frameworks(seen):
    assert seen["workspace, none wanted"] == []
    assert len(seen["workspace"]) == 1 and seen["workspace"][0] >= 5000
    assert seen["sum"] == 16**3


def test_what_cublaslt_refuses(seen):
    assert "cuBLASLt 130100 has no algorithm for f32 [16, 16] (m-major)" in seen["no algorithm"]
