/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/leaks/leak_libraries.h"

#include <string.h>

#include "base/util.h"

static bool is_libc(const char *module)
{
	return module && (!strncmp(module, "libc.so", 7) || !strncmp(module, "libc-2", 6));
}

static bool is_one_of(const char *name, const char *const *names)
{
	for (; name && *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

static bool function_is(const struct shown_frame *frame, const char *const *names)
{
	for (size_t i = 0; i < frame->alias_count; i++) {
		size_t len = strcspn(frame->aliases[i], "@");
		for (const char *const *name = names; *name; name++)
			if (strlen(*name) == len && !strncmp(frame->aliases[i], *name, len))
				return true;
	}
	return is_one_of(shown_frame_plain(frame), names);
}

/* How many innermost frames are libc's; what it lays over them (inlined) counts too. */
static size_t libc_frames(const struct leak_stack *stack)
{
	size_t count = 0;
	while (count < stack->all_depth && stack->all[count]->mark == MARK_NONE &&
		is_libc(stack->all[count]->module))
		count++;
	return count;
}

/* Variables that programs share with libc have their place in the program. */
static bool is_libc_data(const struct leak_holder *holder)
{
	static const char *const streams[] = {"_IO_list_all", NULL};
	static const char *const shared[] = {
		"environ", "__environ", "_environ", "tzname", "__tzname", NULL};
	if (holder->place != LEAK_PLACE_DATA)
		return false;
	if (is_one_of(holder->data.name, streams))
		return false;
	return is_libc(holder->data.module) || is_one_of(holder->data.name, shared);
}

static bool is_held_by_libc(const struct leaks *leaks, const struct leak_row *row)
{
	uint64_t blocks = 0;
	for (size_t i = 0; i < row->hold_count; i++) {
		const struct leak_hold *hold = &leaks->holds.data[row->first_hold + i];
		const struct leak_path *path = &leaks->paths.paths.data[hold->path];
		if (!is_libc_data(&leaks->paths.holders.data[path->holder]))
			return false;
		blocks += hold->blocks;
	}
	return blocks && blocks == row->blocks;
}

bool leak_library_keeps(const struct leaks *leaks, const struct leak_row *row)
{
	/* Its own state for errors, one a thread. */
	static const char *const errors[] = {"dlopen", "dlmopen", "dlsym", "dlvsym", "dlclose",
		"dlinfo", "dladdr", "dladdr1", "dlerror", NULL};
	static const char *const buffers[] = {"_IO_doallocbuf", "_IO_wdoallocbuf", NULL};
	/* The
	 * caller owns what these return, and may pass it to libc (putenv, hsearch); or they are
	 * asked to keep what the caller passes (on_exit). */
	static const char *const callers[] = {"strdup", "__strdup", "strndup", "__strndup",
		"asprintf", "__asprintf", "vasprintf", "__asprintf_chk", "__vasprintf_chk",
		"getline", "getdelim", "realpath", "getcwd", "popen", "hcreate", "hcreate_r",
		"on_exit", "__on_exit", NULL};
	const struct leak_stack *stack = &leaks->stacks.data[row->stack];
	size_t count = libc_frames(stack);
	if ((row->kind != LEAK_REACHABLE && row->kind != LEAK_POSSIBLE) || !count)
		return false;
	const struct shown_frame *entry = stack->all[count - 1];
	if (function_is(entry, errors))
		return true;
	for (size_t i = 0; i < count; i++)
		if (function_is(stack->all[i], buffers))
			return true;
	return !function_is(entry, callers) && is_held_by_libc(leaks, row);
}
