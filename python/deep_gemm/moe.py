# SPDX-License-Identifier: MIT
"""Tokens to the rows of their experts and back: what stands around the grouped products.

    routing = deep_gemm.route_tokens(ids, num_groups)        # ids [tokens, topk] of a router
    rows = deep_gemm.permute(x, routing)                     # [tokens * topk, n], sorted by expert
    ...                                                      # grouped products over routing.counts
    y = deep_gemm.unpermute(rows, routing, weights)          # [tokens, n], weighted sums

Products that gather take x itself, with routing.sources as their list of rows. For autograd see
deep_gemm.nn. Rows and sums are the same bits on every device and in every run.
"""
from collections import namedtuple

from . import _groups, _native, runtime
from ._native import ArgumentError
from ._tensor import (
    dtype_name, empty, expect_tensor, is_torch, to_float32, tracing, type_name, zeros_strided)

__all__ = ["Routing", "route_tokens", "permute", "unpermute", "dot_rows"]

_FORMS = {"offsets": _groups.OFFSETS, "psum": _groups.PSUM, "masked": _groups.MASKED}


# Not typing.NamedTuple: importing that module would be a quarter of the import of this package.
Routing = namedtuple("Routing", ("counts", "ends", "rows", "sources", "groups"))
Routing.__doc__ = """Where tokens go; int32 tensors, of R rows in all.

counts    [G] tokens of each group, those without room among them: layout="sizes" of grouped
          products, masked_m (with num_rows given: clamped to the room, or ends instead)
ends      [G] past the last row of each group: layout="offsets" or "psum"
rows      [tokens, topk] the row of each slot, -1 if it has none
sources   [R] the token of each row, -1 outside the groups
groups    [R] the group of each row, -1 outside: the grouped_layout of contiguous products
"""


def _route_tokens(ids, num_groups, layout="offsets", alignment=None, num_rows=None):
    expect_tensor(ids, "ids", 2)
    if layout not in _FORMS:
        raise ArgumentError(f"layout: {layout!r}, expected one of {', '.join(_FORMS)}")
    tokens, topk = ids.shape
    if alignment is not None and (layout != "psum" or alignment < 1):
        raise ArgumentError(f"alignment: {alignment} with layout={layout!r}; it is at least 1 and "
                            "belongs to layout='psum'")
    if num_rows is None:
        num_rows = tokens * topk
        if layout == "psum":
            each = alignment or runtime.get_mk_alignment_for_contiguous_layout()
            num_rows = (num_rows + num_groups * (each - 1) + each - 1) // each * each
        elif layout == "masked":
            num_rows = num_groups * tokens
    shapes = ([num_groups], [num_groups], [tokens, topk], [num_rows], [num_rows])
    outputs = [empty(ids, shape, "int32") for shape in shapes]
    _native.route_tokens(ids, _FORMS[layout], alignment or 0, *outputs)
    return tuple(outputs)


def route_tokens(ids, num_groups, layout="offsets", alignment=None, num_rows=None):
    """Finds the row of each token's slots when tokens are sorted by group: a Routing.

    ids        int32 or int64 [tokens, topk]: the group of each slot; negative: dropped
    layout     "offsets": groups back to back. "psum": each begins on a multiple of `alignment`
               (None: get_mk_alignment_for_contiguous_layout()). "masked": num_rows / num_groups
               rows for each group, as [num_groups, max_m, n] has them
    num_rows   rows there are; None: enough for whatever ids say ("masked": one for each token in
               each group, which is enough where a token's ids differ). Slots that find no room are
               dropped
    Order is that of tokens, then of slots. Nothing is waited for on a GPU. An id of num_groups or
    more raises on the CPU and is dropped on a GPU.

    >>> routing = deep_gemm.route_tokens(torch.topk(scores, 8).indices, 64)
    """
    if tracing():
        return Routing(*_operator("route_tokens")(ids, num_groups, layout, alignment, num_rows))
    return Routing(*_route_tokens(ids, num_groups, layout, alignment, num_rows))


def _operator(name):
    import torch
    from . import _ops  # registers the operators
    return getattr(torch.ops.deep_gemm, name)


def _weights(weights):
    return None if weights is None else to_float32(weights)


def _like_rows(x, rows):
    """An output of as many rows; factors that lie MN-major stay so."""
    strides = x.stride() if is_torch(x) else [s // x.itemsize for s in x.strides]
    name = dtype_name(x)
    if x.shape[0] > 1 and x.shape[1] > 1 and strides[0] == 1:
        pitch = _native.tma_aligned_size(rows, 4)
        return zeros_strided(x, [rows, x.shape[1]], [1, pitch], name)
    return empty(x, [rows, x.shape[1]], name)


def _permute(x, rows, sources, weights=None, factors=False):
    expect_tensor(x, "x", 2)
    expect_tensor(sources, "routing.sources", 1)
    out = _like_rows(x, sources.shape[0]) if factors else \
        empty(x, [sources.shape[0], x.shape[1]], dtype_name(x))
    _native.permute_rows(x, rows, _weights(weights), sources, factors, out)
    return out


def permute(x, routing, weights=None):
    """The rows of x sorted by group, [R, n] of x's type; zeros in rows that no token has.

    x        [tokens, n] of a type that products take, or a pair (values, factors): then a pair is returned, the
             factors in the order that x's are in, rows together or blocks together
    weights  [tokens, topk]: the row of slot s of token t is x[t] * weights[t, s], rounded once; x is
             then bfloat16 or float32. This is the backward of unpermute

    >>> rows = deep_gemm.permute(deep_gemm.per_token_cast_to_fp8(x, False), routing)
    """
    run = _operator("permute") if tracing() else _permute
    if not isinstance(x, (tuple, list)):
        return run(x, routing.rows, routing.sources, weights)
    if weights is not None:
        raise ArgumentError("weights: given with a pair; scale the values before they are cast")
    values, factors = x
    return (run(values, routing.rows, routing.sources, None),
            None if factors is None else run(factors, routing.rows, routing.sources, None, True))


def _unpermute(x, rows, weights=None, dtype=None):
    expect_tensor(x, "x", 2)
    expect_tensor(rows, "routing.rows", 2)
    out = empty(x, [rows.shape[0], x.shape[1]], dtype or dtype_name(x))
    _native.unpermute_rows(x, rows, _weights(weights), out)
    return out


def unpermute(x, routing, weights=None, dtype=None):
    """[tokens, n]: for each token the float32 sum over its slots, in their order, of weight * row.

    x        [R, n] bfloat16 or float32, as permute left the rows
    weights  [tokens, topk]; None: all 1, which is the backward of permute
    dtype    of the result, bfloat16 or float32, as a name or torch's; None: x's
    Slots without a row add nothing; rows of padding are never read.
    """
    run = _operator("unpermute") if tracing() else _unpermute
    return run(x, routing.rows, weights, None if dtype is None else type_name(dtype))


def _dot_rows(a, b, rows):
    expect_tensor(rows, "routing.rows", 2)
    out = empty(a, list(rows.shape), "float32")
    _native.dot_rows(a, b, rows, out)
    return out


def dot_rows(a, b, routing):
    """float32 [tokens, topk]: a[t] . b[row of slot s of t], 0 for slots without a row.

    With a the gradient of unpermute's result and b its x: the gradient of the weights."""
    run = _operator("dot_rows") if tracing() else _dot_rows
    return run(a, b, routing.rows)
