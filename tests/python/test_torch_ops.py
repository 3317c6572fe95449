# SPDX-License-Identifier: MIT
"""torch.compile and torch.export: functions trace whole, and graphs compute what eager calls do."""
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import deep_gemm  # noqa: E402
from reference import Operand  # noqa: E402
from conftest import Torch  # noqa: E402
from test_k_grouped import Tokens  # noqa: E402

TORCH = Torch()


def dense(name, form):
    def make(rng):
        ta, tb = form[0] == "t", form[1] == "n"
        if not name.startswith("fp8"):
            a, b = (Operand(rng, (mn, 64), "bfloat16", None) for mn in (8, 24))
            return (a.data(TORCH, ta), b.data(TORCH, tb), torch.zeros(8, 24)), {}
        a, b = Operand(rng, (8, 256)), Operand(rng, (24, 256), gran_mn=128)
        return (a.pair(TORCH, ta), b.pair(TORCH, tb), torch.zeros(8, 24)), {"recipe": (1, 128, 128)}
    return f"{name}_{form}", make


def grouped(name, form):
    def make(rng):
        index = torch.tensor([2, 0, -1, 1], dtype=torch.int32)
        fp8 = "fp8" in name
        a = Operand(rng, (4, 128), "float8_e4m3fn" if fp8 else "bfloat16",
                    "float32" if fp8 else None)
        b = Operand(rng, (3, 16, 128), a.dtype, a.scale, 128)
        operands = [x.pair(TORCH, t) for x, t in ((a, False), (b, form == "nn"))]
        operands = operands if fp8 else [data for data, _ in operands]
        return (*operands, torch.zeros(4, 16, dtype=torch.bfloat16), index), {}
    return f"{name}_{form}_contiguous", make


def masked(name):
    def make(rng):
        fp8 = "fp8" in name
        a = Operand(rng, (2, 4, 128), "float8_e4m3fn" if fp8 else "bfloat16",
                    "float32" if fp8 else None)
        b = Operand(rng, (2, 16, 128), a.dtype, a.scale, 128)
        operands = [x.pair(TORCH) if fp8 else x.data(TORCH) for x in (a, b)]
        return (*operands, torch.zeros(2, 4, 16, dtype=torch.bfloat16),
                torch.tensor([4, 3], dtype=torch.int32), 4), {}
    return name, make


def k_grouped(name, form):
    def make(rng):
        ks, dtype = [40, 24], "bfloat16" if "bf16" in name else "float8_e4m3fn"
        a, b = (Tokens(rng, ks, mn, "float32", dtype=dtype) for mn in (8, 16))
        pairs = [(x.data(TORCH, form), None if "bf16" in name else x.sf(TORCH, "nt" in name))
                 for x in (a, b)]
        return (*pairs, torch.zeros(2, 8, 16), ks, torch.tensor(ks, dtype=torch.int32)), {}
    return name, make


PRODUCTS = dict([
    *(dense(name, form) for name in ("fp8_gemm", "bf16_gemm", "cublaslt_gemm")
      for form in ("nt", "nn", "tn", "tt")),
    *(grouped(name, form) for name in ("m_grouped_fp8_gemm", "m_grouped_bf16_gemm")
      for form in ("nt", "nn")),
    masked("fp8_m_grouped_gemm_nt_masked"), masked("m_grouped_bf16_gemm_nt_masked"),
    k_grouped("k_grouped_fp8_gemm_nt_contiguous", "flat"),
    k_grouped("k_grouped_fp8_gemm_tn_contiguous", "tokens_first"),
    k_grouped("k_grouped_bf16_gemm_tn_contiguous", "tokens_first"),
])


def operator_arguments(name, arguments):
    a, b, *rest = arguments
    if name == "k_grouped_bf16_gemm_tn_contiguous":
        return a[0], b[0], *rest
    return (*a, *b, *rest) if isinstance(a, tuple) else arguments


@pytest.mark.parametrize("name", PRODUCTS)
def test_compiled_product_equals_eager(rng, name):
    arguments, keywords = PRODUCTS[name](rng)
    function = getattr(deep_gemm, name)

    def step(a, b, d, *rest):
        d = d + 1  # d is a value of the graph: the operator must be seen to change it
        before = d * 2
        function(a, b, d, *rest, **keywords)
        return d * 3, before

    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for actual, expected in zip(compiled(*arguments), step(*arguments)):
        assert torch.equal(actual, expected)
    assert (arguments[2] == 0).all()


@pytest.mark.parametrize("name", PRODUCTS)
def test_operator_passes_torchs_own_checks(rng, name):
    arguments, keywords = PRODUCTS[name](rng)
    operator = getattr(torch.ops.deep_gemm, name).default
    arguments = operator_arguments(name, arguments)
    checks = ["test_faketensor", "test_aot_dispatch_static"]
    if "fp8" not in name:  # the check multiplies inputs, which torch cannot do in FP8
        checks.append("test_schema")
    torch.library.opcheck(operator, arguments, keywords, test_utils=checks)


@pytest.mark.parametrize("name", [name for name in PRODUCTS if name.startswith("k_grouped")])
@pytest.mark.parametrize("accumulate", (True, False))
def test_list_of_outputs_in_a_graph(rng, name, accumulate):
    (a, b, _, ks, sizes), _ = PRODUCTS[name](rng)
    starts = [torch.randn(8, 16) for _ in ks]

    def step(a, b, *d):
        d = [x + 1 for x in d]
        before = [x * 2 for x in d]
        getattr(deep_gemm, name)(a, b, d, ks, sizes, d if accumulate else None)
        return [x * 3 for x in d] + before

    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for actual, expected in zip(compiled(a, b, *starts), step(a, b, *starts)):
        assert torch.equal(actual, expected)
    operator = getattr(torch.ops.deep_gemm, name).list
    keywords = {"c": [x.clone() for x in starts]} if accumulate else {}
    torch.library.opcheck(operator, operator_arguments(name, (a, b, starts, ks, sizes)), keywords,
                          test_utils=["test_faketensor", "test_aot_dispatch_static"])


def gathered(name):
    """Arguments of a function of deep_gemm.legacy; the tuple it takes is one of them."""
    i32 = torch.int32
    x, rows = torch.randn(70, 24).bfloat16(), torch.randint(-1, 70, (256,), dtype=i32)
    groups = torch.tensor([1, 0], dtype=i32).repeat_interleave(128)
    if "k_grouped" in name:
        other = torch.randn(256, 16).bfloat16()
        handle = rows, torch.tensor([0, 128], dtype=i32), torch.tensor([100, 256], dtype=i32)
        operands = (x, other) if name.startswith("a") else (other, x)
        return *operands, torch.zeros(2, operands[0].shape[1], operands[1].shape[1]), handle, True
    b = torch.randn(2, 24, 24).bfloat16()
    d = torch.zeros(256, 24, dtype=torch.bfloat16)
    if name.startswith("a_fused"):
        return x, b, d, (groups, rows)
    return torch.randn(256, 24).bfloat16(), b, d, groups


@pytest.mark.parametrize("name", deep_gemm.legacy.__all__)
def test_legacy_in_a_graph(name):
    torch.manual_seed(0)
    arguments = gathered(name)
    function = getattr(deep_gemm.legacy, name)

    def step(a, b, d, *rest):
        d = d + 1
        before = d * 2
        function(a, b, d, *rest)
        return d * 3, before

    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for actual, expected in zip(compiled(*arguments), step(*arguments)):
        assert torch.equal(actual, expected)
    assert (arguments[2] == 0).all()
    pieces = [y for x in arguments for y in (x if isinstance(x, tuple) else (x,))]
    torch.library.opcheck(getattr(torch.ops.deep_gemm, name).default, pieces, test_utils=[
        "test_schema", "test_faketensor", "test_aot_dispatch_static"])


OLD_NAMES = {
    "gemm_fp8_fp8_bf16_nt": lambda rng: dense("fp8_gemm", "nt")[1](rng)[0],
    "m_grouped_gemm_fp8_fp8_bf16_nt_contiguous":
        lambda rng: grouped("m_grouped_fp8_gemm", "nt")[1](rng)[0],
    "m_grouped_gemm_fp8_fp8_bf16_nt_masked":
        lambda rng: masked("m_grouped_fp8_gemm_nt_masked")[1](rng)[0],
    "k_grouped_wgrad_gemm_fp8_fp8_fp32_nt":
        lambda rng: k_grouped("k_grouped_fp8_gemm_tn_contiguous", "flat")[1](rng)[0][:4],
    "wgrad_gemm_fp8_fp8_fp32_nt": lambda rng: (
        Operand(rng, (8, 300)).pair(TORCH), Operand(rng, (16, 300)).pair(TORCH),
        torch.randn(8, 16)),
}


@pytest.mark.parametrize("name", OLD_NAMES)
def test_old_names_in_a_graph(rng, name):
    arguments = OLD_NAMES[name](rng)

    def step(a, b, d, *rest):
        d = d + 1
        getattr(deep_gemm, name)(a, b, d, *rest)
        return d * 3

    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(*arguments), step(*arguments))


def test_every_product_is_an_operator():
    """Whatever writes an output: a name without an operator could not be traced."""
    names = [name for module in (deep_gemm.gemm, deep_gemm.grouped, deep_gemm.k_grouped,
                                 deep_gemm.contractions, deep_gemm.hyper_connection,
                                 deep_gemm.legacy) for name in module.__all__]
    assert len(names) > 30
    for name in names:
        schema = str(getattr(torch.ops.deep_gemm, name).default._schema)
        assert "(d!) d" in schema or "(a2!)" in schema or "!" in schema, schema


@pytest.mark.parametrize("aliased", (True, False))
def test_accumulator_in_a_graph(rng, aliased):
    a, b = Operand(rng, (8, 128)).pair(TORCH), Operand(rng, (16, 128), gran_mn=128).pair(TORCH)

    def step(d):
        c = d if aliased else d.clone()
        deep_gemm.fp8_gemm_nt(a, b, d, c)
        return d

    torch._dynamo.reset()
    start = torch.randn(8, 16)
    actual = start.clone()
    torch.compile(step, fullgraph=True, backend="aot_eager")(actual)
    assert torch.equal(actual, step(start.clone()))


def test_casts_and_layouts_trace(rng):
    def step(x):
        q, sf = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=True)
        w, sw = deep_gemm.per_block_cast_to_fp8(x, True)
        channels = deep_gemm.per_channel_cast_to_fp8(x, False)
        packed = deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf)
        ready = deep_gemm.get_mn_major_tma_aligned_tensor(sf)
        same = deep_gemm.transform_sf_into_required_layout(ready, 128, 256, (1, 128))
        fp4, s4 = deep_gemm.per_token_cast_to_fp4(x, True, 32)
        back = deep_gemm.cast_back_from_fp4(fp4, s4, 32)
        d = torch.empty(128, 128)
        deep_gemm.fp8_gemm_nt((q, ready), (w, sw), d)
        words = deep_gemm.pack_ue8m0_to_int(sf.repeat(1, 2))
        return d, packed, ready, same, back, *channels, deep_gemm.unpack_ue8m0_from_int(words)

    x = torch.randn(128, 256, generator=torch.Generator().manual_seed(1))
    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for actual, expected in zip(compiled(x), step(x)):
        assert actual.stride() == expected.stride()
        assert torch.equal(actual.view(torch.uint8), expected.view(torch.uint8)) \
            if actual.stride(-1) == 1 else torch.equal(actual, expected)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        weight, scale = deep_gemm.per_block_cast_to_fp8(torch.randn(64, 256), False)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)

    def forward(self, x):
        y = torch.empty(x.shape[0], 64, dtype=torch.bfloat16)
        operand = deep_gemm.per_token_cast_to_fp8(x, False)
        deep_gemm.fp8_gemm_nt(operand, (self.weight, self.scale), y)
        return y


@pytest.mark.parametrize("strict", (True, False))
def test_export(strict):
    layer, x = Layer(), torch.randn(16, 256)
    program = torch.export.export(layer, (x,), strict=strict,
                                  dynamic_shapes={"x": {0: torch.export.Dim("tokens", min=2)}})
    targets = [str(node.target) for node in program.graph.nodes]
    assert any("deep_gemm.fp8_fp4_gemm_nt" in target for target in targets)
    for tokens in (16, 5):
        x = torch.randn(tokens, 256)
        assert torch.equal(program.module()(x), layer(x))


def test_fake_tensors_outside_of_a_compiler():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        x = torch.empty(16, 256)
        q, sf = deep_gemm.per_token_cast_to_fp8(x, False)
        assert tuple(sf.shape) == (16, 2)
        d = torch.empty(16, 16)
        deep_gemm.fp8_gemm_nt((q, sf), (q, sf), d, recipe=(1, 1, 128))
        deep_gemm.k_grouped_fp8_gemm_tn_contiguous((q, None), (q, None), torch.empty(1, 256, 256),
                                                   [16], None)


def test_subclasses_and_parameters_are_tensors():
    class Named(torch.Tensor):
        pass

    w = torch.nn.Parameter(torch.randn(8, 64).bfloat16())
    d = torch.empty(8, 8)
    deep_gemm.bf16_gemm_nt(w.detach().as_subclass(Named), w, d)
    assert torch.allclose(d, (w.float() @ w.float().T).detach(), rtol=1e-5, atol=1e-5)


def test_compiled_function_serves_any_number_of_rows():
    layer = Layer()
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager", dynamic=True)
    for rows in (3, 17, 64):
        x = torch.randn(rows, 256)
        assert torch.equal(compiled(x), layer(x))


def test_registration_is_quick():
    code = "import time, torch; t = time.process_time(); import deep_gemm; " \
           "print(time.process_time() - t)"
    seconds = min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                       check=True).stdout) for _ in range(3))
    assert seconds < 0.1


def others(rng):
    """Arguments of the operators that do not begin with operands, in pieces, and of the functions."""
    q, w = Operand(rng, (8, 2, 128)), Operand(rng, (2, 24, 128), gran_mn=128)
    pairs = q.pair(TORCH), w.pair(TORCH)
    expr = "bhr,hdr->bhd"
    x, y = torch.randn(8, 2, 16).bfloat16(), torch.randn(2, 24, 16).bfloat16()
    d = torch.zeros(8, 2, 24)
    return {
        "einsum": ((expr, x, y, d), (expr, x, y, d), 3),
        "fp8_einsum": ((expr, *pairs, d), (expr, *pairs[0], *pairs[1], d), 3),
        "fp8_gemm_nt_skip_head_mid": (
            (Operand(rng, (4, 128)).pair(TORCH), Operand(rng, (24, 128), gran_mn=128).pair(TORCH),
             torch.zeros(4, 32), (8, 4, 4)), None, 2),
        "tf32_hc_prenorm_gemm": ((x[:, 0], torch.randn(4, 16), d[:, 0, :4], torch.zeros(8)),
                                 (x[:, 0], torch.randn(4, 16), d[:, 0, :4].clone(),
                                  torch.zeros(8)), 2),
    }


@pytest.mark.parametrize(
    "name", ("einsum", "fp8_einsum", "fp8_gemm_nt_skip_head_mid", "tf32_hc_prenorm_gemm"))
def test_other_products_in_a_graph(rng, name):
    arguments, pieces, place = others(rng)[name]
    arguments = list(arguments)
    start = arguments[place]

    def step(start, *given):
        given = [*given[:place], start + 1, *given[place + 1:]]
        before = given[place] * 2
        getattr(deep_gemm, name)(*given)
        return given[place] * 3, before

    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for actual, expected in zip(compiled(start, *arguments), step(start, *arguments)):
        assert torch.equal(actual, expected)
    assert (start == 0).all()
    if pieces is None:
        a, b, *rest = arguments
        pieces = (*a, *b, *rest)
    checks = ["test_faketensor", "test_aot_dispatch_static"]
    torch.library.opcheck(getattr(torch.ops.deep_gemm, name).default, pieces, test_utils=checks)
