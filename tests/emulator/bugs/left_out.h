// SPDX-License-Identifier: MIT
//
// Which primitive is left out, and what that means: leave_out.py puts these questions into a copy of
// the emulated vocabulary, test_left_out.cpp decides. A primitive that is left out does nothing. If
// it has a result, that is wrong in its lowest bit; a result in memory is replaced by a number that
// nothing computes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace left_out {

inline size_t chosen = SIZE_MAX; // index into PRIMITIVES; none
inline std::vector<bool> called; // primitives, since it was cleared

inline bool is(size_t primitive) {
    if (called.size() <= primitive) called.resize(primitive + 1);
    called[primitive] = true;
    return primitive == chosen;
}

inline bool skips(size_t primitive) {
    return is(primitive);
}
// result: where the first value of the primitive's would be
template <class T> bool skips(size_t primitive, T *result) {
    const uint32_t nothing = 0x4B1D5EED;
    static_assert(sizeof(T) == sizeof nothing, "primitives write words");
    if (is(primitive)) memcpy(result, &nothing, sizeof nothing);
    return primitive == chosen;
}

inline float spoil(float right) {
    uint32_t bits;
    memcpy(&bits, &right, 4);
    bits ^= 1;
    memcpy(&right, &bits, 4);
    return right;
}
inline bool spoil(bool right) {
    return !right;
}
template <class T> T spoil(T right) {
    return static_cast<T>(right ^ 1);
}
template <class T> T answer(size_t primitive, T right) {
    return is(primitive) ? spoil(right) : right;
}
template <class T> T answer(size_t primitive, T right, T wrong) {
    return is(primitive) ? wrong : right;
}

} // namespace left_out
