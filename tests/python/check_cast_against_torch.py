# SPDX-License-Identifier: MIT
"""Compares dg_quantize and dg_dequantize with PyTorch on the CPU, bit for bit.

    python3 tests/python/check_cast_against_torch.py build/src/libdeep_gemm.so

Larger than the golden vectors of tests/cpu: all bfloat16 values, millions of FP32 bit patterns, every
recipe over random shapes, strides, groups. Exit status 77 (skipped) where torch is not installed.
"""
import ctypes
import os
import random
import sys

try:
    import torch
except ImportError:
    print("SKIPPED check_cast_against_torch: torch is not installed")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
import cast_reference as ref  # noqa: E402
import dg_ctypes as dg  # noqa: E402

CHECKED, FAILED = [0], [0]


def same(name, got, want, note=""):
    CHECKED[0] += 1
    if got.dtype == torch.float32:  # any NaN equals any other
        equal = (got.view(torch.int32) == want.view(torch.int32)) | (got.isnan() & want.isnan())
    else:
        equal = got == want
    if got.shape != want.shape or not bool(equal.all()):
        FAILED[0] += 1
        print("FAILED", name, note, "at", torch.nonzero(~equal)[:3].tolist(), got[~equal][:3].tolist(), want[~equal][:3].tolist())


def place(shape, dtype, layout, fill):
    """A poisoned tensor of the given shape: dense, transposed, or sliced out of a wider one."""
    if layout == "transposed" and len(shape) > 1:
        order = list(range(len(shape)))
        order[-1], order[-2] = order[-2], order[-1]
        return torch.full([shape[i] for i in order], fill, dtype=dtype).permute(order)
    if layout == "sliced":
        wide = torch.full([n + 3 for n in shape], fill, dtype=dtype)
        return wide[tuple(slice(1, n + 1) for n in shape)]
    return torch.full(list(shape), fill, dtype=dtype)


class Output:
    def __init__(self, x, gran, fp4, scale_dtype, pow2, k_first, pair_axis, sizes, layout):
        rank = x.dim()
        axis = max(rank - 2, 0) if k_first else rank - 1
        pow2_all = pow2 or scale_dtype != dg.F32
        form = {dg.F32: lambda f: f, dg.E8M0: ref.exponents,
                dg.I32: lambda f: ref.pack_words(f, axis)}[scale_dtype]
        self.rows = x.shape[0] if sizes is None else sum(sizes)
        if sizes is None:
            codes, self.factors = ref.quantize(x, gran, fp4, pow2_all)
            self.scale_want = form(self.factors)
            self.parts = [(codes, self.factors)]
        else:
            codes, factors = ref.quantize_groups(x, sizes, gran, fp4, pow2_all)
            self.scale_want = torch.cat([form(f) for f in factors]) if factors else None
            if self.scale_want is None:
                empty = ref.ceil_div(x.shape[1], gran[1] or x.shape[1])
                empty = ref.ceil_div(empty, 4) if scale_dtype == dg.I32 and not k_first else empty
                self.scale_want = form(torch.zeros(4, 4))[:0, :1].expand(0, empty)
        self.codes_want = codes
        data_shape = list(x.shape)
        self.pair_axis = pair_axis % rank if fp4 else -1
        if fp4:
            data_shape[self.pair_axis] //= 2
        if fp4:  # stride 1 along the pair axis
            order = [i for i in range(rank) if i != self.pair_axis] + [self.pair_axis]
            self.data = torch.full([data_shape[i] for i in order], 0xEE, dtype=torch.uint8).permute(
                [order.index(i) for i in range(rank)])
        else:
            self.data = place(data_shape, torch.uint8, layout, 0xEE)
        scale_torch = {dg.F32: torch.float32, dg.E8M0: torch.uint8, dg.I32: torch.int32}[scale_dtype]
        scale_shape = list(self.scale_want.shape)
        words_along_rows = scale_dtype == dg.I32 and axis == 0
        if sizes is not None and gran[0] == 1 and not words_along_rows:
            scale_shape[0] = x.shape[0]  # each row's factors stay with it, outside of groups too
        self.scale = place(scale_shape, scale_torch, layout, 77)
        self.q = dg.Quantized(data=dg.view(self.data, dg.E2M1X2 if fp4 else dg.E4M3),
                              scale=dg.view(self.scale, scale_dtype),
                              power_of_two=1 if pow2 else 0, k_axis=1 if k_first else 0)
        for i, g in enumerate(gran):
            self.q.gran[i] = g
        self.fp4 = fp4

    def codes(self):
        if not self.fp4:
            return self.data
        d = self.data.movedim(self.pair_axis, -1)
        return torch.stack([d & 15, d >> 4], dim=-1).flatten(-2).movedim(-1, self.pair_axis)

    def check(self, name, note):
        codes = self.codes()
        same(name + " codes", codes[:self.rows], self.codes_want, note)
        rows = self.scale_want.shape[0]
        same(name + " scale", self.scale[:rows], self.scale_want, note)
        same(name + " scale outside", self.scale[rows:], torch.full_like(self.scale[rows:], 77), note)
        poison = 0xE if self.fp4 else 0xEE
        same(name + " rows outside", codes[self.rows:], torch.full_like(codes[self.rows:], poison), note)


def groups_struct(sizes):
    groups = dg.Groups()
    if sizes is not None:
        values = torch.tensor(sizes, dtype=torch.int32)
        groups.form, groups.values = dg.SIZES, dg.view(values, dg.I32)
        return groups, values
    return groups, None


def call(lib, function, args):
    args.struct_size = ctypes.sizeof(args)
    if getattr(lib, function)(None, ctypes.byref(args), None) != 0:
        raise SystemExit("FAILED %s: %s" % (function, lib.dg_last_error().decode()))


def run(lib, name, x, outputs, sizes, note):
    x_dtype = dg.BF16 if x.dtype == torch.bfloat16 else dg.F32
    groups, keep = groups_struct(sizes)
    args = dg.QuantizeArgs(x=dg.view(x, x_dtype), groups=groups)
    for i, out in enumerate(outputs):
        args.out[i] = out.q
    call(lib, "dg_quantize", args)
    for out in outputs:
        out.check(name, note)
    # And back, into both types.
    for dtype, number in ((torch.float32, dg.F32), (torch.bfloat16, dg.BF16)):
        if x.numel() == 0:
            break
        back = torch.full(x.shape, -77.0, dtype=dtype)
        back_args = dg.DequantizeArgs(q=outputs[0].q, x=dg.view(back, number), groups=groups)
        call(lib, "dg_dequantize", back_args)
        if outputs[0].fp4 or sizes is not None:
            continue
        value = outputs[0].codes_want.view(torch.float8_e4m3fn).float()
        grans = [g or n for g, n in zip(outputs[0].q.gran, x.shape)]
        factor = outputs[0].factors
        for i, g in enumerate(grans):
            factor = factor.repeat_interleave(g, dim=i).narrow(i, 0, x.shape[i])
        want = (value * factor).to(dtype).float()
        same(name + " back", back.float(), want, note)


def all_values(lib):
    """Every BF16 value and millions of FP32 patterns as blocks of one value and as one wide block."""
    bf16 = torch.arange(65536).to(torch.int16).view(torch.bfloat16)
    generator = torch.Generator().manual_seed(1)
    f32 = torch.randint(-2**31, 2**31, (1 << 22,), generator=generator).to(torch.int32).view(torch.float32)
    near = (torch.rand(1 << 22, generator=generator) * 2 - 1) * 500  # in the range of the codes
    for name, x in (("bf16", bf16), ("f32", f32), ("near", near)):
        for width in (1, 16, 128):
            v = x.view(-1, width)
            for fp4 in (False, True):
                for scale_dtype in (dg.F32, dg.E8M0):
                    if fp4 and width == 1:
                        continue
                    out = Output(v, (1, width), fp4, scale_dtype, False, False, -1, None, "dense")
                    run(lib, "all " + name, v, [out], None, (width, fp4, scale_dtype))


def random_case(lib, rng, generator):
    rank = rng.choice((1, 2, 2, 2, 2, 3, 4))
    top = {1: 700, 2: 300, 3: 60, 4: 17}[rank]
    shape = [rng.choice((1, 2, 3, rng.randint(1, top), rng.randint(1, top))) for _ in range(rank)]
    sizes = None
    if rank == 2 and rng.random() < 0.4:
        left, sizes = shape[0], []
        while left > 0 and rng.random() < 0.9:
            sizes.append(rng.choice((0, rng.randint(0, left))))
            left -= sizes[-1]
        sizes = sizes or [0]
    kinds = ("normal", "subnormal", "tiny", "huge", "special", "zero", "tie", "tie4", "bits", "spread")
    dtype = rng.choice((torch.float32, torch.bfloat16))
    pairs = [rng.random() < 0.35 for _ in range(2)]
    pair_axes = [rng.randrange(rank) for _ in range(2)]
    for fp4, axis in zip(pairs, pair_axes):
        if fp4:
            shape[axis] += shape[axis] % 2
    kind = rng.choice(kinds)
    x = ref.adversarial(shape, kind, dtype, generator)
    layout = rng.choice(("dense", "transposed", "sliced", "broadcast"))
    held = place(shape, dtype, layout if layout != "broadcast" else "dense", float("nan"))
    held.copy_(x)
    if layout == "broadcast":
        axis = rng.randrange(rank)
        held = held.narrow(axis, 0, 1).expand(shape)
        x = held.contiguous()
    outputs = []
    for i in range(rng.choice((1, 2))):
        gran = [rng.choice((0, 1, 1, 2, 3, 32, 128)) for _ in shape]
        outputs.append(Output(x, gran, pairs[i], rng.choice((dg.F32, dg.F32, dg.E8M0, dg.I32)),
                              rng.random() < 0.3, rng.random() < 0.5, pair_axes[i], sizes,
                              rng.choice(("dense", "transposed", "sliced"))))
    note = (shape, kind, str(dtype), layout, [list(o.q.gran) for o in outputs], pairs, pair_axes, sizes,
            [(o.q.scale.dtype, o.q.k_axis, o.q.power_of_two) for o in outputs])
    run(lib, "random", held, outputs, sizes, note)


def main():
    lib = dg.load(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    all_values(lib)
    rng, generator = random.Random(3), torch.Generator().manual_seed(3)
    for _ in range(rounds):
        random_case(lib, rng, generator)
        if FAILED[0] > 10:
            break
    print("%d passed, %d failed" % (CHECKED[0] - FAILED[0], FAILED[0]))
    sys.exit(FAILED[0] != 0)


if __name__ == "__main__":
    main()
