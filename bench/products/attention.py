# SPDX-License-Identifier: MIT
"""Cases of the scores of an attention's indexer: queries against tokens in one tensor, and in pages. See
families.py."""
import deep_gemm
import torch

from .case import Buffers, Case
from .families import family_of
from .operands import int32, normal


def tokens_as_fp8(scope, count, dim):
    """(codes [count, dim], factors [count])."""
    x = normal(scope, count, dim)
    scale = x.abs().amax(-1).clamp(1e-4) / 448
    return (x / scale[:, None]).to(torch.float8_e4m3fn), scale


@family_of("fp8_mqa_logits")
def mqa_logits(scope):
    """FP8 queries against tokens they may look at, causal, FP32 logits, cleaned.
    bytes = q + kv + factors + weights + logits in range"""
    for s, tokens, heads, dim in scope.pick(((2048, 8192, 64, 128), (8192, 8192, 64, 128),
                                             (8192, 8192, 32, 64), (4096, 65536, 64, 128)),
                                            ((16, 48, 32, 64),)):
        ends = [tokens - s + 1 + i for i in range(s)]

        def make(s=s, tokens=tokens, heads=heads, dim=dim, ends=ends):
            q = normal(scope, s, heads, dim).to(torch.float8_e4m3fn)
            kv, weights = tokens_as_fp8(scope, tokens, dim), normal(scope, s, heads)
            begin, end = int32(scope, [0] * s), int32(scope, ends)
            return Buffers(lambda dg: dg.fp8_mqa_logits(q, kv, weights, begin, end),
                           {"q": q, "kv": kv[0], "factors": kv[1], "weights": weights,
                            "logits": 4 * sum(ends)})
        yield Case(f"{s} queries {tokens} tokens {heads} heads {dim}", "fp8",
                   2 * sum(ends) * heads * dim, make)


def make_pages(scope, count, page, dim):
    """uint8 [count, page, 1, dim + 4]: a page's values, then its factors."""
    codes, scale = tokens_as_fp8(scope, count * page, dim)
    parts = (codes.view(torch.uint8).view(count, page * dim),
             scale.view(torch.uint8).view(count, page * 4))
    return torch.cat(parts, 1).view(count, page, 1, dim + 4)


@family_of("fp8_paged_mqa_logits")
def paged_mqa_logits(scope):
    """FP8 queries of requests in decode against their tokens in pages of 64, FP32 logits.
    bytes = q + pages in range + weights + logits in range"""
    for requests, mean, next_n, heads, dim in scope.pick(
            ((256, 8192, 1, 64, 128), (256, 8192, 2, 64, 128), (64, 65536, 1, 64, 128)),
            ((3, 100, 2, 32, 128),)):
        page = 64
        lengths = [int(mean * (0.7 + 0.6 * roll)) for roll in
                   torch.rand(requests, generator=scope.host)]
        longest = max(lengths)

        def make(requests=requests, next_n=next_n, heads=heads, dim=dim, lengths=lengths,
                 longest=longest):
            width = -(-longest // page)
            order = torch.randperm(requests * width, generator=scope.host)
            table = order.view(requests, width).to(scope.device, torch.int32)
            cache = make_pages(scope, requests * width, page, dim)
            q = normal(scope, requests, next_n, heads, dim).to(torch.float8_e4m3fn)
            weights = normal(scope, requests * next_n, heads)
            lens = int32(scope, [[length] * next_n for length in lengths])
            meta = deep_gemm.get_paged_mqa_logits_metadata(lens, page, deep_gemm.get_num_sms())
            return Buffers(lambda dg: dg.fp8_paged_mqa_logits(q, cache, weights, lens, table, meta,
                                                              longest),
                           {"q": q, "pages": sum(lengths) * (dim + 4), "weights": weights,
                            "logits": 4 * next_n * sum(lengths)})
        yield Case(f"{requests} requests of {mean} next {next_n} {heads} heads {dim}", "fp8",
                   2 * sum(lengths) * next_n * heads * dim, make)
