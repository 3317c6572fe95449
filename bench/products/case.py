# SPDX-License-Identifier: MIT
"""A case: one call with one set of extents, which can be given fresh buffers as often as wanted; and the
scope that cases are made in. families.py and random_shapes.py make cases, timing.py runs them."""
import torch

from .limits import COPY, PEAK


class Scope:
    """Device, extents and random numbers of a run.

    tiny: extents for a CPU and for tests, a few dozen each, in every family.
    """

    def __init__(self, device="cuda", tiny=False, seed=0, count=200):
        self.device, self.tiny, self.seed, self.count = device, tiny, seed, count
        self.restart()

    def restart(self):
        """Every family draws the same numbers, whatever ran before it."""
        self.generator = torch.Generator(self.device).manual_seed(self.seed)
        self.host = torch.Generator().manual_seed(self.seed)

    def pick(self, full, tiny):
        return tiny if self.tiny else full


class Buffers:
    """One set of buffers of a case.

    call     function of a package, ours or upstream's deep_gemm: makes the call
    tensors  name -> tensor or bytes: what the call reads and writes, each counted once
    peers()  name -> function that does the same product elsewhere on the same data, None if it cannot
    """

    def __init__(self, call, tensors, peers=dict):
        self.call, self.tensors, self.peers = call, tensors, peers


def bytes_of(tensor):
    return tensor if isinstance(tensor, int) else tensor.numel() * tensor.element_size()


class Case:
    """name, kind ("fp8" or "bf16": which peak bounds it), flops, and make(), which returns Buffers."""

    def __init__(self, name, kind, flops, make):
        self.name, self.kind, self.flops, self.make = name, kind, flops, make

    def floor_us(self, traffic):
        """The least time that memory and tensor cores of an H200 allow."""
        return max(traffic / COPY, self.flops / PEAK[self.kind]) * 1e6


def attempt(function):
    """`function` if it works, else None: a peer that cannot do a case is left out of it."""
    try:
        function()
        return function
    except Exception:
        return None
