#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times products on a GPU through the Python package, with torch's on the same data in the same run.

    PYTHONPATH=build/release/python python3 bench/gpu.py [FAMILY ...] [--peers] [--rounds N]
        [--only TEXT] [--json FILE]

Each time is the median over `--calls` launches between two events. Before every launch L2 is flushed
(512 MB are written) and the GPU spins for about 0.1 ms, so that the host's work is not seen; the
median of `--rounds` such medians is printed, with a rest in front of each, since a warm GPU runs
slower. `event` is the same around an empty region: what the method itself costs, included in every
time. Bytes are those of operands, factors and output, once each (c counts again); floor is the larger
of bytes / 4.3 TB/s and FLOP / the tensor rate at 1.83 GHz. One JSON line a case goes to --json.
"""
import argparse
import json
import subprocess
import time

import deep_gemm
import torch

FAMILIES = {}
PEAK = {"fp8": 1979e12, "bf16": 989e12}  # FLOP/s at 1.83 GHz
COPY = 4.3e12                            # bytes/s


def family(function):
    FAMILIES[function.__name__] = function
    return function


class Case:
    """A product to time: `call` runs ours, `peers` maps names to functions that do the same."""

    def __init__(self, name, kind, flops, tensors, call, peers=None):
        self.name, self.kind, self.flops, self.call = name, kind, flops, call
        self.bytes = sum(t.numel() * t.element_size() for t in tensors if t is not None)
        self.peers = peers or {}

    @property
    def floor(self):
        return max(self.bytes / COPY, self.flops / PEAK[self.kind]) * 1e6


def fp8(shape, gran_mn=1, dim=-1):
    """Normal values as FP8 with factors of amax / 448 for gran_mn x 128 (128 x gran_mn: dim -2)."""
    x = torch.randn(shape, device="cuda")
    if dim == -2:
        data, scale = fp8((*shape[:-2], shape[-1], shape[-2]), gran_mn)
        return data.transpose(-1, -2).contiguous(), scale.transpose(-1, -2).contiguous()
    mn, k = shape[-2:]
    rows, blocks = -(-mn // gran_mn), -(-k // 128)
    padded = torch.nn.functional.pad(x, (0, blocks * 128 - k, 0, rows * gran_mn - mn))
    tiles = padded.view(*shape[:-2], rows, gran_mn, blocks, 128)
    scale = tiles.abs().amax((-3, -1)).clamp(1e-4) / 448
    data = (tiles / scale[..., :, None, :, None]).view(padded.shape)[..., :mn, :k]
    return data.contiguous().to(torch.float8_e4m3fn), scale


def mn_major(scale):
    """The same factors with mn contiguous, as get_mn_major_tma_aligned_tensor leaves them."""
    mn, blocks = scale.shape[-2:]
    out = torch.zeros(*scale.shape[:-2], blocks, -(-mn // 4) * 4, device="cuda")
    out[..., :mn] = scale.transpose(-1, -2)
    return out.transpose(-1, -2)[..., :mn, :]


def guarded(function):
    try:
        function()
        return function
    except Exception:
        return None


def blockwise(a, b):
    return guarded(lambda: torch._scaled_mm(a[0], b[0].t(), a[1], b[1].t(),
                                            out_dtype=torch.bfloat16))


def tensorwise(a, b, dtype):
    one = torch.ones((), device="cuda")
    return guarded(lambda: torch._scaled_mm(a[0], b[0].t(), one, one, out_dtype=dtype,
                                            use_fast_accum=True))


NK = [(2112, 7168), (576, 7168), (24576, 1536), (32768, 512), (7168, 16384), (4096, 7168),
      (7168, 2048)]


@family
def dense():
    """FP8, 1 x 128 and 128 x 128 factors, BF16 out."""
    for m in (1, 16, 64, 128, 512, 4096):
        for n, k in NK:
            a, b = fp8((m, k)), fp8((n, k), 128)
            a = a[0], mn_major(a[1])
            d = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
            yield Case(f"{m}x{n}x{k}", "fp8", 2 * m * n * k, [*a, *b, d],
                       lambda: deep_gemm.fp8_gemm_nt(a, b, d),
                       {"cublaslt_blockwise": blockwise(a, b),
                        "cublaslt_tensorwise": tensorwise(a, b, torch.bfloat16)})


@family
def wgrad():
    """FP8, 1 x 128 factors on both sides, added into FP32."""
    for n, k in NK:
        t = 4096
        a, b = fp8((n, t)), fp8((k, t))
        a, b = (a[0], mn_major(a[1])), (b[0], mn_major(b[1]))
        d = torch.randn(n, k, device="cuda")
        yield Case(f"{n}x{k}x{t}", "fp8", 2 * n * k * t, [*a, *b, d, d],
                   lambda: deep_gemm.fp8_gemm_nt(a, b, d, c=d, recipe=(1, 1, 128)),
                   {"cublaslt_tensorwise": tensorwise(a, b, torch.float32)})


@family
def bf16():
    """BF16 in its four layouts."""
    for m in (1, 128, 4096):
        for n, k in NK:
            x, w = (torch.randn(s, k, device="cuda").bfloat16() for s in (m, n))
            d = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
            yield Case(f"nt {m}x{n}x{k}", "bf16", 2 * m * n * k, [x, w, d],
                       lambda: deep_gemm.bf16_gemm_nt(x, w, d),
                       {"torch": lambda: torch.mm(x, w.t(), out=d)})
    m, n, k = 4096, 7168, 2048
    xt, wt = x[:, :k].t().contiguous(), torch.randn(k, n, device="cuda").bfloat16()
    x, w = xt.t().contiguous(), wt.t().contiguous()
    for form, a, b in (("nn", x, wt), ("tn", xt, wt), ("tt", xt, w)):
        product = (a.t() if form[0] == "t" else a, b if form[1] == "n" else b.t())
        d = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        yield Case(f"{form} {m}x{n}x{k}", "bf16", 2 * m * n * k, [a, b, d],
                   lambda: getattr(deep_gemm, f"bf16_gemm_{form}")(a, b, d),
                   {"torch": lambda: torch.mm(*product, out=d)})
    d32 = torch.empty(m, n, device="cuda")
    yield Case(f"nt f32 {m}x{n}x{k}", "bf16", 2 * m * n * k, [x, w, d32],
               lambda: deep_gemm.bf16_gemm_nt(x, w, d32))


def uneven(groups, mean, multiple=128, generator=torch.Generator().manual_seed(0)):
    sizes = (torch.rand(groups, generator=generator) * 0.6 + 0.7) * mean
    return [max(multiple, int(size) // multiple * multiple) for size in sizes]


@family
def k_grouped():
    """Weight gradients of experts, added into FP32: token-major and flat FP8, BF16."""
    for groups, m, n, mean, multiple in ((4, 4096, 7168, 8192, 128), (4, 7168, 2048, 8192, 128),
                                         (8, 4096, 7168, 4096, 128), (8, 7168, 2048, 4096, 128),
                                         (16, 4096, 7168, 2048, 128), (16, 7168, 2048, 2048, 128),
                                         (64, 7168, 2048, 512, 1)):
        ks = uneven(groups, mean, multiple)
        tokens = sum(ks)
        sizes = torch.tensor(ks, device="cuda", dtype=torch.int32)
        offsets = sizes.cumsum(0).to(torch.int32)
        x, y = (torch.randn(tokens, mn, device="cuda").bfloat16() for mn in (m, n))
        grad = torch.randn(groups, m, n, device="cuda")
        sides = []
        for mn in (m, n):
            parts = [fp8((k, mn), 1, dim=-2) for k in ks]
            sides.append((torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])))
        (a, b), flops = sides, 2 * m * n * tokens
        name = f"{groups} groups {m}x{n} {tokens} tokens"
        yield Case(f"token-major {name}", "fp8", flops, [*a, *b, grad, grad],
                   lambda: deep_gemm.k_grouped_fp8_gemm_tn_contiguous(a, b, grad, ks, sizes, grad))
        if multiple == 128:
            flat = [(torch.cat([p.t().contiguous().flatten() for p in data.split(ks)]), scale.t())
                    for data, scale in sides]
            yield Case(f"flat {name}", "fp8", flops, [*a, *b, grad, grad],
                       lambda: deep_gemm.k_grouped_fp8_gemm_nt_contiguous(
                           flat[0], flat[1], grad, ks, sizes, grad))
        peer = guarded(lambda: torch._grouped_mm(x.t(), y, offs=offsets))
        yield Case(f"bf16 {name}", "bf16", flops, [x, y, grad, grad],
                   lambda: deep_gemm.k_grouped_bf16_gemm_tn_contiguous(
                       x, y, grad, ks, sizes, grad),
                   {"torch_grouped_mm": peer,
                    "torch_grouped_mm_add": guarded(lambda: grad.add_(peer()))})


@family
def m_grouped():
    """Forward of experts: rows sorted by expert, index form."""
    for groups, mean, n, k in ((4, 8192, 6144, 7168), (4, 8192, 7168, 3072), (8, 4096, 4096, 4096),
                               (8, 4096, 4096, 2048)):
        sizes = uneven(groups, mean)
        rows = sum(sizes)
        index = torch.repeat_interleave(torch.arange(groups), torch.tensor(sizes)).to(
            "cuda", torch.int32)
        offsets = torch.tensor(sizes).cumsum(0).to("cuda", torch.int32)
        a, b = fp8((rows, k)), fp8((groups, n, k), 128)
        a = a[0], mn_major(a[1])
        x = torch.randn(rows, k, device="cuda").bfloat16()
        w = torch.randn(groups, n, k, device="cuda").bfloat16()
        d = torch.empty(rows, n, device="cuda", dtype=torch.bfloat16)
        name = f"{groups} groups {rows}x{n}x{k}"
        yield Case(f"fp8 {name}", "fp8", 2 * rows * n * k, [*a, *b, d],
                   lambda: deep_gemm.m_grouped_fp8_gemm_nt_contiguous(a, b, d, index))
        yield Case(f"bf16 {name}", "bf16", 2 * rows * n * k, [x, w, d],
                   lambda: deep_gemm.m_grouped_bf16_gemm_nt_contiguous(x, w, d, index),
                   {"torch_grouped_mm": guarded(
                       lambda: torch._grouped_mm(x, w.transpose(1, 2), offs=offsets))})


@family
def masked():
    """Forward of experts in decode: some valid rows of each expert's matrix."""
    for groups, mean, n, k in ((32, 192, 6144, 7168), (6, 1024, 7168, 3072), (32, 20, 4096, 4096),
                               (6, 20, 4096, 2048)):
        room = 4096
        sizes = uneven(groups, mean, 1)
        rows = sum(sizes)
        count = torch.tensor(sizes, device="cuda", dtype=torch.int32)
        a, b = fp8((groups, room, k)), fp8((groups, n, k), 128)
        a = a[0], mn_major(a[1])
        d = torch.empty(groups, room, n, device="cuda", dtype=torch.bfloat16)
        case = Case(f"{groups} groups of {mean}, {n}x{k}", "fp8", 2 * rows * n * k, [*b],
                    lambda: deep_gemm.m_grouped_fp8_gemm_nt_masked(
                        a, b, d, count, int(mean * 1.2)))
        case.bytes += rows * (k + n * 2)
        yield case


@family
def cast():
    """BF16 to FP8; torch's copy of x, which moves 4 bytes a value, is the yardstick."""
    for t, n in ((4096, 2048), (4096, 7168), (32768, 7168)):
        x = torch.randn(t, n, device="cuda").bfloat16()
        y = torch.empty_like(x)
        codes = [torch.empty(t, n, device="cuda", dtype=torch.float8_e4m3fn) for _ in range(2)]
        rows, columns = t // 128, n // 128
        token = codes[0], torch.empty(t, columns, device="cuda"), (1, 128), False, 0
        channel = codes[1], torch.empty(rows + 64, n, device="cuda"), (128, 1), False, 0
        block = codes[0], torch.empty(rows, columns, device="cuda"), (128, 128), False, 0
        sizes = torch.tensor(uneven(8, t // 12, 1), device="cuda", dtype=torch.int32)
        whole = (channel[0], channel[1][:rows], *channel[2:])
        for name, outs, groups in (("token", (token, None), None), ("channel", (whole, None), None),
                                   ("block", (block, None), None), ("both", (token, whole), None),
                                   ("both, 8 groups", (token, channel), (1, sizes, 0, None))):
            written = [part[i] for part in outs if part is not None for i in (0, 1)]
            case = Case(f"{name} {t}x{n}", "fp8", 0, [x, *written],
                        lambda: deep_gemm._native.quantize(x, *outs, groups),
                        {"torch_copy": lambda: y.copy_(x)})
            yield case


def time_calls(function, calls, flush):
    """Median of microseconds between two events around a call, each with a cold L2."""
    for _ in range(2):
        function()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(calls)]
    torch.cuda.synchronize()
    for begin, end in events:
        flush.zero_()
        torch.cuda._sleep(200_000)
        begin.record()
        function()
        end.record()
    torch.cuda.synchronize()
    times = sorted(begin.elapsed_time(end) * 1e3 for begin, end in events)
    return times[len(times) // 2]


def machine():
    query = "name,driver_version,clocks.sm,power.draw,temperature.gpu"
    done = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
                          capture_output=True, text=True)
    return done.stdout.strip().splitlines()[0] if done.stdout else torch.cuda.get_device_name()


def measure(case, arguments, flush):
    functions = {"ours": case.call}
    if arguments.peers:
        functions.update({k: v for k, v in case.peers.items() if v is not None})
    rounds = {name: [] for name in functions}
    for _ in range(arguments.rounds):
        for name, function in functions.items():
            time.sleep(arguments.rest)
            rounds[name].append(time_calls(function, arguments.calls, flush))
    return {name: sorted(times)[len(times) // 2] for name, times in rounds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=13)
    parser.add_argument("--rest", type=float, default=0.03, help="seconds in front of a round")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    flush = torch.empty(512 << 20, dtype=torch.uint8, device="cuda")
    log = open(arguments.json, "a", encoding="utf-8") if arguments.json else None
    print(f"{machine()}; torch {torch.__version__}; deep_gemm {deep_gemm.__version__}; "
          f"event {time_calls(lambda: None, arguments.calls, flush):.1f} us")
    for name in arguments.families or FAMILIES:
        print(f"{name}: {FAMILIES[name].__doc__}")
        for case in FAMILIES[name]():
            if arguments.only not in case.name:
                continue
            us = measure(case, arguments, flush)
            ours = us.pop("ours")
            peers = "  ".join(f"{k} {v:.1f} ({v / ours:.2f}x)" for k, v in us.items())
            print(f"  {case.name:44} {ours:9.1f} us  floor {case.floor:8.1f}  "
                  f"{case.flops / ours / 1e6:7.0f} TFLOPS  {case.bytes / ours / 1e3:6.0f} GB/s  "
                  f"{peers}", flush=True)
            if log:
                print(json.dumps({"family": name, "case": case.name, "us": ours,
                                  "floor_us": case.floor, "flops": case.flops,
                                  "bytes": case.bytes, "peers_us": us}), file=log, flush=True)
    print(machine())


if __name__ == "__main__":
    main()
