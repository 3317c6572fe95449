# SPDX-License-Identifier: MIT
"""What the package asks of a driver and of a framework, on the driver of paper of tests/cuda, whose
kernels do nothing. The framework is one of paper too and passes for CuPy. Skipped where that driver was
not built beside the package."""
import json
import os
import pathlib
import subprocess
import sys

import deep_gemm
import pytest

DRIVER = pathlib.Path(deep_gemm.__path__[0]).resolve().parents[1] / "tests/cuda/libfake_driver.so"

PROGRAM = """
import json, sys, types
import numpy as np, ml_dtypes
import deep_gemm

seen = {}
def opened():
    return "libfake_driver" in open("/proc/self/maps").read()
seen["opened by import"] = opened()
deep_gemm.get_num_threads()
deep_gemm.set_num_sms(0)
seen["opened by settings"] = opened()
seen["sms"] = [deep_gemm.get_num_sms()]
for sms in (7, 0):
    deep_gemm.set_num_sms(sms)
    seen["sms"].append(deep_gemm.get_num_sms())

asked = []
class Device:
    def __init__(self, number): self.number = number
    def __str__(self): return f"cuda:{self.number}"
    def __enter__(self): asked.append(("device", self.number))
    def __exit__(self, *_): pass
class ndarray:
    def __init__(self, array, number=0):
        self.array, self.shape, self.device = array, array.shape, Device(number)
        self.dtype = array.dtype.name
    def data_ptr(self): return self.array.ctypes.data
    def stride(self): return tuple(s // self.array.itemsize for s in self.array.strides)
def empty(size, dtype):
    asked.append(("memory", size))
    if full: raise MemoryError("the pool is empty")
    owner = np.empty(size, dtype)
    return types.SimpleNamespace(data=types.SimpleNamespace(ptr=owner.ctypes.data), owner=owner)
def get_current_stream():
    asked.append(("stream",))
    return types.SimpleNamespace(ptr=0)
full = False
sys.modules["cupy"] = types.SimpleNamespace(ndarray=ndarray, empty=empty,
    cuda=types.SimpleNamespace(Device=Device, get_current_stream=get_current_stream))

def make(shape, dtype, number=0):
    return ndarray(np.zeros(shape, getattr(ml_dtypes, dtype, dtype)), number)
def run(name, call):
    asked.clear()
    try:
        call()
    except BaseException as error:
        asked.append((type(error).__name__, str(error)[:200]))
    seen[name] = list(asked)
for number in (0, 1):
    a, b = make((256, 512), "bfloat16", number), make((384, 512), "bfloat16", number)
    d = make((256, 384), "float32", number)
    run(f"dense {number}", lambda: deep_gemm.bf16_gemm_nt(a, b, d))
a, b = make((512, 256), "bfloat16"), make((512, 384), "bfloat16")
sizes, grad = make((4,), "int32"), make((4, 256, 384), "float32")
def backward(): deep_gemm.k_grouped_bf16_gemm_tn_contiguous(a, b, grad, None, sizes, grad)
run("gradient", backward)
full = True
run("gradient without memory", backward)
full = False
run("gradient again", backward)
other = make((256, 384), "float32", 1)
run("two devices", lambda: deep_gemm.bf16_gemm_nt(a, b, other))
deep_gemm.set_compile_mode(1)
run("gradient, compile mode", backward)
deep_gemm.set_compile_mode(0)
shapes = [(kind, mma, m) for kind in ("Normal", "MGroupedContiguous", "MGroupedMasked")
          for mma in ("fp8", "bf16", "bf16_fp32") for m in (1, 16, 128, 1000, 4096)]
seen["keys"] = [(*shape, deep_gemm.get_best_gemm_config_key(*shape, 4096, 7168, 8))
                for shape in shapes]
try:
    deep_gemm.get_best_gemm_config_key("Normal", "fp8", -1, 4, 4, 1)
except ValueError as error:
    seen["wrong key"] = str(error)
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def seen():
    if not DRIVER.exists():
        pytest.skip(f"{DRIVER.name} is not built")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "DG_CUDA_DRIVER": str(DRIVER)})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_import_and_settings_leave_the_driver_alone(seen):
    assert not seen["opened by import"] and not seen["opened by settings"]


def test_sms_are_those_of_the_gpu(seen):
    assert seen["sms"] == [132, 7, 132]


@pytest.mark.parametrize("number", (0, 1))
def test_a_dense_call_asks_for_its_stream_alone(seen, number):
    assert seen[f"dense {number}"] == [["device", number], ["stream"]]


@pytest.mark.parametrize("call", ("gradient", "gradient again"))
def test_workspace_is_asked_for_once_while_the_call_runs(seen, call):
    assert [step[0] for step in seen[call]] == ["device", "stream", "device", "memory"]
    assert 0 < seen[call][-1][1] < 1 << 20


def test_the_frameworks_own_exception_arrives(seen):
    assert seen["gradient without memory"][-1] == ["MemoryError", "the pool is empty"]


def test_tensors_of_two_devices_are_refused(seen):
    kind, text = seen["two devices"][-1]
    assert kind in ("RuntimeError", "ArgumentError") and "device" in text


def test_compile_mode_takes_no_memory(seen):
    assert not [step for step in seen["gradient, compile mode"] if step[0] not in ("device", "stream")]


def test_keys_tell_kernels_apart(seen):
    """Few rows and many want different kernels; every key is made of integers."""
    keys = {}
    for kind, mma, m, key in seen["keys"]:
        assert len(key) > 3 and all(isinstance(part, int) for part in key)
        keys.setdefault((kind, mma), {})[m] = tuple(key)
    assert len(keys) == 9
    assert len({key for by_rows in keys.values() for key in by_rows.values()}) > 12
    assert keys["Normal", "fp8"][1] != keys["Normal", "fp8"][4096]
    assert "m" in seen["wrong key"] or "shape" in seen["wrong key"]
