# SPDX-License-Identifier: MIT
"""einsum, fp8_einsum, the product with gaps in its heads and the hyper-connection product against
float64: every expression, type and layout of factors, strided tensors, empty ones, refusals."""
import deep_gemm
import numpy as np
import pytest
from reference import Operand, check, product, round_to

EXPRESSIONS = ("bhr,hdr->bhd", "bhd,hdr->bhr", "bhd,bhr->hdr")


def calc_diff(x, y):
    """How DeepGEMM's own tests compare: 0 for equal tensors."""
    bottom = (x * x + y * y).sum()
    return 0 if bottom == 0 else 1 - 2 * (x * y).sum() / bottom


def judge(framework, expr, d, a, b, dtype, bound, start=0):
    """d against start + the contraction of float64 a and b, element by element and as a whole."""
    expected = np.einsum(expr, a, b, optimize=True) + start
    magnitude = np.einsum(expr, np.abs(a), np.abs(b), optimize=True) + np.abs(start)
    check(framework, d, expected, magnitude, dtype)
    assert calc_diff(framework.to_float64(d), expected) < bound


class Heads:
    """A random operand of an expression: values with h wherever it stands, and its factors."""

    def __init__(self, rng, letters, extents, summed, gran_mn=1, gran_k=128, scale="float32",
                 dtype="float8_e4m3fn"):
        mn, = set(letters) - {"h", summed}
        order = "h" + mn + summed
        self.inner = Operand(rng, [extents[x] for x in order], dtype, scale, gran_mn, gran_k)
        self.axes = [order.index(x) for x in letters]  # from [h, mn, k] to the letters' order
        self.dtype = dtype
        self.values = self.inner.values.transpose(self.axes)

    def data(self, framework):
        codes = np.ascontiguousarray(self.inner.codes.transpose(self.axes))
        return framework.make(codes, self.dtype)

    def pair(self, framework):
        sf = self.inner.sf(framework)  # [h, mn blocks, k blocks or words]
        if sf is not None:
            sf = sf.transpose(self.axes) if isinstance(sf, np.ndarray) else sf.permute(*self.axes)
        return self.data(framework), sf


def summed_letter(expr):
    inputs, result = expr.split("->")
    return next(x for x in inputs if x not in result and x != ",")


def shape_of(letters, extents):
    return tuple(extents[x] for x in letters)


def operands(rng, expr, extents, **keywords):
    (la, lb), k = expr.split("->")[0].split(","), summed_letter(expr)
    return Heads(rng, la, extents, k, **keywords), Heads(rng, lb, extents, k, **keywords)


@pytest.mark.parametrize("output", ("bfloat16", "float32"))
@pytest.mark.parametrize("expr", EXPRESSIONS)
def test_bf16_heads(framework, rng, expr, output):
    extents = {"b": 37, "h": 5, "d": 40, "r": 72}
    a, b = operands(rng, expr, extents, scale=None, dtype="bfloat16")
    d = framework.poisoned(shape_of(expr.split("->")[1], extents), output)
    assert deep_gemm.einsum(expr, a.data(framework), b.data(framework), d) is None
    judge(framework, expr, d, a.values, b.values, output, 1e-5 if output == "bfloat16" else 1e-10)


@pytest.mark.parametrize("expr", EXPRESSIONS[:2])
@pytest.mark.parametrize("use_cublaslt", (False, True))
def test_weights_cut_out_of_a_wider_tensor(framework, rng, expr, use_cublaslt):
    h, r, d, b = 3, 64, 40, 20
    extents = {"b": b, "h": h, "d": d, "r": r}
    wide = round_to(rng.standard_normal((h, d, r + 128)), "bfloat16")
    wide[..., r:] = np.nan
    a, _ = operands(rng, expr, extents, scale=None, dtype="bfloat16")
    weights = framework.make(wide, "bfloat16")[:, :, :r]
    out = framework.poisoned((b, h, 300), "bfloat16")
    columns = d if expr.endswith("d") else r
    part = out[:, :, 7:7 + columns]
    deep_gemm.einsum(expr, a.data(framework), weights, part, use_cublaslt=use_cublaslt)
    judge(framework, expr, part, a.values, wide[..., :r], "bfloat16", 1e-5)
    outside = framework.to_float64(out)
    assert np.isnan(outside[..., :7]).all() and np.isnan(outside[..., 7 + columns:]).all()


@pytest.mark.parametrize("aliased", (True, False))
@pytest.mark.parametrize("output", ("bfloat16", "float32"))
@pytest.mark.parametrize("s,m,n,k", ((9, 128, 384, 128), (33, 70, 50, 24), (1, 3, 5, 7)))
def test_sum_of_products(framework, rng, s, m, n, k, output, aliased):
    expr = "bmk,bnk->mn"
    a, b = (round_to(rng.standard_normal((s, mn, k)), "bfloat16") for mn in (m, n))
    ta, tb = framework.make(a, "bfloat16"), framework.make(b, "bfloat16")
    plain = framework.poisoned((m, n), output)
    deep_gemm.einsum(expr, ta, tb, plain)
    judge(framework, expr, plain, a, b, output, 1e-5)
    start = round_to(rng.standard_normal((m, n)) * 8, output)
    c = framework.make(start, output)
    d = c if aliased else framework.poisoned((m, n), output)
    deep_gemm.einsum(expr, ta, tb, d, c=c)
    judge(framework, expr, d, a, b, output, 1e-5, start)
    again = framework.poisoned((m, n), output)
    deep_gemm.einsum(expr, ta, tb, again)
    assert (framework.to_float64(again) == framework.to_float64(plain)).all()  # deterministic


@pytest.mark.parametrize("scale", ("float32", "packed", None))
@pytest.mark.parametrize("recipe", ((1, 128, 128), (1, 1, 128), (1, 1, 32)), ids=str)
@pytest.mark.parametrize("expr", EXPRESSIONS)
def test_fp8_heads(framework, rng, expr, recipe, scale):
    extents = {"b": 150, "h": 2, "d": 140, "r": 260}
    (la, lb), k = expr.split("->")[0].split(","), summed_letter(expr)
    a = Heads(rng, la, extents, k, recipe[0], recipe[2], scale)
    b = Heads(rng, lb, extents, k, recipe[1], recipe[2], scale)
    d = framework.poisoned(shape_of(expr.split("->")[1], extents), "bfloat16")
    deep_gemm.fp8_einsum(expr, a.pair(framework), b.pair(framework), d, recipe=recipe)
    judge(framework, expr, d, a.values, b.values, "bfloat16", 1e-3)


def test_fp8_weight_gradient_accumulates(framework, rng):
    expr, extents = "bhd,bhr->hdr", {"b": 200, "h": 2, "d": 24, "r": 40}
    a, b = operands(rng, expr, extents)
    start = round_to(rng.standard_normal((2, 24, 40)) * 100, "float32")
    d = framework.make(start, "float32")
    deep_gemm.fp8_einsum(expr, a.pair(framework), list(b.pair(framework)), d, d, (1, 1, 128))
    judge(framework, expr, d, a.values, b.values, "float32", 1e-3, start)


def test_default_recipe_is_that_of_forward_passes(framework, rng):
    expr, extents = "bhr,hdr->bhd", {"b": 4, "h": 2, "d": 200, "r": 256}
    a, b = Heads(rng, "bhr", extents, "r"), Heads(rng, "hdr", extents, "r", gran_mn=128)
    d = framework.poisoned((4, 2, 200), "bfloat16")
    deep_gemm.fp8_einsum(expr, a.pair(framework), b.pair(framework), d)
    judge(framework, expr, d, a.values, b.values, "bfloat16", 1e-3)


@pytest.mark.parametrize("empty", "bhdr")
@pytest.mark.parametrize("expr", EXPRESSIONS)
def test_empty_extents(framework, rng, expr, empty):
    extents = {"b": 3, "h": 2, "d": 8, "r": 16, empty: 0}
    (la, lb), ld = expr.split("->")[0].split(","), expr.split("->")[1]
    a, b = (framework.poisoned(shape_of(x, extents), "bfloat16") for x in (la, lb))
    d = framework.poisoned(shape_of(ld, extents), "float32")
    deep_gemm.einsum(expr, a, b, d)
    assert (framework.to_float64(d) == 0).all()  # nothing summed, or nothing there
    start = round_to(rng.standard_normal(shape_of(ld, extents)), "float32")
    deep_gemm.einsum(expr, a, b, d, framework.make(start, "float32"))
    assert (framework.to_float64(d) == start).all()


def test_refused_calls(framework):
    x = framework.poisoned((4, 2, 16), "bfloat16")
    w = framework.poisoned((2, 8, 16), "bfloat16")
    d = framework.poisoned((4, 2, 8), "bfloat16")
    with pytest.raises(deep_gemm.ArgumentError, match="ij,jk->ik"):
        deep_gemm.einsum("ij,jk->ik", x, w, d)
    with pytest.raises(deep_gemm.ArgumentError, match="its axes are hdr"):
        deep_gemm.einsum("bhr,hdr->bhd", x, w[:, :, :8], d)
    with pytest.raises(TypeError, match="pair"):
        deep_gemm.fp8_einsum("bhr,hdr->bhd", x, w, d)
    with pytest.raises(TypeError, match="expected bf16"):
        codes = framework.make(np.zeros((4, 2, 16)), "float8_e4m3fn")
        deep_gemm.fp8_einsum("bmk,bnk->mn", (codes, None), (codes, None), d[:, 0])
    with pytest.raises(ValueError, match="multiple of left"):
        deep_gemm.fp8_gemm_nt_skip_head_mid((x[:, 0], None), (w[0], None), d[:, 0], (3, 1, 2))
    with pytest.raises(ValueError, match="num_splits = 3"):
        y = framework.poisoned((4, 8), "float32")
        deep_gemm.tf32_hc_prenorm_gemm(x[:, 0], y, y, y[:, 0], num_splits=3)


@pytest.mark.parametrize("splits", ((128, 64, 128), (100, 7, 61), (0, 3, 24), (24, 0, 1)), ids=str)
@pytest.mark.parametrize("recipe,output", (((1, 128, 128), "bfloat16"), ((1, 1, 128), "float32"),
                                           (None, "bfloat16")))
def test_gaps_in_heads(framework, rng, splits, recipe, output):
    left, mid, right = splits
    heads, m, k = 3, 17, 320
    n = heads * (left + right)
    a, b = Operand(rng, (m, k)), Operand(rng, (n, k), gran_mn=(recipe or (1, 128))[1])
    d = framework.poisoned((m, n + heads * mid), output)
    deep_gemm.fp8_gemm_nt_skip_head_mid(a.pair(framework), b.pair(framework), d, splits, recipe)
    columns = np.arange(n)
    columns += (columns + right) // (left + right) * mid
    expected, magnitude = product(a.values, b.values)
    check(framework, d[:, columns], expected, magnitude, output)
    gaps = np.setdiff1d(np.arange(n + heads * mid), columns)
    assert np.isnan(framework.to_float64(d)[:, gaps]).all()


def tf32(values):
    bits = np.asarray(values, np.float32).view(np.uint32) & 0xFFFFE000
    return bits.view(np.float32).astype(float)


@pytest.mark.parametrize("splits", (None, 1, 5, 16))
@pytest.mark.parametrize("m,n,k", ((13, 24, 1280), (137, 24, 512), (3, 8, 64), (70, 32, 200)))
def test_hyper_connection(framework, rng, m, n, k, splits):
    a = round_to(rng.standard_normal((m, k)), "bfloat16")
    b = round_to(rng.standard_normal((n, k)), "float32")
    front = () if splits is None else (splits,)
    d, sums = (framework.poisoned((*front, *s), "float32") for s in ((m, n), (m,)))
    deep_gemm.tf32_hc_prenorm_gemm(
        framework.make(a, "bfloat16"), framework.make(b, "float32"), d, sums, num_splits=splits)
    product_of_all, sums = framework.to_float64(d), framework.to_float64(sums)
    if splits is not None:
        product_of_all, sums = product_of_all.sum(0), sums.sum(0)
    assert calc_diff(product_of_all, a @ tf32(b).T) < 1e-8
    assert calc_diff(sums, (a * a).sum(1)) < 1e-8


class TestAsUpstreamCalls:
    """The calls of DeepGEMM's own tests, operands made by its casts, on torch."""

    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    def test_forward_product_of_heads(self, torch):
        b, h, r, d = 4, 2, 256, 384
        x, w = torch.randn(b, h, r).bfloat16(), torch.randn(h, d, r).bfloat16()
        values, factors = deep_gemm.per_token_cast_to_fp8(x.view(-1, r), use_ue8m0=True)
        a = values.view(b, h, r), factors.view(b, h, r // 128)
        blocks = [deep_gemm.per_block_cast_to_fp8(one, use_ue8m0=True) for one in w]
        weights = torch.stack([v for v, _ in blocks]), torch.stack([sf for _, sf in blocks])
        z = torch.empty(b, h, d, dtype=torch.bfloat16)
        deep_gemm.fp8_einsum("bhr,hdr->bhd", a, weights, z)
        reference = torch.einsum("bhr,hdr->bhd", x.double(), w.double())
        assert calc_diff(z.double(), reference) < 1e-3

    def test_weight_gradient_of_heads(self, torch):
        b, h, r, d = 256, 2, 128, 192
        dy, x = torch.randn(b, h, d).bfloat16(), torch.randn(b, h, r).bfloat16()
        pairs = []
        for tensor in (dy, x):
            values, factors = deep_gemm.per_channel_cast_to_fp8(tensor.view(b, -1), use_ue8m0=True)
            pairs.append((values.view(tensor.shape), factors.view(-1, *tensor.shape[1:])))
        start = torch.randn(h, d, r)
        grad = start.clone()
        deep_gemm.fp8_einsum("bhd,bhr->hdr", *pairs, grad, c=grad, recipe=(1, 1, 128))
        reference = start.double() + torch.einsum("bhd,bhr->hdr", dy.double(), x.double())
        assert calc_diff(grad.double(), reference) < 1e-3

    def test_gaps_in_heads(self, torch):
        left, mid, right = splits = 128, 64, 128
        m, n, k = 8, 512, 256
        x, w = torch.randn(m, k).bfloat16(), torch.randn(n, k).bfloat16()
        a = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=True)
        b = deep_gemm.per_block_cast_to_fp8(w, use_ue8m0=True)
        d = torch.zeros(m, n // (left + right) * sum(splits), dtype=torch.bfloat16)
        deep_gemm.fp8_gemm_nt_skip_head_mid(a, b, d, splits, disable_ue8m0_cast=True)
        heads = (x.double() @ w.double().T).view(m, -1, left + right)
        gap = torch.zeros(m, heads.shape[1], mid, dtype=torch.double)
        reference = torch.cat([heads[..., :left], gap, heads[..., left:]], dim=-1).view(m, -1)
        assert calc_diff(d.double(), reference) < 1e-3
