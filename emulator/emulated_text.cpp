// SPDX-License-Identifier: MIT
//
// Nothing but the headers that kernels include, as far as no macro of theirs changes them. They are compiled once
// for all specialisations (cmake/emulate_kernel.cmake): reading them was half of what each took.
