// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/tcgen05.cuh.
#pragma once
#include "barriers.h"
#include "device/language.cuh"
#include "device/tcgen05_descriptor.cuh"
#include "shared_memory.h"
#include "tcgen05.h"
#include "tensor_memory.h"
#include "tma.h"

template <int CTA_GROUP> DEVICE void tcgen05_allocate(uint32_t destination, uint32_t columns) {
    emu::tensor_allocate(CTA_GROUP, destination, columns);
}
template <int CTA_GROUP> DEVICE void tcgen05_relinquish(void) {
    emu::tensor_relinquish(CTA_GROUP);
}
template <int CTA_GROUP> DEVICE void tcgen05_deallocate(uint32_t address, uint32_t columns) {
    emu::tensor_deallocate(CTA_GROUP, address, columns);
}

template <int CTA_GROUP>
DEVICE void tcgen05_mma_f16(
    uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool accumulate) {
    emu::tcgen05_mma(emu::ProductKind::F16, CTA_GROUP, d, a, b, instruction, accumulate);
}

template <int CTA_GROUP>
DEVICE void tcgen05_mma_f8f6f4(
    uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool accumulate) {
    emu::tcgen05_mma(emu::ProductKind::F8F6F4, CTA_GROUP, d, a, b, instruction, accumulate);
}

template <int CTA_GROUP>
DEVICE void tcgen05_mma_mxf8f6f4(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction,
    uint32_t scale_a, uint32_t scale_b, bool accumulate) {
    emu::tcgen05_mma(
        emu::ProductKind::MXF8F6F4, CTA_GROUP, d, a, b, instruction, accumulate, scale_a, scale_b);
}

template <int CTA_GROUP> DEVICE void tcgen05_copy_scales(uint32_t address, uint64_t source) {
    emu::tcgen05_copy_scales(CTA_GROUP, address, source);
}
template <int CTA_GROUP> DEVICE void tcgen05_commit(uint32_t barrier) {
    emu::tcgen05_commit(CTA_GROUP, barrier, 0);
}
template <int CTA_GROUP> DEVICE void tcgen05_commit_multicast(uint32_t barrier, uint16_t ranks) {
    emu::tcgen05_commit(CTA_GROUP, barrier, ranks);
}

DEVICE void tcgen05_load_x8(uint32_t *values, uint32_t address) {
    emu::tensor_load(values, 8, address);
}
DEVICE void tcgen05_load_x32(uint32_t *values, uint32_t address) {
    emu::tensor_load(values, 32, address);
}
DEVICE void tcgen05_store_x8(uint32_t address, const uint32_t *values) {
    emu::tensor_store(address, values, 8);
}
DEVICE void tcgen05_store_x32(uint32_t address, const uint32_t *values) {
    emu::tensor_store(address, values, 32);
}
DEVICE void tcgen05_wait_load(void) {
    emu::tensor_wait_load();
}
DEVICE void tcgen05_wait_store(void) {
    emu::tensor_wait_store();
}
DEVICE void tcgen05_fence_before(void) {
    emu::tensor_fence_before();
}
DEVICE void tcgen05_fence_after(void) {
    emu::tensor_fence_after();
}

DEVICE void tma_load_2d_pair(
    uint32_t destination, const dg_tensor_map_t *map, uint32_t barrier, int x, int y) {
    const int at[2] = {x, y};
    const uint32_t even = emu::current->cta->rank & ~1u;
    emu::tma_load(destination, map, emu::peer_address(barrier, even), 2, at, 0);
}
