// SPDX-License-Identifier: MIT
//
// EMU_VECTOR_CLONES in front of a function: it is compiled for AVX2 too, and the loader picks one.
// Sanitizers start too late for that.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_UNDEFINED__)
#    define EMU_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#    define EMU_VECTOR_CLONES
#endif
