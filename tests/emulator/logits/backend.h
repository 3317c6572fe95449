/* SPDX-License-Identifier: MIT
 *
 * How calls for MQA logits run on the emulator. See backend.c.
 */
#ifndef DG_TESTS_LOGITS_BACKEND_H
#define DG_TESTS_LOGITS_BACKEND_H

#include <stdint.h>

extern int32_t emulated_sms;      /* of the machine */
extern int32_t emulated_launches; /* so far */
extern int32_t emulated_kernel;   /* of the last one, DG_KERNEL_* */

#endif
