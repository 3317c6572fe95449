# SPDX-License-Identifier: MIT
"""Cases of the grouped families: products of the experts of a mixture of experts, forward and backward.
See families.py."""
import torch

from . import peers
from .case import Buffers, Case, attempt
from .families import family, output
from .operands import activations, bf16, fp8, int32, mn_major, normal, turned, uneven


def sorted_rows(scope, sizes):
    """(index of each row's expert, ends of the experts' rows) for rows sorted by expert."""
    index = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return index.to(scope.device, torch.int32), int32(scope, torch.tensor(sizes).cumsum(0).tolist())


@family
def m_grouped(scope):
    """Forward of experts, rows sorted by expert: FP8 and BF16, weights [n, k] and [k, n], index and psum.
    bytes = a + sfa + b + sfb + d"""
    for groups, mean, n, k in scope.pick(
            ((4, 8192, 6144, 7168), (4, 8192, 7168, 3072), (8, 4096, 4096, 4096),
             (8, 4096, 4096, 2048)), ((3, 130, 48, 160),)):
        sizes = uneven(scope, groups, mean)
        rows = sum(sizes)
        for dtype in ("fp8", "bf16"):
            for form in ("nt", "nn"):
                for psum in (False, True):
                    if form == "nn" and psum:
                        continue

                    def make(dtype=dtype, form=form, psum=psum, groups=groups, n=n, k=k, rows=rows,
                             sizes=sizes):
                        index, ends = sorted_rows(scope, sizes)
                        d = output(scope, rows, n)
                        layout = ends if psum else index
                        if dtype == "bf16":
                            a, b = bf16(scope, rows, k), bf16(scope, groups, n, k)
                            weights = b.transpose(1, 2).contiguous() if form == "nn" else b
                            per_group = weights if form == "nn" else b.transpose(1, 2)
                            tensors = {"a": a, "b": b, "d": d}

                            def others(a=a, per_group=per_group, ends=ends):
                                return {"torch_grouped_mm": peers.grouped_mm(a, per_group, ends)}
                        else:
                            a, b = activations(scope, rows, k), fp8(scope, (groups, n, k), 128)
                            weights = turned(b) if form == "nn" else b
                            tensors = {"a": a[0], "sfa": a[1], "b": b[0], "sfb": b[1], "d": d}
                            others = dict
                        name = f"m_grouped_{dtype}_gemm_{form}_contiguous"
                        return Buffers(lambda dg: getattr(dg, name)(
                            a, weights, d, layout, use_psum_layout=psum), tensors, others)
                    yield Case(f"{dtype} {form} {'psum' if psum else 'index'} {groups} groups "
                               f"{rows}x{n}x{k}", dtype, 2 * rows * n * k, make)


@family
def masked(scope):
    """Forward of experts in decode: some valid rows of each expert's matrix, FP8 and BF16.
    bytes = valid rows of a, sfa and d + b + sfb"""
    for groups, mean, n, k in scope.pick(
            ((32, 192, 6144, 7168), (6, 1024, 7168, 3072), (32, 20, 4096, 4096),
             (6, 20, 4096, 2048)), ((3, 20, 48, 160),)):
        room = scope.pick(4096, 64)
        sizes = uneven(scope, groups, mean, 1)
        rows = sum(sizes)
        for dtype in ("fp8", "bf16"):
            def make(dtype=dtype, groups=groups, n=n, k=k, mean=mean, sizes=sizes, rows=rows):
                count = int32(scope, sizes)
                d = torch.empty(groups, room, n, device=scope.device, dtype=torch.bfloat16)
                if dtype == "bf16":
                    a, b = bf16(scope, groups, room, k), bf16(scope, groups, n, k)
                    tensors = {"a": 2 * rows * k, "b": b, "d": 2 * rows * n}
                else:
                    a, b = fp8(scope, (groups, room, k)), fp8(scope, (groups, n, k), 128)
                    a = a[0], mn_major(a[1])
                    tensors = {"a": rows * k, "sfa": rows * 4 * -(-k // 128), "b": b[0],
                               "sfb": b[1], "d": 2 * rows * n}
                return Buffers(lambda dg: getattr(dg, f"m_grouped_{dtype}_gemm_nt_masked")(
                    a, b, d, count, int(mean * 1.2)), tensors)
            yield Case(f"{dtype} {groups} groups of {mean} {n}x{k}", dtype, 2 * rows * n * k, make)


def token_sides(scope, ks, extents):
    """FP8 operands of a weight gradient, tokens first, 128 tokens x 1 factors: (codes, factors) each."""
    for mn in extents:
        parts = [turned(fp8(scope, (mn, k))) for k in ks]
        yield torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])


@family
def k_grouped(scope):
    """Weight gradients of experts, added into FP32: FP8 tokens first and flat, BF16.
    bytes = a + sfa + b + sfb + c + d"""
    for groups, m, n, mean, multiple in scope.pick(
            ((4, 4096, 7168, 8192, 128), (4, 7168, 2048, 8192, 128), (8, 4096, 7168, 4096, 128),
             (8, 7168, 2048, 4096, 128), (16, 4096, 7168, 2048, 128), (16, 7168, 2048, 2048, 128),
             (64, 7168, 2048, 512, 1)), ((3, 40, 48, 256, 128), (3, 40, 48, 50, 1))):
        ks = uneven(scope, groups, mean, multiple)
        tokens = sum(ks)
        name, flops = f"{groups} groups {m}x{n} {tokens} tokens", 2 * m * n * tokens

        def make(layout, ks=ks, m=m, n=n, tokens=tokens):
            sizes, ends = int32(scope, ks), int32(scope, torch.tensor(ks).cumsum(0).tolist())
            grad = normal(scope, len(ks), m, n)
            if layout == "bf16":
                x, y = bf16(scope, tokens, m), bf16(scope, tokens, n)

                def others():
                    product = peers.grouped_mm(x.t(), y, ends)
                    add = product and attempt(lambda: grad.add_(product()))
                    return {"torch_grouped_mm": product, "torch_grouped_mm_add": add}
                return Buffers(
                    lambda dg: dg.k_grouped_bf16_gemm_tn_contiguous(x, y, grad, ks, sizes, grad),
                    {"a": x, "b": y, "c": grad, "d": grad}, others)
            a, b = token_sides(scope, ks, (m, n))
            tensors = {"a": a[0], "sfa": a[1], "b": b[0], "sfb": b[1], "c": grad, "d": grad}
            if layout == "tokens first":
                return Buffers(
                    lambda dg: dg.k_grouped_fp8_gemm_tn_contiguous(a, b, grad, ks, sizes, grad),
                    tensors)
            flat = [(torch.cat([part.t().contiguous().flatten() for part in data.split(ks)]),
                     scale.t()) for data, scale in (a, b)]
            return Buffers(
                lambda dg: dg.k_grouped_fp8_gemm_nt_contiguous(*flat, grad, ks, sizes, grad), tensors)

        for layout in ("tokens first", "flat", "bf16"):
            if layout != "flat" or multiple == 128:
                yield Case(f"{layout} {name}", "bf16" if layout == "bf16" else "fp8", flops,
                           lambda layout=layout, make=make: make(layout))
