/* SPDX-License-Identifier: MIT
 *
 * A product through the installed library: 2 x 2 identity times a matrix is that matrix.
 */
#include <deep_gemm/deep_gemm.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    const unsigned short a[4] = {0x3f80, 0, 0, 0x3f80}; /* bf16 1.0 on the diagonal */
    const unsigned short b[4] = {0x4000, 0x4040, 0x4080, 0x40a0};
    const float expected[4] = {2.0f, 4.0f, 3.0f, 5.0f}; /* a b^T */
    float d[4];
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = dg_tensor_2d(a, DG_DTYPE_BF16, 2, 2);
    args.b.data = dg_tensor_2d(b, DG_DTYPE_BF16, 2, 2);
    args.d = dg_tensor_2d(d, DG_DTYPE_F32, 2, 2);
    if (dg_gemm(NULL, &args, NULL) != DG_STATUS_OK) {
        fprintf(stderr, "%s\n", dg_last_error());
        return 1;
    }
    printf("deep_gemm %s: %g %g %g %g\n", dg_version(), (double)d[0], (double)d[1], (double)d[2],
        (double)d[3]);
    return memcmp(d, expected, sizeof d) != 0 || strcmp(dg_version(), DG_VERSION_STRING) != 0;
}
