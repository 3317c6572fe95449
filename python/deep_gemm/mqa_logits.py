# SPDX-License-Identifier: MIT
"""MQA logits: scores of queries against cached tokens, for the indexer of sparse attention.

    logits[i, j] = scale[j] * sum over h of  weights[i, h] * relu(q[i, h] . kv[j])

for the tokens j in the range of query i. Results are new tensors, rows a multiple of 1024 bytes
apart. Elements without a token of the range are -inf if clean_logits is set, else undefined.
"""
import sys

from . import _native
from ._compat import accepts_old_keywords
from ._native import ArgumentError
from ._tensor import empty, expect_tensor, tracing, type_name

__all__ = [
    "fp8_fp4_mqa_logits", "fp8_mqa_logits", "get_paged_mqa_logits_metadata",
    "fp8_fp4_paged_mqa_logits", "fp8_paged_mqa_logits",
]

_SIZES = {"float32": 4, "bfloat16": 2}


def _pair(x, name):
    """`x` as (tensor, factors or None); a tensor alone has no factors."""
    if not isinstance(x, (tuple, list)):
        return x, None
    if len(x) != 2:
        raise TypeError(f"{name}: {len(x)} elements, expected a pair (tensor, factors)")
    return tuple(x)


def _empty_logits(q, rows, columns, padded, logits_dtype):
    """[rows, columns] of an uninitialised tensor whose rows hold `padded` elements or more."""
    name = "float32" if logits_dtype is None else type_name(logits_dtype)
    if name not in _SIZES:
        raise ArgumentError(f"logits_dtype: {logits_dtype}, expected float32 or bfloat16")
    line = 1024 // _SIZES[name]
    return empty(q, [rows, (padded + line - 1) // line * line], name)[:, :columns]


def _mqa_logits(q, q_sf, kv, kv_sf, weights, cu_seq_len_k_start, cu_seq_len_k_end,
                clean_logits=True, max_seqlen_k=0, logits_dtype=None):
    expect_tensor(q, "q", 3)
    expect_tensor(kv, "kv", 2)
    tokens, compressed = kv.shape[0], max_seqlen_k > 0
    columns = max_seqlen_k if compressed else tokens
    padded = (max_seqlen_k + 255) // 256 * 256 if compressed else tokens + 256
    logits = _empty_logits(q, q.shape[0], columns, padded, logits_dtype)
    _native.mqa_logits(q, q_sf, kv, kv_sf, weights, cu_seq_len_k_start, cu_seq_len_k_end,
                       compressed, clean_logits, logits)
    return logits


def _fp8_mqa_logits(q, kv, kv_sf, *rest, **keywords):
    return _mqa_logits(q, None, kv, kv_sf, *rest, **keywords)


def _metadata(context_lens, block_kv, num_sms, indices=None):
    expect_tensor(context_lens, "context_lens", 1, 2)
    if num_sms < 1:
        raise ArgumentError(f"num_sms: {num_sms}, expected at least 1")
    schedule = empty(context_lens, [num_sms + 1, 2], "int32")
    _native.mqa_logits_schedule(context_lens, schedule)
    return schedule


def _paged_mqa_logits(q, q_sf, kv_cache, weights, context_lens, block_table, schedule_meta,
                      max_context_len, clean_logits=False, logits_dtype=None, indices=None):
    expect_tensor(q, "q", 4)
    if max_context_len < 0:
        raise ArgumentError(f"max_context_len: {max_context_len}, expected at least 0")
    rows, padded = q.shape[0] * q.shape[1], (max_context_len + 255) // 256 * 256
    logits = _empty_logits(q, rows, max_context_len, padded, logits_dtype)
    _native.paged_mqa_logits(q, q_sf, kv_cache, weights, context_lens, block_table, indices,
                             schedule_meta, clean_logits, logits)
    return logits


def _fp8_paged_mqa_logits(q, kv_cache, weights, context_lens, block_table, schedule_meta,
                          max_context_len, clean_logits=False, indices=None):
    return _paged_mqa_logits(q, None, kv_cache, weights, context_lens, block_table, schedule_meta,
                             max_context_len, clean_logits, None, indices)


def _run(name, function, *arguments):
    """`function`, or under tracing the operator of that name."""
    if tracing():
        from . import _ops  # registers the operators
        return getattr(sys.modules["torch"].ops.deep_gemm, name)(*arguments)
    return function(*arguments)


def fp8_fp4_mqa_logits(q, kv, weights, cu_seq_len_k_start, cu_seq_len_k_end, clean_logits=True,
                       max_seqlen_k=0, logits_dtype=None):
    """Logits of queries against tokens in one tensor: a new tensor [s, tokens].

    q        (values, None): float8_e4m3fn [s, h, dim]; or (values, factors): int8 [s, h, dim / 2]
             with two FP4 codes a byte, int32 [s, h] with four UE8M0 exponents for 32 values each
    kv       (values, factors): float8_e4m3fn [tokens, dim] and float32 [tokens]; or int8
             [tokens, dim / 2] and int32 [tokens]
    weights  [s, h] float32 or bfloat16
    cu_seq_len_k_start, cu_seq_len_k_end
             int32 [s]: each query's range of tokens; it is cut to the tokens there are
    max_seqlen_k
             above 0: the result is [s, max_seqlen_k], its first column the range's first token
    logits_dtype
             float32 (None) or bfloat16

    >>> deep_gemm.fp8_fp4_mqa_logits((q, None), (k, scale), weights, starts, ends)
    """
    return _run("fp8_fp4_mqa_logits", _mqa_logits, *_pair(q, "q"), *_pair(kv, "kv"), weights,
                cu_seq_len_k_start, cu_seq_len_k_end, clean_logits, max_seqlen_k, logits_dtype)


@accepts_old_keywords(q="q_fp8")
def fp8_mqa_logits(q_fp8, kv, weights, cu_seq_len_k_start, cu_seq_len_k_end, clean_logits=True,
                   max_seqlen_k=0):
    """fp8_fp4_mqa_logits for a q that is a tensor, with float32 logits.

    >>> deep_gemm.fp8_mqa_logits(q, (k, scale), weights, starts, ends)
    """
    return _run("fp8_mqa_logits", _fp8_mqa_logits, q_fp8, *_pair(kv, "kv"), weights,
                cu_seq_len_k_start, cu_seq_len_k_end, clean_logits, max_seqlen_k)


def get_paged_mqa_logits_metadata(context_lens, block_kv, num_sms, indices=None):
    """int32 [num_sms + 1, 2]: where each SM begins with paged logits of these lengths.

    context_lens  int32 [b, next_n], or [b]
    No logits depend on it. block_kv and indices are accepted and change nothing.
    """
    return _run("get_paged_mqa_logits_metadata", _metadata, context_lens, block_kv, num_sms,
                indices)


def fp8_fp4_paged_mqa_logits(q, kv_cache, weights, context_lens, block_table, schedule_meta,
                             max_context_len, clean_logits=False, logits_dtype=None, indices=None):
    """Logits of next_n queries a request against tokens in pages: [b * next_n, max_context_len].

    q             (values, None) or (values, factors) as in fp8_fp4_mqa_logits, [b, next_n, h, ..]
    kv_cache      uint8 [pages, page, 1, dim + 4] (FP4: dim / 2 + 4): the values of a page's tokens,
                  then their factors
    weights       [b * next_n, h] float32 or bfloat16
    context_lens  int32 [b, next_n]: tokens that each query looks at; [b] where next_n is 1
    block_table   int32 [b, any]: pages of each request; what is no page counts as outside the range
    schedule_meta of get_paged_mqa_logits_metadata, or None
    indices       int32 [b], where next_n is 1: equal neighbours are queries of one request, whose
                  row of block_table is that of the first

    >>> meta = deep_gemm.get_paged_mqa_logits_metadata(lens, 64, deep_gemm.get_num_sms())
    >>> deep_gemm.fp8_fp4_paged_mqa_logits((q, None), cache, weights, lens, table, meta, 4096)
    """
    return _run("fp8_fp4_paged_mqa_logits", _paged_mqa_logits, *_pair(q, "q"), kv_cache, weights,
                context_lens, block_table, schedule_meta, max_context_len, clean_logits,
                logits_dtype, indices)


@accepts_old_keywords(q="q_fp8")
def fp8_paged_mqa_logits(q_fp8, kv_cache, weights, context_lens, block_table, schedule_meta,
                         max_context_len, clean_logits=False, indices=None):
    """fp8_fp4_paged_mqa_logits for a q that is a tensor, with float32 logits.

    >>> deep_gemm.fp8_paged_mqa_logits(q, cache, weights, lens, table, meta, 4096)
    """
    return _run("fp8_paged_mqa_logits", _fp8_paged_mqa_logits, q_fp8, kv_cache, weights,
                context_lens, block_table, schedule_meta, max_context_len, clean_logits, indices)
