/* SPDX-License-Identifier: MIT
 *
 * See gpu_sample.h.
 */
#include "gpu_sample.h"

#include <math.h>

#include "number.h"

bool cli_gpu_clear(const cli_gpu_operands_t *operands) {
    for (int64_t i = 0; i < operands->d_count; i++)
        if (dg_device_memset(operands->device, operands->d[i], 0, operands->d_bytes, NULL) !=
            DG_STATUS_OK)
            return false;
    return dg_device_synchronize(operands->device) == DG_STATUS_OK;
}

static const dg_tensor_t *find_d(const cli_plan_arguments_t *arguments) {
    const dg_plan_request_t *request = &arguments->request;
    return request->gemm != NULL        ? &request->gemm->d
           : request->m_grouped != NULL ? &request->m_grouped->d
                                        : &request->k_grouped->d;
}

/* Where piece `index` begins, in bytes of its d. */
static size_t find_piece(
    const cli_shape_t *shape, const dg_tensor_t *d, size_t d_bytes, size_t bytes, int64_t index) {
    const size_t size = (size_t)dg_dtype_size(d->dtype);
    if (shape->family == CLI_M_GROUPED && shape->form == CLI_FORM_MASKED) {
        const int64_t group = index % shape->groups, rows = shape->sizes[group];
        const int64_t row = rows > 0 ? index / shape->groups * 37 % rows : 0;
        return (size_t)(group * d->stride[0] + row * d->stride[1]) * size;
    }
    const size_t elements = (d_bytes - bytes) / size;
    return elements * (size_t)index / (CLI_GPU_PIECES - 1) * size;
}

bool cli_gpu_take_sample(const cli_gpu_operands_t *operands, const cli_plan_arguments_t *arguments,
    cli_gpu_sample_t *sample) {
    const dg_device_t host = {DG_DEVICE_CPU, 0};
    const dg_tensor_t *d = find_d(arguments);
    const size_t row = (size_t)(d->shape[d->rank - 1] * dg_dtype_size(d->dtype));
    *sample = (cli_gpu_sample_t){.bytes = row < CLI_GPU_PIECE ? row : CLI_GPU_PIECE};
    for (int64_t i = 0; i < CLI_GPU_PIECES; i++) {
        const size_t at = find_piece(&arguments->shape, d, operands->d_bytes, sample->bytes, i);
        const char *from = (const char *)operands->d[i % operands->d_count] + at;
        if (dg_device_copy(sample->pieces[i], host, from, operands->device, sample->bytes) !=
            DG_STATUS_OK)
            return false;
    }
    return true;
}

double cli_gpu_compare(const cli_gpu_sample_t *x, const cli_gpu_sample_t *y, dg_dtype_t dtype) {
    double products = 0, squares = 0;
    const int64_t count = (int64_t)x->bytes / dg_dtype_size(dtype);
    for (int64_t i = 0; i < CLI_GPU_PIECES; i++) {
        for (int64_t j = 0; j < count; j++) {
            const double a = cli_load(x->pieces[i], dtype, j), b = cli_load(y->pieces[i], dtype, j);
            products += 2 * a * b;
            squares += a * a + b * b;
        }
    }
    if (!isfinite(squares)) return 1;
    return squares > 0 ? 1 - products / squares : 0;
}
