/* SPDX-License-Identifier: MIT
 *
 * See gpu_operands.h. A pattern of a few megabytes is drawn once for each kind of content; tensors are
 * filled by copies of it, which a GPU makes faster than any host could draw. Its length is no power of
 * two, so that rows of a matrix differ.
 */
#include "gpu_operands.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "number.h"
#include "random.h"

#define PATTERN_BYTES (((size_t)4 << 20) + 4352)

static const dg_device_t host = {DG_DEVICE_CPU, 0};

/* Close enough to a normal value: the sum of four even ones of 16 bits, within 3.47 deviations. */
static float draw_normal(cli_random_t *random) {
    const uint64_t bits = cli_random_bits(random);
    const int32_t sum =
        (int32_t)((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48));
    return (float)(sum - 2 * 0xFFFF) * (1.7320508f / 65536);
}

static void draw_pattern(cli_gpu_fill_t fill, unsigned char *bytes) {
    cli_random_t random = {1 + (uint64_t)fill};
    const size_t size = fill == CLI_GPU_BF16                             ? 2
                        : fill == CLI_GPU_F32 || fill == CLI_GPU_FACTORS ? 4
                                                                         : 1;
    for (size_t i = 0; i < PATTERN_BYTES / size; i++) {
        const float value = draw_normal(&random);
        uint16_t half;
        float single;
        switch (fill) {
        case CLI_GPU_E4M3:
            single = value * 150;
            bytes[i] = cli_e4m3_code(single > 448 ? 448 : single < -448 ? -448 : single);
            break;
        case CLI_GPU_BF16:
            half = cli_bf16_code(value);
            memcpy(bytes + 2 * i, &half, 2);
            break;
        case CLI_GPU_F32: memcpy(bytes + 4 * i, &value, 4); break;
        case CLI_GPU_FACTORS:
            single = .006f + value * 4e-4f;
            memcpy(bytes + 4 * i, &single, 4);
            break;
        case CLI_GPU_EXPONENTS:
            bytes[i] = (unsigned char)(118 + cli_random_below(&random, 4));
            break;
        default: bytes[i] = (unsigned char)cli_random_bits(&random); break;
        }
    }
}

static bool ok(dg_status_t status) {
    return status == DG_STATUS_OK;
}

static bool find_pattern(cli_gpu_operands_t *self, cli_gpu_fill_t fill, void **pattern) {
    if (self->patterns[fill] == NULL) {
        unsigned char *bytes = cli_allocate(PATTERN_BYTES);
        draw_pattern(fill, bytes);
        const bool done =
            ok(dg_device_alloc(self->device, PATTERN_BYTES, &self->patterns[fill])) &&
            ok(dg_device_copy(self->patterns[fill], self->device, bytes, host, PATTERN_BYTES));
        free(bytes);
        if (!done) return false;
    }
    *pattern = self->patterns[fill];
    return true;
}

static bool allocate(cli_gpu_operands_t *self, size_t bytes, void **memory) {
    if (!ok(dg_device_alloc(self->device, bytes > 0 ? bytes : 1, memory))) return false;
    self->buffers[self->count++] = *memory;
    return true;
}

static bool fill_memory(cli_gpu_operands_t *self, void *memory, size_t bytes, cli_gpu_fill_t fill) {
    void *pattern;
    if (!find_pattern(self, fill, &pattern)) return false;
    for (size_t done = 0; done < bytes; done += PATTERN_BYTES) {
        const size_t part = bytes - done < PATTERN_BYTES ? bytes - done : PATTERN_BYTES;
        if (!ok(dg_device_copy_async(
                (char *)memory + done, self->device, pattern, self->device, part, NULL)))
            return false;
    }
    return true;
}

/* Bytes from the first to the last element of a tensor with positive strides. */
static size_t span_bytes(const dg_tensor_t *tensor) {
    int64_t last = 0;
    for (int32_t axis = 0; axis < tensor->rank; axis++) {
        if (tensor->shape[axis] == 0) return 0;
        last += (tensor->shape[axis] - 1) * tensor->stride[axis];
    }
    return (size_t)((last + 1) * dg_dtype_size(tensor->dtype));
}

static bool place_tensor(cli_gpu_operands_t *self, dg_tensor_t *tensor, cli_gpu_fill_t fill) {
    if (tensor->dtype == DG_DTYPE_NONE) return true;
    const size_t bytes = span_bytes(tensor);
    tensor->device = self->device;
    return allocate(self, bytes, &tensor->data) && fill_memory(self, tensor->data, bytes, fill);
}

static bool place_side(cli_gpu_operands_t *self, dg_tensor_t *data, dg_tensor_t *scale) {
    const cli_gpu_fill_t fill = data->dtype == DG_DTYPE_E4M3   ? CLI_GPU_E4M3
                                : data->dtype == DG_DTYPE_BF16 ? CLI_GPU_BF16
                                                               : CLI_GPU_BYTES;
    return place_tensor(self, data, fill) &&
           place_tensor(
               self, scale, scale->dtype == DG_DTYPE_F32 ? CLI_GPU_FACTORS : CLI_GPU_EXPONENTS);
}

/* values: [count], given to the device as the I32 that `tensor` is. */
static bool place_integers(cli_gpu_operands_t *self, dg_tensor_t *tensor, const int32_t *values) {
    const size_t bytes = (size_t)tensor->shape[0] * sizeof *values;
    tensor->device = self->device;
    return allocate(self, bytes, &tensor->data) &&
           ok(dg_device_copy(tensor->data, self->device, values, host, bytes));
}

/* Rows picked at random out of `rows`. */
static bool place_row_list(cli_gpu_operands_t *self, dg_tensor_t *list, int64_t rows) {
    if (list->dtype == DG_DTYPE_NONE) return true;
    cli_random_t random = {7};
    int32_t *values = cli_allocate((size_t)list->shape[0] * sizeof *values);
    for (int64_t i = 0; i < list->shape[0]; i++)
        values[i] = (int32_t)cli_random_below(&random, rows);
    const bool done = place_integers(self, list, values);
    free(values);
    return done;
}

/* What each form of grouped.h says of the shape's sizes, groups in order. values: [count] */
static void fill_groups(const cli_shape_t *shape, int64_t count, int32_t *values) {
    int64_t row = 0;
    for (int64_t i = 0; i < count; i++) values[i] = -1;
    for (int64_t g = 0; g < shape->groups; g++) {
        const int64_t size = shape->sizes[g], align = shape->align > 0 ? shape->align : 1;
        switch (shape->form) {
        case CLI_FORM_OFFSETS: values[g] = (int32_t)(row += size); break;
        case CLI_FORM_PSUM:
            row = (row + align - 1) / align * align;
            values[g] = (int32_t)(row += size);
            break;
        case CLI_FORM_BLOCK_INDEX:
            for (int64_t i = 0; i < (size + align - 1) / align * align && row < count; i++)
                values[row++] = (int32_t)g;
            break;
        case CLI_FORM_INDEX:
            for (int64_t i = 0; i < size; i++) values[row++] = (int32_t)g;
            break;
        default: values[g] = (int32_t)size; break;
        }
    }
}

static bool place_groups(cli_gpu_operands_t *self, const cli_shape_t *shape, dg_groups_t *groups) {
    if (groups->values.dtype == DG_DTYPE_NONE) return true;
    const int64_t count = groups->values.shape[0];
    int32_t *values = cli_allocate((size_t)(count + 1) * sizeof *values);
    fill_groups(shape, count, values);
    const bool done = place_integers(self, &groups->values, values);
    free(values);
    return done;
}

/* d: `count` tensors, of which *d gets the first's address. */
static bool place_outputs(cli_gpu_operands_t *self, dg_tensor_t *d, int64_t count) {
    const size_t bytes = (span_bytes(d) + 255) / 256 * 256;
    void *memory;
    d->device = self->device;
    if (!allocate(self, bytes * (size_t)count, &memory)) return false;
    for (int64_t i = 0; i < count; i++) self->d[i] = (char *)memory + (size_t)i * bytes;
    self->d_count = count;
    self->d_bytes = span_bytes(d);
    d->data = memory;
    return true;
}

static bool place_gemm(cli_gpu_operands_t *self, dg_gemm_args_t *args) {
    if (!place_side(self, &args->a.data, &args->a.scale) ||
        !place_side(self, &args->b.data, &args->b.scale) || !place_outputs(self, &args->d, 1))
        return false;
    if (args->c.dtype != DG_DTYPE_NONE) args->c = args->d;
    return true;
}

static bool place_m_grouped(
    cli_gpu_operands_t *self, const cli_shape_t *shape, dg_m_grouped_gemm_args_t *args) {
    if (!place_side(self, &args->a.data, &args->a.scale) ||
        !place_side(self, &args->b.data, &args->b.scale) || !place_outputs(self, &args->d, 1) ||
        !place_groups(self, shape, &args->groups) ||
        !place_row_list(self, &args->a_rows, args->a.data.shape[0]))
        return false;
    if (args->c.dtype != DG_DTYPE_NONE) args->c = args->d;
    return true;
}

static bool place_k_grouped(
    cli_gpu_operands_t *self, const cli_shape_t *shape, dg_k_grouped_gemm_args_t *args) {
    const bool list = args->output == DG_K_OUTPUT_LIST;
    if (!place_side(self, &args->a.data, &args->a.scale) ||
        !place_side(self, &args->b.data, &args->b.scale) ||
        !place_row_list(self, &args->a.rows, args->a.data.shape[0]) ||
        !place_row_list(self, &args->b.rows, args->b.data.shape[0]) ||
        !place_groups(self, shape, &args->groups) ||
        !place_outputs(self, &args->d, list ? shape->groups : 1))
        return false;
    if (list) {
        args->d.data = NULL;
        args->d_list = self->d;
        if (shape->accumulate) args->c_list = (const void *const *)self->d;
    } else if (args->c.dtype != DG_DTYPE_NONE) {
        args->c = args->d;
    }
    return true;
}

static void release_buffers(cli_gpu_operands_t *self) {
    while (self->count > 0) (void)dg_device_free(self->device, self->buffers[--self->count]);
    self->d_count = 0;
}

bool cli_gpu_place(cli_gpu_operands_t *self, cli_plan_arguments_t *arguments) {
    const cli_shape_t *shape = &arguments->shape;
    release_buffers(self);
    const bool placed = arguments->request.gemm != NULL ? place_gemm(self, &arguments->gemm)
                        : arguments->request.m_grouped != NULL
                            ? place_m_grouped(self, shape, &arguments->m_grouped)
                            : place_k_grouped(self, shape, &arguments->k_grouped);
    return placed && ok(dg_device_synchronize(self->device));
}

void cli_gpu_release(cli_gpu_operands_t *self) {
    release_buffers(self);
    for (int i = 0; i < CLI_GPU_NUM_FILLS; i++) {
        (void)dg_device_free(self->device, self->patterns[i]);
        self->patterns[i] = NULL;
    }
}

dg_status_t cli_gpu_call(
    dg_context_t *ctx, const cli_plan_arguments_t *arguments, const dg_launch_t *launch) {
    const dg_plan_request_t *request = &arguments->request;
    if (request->gemm != NULL) return dg_gemm(ctx, request->gemm, launch);
    if (request->m_grouped != NULL) return dg_m_grouped_gemm(ctx, request->m_grouped, launch);
    return dg_k_grouped_gemm(ctx, request->k_grouped, launch);
}

dg_status_t cli_gpu_workspace(
    dg_context_t *ctx, const cli_plan_arguments_t *arguments, size_t *bytes) {
    const dg_plan_request_t *request = &arguments->request;
    if (request->gemm != NULL) return dg_gemm_workspace(ctx, request->gemm, bytes);
    if (request->m_grouped != NULL)
        return dg_m_grouped_gemm_workspace(ctx, request->m_grouped, bytes);
    return dg_k_grouped_gemm_workspace(ctx, request->k_grouped, bytes);
}
