# SPDX-License-Identifier: MIT
"""The oracle of the Python tests: products in float64 by numpy, and the bounds results must meet.

Nothing here uses the package. An operand is described by its values as float64 [mn, k] and factors;
`Operand` makes the tensors of a framework from it.
"""
import numpy as np

ROUNDING = {"bfloat16": 2.0**-8, "float32": 2.0**-23}  # of the result, one rounding


def round_to(values, dtype):
    """float64 values rounded to a framework element type, as float64."""
    import ml_dtypes
    types = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn, "bfloat16": ml_dtypes.bfloat16,
             "float32": np.float32}
    return np.asarray(values, np.float32).astype(types[dtype]).astype(np.float64)


def spread(factors, gran_mn, gran_k, mn, k):
    """Factors [.., blocks of mn, blocks of k] repeated to [.., mn, k]."""
    return factors.repeat(gran_mn, -2)[..., :mn, :].repeat(gran_k, -1)[..., :k]


def pack_words(exponents):
    """Biased exponents [.., n] as int32 [.., ceil(n / 4)], lowest index in the lowest byte."""
    n = exponents.shape[-1]
    padded = np.zeros(exponents.shape[:-1] + (-(-n // 4) * 4,), np.uint8)
    padded[..., :n] = exponents
    return padded.view(np.int32)


class Operand:
    """Random FP8 (or BF16) values [.., mn, k] with factors for blocks of gran_mn x gran_k.

    scale: "float32", "packed" (int32 UE8M0), or None for none.
    """

    def __init__(self, rng, shape, dtype="float8_e4m3fn", scale="float32", gran_mn=1, gran_k=128):
        *lead, mn, k = shape
        self.dtype, self.scale = dtype, scale
        self.codes = round_to(rng.standard_normal(shape) * (8 if dtype != "bfloat16" else 1), dtype)
        self.values = self.codes
        if scale is not None:
            blocks = (*lead, -(-mn // gran_mn), -(-k // gran_k))
            self.exponents = rng.integers(120, 130, blocks).astype(np.uint8)
            factors = 2.0**(self.exponents.astype(np.float64) - 127)
            if scale == "float32":
                factors = round_to(factors * rng.uniform(1, 2, blocks), "float32")
            self.factors = factors
            self.values = self.codes * spread(factors, gran_mn, gran_k, mn, k)

    def data(self, framework, transposed=False):
        codes = self.codes.swapaxes(-1, -2) if transposed else self.codes
        return framework.make(np.ascontiguousarray(codes), self.dtype)

    def sf(self, framework, transposed=False):
        if self.scale is None:
            return None
        if self.scale == "packed":
            words = framework.make(pack_words(self.exponents), "int32")
            return words.swapaxes(-1, -2) if transposed else words
        factors = self.factors.swapaxes(-1, -2) if transposed else self.factors
        return framework.make(np.ascontiguousarray(factors), "float32")

    def pair(self, framework, transposed=False):
        return self.data(framework, transposed), self.sf(framework, transposed)


def product(a, b):
    """a b^T and the sum of the products' absolute values, for float64 [.., m, k] and [.., n, k]."""
    bt = b.swapaxes(-1, -2)
    return a @ bt, np.abs(a) @ np.abs(bt)


def check(framework, d, expected, magnitude, dtype):
    """Asserts that d is `expected` within one rounding to dtype and the error of the sum."""
    actual = framework.to_float64(d)
    assert actual.shape == expected.shape
    bound = ROUNDING[dtype] * np.abs(expected) + framework.block_error * magnitude
    error = np.abs(actual - expected)
    if error.size == 0:
        return
    excess = np.where(np.isnan(error), np.inf, error - bound)
    worst = np.unravel_index(np.argmax(excess), error.shape)
    assert (error <= bound).all(), (
        f"at {tuple(int(i) for i in worst)}: {actual[worst]}, expected {expected[worst]} "
        f"within {bound[worst]}")
