/* SPDX-License-Identifier: MIT
 *
 * The version of this library, for programs that compare it with the headers they were built with.
 */
#include "deep_gemm/version.h"

#include "deep_gemm/context.h"

const char *dg_version(void) {
    return DG_VERSION_STRING;
}
