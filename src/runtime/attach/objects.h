/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment, once for each address; after dlclose. May touch: the table.
 *
 * The table of objects that the tool has made of a process whose dynamic linker can't be asked.
 */
#ifndef RUNTIME_ATTACH_OBJECTS_H
#define RUNTIME_ATTACH_OBJECTS_H

#include "format/attach.h"
#include "runtime/core/modules.h"

/* Returns the row of the object that an address lies in; NULL: there is none. */
const struct hw_attach_object *at_objects_row(
	const struct hw_attach_objects *objects, uint64_t address);

/*
 * Finds the object that an address lies in, as rt_find_fn does. One whose headers or unwind table
 * are not what they were is not found: it was unloaded a moment ago, and its memory may be
 * another's. Asks the kernel.
 */
bool at_objects_find(
	const struct hw_attach_objects *objects, uint64_t address, struct rt_found *ret);

/* Marks objects whose memory can't be read any more: the tool learns of that only later. */
void at_objects_review(struct hw_attach_objects *objects);

#endif
