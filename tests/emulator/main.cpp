// SPDX-License-Identifier: MIT
//
// Runs the tests linked into this program; an argument selects those whose name contains it.
#include "check.h"

int main(int argc, char **argv) {
    return check::run_all(argc, argv);
}
