// SPDX-License-Identifier: MIT
//
// The bugs of sm100_gemm_bugs.py. Several tiles a CTA, several trips round the ring, ragged edges.
//
//     emulator_sm100_gemm_bugs [part of a name]
#include "find_bugs.h"
#include "sm100_run.h"

int main(int argc, char **argv) {
    return check::find_bugs(
        argc, argv, [](const emu::Specialisation &bug, const emu::Config &config) {
            const Sm100Shape shape =
                bug.value("SCALED") ? Sm100Shape{150, 300, 656} : Sm100Shape{260, 300, 400};
            return run_sm100_gemm(bug, shape, config, 2);
        });
}
