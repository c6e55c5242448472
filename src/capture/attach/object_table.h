/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of objects (objects.h) in the memory of a process. */
#ifndef CAPTURE_ATTACH_OBJECT_TABLE_H
#define CAPTURE_ATTACH_OBJECT_TABLE_H

#include "capture/attach/injection.h"
#include "capture/attach/objects.h"

/*
 * Brings the table up to date, all of whose readers are stopped. `own`: where the process's struct
 * hw_attach_own is; `objects`: how far behind it the table is. Without room for all, frames in the
 * others stay unknown, which stacks say. Errors are kept in `in`.
 */
void object_table_write(
	struct injection *in, const struct attach_object_vec *now, uint64_t own, uint64_t objects);

#endif
