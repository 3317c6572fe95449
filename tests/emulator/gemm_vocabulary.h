// SPDX-License-Identifier: MIT
//
// Everything fp8_gemm_block.cu includes, so that the kernel's text can then be included several
// times in namespaces of its own.
#pragma once
#define WGMMA_SHAPES 0xffffffffu
#include "args/gemm.h"
#include "device/barrier.cuh"
#include "device/bulk.cuh"
#include "device/convert.cuh"
#include "device/descriptor.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/matrix.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "device/swizzle.cuh"
#include "device/tensormap.cuh"
#include "device/tma.cuh"
#include "device/warp.cuh"
#include "device/wgmma.cuh"
