# SPDX-License-Identifier: MIT
"""Four times of a call, all in microseconds, medians unless said otherwise. Called by gpu.py.

    cold    between two events around the call, L2 flushed in front of it, buffer sets in turns; the GPU
            spins for about 0.1 ms first, so that the host's work is not seen
    warm    the same without the flush, and with one set: what is needed lies in L2, if it fits
    wall    of one call in a row of calls on sets in turns, by the host's clock: launch cost included
    kernel  the sum of the call's kernels by torch's profiler, L2 flushed in front of each call, sets in
            turns; mean. Whatever fills memory is left out, with the flush

On a CPU `cold` and `warm` go by the host's clock and there is no `kernel`. An empty region between
two events takes about 1 to 3 us (`event`), which cold and warm include.
"""
import subprocess
import time

import torch

MODES = ("cold", "warm", "wall", "kernel")
SETS = 3
SPIN = 200_000  # clocks
FILLS = ("Memset", "FillFunctor")


def median(values):
    return sorted(values)[len(values) // 2]


class Clock:
    """device: "cuda" or "cpu"; flush_mb: written in front of a cold call, more than the cache holds."""

    def __init__(self, device, flush_mb=512):
        self.cuda = device == "cuda"
        self.flush = torch.empty(flush_mb << 20, dtype=torch.uint8, device=device)

    def _synchronize(self):
        if self.cuda:
            torch.cuda.synchronize()

    def _between_events(self, functions, calls, flush):
        for function in functions:
            function()
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(calls)]
        torch.cuda.synchronize()
        for i, (begin, end) in enumerate(events):
            if flush:
                self.flush.zero_()
            torch.cuda._sleep(SPIN)
            begin.record()
            functions[i % len(functions)]()
            end.record()
        torch.cuda.synchronize()
        return median([begin.elapsed_time(end) * 1e3 for begin, end in events])

    def _by_clock(self, functions, calls, flush):
        for function in functions:
            function()
        times = []
        for i in range(calls):
            if flush:
                self.flush.zero_()
            begin = time.perf_counter()
            functions[i % len(functions)]()
            times.append((time.perf_counter() - begin) * 1e6)
        return median(times)

    def _time(self, functions, calls, flush):
        way = self._between_events if self.cuda else self._by_clock
        return way(functions, calls, flush)

    def cold(self, functions, calls):
        return self._time(functions, calls, True)

    def warm(self, functions, calls):
        return self._time(functions[:1], calls, False)

    def wall(self, functions, calls):
        for function in functions:
            function()
        self._synchronize()
        begin = time.perf_counter()
        for i in range(calls):
            functions[i % len(functions)]()
        self._synchronize()
        return (time.perf_counter() - begin) / calls * 1e6

    def kernel(self, functions, calls):
        if not self.cuda:
            return None
        activity = torch.profiler.ProfilerActivity.CUDA
        with torch.profiler.profile(activities=[activity]) as profile:
            for i in range(calls):
                self.flush.zero_()
                functions[i % len(functions)]()
            torch.cuda.synchronize()
        total = sum(event.self_device_time_total for event in profile.key_averages()
                    if not any(name in event.key for name in FILLS))
        return total / calls or None

    def event(self, calls):
        """What an empty region reads."""
        return self._time([lambda: None], calls, True)


QUERY = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu")


def condition():
    """{"clocks.sm": MHz, "clocks.mem": MHz, "power.draw": W, "temperature.gpu": C} now; {} without."""
    try:
        done = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(QUERY)}",
                               "--format=csv,noheader,nounits"], capture_output=True, text=True,
                              timeout=20)
        return dict(zip(QUERY, (float(x) for x in done.stdout.splitlines()[0].split(","))))
    except (OSError, IndexError, ValueError, subprocess.TimeoutExpired):
        return {}


def measure(clock, functions, modes, rounds, calls, rest):
    """functions: name -> one function for each buffer set. Returns name -> mode -> microseconds, the
    median of `rounds`, in which the names take turns; a rest in front of each lets the GPU cool."""
    readings = {name: {mode: [] for mode in modes} for name in functions}
    for mode in modes:
        for _ in range(rounds):
            for name, sets in functions.items():
                time.sleep(rest)
                readings[name][mode].append(getattr(clock, mode)(sets, calls))
    return {name: {mode: median(values) for mode, values in times.items() if values[0] is not None}
            for name, times in readings.items()}
