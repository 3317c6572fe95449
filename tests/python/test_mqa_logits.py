# SPDX-License-Identifier: MIT
"""MQA logits against float64: ranges, pages, FP4, layouts of results, and how serving calls them."""
import deep_gemm
import numpy as np
import pytest
from conftest import FRAMEWORKS, TorchOnGpu
from deep_gemm.testing import calc_diff
from reference import round_to

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])


@pytest.fixture(params=[f for f in FRAMEWORKS if not isinstance(f, TorchOnGpu)],
                ids=lambda framework: framework.name)
def framework(request):
    """On the CPU; test_gpu_mqa_logits.py is about the GPU."""
    return request.param


class Rows:
    """[.., dim] FP8 values, or FP4 ones with four factors a row; `values`: what they are worth."""

    def __init__(self, rng, shape, fp4):
        self.fp4, dim = fp4, shape[-1]
        if fp4:
            self.nibbles = rng.integers(0, 16, shape).astype(np.uint8)
            self.exponents = rng.integers(122, 132, (*shape[:-1], 4)).astype(np.uint8)
            factors = (2.0**(self.exponents.astype(np.float64) - 127)).repeat(32, -1)
            self.values = E2M1[self.nibbles] * factors[..., :dim]
        else:
            self.values = round_to(rng.standard_normal(shape), "float8_e4m3fn")

    def bytes(self):
        if self.fp4:
            return self.nibbles[..., ::2] | self.nibbles[..., 1::2] << 4
        import ml_dtypes
        return self.values.astype(np.float32).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)

    def words(self):
        return self.exponents.view(np.int32)[..., 0]

    def pair(self, framework):
        if self.fp4:
            return (framework.make(self.bytes().view(np.int8), "int8"),
                    framework.make(self.words(), "int32"))
        return framework.make(self.values, "float8_e4m3fn"), None


def scores(q, kv, scale, weights):
    """[s, tokens] for q [s, h, dim], kv [tokens, dim] or [s, tokens, dim]."""
    dots = np.einsum("shd,td->sht" if kv.ndim == 2 else "shd,std->sht", q, kv)
    return scale * np.einsum("sht,sh->st", np.maximum(dots, 0), weights)


def compare(framework, logits, expected, inside, clean, bfloat16):
    """As upstream's tests do: the set of -inf is exact, and calc_diff of the rest is small."""
    actual = framework.to_float64(logits)
    assert actual.shape == expected.shape
    if clean:
        assert (np.isneginf(actual) == ~inside).all()
    actual, expected = np.where(inside, actual, 0), np.where(inside, expected, 0)
    assert np.isfinite(actual).all()
    if inside.any():
        assert calc_diff(actual, expected) < (3e-5 if bfloat16 else 5e-6)
        bound = (2.0**-8 if bfloat16 else 2.0**-20) * np.abs(expected).max()
        assert np.abs(actual - expected).max() <= bound


def causal(s, tokens):
    return np.zeros(s, np.int32), (tokens - s + 1 + np.arange(s)).clip(0).astype(np.int32)


def context_parallel(s, tokens):
    """One rank's share of a sequence: a chunk from the front and its mirror from the back."""
    half = np.arange(s // 2)
    ends = np.concatenate([half + 1 + tokens // 8, tokens - s // 2 + 1 + half])
    return np.zeros(s, np.int32), ends.astype(np.int32)


def windows(s, tokens):
    starts = (np.arange(s) * 7 % tokens).astype(np.int32)
    ends = starts + (np.arange(s) * 5 % 60).astype(np.int32)
    ends[::4] = starts[::4] - 3  # no token at all
    starts[1], ends[1] = -5, tokens + 9
    return starts, ends


@pytest.mark.parametrize("ranges", (causal, context_parallel, windows))
@pytest.mark.parametrize("compressed", (False, True))
@pytest.mark.parametrize("heads,dim,fp4", (
    (8, 128, False), (16, 64, False), (32, 32, False), (64, 128, False), (64, 128, True),
    (32, 64, True)))
def test_contiguous(framework, rng, ranges, compressed, heads, dim, fp4):
    s, tokens = 40, 193
    q, kv = Rows(rng, (s, heads, dim), fp4), Rows(rng, (tokens, dim), fp4)
    scale = round_to(rng.uniform(0.5, 2, tokens), "float32")
    weights = round_to(rng.standard_normal((s, heads)), "float32")
    starts, ends = ranges(s, tokens)
    keys = kv.pair(framework) if fp4 else (kv.pair(framework)[0], framework.make(scale, "float32"))
    expected = scores(q.values, kv.values, 1 if fp4 else scale, weights)
    column = np.arange(tokens)
    begin, end = starts.clip(0)[:, None], ends.clip(None, tokens)[:, None]
    inside, width = (column >= begin) & (column < end), 0
    if compressed:
        width = 100
        place = (begin + np.arange(width)).clip(None, tokens - 1)
        expected = np.take_along_axis(expected, place, 1)
        inside = begin + np.arange(width) < end
    for bfloat16 in (False, True):
        logits = deep_gemm.fp8_fp4_mqa_logits(
            q.pair(framework), keys, framework.make(weights, "float32"),
            framework.make(starts, "int32"), framework.make(ends, "int32"), True, width,
            framework.make([0], "bfloat16" if bfloat16 else "float32").dtype)
        compare(framework, logits, expected, inside, True, bfloat16)
        row, size = framework.strides(logits)[0], 2 if bfloat16 else 4
        assert row * size % 1024 == 0
        assert row >= (256 if compressed else tokens + 256)


def test_clean_is_optional_and_q_may_be_a_tensor(framework, rng):
    q, kv = Rows(rng, (5, 8, 64), False), Rows(rng, (30, 64), False)
    weights = round_to(rng.standard_normal((5, 8)), "float32")
    starts, ends = causal(5, 30)
    keys = kv.pair(framework)[0], framework.make(np.ones(30), "float32")
    arguments = (q.pair(framework)[0], keys, framework.make(weights, "float32"),
                 framework.make(starts, "int32"), framework.make(ends, "int32"))
    inside = np.arange(30) < ends[:, None]
    expected = scores(q.values, kv.values, 1, weights)
    compare(framework, deep_gemm.fp8_mqa_logits(*arguments), expected, inside, True, False)
    q, kv, w, starts, ends = arguments  # by the names of either reading of upstream's binding
    for name in ("q", "q_fp8"):
        named = deep_gemm.fp8_mqa_logits(**{name: q}, kv=kv, weights=w, cu_seq_len_k_start=starts,
                                         cu_seq_len_k_end=ends)
        compare(framework, named, expected, inside, True, False)
    dirty = deep_gemm.fp8_mqa_logits(*arguments, clean_logits=False)
    compare(framework, dirty, expected, inside, False, False)


def make_cache(rng, kv, scale, page, pages):
    """uint8 [pages, page, 1, bytes + 4] and the table [b, n] of kv's tokens [b, n * page]."""
    b, tokens = kv.values.shape[:2]
    codes, n = kv.bytes(), tokens // page
    words = kv.words() if kv.fp4 else scale.astype(np.float32).view(np.int32)
    table = rng.permutation(pages)[:b * n].reshape(b, n).astype(np.int32)
    cache = rng.integers(0, 256, (pages, page * (codes.shape[-1] + 4))).astype(np.uint8)
    for r in range(b):
        for p in range(n):
            line = slice(p * page, (p + 1) * page)
            cache[table[r, p]] = np.concatenate(
                [codes[r, line].reshape(-1), np.ascontiguousarray(words[r, line]).view(np.uint8)])
    return cache.reshape(pages, page, 1, -1), table


@pytest.mark.parametrize("next_n", range(1, 9))
@pytest.mark.parametrize("page,fp4", ((32, False), (64, False), (128, False), (64, True)))
def test_paged(framework, rng, next_n, page, fp4):
    b, heads, dim, columns = 3, 16, 64, 300
    tokens = -(-columns // page) * page
    q, kv = Rows(rng, (b, next_n, heads, dim), fp4), Rows(rng, (b, tokens, dim), fp4)
    scale = round_to(rng.uniform(0.5, 2, (b, tokens)), "float32")
    weights = round_to(rng.standard_normal((b * next_n, heads)), "float32")
    last = np.array([columns, 0, 77])
    lens = (last[:, None] - next_n + 1 + np.arange(next_n)).clip(0).astype(np.int32)
    cache, table = make_cache(rng, kv, scale, page, 3 * (tokens // page) + 2)
    table[1] = 10**9  # of a request without tokens: never looked at
    table[2, -(-77 // page):] = -1
    spread = [x.repeat(next_n, 0) for x in (kv.values, scale)]
    expected = scores(q.values.reshape(-1, heads, dim), spread[0], 1 if fp4 else spread[1], weights)
    inside = np.arange(columns) < lens.reshape(-1, 1)
    lens_tensor = framework.make(lens, "int32")
    meta = deep_gemm.get_paged_mqa_logits_metadata(lens_tensor, page, 132)
    assert tuple(meta.shape) == (133, 2) and framework.to_float64(meta)[-1].tolist() == [3, 0]
    arguments = (framework.make(cache, "uint8"), framework.make(weights, "float32"), lens_tensor,
                 framework.make(table, "int32"), meta, columns)
    for clean in (False, True):
        logits = deep_gemm.fp8_fp4_paged_mqa_logits(q.pair(framework), *arguments, clean)
        compare(framework, logits, expected[:, :columns], inside, clean, False)
    if not fp4:
        logits = deep_gemm.fp8_paged_mqa_logits(q.pair(framework)[0], *arguments, clean_logits=True)
        compare(framework, logits, expected[:, :columns], inside, True, False)


def test_strided_arguments_as_serving_makes_them(framework, rng):
    """Slices of larger tensors: q and weights of a batch padded for graphs, a table with room."""
    b, heads, dim, page, n = 4, 8, 32, 32, 3
    q, kv = Rows(rng, (b + 2, 1, heads, dim), False), Rows(rng, (b, page * n, dim), False)
    scale = round_to(rng.uniform(0.5, 2, (b, page * n)), "float32")
    weights = round_to(rng.standard_normal((b + 2, heads)), "float32")
    cache, table = make_cache(rng, kv, scale, page, b * n)
    wide = np.full((b, 2 * n), -1, np.int32)
    wide[:, :n] = table
    lens = np.array([96, 1, 50, 0], np.int32)
    apart = np.zeros((b * n, 2 * cache[0].size), np.uint8)  # layers of a model side by side
    apart[:, :cache[0].size] = cache.reshape(b * n, -1)
    views = framework.as_strided(framework.make(apart, "uint8"), cache.shape,
                                 (apart.shape[1], dim + 4, dim + 4, 1))
    logits = deep_gemm.fp8_paged_mqa_logits(
        q.pair(framework)[0][:b], views, framework.make(weights, "float32")[:b],
        framework.make(np.stack([lens, lens], 1), "int32")[:, :1],
        framework.make(wide, "int32")[:, :n + 1], None, 96, True)
    expected = scores(q.values[:b, 0], kv.values, scale, weights[:b])
    compare(framework, logits, expected, np.arange(96) < lens[:, None], True, False)


def test_lengths_of_zero_and_batches_of_none(framework, rng):
    q = framework.make(np.zeros((3, 2, 8, 64)), "float8_e4m3fn")
    cache = framework.make(np.full((4, 64, 1, 68), 0x7F), "uint8")
    weights = framework.make(np.full((6, 8), np.nan), "float32")
    lens = framework.make(np.zeros((3, 2)), "int32")
    table = framework.make(np.full((3, 2), -9), "int32")
    meta = deep_gemm.get_paged_mqa_logits_metadata(lens, 64, 7)
    assert (framework.to_float64(meta) == [3, 0]).all()
    logits = deep_gemm.fp8_paged_mqa_logits(q, cache, weights, lens, table, meta, 128, True)
    assert np.isneginf(framework.to_float64(logits)).all() and tuple(logits.shape) == (6, 128)
    none = deep_gemm.fp8_paged_mqa_logits(q[:0], cache, weights[:0], lens[:0], table[:0], meta, 128)
    assert tuple(none.shape) == (0, 128)
    empty = deep_gemm.fp8_mqa_logits(q[:, 0], (q[:0, 0, 0], weights[:0, 0]), weights[:3],
                                     lens[:, 0], lens[:, 1])
    assert tuple(empty.shape) == (3, 0)


def test_indices(framework, rng):
    heads, dim, page = 8, 64, 64
    ids = np.array([4, 4, 4, 1, 9, 9], np.int32)
    first = np.array([0, 0, 0, 3, 4, 4])
    lens = np.array([[60], [61], [62], [100], [5], [6]], np.int32)
    q, kv = Rows(rng, (6, 1, heads, dim), False), Rows(rng, (6, 128, dim), False)
    weights = round_to(rng.standard_normal((6, heads)), "float32")
    cache, table = make_cache(rng, kv, np.ones((6, 128)), page, 12)
    logits = deep_gemm.fp8_paged_mqa_logits(
        q.pair(framework)[0], framework.make(cache, "uint8"), framework.make(weights, "float32"),
        framework.make(lens, "int32"), framework.make(table, "int32"), None, 128, True,
        framework.make(ids, "int32"))
    expected = scores(q.values[:, 0], kv.values[first], 1, weights)
    compare(framework, logits, expected, np.arange(128) < lens, True, False)


def test_refusals_name_the_argument(framework):
    q = framework.make(np.zeros((3, 8, 64)), "float8_e4m3fn")
    kv = framework.make(np.zeros((9, 64)), "float8_e4m3fn")
    scale = framework.make(np.ones(9), "float32")
    weights, one = framework.make(np.zeros((3, 8)), "float32"), framework.make([1, 1, 1], "int32")
    good = dict(q=(q, None), kv=(kv, scale), weights=weights, cu_seq_len_k_start=one,
                cu_seq_len_k_end=one)
    deep_gemm.fp8_fp4_mqa_logits(**good)
    for name, value, error in (
            ("q", (q, one), "q_scale"), ("kv", (kv[:, :32], scale), "kv"),
            ("kv", (kv, one), "kv_scale"),
            ("weights", weights[:2], "weights"), ("weights", None, "weights"),
            ("cu_seq_len_k_end", one[:1], "ends"), ("cu_seq_len_k_start", scale[:3], "starts"),
            ("logits_dtype", "int32", "logits_dtype"), ("kv", (kv, scale, one), "kv")):
        with pytest.raises((ValueError, TypeError, RuntimeError), match=error):
            deep_gemm.fp8_fp4_mqa_logits(**{**good, name: value})
    with pytest.raises(ValueError, match="num_sms"):
        deep_gemm.get_paged_mqa_logits_metadata(one, 64, 0)


def test_in_a_graph(rng):
    torch = pytest.importorskip("torch")
    from conftest import Torch
    framework = Torch()
    q, kv = Rows(rng, (4, 8, 64), False), Rows(rng, (64, 64), False)
    keys = (kv.pair(framework)[0], torch.ones(64))
    cache, table = make_cache(rng, Rows(rng, (4, 64, 64), False), np.ones((4, 64)), 64, 4)
    lens, weights = torch.tensor([[3], [64], [0], [9]], dtype=torch.int32), torch.randn(4, 8)

    def step(q, k, scale, weights, cache, table, lens):
        plain = deep_gemm.fp8_mqa_logits(q, (k, scale), weights, 0 * lens[:, 0], lens[:, 0])
        small = deep_gemm.fp8_fp4_mqa_logits(
            (q, None), (k, scale), weights, 0 * lens[:, 0], lens[:, 0], True, 32, torch.bfloat16)
        meta = deep_gemm.get_paged_mqa_logits_metadata(lens, 64, 8)
        paged = deep_gemm.fp8_paged_mqa_logits(
            q[:, None], cache, weights, lens, table, meta, 64, clean_logits=True)
        return plain, small, meta, paged

    pages = torch.tensor(cache), torch.tensor(table)
    arguments = q.pair(framework)[0], *keys, weights, *pages, lens
    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for actual, expected in zip(compiled(*arguments), step(*arguments)):
        assert actual.stride() == expected.stride() and torch.equal(actual, expected)
    for name, pieces in (
            ("fp8_fp4_mqa_logits",
             (arguments[0], None, *keys, weights, 0 * lens[:, 0], lens[:, 0], True)),
            ("fp8_mqa_logits", (arguments[0], *keys, weights, 0 * lens[:, 0], lens[:, 0], True)),
            ("fp8_paged_mqa_logits",
             (arguments[0][:, None], pages[0], weights, lens, pages[1], None, 64, True)),
            ("get_paged_mqa_logits_metadata", (lens, 64, 8))):
        torch.library.opcheck(getattr(torch.ops.deep_gemm, name).default, pieces,
                              test_utils=["test_faketensor", "test_aot_dispatch_static"])
