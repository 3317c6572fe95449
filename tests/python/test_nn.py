# SPDX-License-Identifier: MIT
"""Layers: values and gradients against FP32 and against the dequantised operands, and autograd."""
import copy

import pytest

torch = pytest.importorskip("torch")

import deep_gemm  # noqa: E402
from conftest import CASTING_DEVICES  # noqa: E402
from deep_gemm import nn  # noqa: E402

TOKENS, IN, OUT = 200, 320, 192
SUM_ERROR = {"cpu": 2.0**-20, "cuda": 2.0**-10}  # of the sum of |a b|, for FP8; see conftest.py


@pytest.fixture(params=CASTING_DEVICES)
def device(request):
    return request.param


def relative_error(actual, expected):
    actual, expected = actual.detach(), expected.detach()
    return float((actual.double() - expected.double()).norm() / expected.double().norm())


def dequantise(codes, scale, gran):
    values = codes.double()
    factors = scale.double()
    for axis, g in enumerate(gran):
        factors = factors.repeat_interleave(g, axis).narrow(axis, 0, values.shape[axis])
    return values * factors


def inputs(dtype, device, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(TOKENS, IN, generator=generator).to(device, dtype).requires_grad_()
    return x, torch.randn(TOKENS, OUT, generator=generator).to(device, dtype)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
@pytest.mark.parametrize("wgrad", ("fp8", "bfloat16"))
def test_linear_is_near_float32(device, dtype, wgrad):
    x, dy = inputs(dtype, device)
    layer = nn.Linear(IN, OUT, device=device, dtype=dtype, wgrad=wgrad)
    plain = torch.nn.Linear(IN, OUT, device=device)
    plain.load_state_dict(layer.state_dict())
    x32 = x.detach().float().requires_grad_()
    y, y32 = layer(x), plain(x32)
    y.backward(dy)
    y32.backward(dy.float())
    assert y.dtype == dtype
    for actual, expected in ((y, y32), (x.grad, x32.grad), (layer.weight.grad, plain.weight.grad),
                             (layer.bias.grad, plain.bias.grad)):
        assert relative_error(actual, expected) < 0.05
    if wgrad == "bfloat16":
        assert relative_error(layer.weight.grad, plain.weight.grad) < 0.006


def test_linear_is_the_product_of_the_dequantised_operands(device):
    x, dy = inputs(torch.float32, device)
    layer = nn.Linear(IN, OUT, bias=False, device=device)
    y = layer(x)
    y.backward(dy)
    w = dequantise(*deep_gemm.per_block_cast_to_fp8(layer.weight.detach(), False), (128, 128))
    by_token = [dequantise(*deep_gemm.per_token_cast_to_fp8(t.detach(), False), (1, 128))
                for t in (x, dy)]
    by_channel = [dequantise(*deep_gemm.per_channel_cast_to_fp8(t.detach(), False), (128, 1))
                  for t in (x, dy)]
    for actual, a, b in ((y, by_token[0], w.T), (x.grad, by_token[1], w),
                         (layer.weight.grad, by_channel[1].T, by_channel[0])):
        expected, magnitude = a @ b, a.abs() @ b.abs()
        bound = 2.0**-23 * expected.abs() + SUM_ERROR[device] * magnitude
        assert ((actual.double() - expected).abs() <= bound).all()


@pytest.mark.parametrize("sizes", ([60, 0, 100, 40], [0, 0, 200, 0], [1, 127, 3, 69],
                                   [50, 0, 60, 0], [0, 0, 0, 0]))
@pytest.mark.parametrize("wgrad", ("fp8", "bfloat16"))
@pytest.mark.parametrize("bias", (False, True))
def test_grouped_linear(device, sizes, wgrad, bias):
    """Rows behind the last group hold NaN: they reach no result."""
    x, dy = inputs(torch.bfloat16, device)
    layer = nn.GroupedLinear(4, IN, OUT, device, wgrad=wgrad, bias=bias)
    total = sum(sizes)
    with torch.no_grad():
        x[total:] = dy[total:] = float("nan")
    y = layer(x, torch.tensor(sizes, dtype=torch.int32, device=device))
    y.backward(dy)
    x32 = x.detach().float().requires_grad_()
    parameters = [p.detach().clone().requires_grad_() for p in layer.parameters()]
    parts = [part @ parameters[0][g].T + (parameters[1][g] if bias else 0)
             for g, part in enumerate(x32[:total].split(sizes))]
    y32 = torch.cat(parts)
    y32.backward(dy[:total].float())
    for actual, expected in ((y[:total], y32), (x.grad[:total], x32.grad[:total]),
                             (layer.weight.grad, parameters[0].grad)):
        assert total == 0 or relative_error(actual, expected) < 0.05
    assert (y[total:] == 0).all() and (x.grad[total:] == 0).all()
    if bias:
        bound = 2.0**-20 * dy[:total].float().abs().sum(0) + 2.0**-23 * parameters[1].grad.abs()
        assert ((layer.bias.grad - parameters[1].grad).abs() <= bound).all()
    for parameter in layer.parameters():
        for g, size in enumerate(sizes):
            assert size > 0 or (parameter.grad[g] == 0).all()


@pytest.mark.parametrize("grouped", (True, False))
@pytest.mark.parametrize("wgrad", ("fp8", "bfloat16"))
def test_main_grad_collects_in_place(device, grouped, wgrad):
    sizes = torch.tensor([150, 0, 50], device=device)

    def make():
        torch.manual_seed(3)
        return nn.GroupedLinear(3, IN, OUT, device, torch.bfloat16, wgrad=wgrad) if grouped \
            else nn.Linear(IN, OUT, False, device, torch.bfloat16, wgrad=wgrad)

    def step(layer, seed):
        x, dy = inputs(torch.bfloat16, device, seed)
        (layer(x, sizes) if grouped else layer(x)).backward(dy)

    plain, fused = make(), make()
    start = torch.randn_like(fused.weight, dtype=torch.float32)
    fused.weight.main_grad = start.clone()
    total = start.clone()
    for seed in (1, 2):
        step(plain, seed)
        total += plain.weight.grad.float()
        plain.weight.grad = None
        step(fused, seed)
    assert fused.weight.grad is None
    assert relative_error(fused.weight.main_grad - start, total - start) < 2.0**-8
    fused.weight.grad_added_to_main_grad = False
    step(fused, 4)
    assert fused.weight.grad_added_to_main_grad and (fused.weight.grad == 0).all()


def test_shapes_of_inputs(device):
    layer = nn.Linear(48, 20, device=device)
    assert layer(torch.randn(2, 3, 5, 48, device=device)).shape == (2, 3, 5, 20)
    assert layer(torch.randn(48, device=device)).shape == (20,)
    empty = torch.randn(0, 48, requires_grad=True, device=device)
    layer(empty).sum().backward()
    assert empty.grad.shape == (0, 48) and (layer.weight.grad == 0).all()
    x = torch.randn(48, 6, device=device).T.requires_grad_()
    layer(x).sum().backward()
    assert x.grad.shape == (6, 48)


def test_frozen_weights_and_inputs(device):
    layer = nn.Linear(64, 32, bias=False, device=device)
    layer.weight.requires_grad_(False)
    x = torch.randn(4, 64, requires_grad=True, device=device)
    layer(x).sum().backward()
    assert x.grad is not None and layer.weight.grad is None
    layer.weight.requires_grad_(True)
    layer(x.detach()).sum().backward()
    assert layer.weight.grad is not None
    with torch.no_grad():
        assert not layer(x).requires_grad


def test_state_is_that_of_torch(device):
    ours, theirs = (kind(64, 32, device=device) for kind in (nn.Linear, torch.nn.Linear))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    theirs.load_state_dict(ours.state_dict())
    ours.load_state_dict(theirs.state_dict())
    assert isinstance(ours, torch.nn.Linear) and "wgrad=fp8" in repr(ours)
    again = copy.deepcopy(ours)
    x = torch.randn(3, 64, device=device)
    assert torch.equal(again(x), ours(x))
    with pytest.raises(ValueError, match="wgrad"):
        nn.Linear(4, 4, wgrad="fp4")


@pytest.mark.parametrize("reentrant", (True, False))
def test_checkpointing(device, reentrant):
    from torch.utils.checkpoint import checkpoint
    x, dy = inputs(torch.bfloat16, device)
    layer = nn.Linear(IN, OUT, device=device, dtype=torch.bfloat16)
    layer(x).backward(dy)
    expected = x.grad.clone(), layer.weight.grad.clone()
    x.grad = layer.weight.grad = None
    checkpoint(layer, x, use_reentrant=reentrant).backward(dy)
    assert torch.equal(x.grad, expected[0]) and torch.equal(layer.weight.grad, expected[1])


def test_autocast(device):
    layer = nn.Linear(64, 32, device=device)
    with torch.autocast(device, torch.bfloat16):
        y = layer(torch.randn(4, 64, device=device))
    assert y.dtype == torch.bfloat16
    y.float().sum().backward()
    assert layer.weight.grad.dtype == torch.float32


@pytest.mark.parametrize("grouped", (True, False))
def test_compiled_training_step(device, grouped):
    torch._dynamo.reset()
    sizes = torch.tensor([100, 0, 100], dtype=torch.int32, device=device)
    layer = nn.GroupedLinear(3, IN, OUT, device, bias=True) if grouped \
        else nn.Linear(IN, OUT, device=device)
    x, dy = inputs(torch.float32, device)
    arguments = (x, sizes) if grouped else (x,)
    tensors = (x, *layer.parameters())
    y = layer(*arguments)
    y.backward(dy)
    expected = [y, *(t.grad for t in tensors)]
    for t in tensors:
        t.grad = None
    y = torch.compile(layer, fullgraph=True, backend="aot_eager")(*arguments)
    y.backward(dy)
    for actual, wanted in zip([y, *(t.grad for t in tensors)], expected):
        assert torch.equal(actual, wanted)


@pytest.mark.parametrize("reentrant", (True, False))
def test_main_grad_under_checkpointing(device, reentrant):
    from torch.utils.checkpoint import checkpoint
    x, dy = inputs(torch.bfloat16, device)
    layer = nn.Linear(IN, OUT, False, device, torch.bfloat16)
    layer.weight.main_grad = torch.zeros(OUT, IN, device=device)
    checkpoint(layer, x, use_reentrant=reentrant).backward(dy)
    assert layer.weight.grad is None and layer.weight.main_grad.norm() > 0


def test_bias_collects_in_main_grad(device):
    sizes = torch.tensor([150, 0, 50], device=device)
    layer = nn.GroupedLinear(3, IN, OUT, device, torch.bfloat16, bias=True)
    start = torch.randn(3, OUT, device=device)
    layer.bias.main_grad = start.clone()
    x, dy = inputs(torch.bfloat16, device)
    layer(x, sizes).backward(dy)
    assert layer.bias.grad is None and layer.weight.grad is not None
    expected = torch.stack([part.float().sum(0) for part in dy.split([150, 0, 50])])
    assert torch.allclose(layer.bias.main_grad, start + expected, rtol=1e-5, atol=1e-4)
    assert torch.equal(layer.bias.main_grad[1], start[1])


def test_steps_repeat_bit_for_bit(device):
    sizes = torch.tensor([150, 0, 50], device=device)
    layer = nn.GroupedLinear(3, IN, OUT, device, bias=True)
    x, dy = inputs(torch.float32, device)
    seen = []
    for _ in range(4):
        x.grad = layer.weight.grad = layer.bias.grad = None
        y = layer(x, sizes)
        y.backward(dy)
        seen.append([t.detach().clone() for t in (y, x.grad, layer.weight.grad, layer.bias.grad)])
    assert all(torch.equal(a, b) for again in seen[1:] for a, b in zip(seen[0], again))
