/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/java/hprof_roots.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Groups of threads and frames; further roots are grouped by their kind alone. */
#define GROUPS_MAX (1u << 20)

struct group_key {
	uint64_t kind_and_thread;
	uint32_t frame;
};

static uint64_t group_hash(struct group_key key)
{
	return hash_u64(key.kind_and_thread) ^ hash_u64(key.frame + 1ull);
}

static bool group_equal(struct group_key a, struct group_key b)
{
	return a.kind_and_thread == b.kind_and_thread && a.frame == b.frame;
}

DEFINE_MAP(group_map, struct group_key, uint32_t, group_hash, group_equal)

void hprof_roots_deinit(struct hprof_roots *roots)
{
	for (size_t i = 0; i < roots->threads.len; i++)
		free(roots->threads.data[i].name);
	hprof_root_vec_deinit(&roots->groups);
	hprof_hold_vec_deinit(&roots->holds);
	hprof_thread_vec_deinit(&roots->threads);
	hprof_numbers_deinit(&roots->by_serial);
}

static struct error *thread_add(
	struct hprof_roots *roots, const struct hprof_root *root, uint32_t row)
{
	uint32_t *number = hprof_numbers_insert(&roots->by_serial, root->thread, NULL);
	struct hprof_thread thread = {
		.serial = root->thread, .trace = root->frame, .row = row, .text = HPROF_NO_CLASS};
	if (!number || !hprof_thread_vec_push(&roots->threads, thread))
		return error_no_memory();
	*number = (uint32_t)roots->threads.len - 1;
	return NULL;
}

static struct error *group_find(struct hprof_roots *roots, struct group_map *map,
	const struct hprof_root *root, uint32_t *ret)
{
	bool is_new;
	/* A thread's own root has no frame, and its trace is known already. */
	struct hprof_root group = {.kind = root->kind, .frame = HPROF_NO_CLASS};
	if (roots->groups.len < GROUPS_MAX) {
		group.thread = root->thread;
		group.frame = root->kind == HPROF_ROOT_THREAD ? HPROF_NO_CLASS : root->frame;
	}
	struct group_key key = {(uint64_t)group.kind << 32 | group.thread, group.frame};
	uint32_t *number = group_map_insert(map, key, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		if (!hprof_root_vec_push(&roots->groups, group))
			return error_no_memory();
		*number = (uint32_t)roots->groups.len;
	}
	*ret = *number;
	return NULL;
}

static int by_group(const void *a, const void *b)
{
	const struct hprof_hold *x = a, *y = b;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static struct error *root_add(struct hprof_tables *tables, struct hprof_roots *roots,
	struct group_map *map, const struct hprof_root *root, uint32_t row)
{
	struct hprof_hold hold = {.row = row};
	struct error *error = NULL;
	if (root->kind == HPROF_ROOT_THREAD)
		error = thread_add(roots, root, row);
	if (row == HPROF_NO_CLASS || error)
		return error;
	if (tables->rows.data[row].what == HPROF_IS_CLASS)
		tables->class_rows.data[tables->rows.data[row].class].is_root = true;
	else
		error = group_find(roots, map, root, &hold.group);
	if (!error && !hprof_hold_vec_push(&roots->holds, hold))
		error = error_no_memory();
	return error;
}

struct error *hprof_roots_make(struct hprof_tables *tables, hprof_row_find find,
	const void *context, struct hprof_roots *ret)
{
	struct group_map map;
	struct error *error = NULL;
	*ret = (struct hprof_roots){.groups = {0}};
	group_map_init(&map);
	for (size_t i = 0; i < tables->roots.len && !error; i++) {
		const struct hprof_root *root = &tables->roots.data[i];
		error = root_add(tables, ret, &map, root, find(context, root->id));
	}
	group_map_deinit(&map);
	if (!error && ret->holds.len)
		qsort(ret->holds.data, ret->holds.len, sizeof(*ret->holds.data), by_group);
	return error;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* "Shop.main(Shop.java:31)" */
static void frame_name(
	const struct hprof_tables *tables, const struct hprof_frame *frame, struct text *out)
{
	const uint32_t *class = hprof_numbers_find(&tables->class_serials, frame->class_serial);
	const char *file = hprof_name(tables, frame->file);
	if (class)
		text_printf(out, "%s.",
			(const char *)tables->text.data +
				tables->heap->strings.data[tables->class_rows.data[*class].name]);
	text_add(out, hprof_name(tables, frame->method));
	if (!*file)
		return;
	text_printf(out, "(%s", file);
	if (frame->line > 0)
		text_printf(out, ":%d", (int)frame->line);
	text_add(out, ")");
}

/* The frame that a root is of; NULL: it is not known. */
static const struct hprof_frame *root_frame(const struct hprof_tables *tables,
	const struct hprof_thread *thread, const struct hprof_root *group)
{
	const uint32_t *trace = thread ? hprof_numbers_find(&tables->traces, thread->trace) : NULL;
	if (!trace || group->frame >= tables->trace_rows.data[*trace].count)
		return NULL;
	uint64_t id =
		tables->trace_frames.data[tables->trace_rows.data[*trace].first + group->frame];
	const uint32_t *frame = hprof_numbers_find(&tables->frames, id);
	return frame ? &tables->frame_rows.data[*frame] : NULL;
}

static const char *kind_name(const struct hprof_root *group)
{
	switch (group->kind) {
	case HPROF_ROOT_JNI_GLOBAL:
		return "JNI global reference";
	case HPROF_ROOT_JNI_LOCAL:
		return "JNI local reference";
	case HPROF_ROOT_JAVA_FRAME:
		return "local variable";
	case HPROF_ROOT_NATIVE_STACK:
		return "native stack";
	case HPROF_ROOT_THREAD_BLOCK:
		return "blocked thread";
	case HPROF_ROOT_MONITOR:
		return "monitor in use";
	case HPROF_ROOT_THREAD:
		return "running thread";
	case HPROF_ROOT_STICKY_CLASS:
		return "system class";
	default:
		return "root of the JVM's own";
	}
}

struct error *hprof_root_name(struct hprof_tables *tables, const struct hprof_roots *roots,
	const struct hprof_root *group, uint32_t *ret)
{
	_cleanup_(text_deinit) struct text name;
	const uint32_t *number = hprof_numbers_find(&roots->by_serial, group->thread);
	const struct hprof_thread *thread = number ? &roots->threads.data[*number] : NULL;
	const struct hprof_frame *frame = root_frame(tables, thread, group);
	bool is_thread = group->kind == HPROF_ROOT_THREAD;
	text_init(&name);
	text_add(&name, kind_name(group));
	if (frame) {
		text_add(&name, " of ");
		frame_name(tables, frame, &name);
	}
	if (thread && thread->name) {
		text_add(&name, is_thread ? " \"" : ", thread \"");
		text_add_shown(&name, thread->name, 100);
		text_add(&name, "\"");
	}
	return name.data ? hprof_string_add(tables, name.data, strlen(name.data), ret)
			 : error_no_memory();
}
