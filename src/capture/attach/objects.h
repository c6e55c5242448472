/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of objects of a process whose dynamic linker can't be asked where unwind tables are. */
#ifndef CAPTURE_ATTACH_OBJECTS_H
#define CAPTURE_ATTACH_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "format/attach.h"
#include "process/linked_objects.h"

/* An object as it is to be in the table. */
struct attach_object {
	struct hw_attach_object row; /* `path` and `gone` are 0 */
	const char *path;            /* of the linked objects, or constant */
};
DEFINE_VEC(attach_object_vec, struct attach_object)

/*
 * Adds the objects of a process, from their ELF headers in its memory; one whose headers are no
 * such is left out. The objects' own strings are borrowed.
 */
struct error *attach_objects_list(
	const struct linked_objects *objects, struct attach_object_vec *ret) must_check_;

/*
 * Brings the table up to date: what is loaded and not in it is added behind, what is in it and not
 * loaded is marked. *ret_gone: how many were. Returns false if there was no room for all.
 */
bool attach_objects_update(
	struct hw_attach_objects *table, const struct attach_object_vec *now, uint32_t *ret_gone);

#endif
