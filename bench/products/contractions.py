# SPDX-License-Identifier: MIT
"""Cases of products by their letters, of the product with gaps in its heads, and of the product in front
of a hyper-connection's norm. See families.py."""
import torch

from . import peers
from .case import Buffers, Case, attempt
from .families import family_of, output
from .operands import activations, bf16, fp8, normal

HEADS = ((128, 512, 128), (8, 4096, 1024))
TINY_HEADS = ((3, 64, 48),)


def flops_of(b, h, r, d):
    return 2 * b * h * r * d


@family_of("einsum")
def einsum(scope):
    """BF16 contractions: bhr,hdr->bhd and bhd,hdr->bhr for h heads, and bmk,bnk->mn into FP32, added.
    bytes = a + b + d (+ c)"""
    for h, r, d in scope.pick(HEADS, TINY_HEADS):
        for b in scope.pick((4, 128, 4096), (5,)):
            for expr, summed, kept in (("bhr,hdr->bhd", r, d), ("bhd,hdr->bhr", d, r)):
                def make(expr=expr, b=b, h=h, r=r, d=d, summed=summed, kept=kept):
                    x, w = bf16(scope, b, h, summed), bf16(scope, h, d, r)
                    y = torch.empty(b, h, kept, device=scope.device, dtype=torch.bfloat16)
                    return Buffers(lambda dg: dg.einsum(expr, x, w, y), {"a": x, "b": w, "d": y},
                                   lambda: {"torch_bf16": attempt(
                                       lambda: torch.einsum(expr, x, w))})
                yield Case(f"{expr} b {b} h {h} r {r} d {d}", "bf16", flops_of(b, h, r, d), make)
    for s in scope.pick((129, 4096, 8192), (3,)):
        for m, n, k in scope.pick(((128, 384, 128), (256, 256, 256), (384, 128, 384)),
                                  ((64, 64, 64),)):
            def make_sum(s=s, m=m, n=n, k=k):
                x, w, y = bf16(scope, s, m, k), bf16(scope, s, n, k), normal(scope, m, n)
                return Buffers(lambda dg: dg.einsum("bmk,bnk->mn", x, w, y, y),
                               {"a": x, "b": w, "c": y, "d": y},
                               lambda: {"torch_bf16": attempt(
                                   lambda: torch.einsum("bmk,bnk->mn", x, w))})
            yield Case(f"bmk,bnk->mn {s} of {m}x{n}x{k}", "bf16", 2 * s * m * n * k, make_sum)


@family_of("fp8_einsum")
def fp8_einsum(scope):
    """FP8 bhr,hdr->bhd, 1 x 128 and 128 x 128 factors, BF16 out. bytes = a + sfa + b + sfb + d"""
    for h, r, d in scope.pick(HEADS[1:], TINY_HEADS):
        for b in scope.pick((4, 32, 128, 4096, 8192), (5,)):
            def make(b=b, h=h, r=r, d=d):
                x, w = fp8(scope, (b, h, r)), fp8(scope, (h, d, r), 128)
                y = torch.empty(b, h, d, device=scope.device, dtype=torch.bfloat16)
                return Buffers(
                    lambda dg: dg.fp8_einsum("bhr,hdr->bhd", x, w, y),
                    {"a": x[0], "sfa": x[1], "b": w[0], "sfb": w[1], "d": y},
                    lambda: {"torch_bf16": attempt(lambda plain=(x[0].bfloat16(), w[0].bfloat16()):
                                                   torch.einsum("bhr,hdr->bhd", *plain))})
            yield Case(f"bhr,hdr->bhd b {b} h {h} r {r} d {d}", "fp8", flops_of(b, h, r, d), make)


@family_of("fp8_gemm_nt_skip_head_mid")
def skip_head_mid(scope):
    """FP8 NT whose heads of 256 columns get 64 between their halves. bytes = a + sfa + b + sfb + d"""
    for m in scope.pick((128, 4096), (8,)):
        for n, k in scope.pick(((32768, 512), (8192, 512)), ((512, 160),)):
            def make(m=m, n=n, k=k):
                a, b = activations(scope, m, k), fp8(scope, (n, k), 128)
                d = output(scope, m, n // 256 * 320)
                return Buffers(
                    lambda dg: dg.fp8_gemm_nt_skip_head_mid(a, b, d, (128, 64, 128)),
                    {"a": a[0], "sfa": a[1], "b": b[0], "sfb": b[1], "d": 2 * m * n},
                    lambda: {"torch_bf16": peers.torch_bf16(scope, m, n, k)})
            yield Case(f"{m}x{n}x{k}", "fp8", 2 * m * n * k, make)


@family_of("tf32_hc_prenorm_gemm")
def hc_prenorm(scope):
    """BF16 a by FP32 b in TF32, with the sums of squares of a's rows. bytes = a + b + d + sqr_sum"""
    for m, n, k, splits in scope.pick(((4096, 24, 28672, None), (4096, 24, 28672, 16),
                                       (8192, 24, 7168, None), (137, 24, 28672, 16)),
                                      ((40, 24, 256, None), (40, 24, 256, 2))):
        def make(m=m, n=n, k=k, splits=splits):
            a, b = bf16(scope, m, k), normal(scope, n, k)
            lead = () if splits is None else (splits,)
            d, squares = (torch.empty(*lead, *shape, device=scope.device) for shape in ((m, n), (m,)))
            w = b.bfloat16()
            return Buffers(
                lambda dg: dg.tf32_hc_prenorm_gemm(a, b, d, squares, num_splits=splits),
                {"a": a, "b": b, "d": d, "sqr_sum": squares},
                lambda: {"torch_bf16": attempt(lambda: torch.mm(a, w.t()))})
        yield Case(f"{m}x{n}x{k} splits {splits}", "bf16", 2 * m * n * k, make)
