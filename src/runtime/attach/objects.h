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

/* Finds the object that an address lies in, as rt_find_fn does. */
bool at_objects_find(
	const struct hw_attach_objects *objects, uint64_t address, struct rt_found *ret);

/* Marks objects whose memory can't be read any more: the tool learns of that only later. */
void at_objects_review(struct hw_attach_objects *objects);

#endif
