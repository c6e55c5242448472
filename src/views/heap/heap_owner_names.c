/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap_owner_names.h"

#include <inttypes.h>

#include "views/heap/heap_parts.h"

/* "global cache", "thread-local scratch of thread 4711", "mapping 0x7f0000 /memfd:x" */
static void label_holder(const struct retained_holder *holder, struct text *out)
{
	const char *name = holder->place.name;
	bool is_thread_local = holder->kind == HEAP_ROOT_TLS && name;
	text_add(out, is_thread_local ? "thread-local" : heap_root_names[holder->kind]);
	if (name)
		text_printf(out, " %s", name);
	else if (holder->start)
		text_printf(out, " 0x%" PRIx64, holder->start);
	if (holder->map && *holder->map->path)
		text_printf(out, " %s", holder->map->path);
	if (holder->tid)
		text_printf(out, " of thread %d", (int)holder->tid);
}

void heap_owner_label(const struct heap_scan *scan, const struct retained *retained,
	const struct heap_owner *owner, struct text *out)
{
	static const char *const labels[] = {[HEAP_OWNER_ROOT] = "all blocks in use",
		[HEAP_OWNER_SEVERAL] = "held by several together",
		[HEAP_OWNER_LOST] = "lost: nothing references it",
		[HEAP_OWNER_DEEPER] = "(deeper)"};
	if (owner->kind == HEAP_OWNER_HOLDER)
		label_holder(&retained->holders.data[owner->number], out);
	else if (owner->kind == HEAP_OWNER_TYPE)
		text_add(out, scan->types.types.data[owner->number].name);
	else
		text_add(out, labels[owner->kind]);
}

const char *heap_owner_kind_name(const struct heap_scan *scan, const struct retained *retained,
	const struct heap_owner *owner)
{
	static const char *const kinds[] = {[HEAP_OWNER_ROOT] = "heap",
		[HEAP_OWNER_SEVERAL] = "several",
		[HEAP_OWNER_LOST] = "lost",
		[HEAP_OWNER_DEEPER] = "deeper"};
	return owner->kind == HEAP_OWNER_HOLDER
		       ? heap_root_names[retained->holders.data[owner->number].kind]
	       : owner->kind == HEAP_OWNER_TYPE
		       ? heap_type_kind_name(scan->types.types.data[owner->number].kind)
		       : kinds[owner->kind];
}

const char *heap_owner_module(const struct retained *retained, const struct heap_owner *owner)
{
	if (owner->kind != HEAP_OWNER_HOLDER)
		return NULL;
	const struct address_module *module = retained->holders.data[owner->number].place.module;
	return module ? module->path : NULL;
}
