/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/leaks/suppress_stack.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "symbols/name.h"

static size_t unversioned_len(const char *name)
{
	return strchrnul(name, '@') - name;
}

/*
 * Of several names of a function that which Valgrind shows: the shortest one, not counting a symbol
 * version (preferName() in m_debuginfo/storage.c). Debug information may know yet another.
 */
static const char *best_name(const struct shown_frame *shown)
{
	const char *best = NULL;
	for (size_t i = 0; i < shown->alias_count; i++)
		if (!best || unversioned_len(shown->aliases[i]) < unversioned_len(best))
			best = shown->aliases[i];
	return best ? best : shown->raw_name;
}

static bool is_below_main(const char *function)
{
	static const char *const names[] = {"_start", "__libc_start_main", "__libc_start_main_impl",
		"__libc_start_call_main", "generic_start_main"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return false;
}

static void name_function(const struct shown_frame *shown, struct suppress_frame *ret)
{
	ret->function = best_name(shown);
	ret->aliases = shown->aliases;
	ret->alias_count = shown->alias_count;
	/* Valgrind's words for where programs begin; the loader's label is no function to it. */
	if (ret->function && is_below_main(ret->function))
		ret->function = "(below main)";
	/* Under Valgrind there is no clone3(), and libc calls the older one. */
	else if (ret->function &&
		 (!strcmp(ret->function, "clone3") || !strcmp(ret->function, "__clone3")))
		ret->function = "clone";
	else if (ret->function && strcmp(ret->function, "_dl_start_user") == 0)
		*ret = (struct suppress_frame){0};
}

static struct suppress_frame frame_of(const struct shown_frame *shown)
{
	struct suppress_frame frame = {.demangled = shown_frame_plain(shown)};
	if (shown->inlined) /* Valgrind has their names only from debug information */
		frame.function = shown->raw_name;
	else
		name_function(shown, &frame);
	frame.object = shown->real_path ? shown->real_path : shown->module_path;
	frame.object_alias = shown->module_path;
	frame.file = shown->file;
	frame.line = shown->line;
	frame.inlined = shown->inlined;
	frame.managed = shown_frame_is_managed(shown);
	return frame;
}

/* The allocation function, which the resolver shows without a place. */
static bool is_kind(const struct shown_frame *shown)
{
	return shown->function && !shown->module && !shown->address &&
	       !shown_frame_is_managed(shown);
}

static struct error *add_allocation(enum alloc_kind kind, struct suppress_frame_vec *ret)
{
	struct suppress_frame frames[SUPPRESS_ALLOCATION_FRAMES_MAX];
	size_t count = suppress_allocation_frames(kind, frames);
	for (size_t i = 0; i < count; i++)
		if (!suppress_frame_vec_push(ret, frames[i]))
			return error_no_memory();
	return NULL;
}

struct error *suppress_add_frames(
	const struct shown_frame *const *frames, size_t count, struct suppress_frame_vec *ret)
{
	for (size_t i = 0; i < count; i++)
		if (frames[i]->mark == MARK_NONE &&
			!suppress_frame_vec_push(ret, frame_of(frames[i])))
			return error_no_memory();
	return NULL;
}

struct error *suppress_shown_stack(const struct shown_frame *const *frames, size_t count,
	enum alloc_kind kind, struct suppress_frame_vec *ret)
{
	suppress_frame_vec_clear(ret);
	struct error *error = add_allocation(kind, ret);
	return error ? error : suppress_add_frames(frames, count, ret);
}

struct error *suppress_stack(struct resolver *resolver, struct stack_id stack, enum alloc_kind kind,
	struct suppress_frame_vec *ret)
{
	_cleanup_(frame_vec_deinit) struct frame_vec shown;
	frame_vec_init(&shown);
	struct error *error = resolver_stack(resolver, stack, kind, &shown);
	if (error)
		return error;
	size_t first = shown.len && is_kind(shown.data[0]);
	return suppress_shown_stack(shown.data + first, shown.len - first, kind, ret);
}

void suppress_frame_add_name(struct text *text, const struct suppress_frame *frame)
{
	const char *name = frame->function ? frame->function : frame->demangled;
	if (name)
		name_add_whole(text, name);
	else
		text_add(text, "???");
}
