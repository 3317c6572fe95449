# SPDX-License-Identifier: MIT
"""The first call of a process on a machine that can compile nothing and keep nothing: kernels come out
of the library at once. And the other way round: nothing built in, everything compiled and kept."""
import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

PROGRAM = """
import json, time, torch, deep_gemm
m, n, k = 384, 1536, 2048
gen = torch.Generator(device="cuda").manual_seed(7)
x, w = (torch.randn(r, k, device="cuda", generator=gen).bfloat16() for r in (m, n))
fp8_x = deep_gemm.per_token_cast_to_fp8(x.float().cpu(), use_ue8m0=False)
fp8_w = deep_gemm.per_block_cast_to_fp8(w.float().cpu(), use_ue8m0=False)
fp8_x, fp8_w = (tuple(t.cuda() for t in pair) for pair in (fp8_x, fp8_w))
want = x.double() @ w.double().T
torch.cuda.synchronize()
for name, function, a, b in (("fp8", deep_gemm.fp8_gemm_nt, fp8_x, fp8_w),
                             ("bf16", deep_gemm.bf16_gemm_nt, x, w)):
    times = []
    for _ in range(2):
        d = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        function(a, b, d)
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
    error = float((d.double() - want).norm() / want.norm())
    print(json.dumps({"name": name, "first_ms": times[0], "second_ms": times[1], "error": error}))
"""


PREPARED = """
import sys, torch, deep_gemm
x = torch.ones(256, 512, device="cuda", dtype=torch.bfloat16)
w = torch.ones(384, 512, device="cuda", dtype=torch.bfloat16)
y = torch.zeros(256, 384, device="cuda", dtype=torch.bfloat16)
deep_gemm.set_compile_mode(1)
deep_gemm.bf16_gemm_nt(x, w, y)
deep_gemm.set_compile_mode(0)
torch.cuda.synchronize()
assert (y == 0).all()
print("prepared", file=sys.stderr)
deep_gemm.bf16_gemm_nt(x, w, y)
assert (y == 512).all()
"""


def start(program, **variables):
    """Runs a program with these variables and without those that would lead it to a compiler or a folder."""
    lead = ("DG_", "CUDA_HOME", "CUDA_PATH", "XDG_CACHE_HOME")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(lead)} | variables
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True,
                          text=True, timeout=120)
    if "no run-time compiler" in done.stderr:
        pytest.skip("neither NVRTC nor nvcc is installed")
    assert done.returncode == 0, done.stderr
    print(done.stdout, done.stderr)  # pytest -s shows the times
    return done


def run(**variables):
    """What PROGRAM printed for FP8 and for BF16, and its standard error."""
    done = start(PROGRAM, **variables)
    fp8, bf16 = (json.loads(line) for line in done.stdout.splitlines())
    assert fp8["error"] < 0.06 and bf16["error"] < 0.01
    return (fp8, bf16), done.stderr


NO_COMPILER = {"DG_NVRTC": "/nowhere", "DG_JIT_USE_NVRTC": "1", "PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize("folder", ("empty", "no home"))
def test_built_in_kernels_need_no_compiler_and_no_folder(tmp_path, folder):
    place = {"HOME": "/proc/nowhere"} if folder == "no home" else {"DG_JIT_CACHE_DIR": str(tmp_path)}
    calls, log = run(DG_JIT_PRINT_LOAD_TIME="1", **NO_COMPILER, **place)
    assert log.count("from=embedded") == log.count("jit=loaded") >= 2, log
    for call in calls:
        assert call["first_ms"] < 100, call
    assert not list(tmp_path.rglob("*.dgk"))


def test_what_is_not_built_in_is_compiled_once(tmp_path):
    place = {"DG_JIT_CACHE_DIR": str(tmp_path), "DG_JIT_USE_EMBEDDED": "0", "DG_JIT_PRINT_LOAD_TIME": "1"}
    _, log = run(**place)
    assert log.count("from=compiled") == log.count("jit=loaded") >= 2, log
    files = sorted(tmp_path.rglob("*.dgk"))
    assert len(files) == log.count("jit=loaded")
    files[0].write_bytes(files[0].read_bytes()[:-1])  # cut off: compiled anew, the others are read
    _, log = run(**place)
    assert log.count("from=compiled") == 1 and log.count("from=cached") == len(files) - 1, log
    calls, log = run(**place | NO_COMPILER)
    assert log.count("from=cached") == len(files), log
    for call in calls:
        assert call["first_ms"] < 100, call


def test_a_prepared_call_loads_nothing():
    log = start(PREPARED, DG_JIT_PRINT_LOAD_TIME="1", HOME="/proc/nowhere").stderr
    before, after = log.split("prepared")
    assert "jit=loaded" in before and "jit=loaded" not in after, log
