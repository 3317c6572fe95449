# SPDX-License-Identifier: MIT
"""Arguments that make no sense, by the thousand: exceptions that say so, and no crash."""
import inspect
import random

import deep_gemm
import numpy as np
import pytest

NO_TENSORS = (None, 1, 2**70, 1.5, "x", b"y", [], (), {}, object(), range(3), np.float32(2), [1, 2])
TAKING_TENSORS = [name for name in dir(deep_gemm) if inspect.isfunction(getattr(deep_gemm, name))
                  and any(part in name for part in ("gemm", "cast", "ue8m0", "sf", "tma_aligned_t"))
                  and name not in ("get_best_gemm_config_key",)]


def required(function):
    return [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]


@pytest.mark.parametrize("name", TAKING_TENSORS)
def test_no_tensor(name):
    """Every required argument is the same nonsense."""
    function = getattr(deep_gemm, name)
    for nonsense in NO_TENSORS:
        with pytest.raises((TypeError, ValueError)) as caught:
            function(*[nonsense] * len(required(function)))
        assert len(str(caught.value)) > 10


@pytest.mark.parametrize("call", (
    lambda x: deep_gemm.set_num_sms(2**70),
    lambda x: deep_gemm.set_block_size_multiple_of((2**40, 1)),
    lambda x: deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout(2**70),
    lambda x: deep_gemm.get_tma_aligned_size(2**70, 4),
    lambda x: deep_gemm.transform_sf_into_required_layout(x, 2**70, 4, (1, 128)),
    lambda x: deep_gemm.transform_sf_into_required_layout(x, 4, -4, (1, 128)),
    lambda x: deep_gemm.per_token_cast_to_fp8(x, False, 0),
    lambda x: deep_gemm.per_token_cast_to_fp8(x, False, -128),
    lambda x: deep_gemm.per_token_cast_to_fp4(x, False, 0),
    lambda x: deep_gemm.per_custom_dims_cast_to_fp8(x, (2,), False),
    lambda x: deep_gemm.get_mn_major_tma_aligned_tensor(x[0]),
    lambda x: deep_gemm.k_grouped_bf16_gemm_tn_contiguous((), (), x, [1], None),
    lambda x: deep_gemm.m_grouped_bf16_gemm_nt_masked(x, x, x, x, 2**70),
    lambda x: deep_gemm.k_grouped_bf16_gemm_tn_contiguous(x, x, [], [1], None),
    lambda x: deep_gemm.k_grouped_bf16_gemm_tn_contiguous(x, x, [x] * 1025, [1], None),
    lambda x: deep_gemm.k_grouped_bf16_gemm_tn_contiguous(x, x, [x, x], [1, 2**70], None),
))
def test_numbers_out_of_range(call):
    with pytest.raises((TypeError, ValueError)):
        call(np.ones((4, 8), np.float32))


class Mess:
    """Arrays of every kind, and now and then no array at all."""

    TYPES = ("float8_e4m3fn", "bfloat16", "float32", "int8", "uint8", "int32", "int64", "float16")
    EXTENTS = (0, 1, 2, 3, 4, 16, 32, 64, 128, 129)

    def __init__(self, seed):
        self.random = random.Random(seed)

    def array(self):
        import ml_dtypes
        choose = self.random.choice
        dtype = choose(self.TYPES)
        shape = [choose(self.EXTENTS) for _ in range(choose((0, 1, 2, 2, 2, 3, 3, 5)))]
        x = np.zeros(shape if np.prod(shape) < 1 << 20 else shape[:2],
                     getattr(ml_dtypes, dtype, dtype))
        way = choose(("", "", "", "turned", "back to front", "broadcast", "read-only", "swapped"))
        if way == "turned":
            x = x.T
        elif way == "back to front" and x.ndim:
            x = x[::-1]
        elif way == "broadcast":
            x = np.broadcast_to(x, (3, *x.shape))
        elif way == "read-only":
            x.setflags(write=False)
        elif way == "swapped" and dtype in ("float32", "int32"):
            x = x.astype(x.dtype.newbyteorder())
        return x

    def argument(self):
        chance = self.random.random()
        if chance < 0.6:
            return self.array()
        if chance < 0.85:
            return self.array(), self.array()
        return self.random.choice([*NO_TENSORS, (1, 1, 128), [self.array()], True])


@pytest.mark.parametrize("seed", range(8))
def test_any_mess_is_refused_or_computed(seed):
    mess, refused = Mess(seed), 0
    for _ in range(300):
        function = getattr(deep_gemm, mess.random.choice(TAKING_TENSORS))
        try:
            function(*[mess.argument() for _ in required(function)])
        except (TypeError, ValueError):
            refused += 1
    assert refused > 150
