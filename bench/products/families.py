# SPDX-License-Identifier: MIT
"""Cases of the dense families, of casts and of layouts of factors. grouped.py has the grouped ones,
random_shapes.py those drawn at random. A family is a function of a Scope that yields Cases; its
docstring is printed, and names what is counted as traffic."""
import deep_gemm
import torch

from . import peers
from .case import Buffers, Case, attempt
from .operands import activations, bf16, fp8, mn_major, normal, turned, uneven

FAMILIES = {}
NK = [(2112, 7168), (576, 7168), (24576, 1536), (32768, 512), (7168, 16384), (4096, 7168),
      (7168, 2048)]
TINY_NK = [(48, 160), (80, 256)]
FORMS = ("nt", "nn", "tn", "tt")


def family(function):
    FAMILIES[function.__name__] = function
    return function


def family_of(name):
    """`family` where the package has the function `name`; else the family is left out."""
    return family if hasattr(deep_gemm, name) else lambda function: function


def output(scope, m, n, dtype=torch.bfloat16):
    return torch.empty(m, n, device=scope.device, dtype=dtype)


def stored(pair, form, side):
    """An operand's pair as `form` wants it stored, factors of single rows MN-major."""
    if form[side] == "tn"[side]:
        return turned(pair)
    data, scale = pair
    return data, mn_major(scale) if scale.shape[0] == data.shape[0] else scale


@family
def dense(scope):
    """FP8 NT, 1 x 128 and 128 x 128 factors, BF16 out. bytes = a + sfa + b + sfb + d"""
    for m in scope.pick((1, 16, 64, 128, 512, 4096), (1, 24)):
        for n, k in scope.pick(NK, TINY_NK):
            def make(m=m, n=n, k=k):
                a, b, d = activations(scope, m, k), fp8(scope, (n, k), 128), output(scope, m, n)
                return Buffers(lambda dg: dg.fp8_gemm_nt(a, b, d),
                               {"a": a[0], "sfa": a[1], "b": b[0], "sfb": b[1], "d": d},
                               lambda: {"cublaslt_blockwise": peers.scaled_mm_blocks(a, b),
                                "cublaslt_tensorwise": peers.scaled_mm_tensors(a, b, d.dtype),
                                "cublaslt": peers.cublaslt("nt", a[0], b[0], d),
                                "torch_bf16": peers.torch_bf16(scope, m, n, k)})
            yield Case(f"{m}x{n}x{k}", "fp8", 2 * m * n * k, make)


@family
def dense_forms(scope):
    """FP8 in all four layouts, factors 128 x 128 or 1 x 128 of b, BF16 and FP32 out, with and without c.
    bytes = a + sfa + b + sfb + d (+ c)"""
    m, n, k = scope.pick((4096, 7168, 2048), (40, 48, 160))
    for form in FORMS:
        for gran_n, dtype, adds in ((128, torch.bfloat16, False), (1, torch.bfloat16, False),
                                    (1, torch.float32, True), (128, torch.float32, False)):
            def make(form=form, gran_n=gran_n, dtype=dtype, adds=adds):
                a, b = fp8(scope, (m, k)), fp8(scope, (n, k), gran_n)
                a, b = stored(a, form, 0), stored(b, form, 1)
                d = normal(scope, m, n).to(dtype)
                tensors = {"a": a[0], "sfa": a[1], "b": b[0], "sfb": b[1], "d": d}
                if adds:
                    tensors["c"] = d
                return Buffers(
                    lambda dg: getattr(dg, f"fp8_gemm_{form}")(
                        a, b, d, d if adds else None, recipe=(1, gran_n, 128)), tensors,
                    lambda: {"torch_bf16": peers.torch_bf16(scope, m, n, k)})
            kind = f"{'f32' if dtype == torch.float32 else 'bf16'}{' + c' if adds else ''}"
            yield Case(f"{form} {m}x{n}x{k} 1x128 {gran_n}x128 {kind}", "fp8", 2 * m * n * k, make)


@family
def dense_packed(scope):
    """FP8 and FP4 with packed UE8M0 factors of 32 and 128 values. bytes = a + sfa + b + sfb + d"""
    m, n, k = scope.pick((4096, 7168, 2048), (40, 48, 256))
    for gran, fp4_b in ((128, False), (32, False), (32, True)):
        def make(gran=gran, fp4_b=fp4_b):
            x, w, d = bf16(scope, m, k), bf16(scope, n, k), output(scope, m, n)
            a = deep_gemm.per_token_cast_to_fp8(x, True, gran, True)
            cast = deep_gemm.per_token_cast_to_fp4 if fp4_b else deep_gemm.per_token_cast_to_fp8
            b = cast(w, True, gran, True)
            return Buffers(
                lambda dg: dg.fp8_fp4_gemm_nt(a, b, d, recipe_a=(1, gran), recipe_b=(1, gran)),
                {"a": a[0], "sfa": a[1], "b": b[0], "sfb": b[1], "d": d},
                lambda: {"torch_bf16": peers.torch_bf16(scope, m, n, k)})
        yield Case(f"{m}x{n}x{k} fp8 x {'fp4' if fp4_b else 'fp8'} 1x{gran}", "fp8", 2 * m * n * k,
                   make)


@family
def wgrad(scope):
    """FP8 NT, 1 x 128 factors of both, added into FP32. bytes = a + sfa + b + sfb + c + d"""
    t = scope.pick(4096, 96)
    for n, k in scope.pick(NK, TINY_NK):
        def make(n=n, k=k):
            a, b, d = activations(scope, n, t), activations(scope, k, t), normal(scope, n, k)
            return Buffers(lambda dg: dg.fp8_gemm_nt(a, b, d, c=d, recipe=(1, 1, 128)),
                           {"a": a[0], "sfa": a[1], "b": b[0], "sfb": b[1], "c": d, "d": d},
                           lambda: {"cublaslt_tensorwise": peers.scaled_mm_tensors(a, b, torch.float32),
                            "cublaslt_add": peers.cublaslt("nt", a[0], b[0], d, d)})
        yield Case(f"{n}x{k}x{t}", "fp8", 2 * n * k * t, make)


def bf16_case(scope, form, m, n, k, dtype, adds):
    def make():
        a, b = bf16(scope, m, k), bf16(scope, n, k)
        d = normal(scope, m, n).to(dtype)
        stored_a = a.t().contiguous() if form[0] == "t" else a
        stored_b = b.t().contiguous() if form[1] == "n" else b
        a, b = (stored_a.t() if form[0] == "t" else a), (stored_b.t() if form[1] == "n" else b)
        tensors = {"a": a, "b": b, "d": d, **({"c": d} if adds else {})}
        plain = dtype == torch.bfloat16
        return Buffers(
            lambda dg: getattr(dg, f"bf16_gemm_{form}")(stored_a, stored_b, d, d if adds else None),
            tensors,
            lambda: {"torch_bf16": (peers.torch_mm_add(a, b, d, d) if adds else peers.torch_mm(a, b, d))
             if plain else None,
             "cublaslt": peers.cublaslt(form, stored_a, stored_b, d, d if adds else None)})
    kind = ("f32" if dtype == torch.float32 else "bf16") + (" + c" if adds else "")
    return Case(f"{form} {m}x{n}x{k} {kind}", "bf16", 2 * m * n * k, make)


@family
def bf16_dense(scope):
    """BF16 NT, BF16 out. bytes = a + b + d"""
    for m in scope.pick((1, 128, 4096), (1, 24)):
        for n, k in scope.pick(NK, TINY_NK):
            yield bf16_case(scope, "nt", m, n, k, torch.bfloat16, False)


@family
def bf16_forms(scope):
    """BF16 in all four layouts, BF16 and FP32 out, with and without c. bytes = a + b + d (+ c)"""
    m, n, k = scope.pick((4096, 7168, 2048), (40, 48, 96))
    for form in FORMS:
        for dtype in (torch.bfloat16, torch.float32):
            for adds in (False, True):
                yield bf16_case(scope, form, m, n, k, dtype, adds)


def cast_outputs(scope, t, n):
    """What deep_gemm._native.quantize is handed for each way of casting x [t, n]."""
    empty = dict(device=scope.device)
    codes = [torch.empty(t, n, dtype=torch.float8_e4m3fn, **empty) for _ in range(2)]
    rows, columns = -(-t // 128), -(-n // 128)
    token = codes[0], torch.empty(t, columns, **empty), (1, 128), False, 0
    channel = codes[1], torch.empty(rows + 64, n, **empty), (128, 1), False, 0
    block = codes[0], torch.empty(rows, columns, **empty), (128, 128), False, 0
    sizes = torch.tensor(uneven(scope, 8, t // 12, 1), dtype=torch.int32, **empty)
    whole = (channel[0], channel[1][:rows], *channel[2:])
    return {"token": ((token, None), None), "channel": ((whole, None), None),
            "block": ((block, None), None), "both": ((token, whole), None),
            "both, 8 groups": ((token, channel), (1, sizes, 0, None))}


@family
def cast(scope):
    """BF16 to FP8 per token, channel, block and both ways at once. bytes = x + codes + factors"""
    for t, n in scope.pick(((4096, 2048), (4096, 7168), (32768, 7168)), ((128, 256),)):
        for way in ("token", "channel", "block", "both", "both, 8 groups"):
            def make(t=t, n=n, way=way):
                x = bf16(scope, t, n)
                y = torch.empty_like(x)
                outs, groups = cast_outputs(scope, t, n)[way]
                tensors = {"x": x}
                for i, part in enumerate(part for part in outs if part is not None):
                    tensors[f"codes {i}"], tensors[f"factors {i}"] = part[:2]
                return Buffers(lambda dg: dg._native.quantize(x, *outs, groups), tensors,
                               lambda: {"torch_copy": attempt(lambda: y.copy_(x))})
            yield Case(f"{way} {t}x{n}", "fp8", 0, make)


@family
def scale_layout(scope):
    """FP32 factors [mn, blocks] to MN-major aligned ones, and to packed UE8M0. bytes = in + out"""
    for mn, blocks in scope.pick(((4096, 56), (32768, 56), (32768, 16)), ((40, 3),)):
        for name in ("get_mn_major_tma_aligned_tensor",
                     "get_mn_major_tma_aligned_packed_ue8m0_tensor"):
            def make(mn=mn, blocks=blocks, name=name):
                exponents = torch.randint(-8, 8, (mn, blocks), generator=scope.host)
                sf = torch.exp2(exponents.float()).to(scope.device)
                size = mn * blocks * 4 if "packed" not in name else mn * -(-blocks // 4) * 4
                return Buffers(lambda dg: getattr(dg, name)(sf), {"in": sf, "out": size},
                               lambda: {"torch_transpose": attempt(lambda: sf.t().contiguous())})
            yield Case(f"{'packed' if 'packed' in name else 'mn-major'} {mn}x{blocks}", "fp8", 0,
                       make)
