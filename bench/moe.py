#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times what a mixture of experts does with the library, BF16 to BF16, beside torch in the same run.

    PYTHONPATH=build/release/python python3 bench/moe.py [wgrad] [decode] [prefill] [train]
        [--device cpu|cuda] [--small] [--rounds N] [--only TEXT] [--json FILE]

    wgrad     the weight-gradient step: both operands from BF16, the product added to main_grad
    decode    the layer forward for 1 to 256 tokens; on a GPU as captured graphs, so that the host's
              time is not in it
    prefill   the layer forward for thousands of tokens
    train     the layer forward and backward, gradients added to main_grad

Every step includes its casts, permutations and activations; `of it` times parts alone. torch is in
BF16: torch._grouped_mm, or a product for each group where it has none. Each time is the median over
--rounds of the mean of --calls calls between two events (CPU: of wall time); on a GPU, 512 MB are
written before each round. `error` is the relative difference to torch's result: with FP8,
0.03 to 0.1. Without a GPU, or with --small, shapes are small ones that show that everything runs,
and no figures to quote.
"""
import argparse
import json
import platform
import subprocess
import time

import deep_gemm
import torch
from deep_gemm import nn

FAMILIES = {}


def family(function):
    FAMILIES[function.__name__] = function
    return function


class Case:
    """Steps that do the same, by name, each a function that returns its result or None; `parts` are
    some of what "ours" does."""

    def __init__(self, name, flops, steps, parts=None, graph=False):
        self.name, self.flops, self.steps, self.graph = name, flops, steps, graph
        self.parts = parts or {}


def normal(device, *shape, scale=1.0):
    return (torch.randn(shape, device=device) * scale).bfloat16()


def uneven(groups, rows, generator=torch.Generator().manual_seed(0)):
    """Sizes around rows / groups that add up to rows, with no common divisor."""
    ends = (torch.rand(groups, generator=generator) * 0.6 + 0.7).cumsum(0)
    ends = (ends / ends[-1] * rows).long()
    return ends.diff(prepend=ends.new_zeros(1)).tolist()


def grouped_mm(a, b, sizes, offsets):
    """torch's product of groups of rows (b [G, k, n]) or of groups along k (b 2-D), BF16."""
    try:
        return torch._grouped_mm(a, b, offs=offsets)
    except (RuntimeError, AttributeError):
        if b.dim() == 3:
            return torch.cat([part @ b[g] for g, part in enumerate(a.split(sizes))])
        return torch.stack([x @ y for x, y in zip(a.split(sizes, 1), b.split(sizes))])


# ---- the weight-gradient step

@family
def wgrad(device, small):
    shapes = [(3, 160, 96, 500)] if small else [(8, 7168, 2048, 32768), (8, 4096, 7168, 32768),
                                                (64, 7168, 2048, 32768)]
    for groups, m, n, tokens in shapes:
        sizes = uneven(groups, tokens)
        counts = torch.tensor(sizes, dtype=torch.int32, device=device)
        offsets = counts.cumsum(0).to(torch.int32)
        dy, x = normal(device, tokens, m), normal(device, tokens, n)
        grads = {name: torch.zeros(groups, m, n, device=device) for name in ("ours", "nn", "torch")}
        layer = nn.GroupedLinear(groups, n, m, device=device, dtype=torch.bfloat16)
        layer.weight.main_grad = grads["nn"]
        y = layer(x, counts)

        def cast():
            return [deep_gemm.per_channel_cast_to_fp8(t, False, sizes=counts) for t in (dy, x)]
        a, b = cast()

        def product(a, b, grad):
            deep_gemm.k_grouped_fp8_gemm_tn_contiguous(a, b, grad, None, counts, grad)
            return grad

        def cast_last(t):
            """The same codes, [mn, tokens]: what a product that wants tokens last reads."""
            codes = torch.empty(t.shape[1], tokens, device=device, dtype=torch.float8_e4m3fn)
            scale = torch.empty((tokens + 127 * groups) // 128, t.shape[1], device=device)
            deep_gemm._native.quantize(t, (codes.T, scale, (128, 1), False, 0), None,
                                       (1, counts, 0, None))
            return codes, scale

        def tokens_last():
            deep_gemm.k_grouped_fp8_gemm_nt_contiguous(cast_last(dy), cast_last(x), spare, None,
                                                       counts, spare)
            return spare

        def by_layer():
            y.backward(dy, retain_graph=True)
            return grads["nn"]

        def bf16():
            deep_gemm.k_grouped_bf16_gemm_tn_contiguous(dy, x, spare, None, counts, spare)
            return spare

        def by_torch():
            return grads["torch"].add_(grouped_mm(dy.t(), x, sizes, offsets))
        spare = torch.zeros_like(grads["ours"])
        yield Case(f"{groups} groups {m}x{n} {tokens} tokens", 2 * m * n * tokens,
                   {"ours": lambda: product(*cast(), grads["ours"]), "tokens last": tokens_last,
                    "nn.GroupedLinear": by_layer, "ours bf16": bf16, "torch": by_torch},
                   {"casts": cast, "product": lambda: product(a, b, grads["ours"]),
                    "casts, tokens last": lambda: (cast_last(dy), cast_last(x))})


# ---- the layer

class Layer:
    """Weights of a layer in BF16 and in FP8, and its forward by us and by torch."""

    def __init__(self, device, experts, hidden, inner):
        self.experts, self.hidden, self.inner = experts, hidden, inner
        self.up, self.down = (torch.empty(experts, n, k, device=device, dtype=torch.bfloat16)
                              for n, k in ((2 * inner, hidden), (hidden, inner)))
        for weight in (self.up, self.down):
            for w in weight:  # one by one: FP32 random numbers of all would be twice the memory
                w.copy_(normal(device, *w.shape, scale=w.shape[1]**-0.5))
        self.up_fp8, self.down_fp8 = (self._cast(w) for w in (self.up, self.down))

    @staticmethod
    def _cast(weight):
        pairs = [deep_gemm.per_block_cast_to_fp8(w, False) for w in weight]
        return torch.stack([p[0] for p in pairs]), torch.stack([p[1] for p in pairs])

    @staticmethod
    def swiglu(x):
        gate, up = x.chunk(2, -1)
        return torch.nn.functional.silu(gate) * up

    def contiguous(self, x, ids, weights):
        """Rows back to back, as many as there are slots."""
        routing = deep_gemm.route_tokens(ids, self.experts)
        a = deep_gemm.permute(deep_gemm.per_token_cast_to_fp8(x, False), routing)
        rows = routing.sources.shape[0]
        up = torch.empty(rows, 2 * self.inner, dtype=torch.bfloat16, device=x.device)
        deep_gemm.m_grouped_fp8_gemm_nt_contiguous(a, self.up_fp8, up, routing.counts,
                                                   layout="sizes")
        a = deep_gemm.per_token_cast_to_fp8(self.swiglu(up), False)
        out = torch.empty(rows, self.hidden, dtype=torch.bfloat16, device=x.device)
        deep_gemm.m_grouped_fp8_gemm_nt_contiguous(a, self.down_fp8, out, routing.counts,
                                                   layout="sizes")
        return deep_gemm.unpermute(out, routing, weights)

    def masked(self, x, ids, weights):
        """A place of `tokens` rows for each expert, as low-latency dispatch leaves them."""
        tokens, experts = x.shape[0], self.experts
        routing = deep_gemm.route_tokens(ids, experts, "masked")
        expected = -(-ids.numel() // experts)

        def product(a, b, n):
            a = tuple(t.view(experts, tokens, -1) for t in a)
            d = torch.empty(experts, tokens, n, dtype=torch.bfloat16, device=x.device)
            deep_gemm.m_grouped_fp8_gemm_nt_masked(a, b, d, routing.counts, expected)
            return d.view(experts * tokens, n)
        a = deep_gemm.permute(deep_gemm.per_token_cast_to_fp8(x, False), routing)
        a = deep_gemm.per_token_cast_to_fp8(
            self.swiglu(product(a, self.up_fp8, 2 * self.inner)), False)
        return deep_gemm.unpermute(product(a, self.down_fp8, self.hidden), routing, weights)

    def torch(self, x, ids, weights):
        """BF16: sorted slots, products of groups, and the weighted sum over a token's slots."""
        flat = ids.flatten()
        order = flat.argsort(stable=True)
        experts = torch.arange(self.experts, device=x.device)
        offsets = torch.searchsorted(flat[order], experts, right=True).to(torch.int32)
        sizes = None if x.is_cuda else offsets.diff(prepend=offsets.new_zeros(1)).tolist()
        rows = x[order // ids.shape[1]]
        inner = self.swiglu(grouped_mm(rows, self.up.transpose(1, 2), sizes, offsets))
        out = grouped_mm(inner, self.down.transpose(1, 2), sizes, offsets)
        place = torch.empty_like(order)
        place[order] = torch.arange(order.numel(), device=x.device)
        return (out[place].view(*ids.shape, -1).float() * weights[..., None]).sum(1).bfloat16()


def draw(device, tokens, experts, topk, hidden):
    scores = torch.rand(tokens, experts, device=device)
    weights, ids = scores.softmax(-1).topk(topk)
    return normal(device, tokens, hidden), ids, weights / weights.sum(-1, keepdim=True)


def forward(device, shapes, graph):
    for experts, topk, hidden, inner, all_tokens in shapes:
        layer = Layer(device, experts, hidden, inner)
        for tokens in all_tokens:
            data = draw(device, tokens, experts, topk, hidden)
            steps = {"ours": lambda: layer.contiguous(*data), "torch": lambda: layer.torch(*data)}
            if tokens <= 256:
                steps["ours masked"] = lambda: layer.masked(*data)
            parts = {"route": lambda: deep_gemm.route_tokens(data[1], experts)}
            yield Case(f"{tokens} tokens, {topk} of {experts} experts {hidden}x{inner}",
                       6 * tokens * topk * hidden * inner, steps, parts, graph)
        del layer


@family
def decode(device, small):
    tokens = (1, 4, 16, 64, 128, 256)
    shapes = [(6, 2, 256, 128, (1, 9))] if small else [
        (8, 8, 7168, 2048, tokens), (32, 8, 7168, 2048, tokens), (256, 8, 7168, 2048, tokens)]
    yield from forward(device, shapes, graph=device == "cuda")


@family
def prefill(device, small):
    shapes = [(6, 2, 256, 128, (300,))] if small else [
        (8, 2, 7168, 2048, (4096, 16384)), (32, 8, 7168, 2048, (4096,)),
        (256, 8, 7168, 2048, (4096, 16384))]
    yield from forward(device, shapes, graph=False)


class TorchMoE(torch.nn.Module):
    """nn.MoE's arithmetic in BF16 by torch alone."""

    def __init__(self, experts, hidden, inner, device):
        super().__init__()
        self.layer = Layer.__new__(Layer)
        self.layer.experts, self.layer.hidden, self.layer.inner = experts, hidden, inner
        self.up, self.down = (
            torch.nn.Parameter(torch.empty(shape, device=device, dtype=torch.bfloat16))
            for shape in ((experts, 2 * inner, hidden), (experts, hidden, inner)))
        self.layer.up, self.layer.down = self.up, self.down

    def forward(self, x, ids, weights):
        return self.layer.torch(x, ids, weights)


@family
def train(device, small):
    shapes = [(4, 2, 256, 128, 120)] if small else [(8, 2, 7168, 2048, 16384),
                                                    (32, 8, 7168, 2048, 4096)]
    for experts, topk, hidden, inner, tokens in shapes:
        x, ids, weights = draw(device, tokens, experts, topk, hidden)
        dy = normal(device, tokens, hidden)
        ours = nn.MoE(experts, hidden, inner, device=device, dtype=torch.bfloat16)
        theirs = TorchMoE(experts, hidden, inner, device)
        with torch.no_grad():
            theirs.up.copy_(ours.gate_up.weight)
            theirs.down.copy_(ours.down.weight)
        mine, other = (ours.gate_up.weight, ours.down.weight), (theirs.up, theirs.down)
        for weight in (*mine, *other):
            weight.main_grad = torch.zeros(weight.shape, device=device)

        def step(layer, parameters):
            inputs = x.detach().requires_grad_(), weights.detach().requires_grad_()
            layer(inputs[0], ids, inputs[1]).backward(dy)
            for p in parameters:
                if p.grad is not None:
                    p.main_grad.add_(p.grad)
                    p.grad = None
            return inputs[0].grad
        yield Case(f"{tokens} tokens, {topk} of {experts} experts {hidden}x{inner}",
                   18 * tokens * topk * hidden * inner,
                   {"ours": lambda: step(ours, mine), "torch": lambda: step(theirs, other)},
                   {"forward": lambda: ours(x, ids, weights)})
        del ours, theirs


# ---- measuring

def captured(function):
    """The function as a graph that is replayed; the function itself if it cannot be captured."""
    for _ in range(3):
        function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            function()
    except RuntimeError:
        torch.cuda.synchronize()
        return function, False
    return graph.replay, True


def time_round(function, device, calls, flush):
    """Microseconds a call."""
    if device == "cpu":
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        return (time.perf_counter() - begin) / calls * 1e6
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    flush.zero_()
    begin.record()
    for _ in range(calls):
        function()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls * 1e3


def median(values):
    return sorted(values)[len(values) // 2]


def measure(case, arguments, flush):
    """({step: us}, {part: us}, names that ran as graphs)."""
    steps, graphs = {}, []
    for kind in (case.steps, case.parts):
        for name, function in kind.items():
            function()
            if case.graph:
                function, is_graph = captured(function)
                graphs += [name] if is_graph else []
            steps[name] = function
    times = {name: [] for name in steps}
    for _ in range(arguments.rounds):
        for name, function in steps.items():
            times[name].append(time_round(function, arguments.device, arguments.calls, flush))
    us = {name: median(values) for name, values in times.items()}
    return ({n: us[n] for n in case.steps}, {n: us[n] for n in case.parts}, graphs)


def differences(case):
    """Of each step's result to torch's, relative; where results collect, what one call adds."""
    def once(function):
        result = function()
        if result.dtype != torch.float32:
            return result.float()
        before = result.clone()
        return function() - before
    expected = once(case.steps["torch"])
    return {name: float((once(function) - expected).norm() / expected.norm())
            for name, function in case.steps.items() if name != "torch"}


def machine(device):
    if device == "cuda":
        query = "name,driver_version,clocks.sm,power.draw,temperature.gpu"
        done = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
                              capture_output=True, text=True)
        return done.stdout.strip().splitlines()[0] if done.stdout else torch.cuda.get_device_name()
    return f"{platform.machine()} CPU, {torch.get_num_threads()} threads"


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--device", choices=("cpu", "cuda"),
                        default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--small", action="store_true", help="shapes for trying things out")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=5, help="of each round")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--json")
    arguments = parser.parse_args(argv)
    for name in arguments.families:
        if name not in FAMILIES:
            parser.error(f"no family {name!r}; there are {', '.join(FAMILIES)}")
    return arguments


def main(argv=None):
    arguments = parse(argv)
    small = arguments.small or arguments.device == "cpu"
    on_gpu = arguments.device == "cuda"
    torch.manual_seed(0)
    flush = torch.empty(512 << 20, dtype=torch.uint8, device="cuda") if on_gpu else None
    told = machine(arguments.device)
    print(f"{told}; torch {torch.__version__}; deep_gemm {deep_gemm.__version__}"
          f"{'; small shapes, no figures to quote' if small else ''}")
    log = open(arguments.json, "a", encoding="utf-8") if arguments.json else None
    for name in arguments.families or FAMILIES:
        print(name)
        for case in FAMILIES[name](arguments.device, small):
            if arguments.only not in case.name:
                continue
            errors = differences(case)
            us, parts, graphs = measure(case, arguments, flush)
            ratio = {k: us["torch"] / v for k, v in us.items()}
            print(f"  {case.name}" + ("  graphs" if graphs else ""))
            for step, value in us.items():
                print(f"    {step:18} {value:10.1f} us  {case.flops / value / 1e6:8.1f} TFLOPS  "
                      f"{ratio[step]:6.2f} x torch" +
                      (f"  error {errors[step]:.4f}" if step in errors else ""), flush=True)
            print("    of it: " + ", ".join(f"{k} {v:.1f} us" for k, v in parts.items()))
            if log:
                print(json.dumps({"family": name, "case": case.name, "us": us, "parts_us": parts,
                                  "flops": case.flops, "errors": errors, "graphs": graphs,
                                  "small": small, "machine": told}), file=log, flush=True)


if __name__ == "__main__":
    main()
