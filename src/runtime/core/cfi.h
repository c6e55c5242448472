/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment, once for each address. May touch: .eh_frame_hdr and .eh_frame
 * of a loaded module.
 *
 * Compiles the call frame information of one address into a rule (DWARF 5 section 6.4; LSB 5.0
 * core, 10.6 for .eh_frame and its sorted table; AMD64 ABI 1.0 section 3.7 for register numbers).
 */
#ifndef RUNTIME_CFI_H
#define RUNTIME_CFI_H

#include "runtime/core/rule.h"

/*
 * Finds the rule in force at `pc`, an address inside the instruction: a return address minus one,
 * or an exact one. `eh_frame_hdr` belongs to the module that is mapped at [start, end); nothing
 * outside of it is read. *ret is RT_CFA_NONE if there is no entry, or the entry can't be expressed
 * as a rule. *ret_function becomes the start of the covering entry, or 0. Needs about 600 bytes of
 * stack.
 */
void rt_cfi_rule(const uint8_t *eh_frame_hdr, uint64_t start, uint64_t end, uint64_t pc,
	struct rt_rule *ret, uint64_t *ret_function);

#endif
