# SPDX-License-Identifier: MIT
"""Layouts of scale factors: values, shapes, strides, padding, refusals."""
import deep_gemm
import numpy as np
import pytest
from reference import pack_words

pytestmark = pytest.mark.casts


def powers(rng, shape):
    exponents = rng.integers(1, 255, shape).astype(np.uint8)
    return exponents, 2.0**(exponents.astype(np.float64) - 127)


@pytest.mark.parametrize("shape", ((5, 3), (8, 1), (1, 4), (2, 7, 6), (1, 4, 2)))
def test_mn_major(framework, rng, shape):
    values = rng.standard_normal(shape)
    sf = framework.make(values, "float32")
    out = deep_gemm.get_mn_major_tma_aligned_tensor(sf)
    aligned = deep_gemm.get_tma_aligned_size(shape[-2], 4)
    assert (framework.host(out) == framework.host(sf)).all()
    strides = framework.strides(out)
    assert shape[-2] == 1 or strides[-2] == 1
    assert shape[-1] == 1 or strides[-1] == aligned
    assert len(shape) == 2 or shape[0] == 1 or strides[0] == aligned * shape[-1]
    assert deep_gemm.get_mn_major_tma_aligned_tensor(out) is out


@pytest.mark.parametrize("shape", ((5, 3), (8, 4), (1, 9), (3, 6, 5)))
def test_packed(framework, rng, shape):
    exponents, values = powers(rng, shape)
    for sf in (framework.make(values, "float32"),
               framework.make(values.swapaxes(-1, -2).copy(), "float32").swapaxes(-1, -2)):
        out = deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf)
        assert (framework.host(out) == pack_words(exponents)).all()
        assert shape[-2] == 1 or framework.strides(out)[-2] == 1


def test_packed_with_gaps(framework, rng):
    exponents, values = powers(rng, (300, 4))
    values[100:128] = np.nan
    out = deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(
        framework.make(values, "float32"), framework.make([100, 300], "int32"))
    exponents[100:128] = 0
    assert (framework.host(out) == pack_words(exponents)).all()


@pytest.mark.parametrize("gran_k", (32, 128))
@pytest.mark.parametrize("given_sizes", (True, False))
def test_k_grouped_packed(framework, rng, gran_k, given_sizes):
    ks = [300, 0, 128, 33]
    blocks = [-(-k // gran_k) for k in ks]
    exponents, values = powers(rng, (sum(blocks), 8))
    parts = np.split(exponents, np.cumsum(blocks)[:-1])
    expected = np.concatenate([pack_words(part.T).T for part in parts])
    out = deep_gemm.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(
        framework.make(values, "float32"), framework.make(ks, "int32"),
        ks if given_sizes else None, gran_k)
    assert len(out) >= len(expected) and (len(out) == len(expected) or not given_sizes)
    assert (framework.host(out)[:len(expected)] == expected).all()


def test_transform_keeps_what_is_ready(framework, rng):
    sf = framework.make(rng.uniform(1, 2, (256, 4)), "float32")
    ready = deep_gemm.transform_sf_into_required_layout(sf, 256, 512, (1, 128))
    assert (framework.host(ready) == framework.host(sf)).all() and framework.strides(ready) == (1, 256)
    assert deep_gemm.transform_sf_into_required_layout(
        ready, 256, 512, (1, 128, 128), is_sfa=True) is ready
    blocks = framework.make(rng.uniform(1, 2, (2, 4)), "float32")
    assert deep_gemm.transform_sf_into_required_layout(
        blocks, 256, 512, (1, 128, 128), None, False, disable_ue8m0_cast=True) is blocks
    grouped = framework.make(rng.uniform(1, 2, (3, 256, 4)), "float32")
    out = deep_gemm.transform_sf_into_required_layout(grouped, 256, 512, (1, 128), num_groups=3)
    assert (framework.host(out) == framework.host(grouped)).all()


def test_transform_pair(framework, rng):
    sfa = framework.make(rng.uniform(1, 2, (5, 4)), "float32")
    sfb = framework.make(rng.uniform(1, 2, (2, 4)), "float32")
    a, b, gran_a, gran_b = deep_gemm.transform_sf_pair_into_required_layout(sfa, sfb, 5, 256, 512)
    assert (framework.host(a) == framework.host(sfa)).all() and b is sfb and (gran_a, gran_b) == (128, 128)


def test_refusals(framework, rng):
    sf = framework.make(rng.uniform(1, 2, (5, 4)), "float32")
    with pytest.raises(ValueError, match="is_sfa"):
        deep_gemm.transform_sf_into_required_layout(sf, 5, 512, (1, 128, 128))
    with pytest.raises(ValueError, match="is_sfa"):
        deep_gemm.transform_sf_into_required_layout(sf, 5, 512, (1, 128), is_sfa=True)
    with pytest.raises(ValueError, match="scale"):
        deep_gemm.transform_sf_into_required_layout(sf, 6, 512, (1, 128))
    if getattr(framework, "device", "cpu") == "cpu":  # a GPU's factors are rounded up instead
        with pytest.raises(ValueError):
            deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf)
    with pytest.raises(ValueError, match="element_size"):
        deep_gemm.get_tma_aligned_size(5, 3)
    assert deep_gemm.get_tma_aligned_size(5, 4) == 8 and deep_gemm.get_tma_aligned_size(5, 1) == 16
