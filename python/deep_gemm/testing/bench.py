# SPDX-License-Identifier: MIT
"""Timing. With a GPU, by events and torch's profiler; without, by the clock."""
import contextlib
import os
import sys
import time


class empty_suppress:
    """A context that does nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


@contextlib.contextmanager
def suppress_stdout_stderr():
    """Sends what this process writes to its standard streams to nowhere, other languages' too."""
    saved = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        for descriptor in (*saved, nowhere):
            os.close(descriptor)


def _cuda():
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_available() else None


def bench(fn, num_warmups=5, num_tests=10, high_precision=False):
    """Seconds of one call of `fn`, the mean of num_tests."""
    torch = _cuda()
    for _ in range(num_warmups):
        fn()
    if torch is None:
        begin = time.perf_counter()
        for _ in range(num_tests):
            fn()
        return (time.perf_counter() - begin) / num_tests
    torch.empty(256 << 20, dtype=torch.int8, device="cuda").zero_()
    if high_precision:  # work that keeps the GPU busy while the calls below are queued
        x = torch.randn(8192, 8192, device="cuda")
        x @ x
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(num_tests):
        fn()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / num_tests / 1e3


def bench_kineto(fn, kernel_names, num_tests=30, suppress_kineto_output=False, trace_path=None,
                 flush_l2=True, with_multiple_kernels=False, barrier=None):
    """Seconds of the kernels whose names contain `kernel_names`: a float for a string, a tuple for
    a tuple. Without a GPU: of the whole call. 1 with DG_USE_NVIDIA_TOOLS=1, nothing being run."""
    single = isinstance(kernel_names, str)
    names = (kernel_names,) if single else tuple(kernel_names)
    if int(os.getenv("DG_USE_NVIDIA_TOOLS", "0")):
        return 1 if single else (1,) * len(names)
    torch = _cuda()
    if torch is None:
        seconds = (bench(fn, 1, num_tests),) * len(names)
        return seconds[0] if single else seconds
    fn()
    with suppress_stdout_stderr() if suppress_kineto_output else empty_suppress():
        schedule = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=1)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA],
                                    schedule=schedule) as profiler:
            for _ in range(2):
                for _ in range(num_tests):
                    if flush_l2:
                        torch.empty(8 << 30, dtype=torch.int8, device="cuda").zero_()
                    if barrier is not None:
                        torch.cuda._sleep(20_000_000)
                        barrier()
                    fn()
                torch.cuda.synchronize()
                profiler.step()
    if trace_path is not None:
        profiler.export_chrome_trace(trace_path)
    rows = profiler.key_averages()
    seconds = tuple(_kernel_seconds(rows, name, with_multiple_kernels) for name in names)
    return seconds[0] if single else seconds


def _kernel_seconds(rows, name, several):
    matching = [row for row in rows if name in row.key]
    assert several or len(matching) <= 1, f"{len(matching)} kernels are called *{name}*"
    calls = sum(row.count for row in matching)
    return sum(row.device_time_total for row in matching) / calls / 1e6 if calls else 0
