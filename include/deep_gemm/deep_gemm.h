/* SPDX-License-Identifier: MIT
 *
 * DeepGEMM in C: matrix products of LLM training and inference, in FP8, FP4 and BF16 with
 * fine-grained scaling. This header includes all others; read them in this order, each builds on
 * those before it.
 *
 *     1. status.h         what a call returns, and the sentence that explains a refusal
 *     2. tensor.h         views of your memory: pointer, type, shape, strides
 *     3. context.h        how calls run: threads, device, settings, streams and workspace
 *     4. gemm.h           d = c + a b^T, the dense product, and what scale factors are
 *     5. grouped.h        the products of a mixture of experts: forward, data and weight gradient
 *     6. skip_head_mid.h  a dense product with a gap in each head of its result
 *     7. einsum.h         a product for each head, and sums of products, by their letters
 *     8. hyper_connection.h  a few FP32 columns and the sums of squares, in front of a norm
 *     9. mqa_logits.h     scores of queries against cached tokens, for sparse attention
 *    10. cast.h           from BF16 and FP32 to FP8 and FP4, and back
 *    11. moe.h            tokens to the rows of their experts and back
 *    12. scale_layout.h   layouts of scale factors, for exchange with other programs
 *    13. device.h         GPUs: what there is, memory, copies, streams, events
 *    14. kernels.h        compiled kernels: which there are, and having them ready
 *    15. plan.h           what a GPU call would run, and how long that should take
 *    16. cublaslt.h       the same dense product through NVIDIA's library, to compare with
 *    17. version.h        version numbers
 *
 * Conventions. Every call is dg_verb(context, &args, launch): the context may be NULL (the default
 * one), the launch too (default stream, no workspace). Argument structs begin with struct_size and
 * are made by their _INIT macro, so that a program built today runs with a later library. Inputs
 * are never changed; outputs are written completely or, if the call is refused, not at all.
 * Tensors may lie on any device the library supports, all tensors of one call on the same.
 */
#ifndef DEEP_GEMM_H
#define DEEP_GEMM_H

#include "deep_gemm/cast.h"
#include "deep_gemm/context.h"
#include "deep_gemm/cublaslt.h"
#include "deep_gemm/device.h"
#include "deep_gemm/einsum.h"
#include "deep_gemm/gemm.h"
#include "deep_gemm/grouped.h"
#include "deep_gemm/hyper_connection.h"
#include "deep_gemm/kernels.h"
#include "deep_gemm/moe.h"
#include "deep_gemm/mqa_logits.h"
#include "deep_gemm/plan.h"
#include "deep_gemm/scale_layout.h"
#include "deep_gemm/skip_head_mid.h"
#include "deep_gemm/status.h"
#include "deep_gemm/tensor.h"
#include "deep_gemm/version.h"

#endif
