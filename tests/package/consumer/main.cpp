// SPDX-License-Identifier: MIT
// The same program as C++: the headers must compile and link under both.
#include "main.c"
