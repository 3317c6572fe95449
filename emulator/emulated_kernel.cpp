// SPDX-License-Identifier: MIT
//
// Makes an emulated specialisation of a kernel, given by definitions on the command line: the kernel's
// macros, and
//
//     EMU_SOURCE  file with the kernel's text
//     EMU_SYMBOL  its function
//     EMU_KERNEL  its name, a string
//     EMU_NAME    name of the specialisation, a string
//     EMU_VALUES  its macros, as EMU_VALUE(BLOCK_M) EMU_VALUE(BLOCK_N) ...
//
// Everything in the text is static, so a program may link any number of specialisations.
#include "specialisation.h"

#include <iterator>

#include EMU_SOURCE

// What the text leaves out is the common case.
#ifndef CLUSTER
#    define CLUSTER 1
#endif
#ifndef PER_SM
#    define PER_SM 1
#endif
#ifndef SHARED_BYTES
#    define SHARED_BYTES 0
#endif

#define EMU_VALUE(macro) {#macro, macro},
static const emu::SpecialisationValue emulated_values[] = {EMU_VALUES{nullptr, 0}};

static const emu::RegisterSpecialisation emulated_kernel(
    {EMU_NAME, EMU_KERNEL, emulated_values, std::size(emulated_values) - 1, THREADS, CLUSTER,
        PER_SM, SHARED_BYTES, emu::Entry<EMU_SYMBOL>::args_bytes, emu::Entry<EMU_SYMBOL>::call});
