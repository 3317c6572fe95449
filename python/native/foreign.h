/* SPDX-License-Identifier: MIT
 *
 * Reading tensors without a C table: numpy's array struct, the attributes of older torch, capsules of
 * DLPack. foreign.c implements it for tensor.c. All return false with a Python exception set.
 */
#ifndef DGPY_FOREIGN_H
#define DGPY_FOREIGN_H

#include "dlpack_abi.h"
#include "tensor.h"

/* Copies a DLPack tensor's description, with its element type as `role` means it. */
bool dgpy_take_dlpack(
    const dlpack_tensor_t *tensor, const char *argument, dgpy_role_t role, dg_tensor_t *out);

/* numpy: obj.__array_struct__ and obj.dtype.name. */
bool dgpy_read_array(
    PyObject *object, const char *argument, dgpy_role_t role, dg_tensor_t *out, bool *readonly);

/* torch before 2.10: obj.data_ptr(), obj.shape, obj.stride(), obj.dtype, obj.device. */
bool dgpy_read_attributes(
    PyObject *object, const char *argument, dgpy_role_t role, dg_tensor_t *out);

/* obj.__dlpack__(); the capsule is held by the call. */
bool dgpy_read_capsule(dgpy_call_t *call, PyObject *object, const char *argument, dgpy_role_t role,
    dg_tensor_t *out, bool *readonly);

#endif
