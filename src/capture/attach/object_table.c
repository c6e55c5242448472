/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/object_table.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* What there is of the process's table; the rest, which it has never touched, is zeros. NULL: it
 * can't be read, or is damaged. */
static struct hw_attach_objects *read_objects(const struct injection *in, uint64_t at)
{
	_cleanup_free_ struct hw_attach_objects *table = calloc(1, sizeof(*table));
	if (!table || !injection_read(in, at, table, offsetof(struct hw_attach_objects, rows)) ||
		table->count > HW_ATTACH_OBJECTS_MAX || table->path_bytes > HW_ATTACH_PATHS_MAX ||
		!injection_read(in, at + offsetof(struct hw_attach_objects, rows), table->rows,
			table->count * sizeof(table->rows[0])) ||
		!injection_read(in, at + offsetof(struct hw_attach_objects, paths), table->paths,
			table->path_bytes))
		return NULL;
	return steal_ptr(table);
}

void object_table_write(
	struct injection *in, const struct attach_object_vec *now, uint64_t own, uint64_t objects)
{
	uint64_t at = own + objects;
	uint32_t gone, unloaded = 0;
	if (in->error)
		return;
	_cleanup_free_ struct hw_attach_objects *table = read_objects(in, at);
	if (!table) {
		injection_fail(in, "its table of objects can't be read", errno ? errno : EINVAL);
		return;
	}
	(void)attach_objects_update(table, now, &gone);
	/* Names first: who writes may be killed in the middle. */
	bool ok = injection_write(in, at + offsetof(struct hw_attach_objects, paths), table->paths,
			  table->path_bytes) &&
		  injection_write(in, at, table,
			  offsetof(struct hw_attach_objects, rows) +
				  table->count * sizeof(table->rows[0]));
	uint64_t counter = own + offsetof(struct hw_attach_own, unloaded);
	if (ok && gone && injection_read(in, counter, &unloaded, sizeof(unloaded))) {
		unloaded += gone;
		ok = injection_write(in, counter, &unloaded, sizeof(unloaded));
	}
	if (!ok)
		injection_fail(in, "its memory can't be written to", errno);
}
