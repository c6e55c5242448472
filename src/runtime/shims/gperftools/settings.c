/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: the library is loaded, or the program starts the profiler. May touch: its arguments.
 */
#include "runtime/shims/gperftools/settings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Defaults, as gperftools has them. */
#define ALLOCATED_BYTES (1ll << 30)
#define IN_USE_BYTES (100ll << 20)
#define KILO_BITS 10
#define MEGA_BITS 20

static int64_t number_of(gp_find_variable *find, const char *name, int64_t otherwise)
{
	const char *text = find(name);
	return text ? strtoll(text, NULL, 10) : otherwise;
}

/* As there, an empty value is true. */
static bool flag_of(gp_find_variable *find, const char *name, bool otherwise)
{
	const char *text = find(name);
	return text ? !*text || strchr("tTyY1", *text) : otherwise;
}

void gp_settings_read(gp_find_variable *find, struct gp_settings *ret)
{
	ret->allocated = number_of(find, "HEAP_PROFILE_ALLOCATION_INTERVAL", ALLOCATED_BYTES);
	ret->freed = number_of(find, "HEAP_PROFILE_DEALLOCATION_INTERVAL", 0);
	ret->in_use = number_of(find, "HEAP_PROFILE_INUSE_INTERVAL", IN_USE_BYTES);
	ret->seconds = number_of(find, "HEAP_PROFILE_TIME_INTERVAL", 0);
	ret->only_maps = flag_of(find, "HEAP_PROFILE_ONLY_MMAP", false);
	ret->maps = ret->only_maps || flag_of(find, "HEAP_PROFILE_MMAP", false);
	ret->removes_old = flag_of(find, "HEAP_PROFILE_CLEANUP", true);
	ret->talks = number_of(find, "PERFTOOLS_VERBOSE", 0) >= 0;
}

static void add_distance(struct gp_line *lines, const char *key, int64_t number)
{
	gp_line_add(lines, key);
	gp_line_add_number(lines, number > 0 ? (uint64_t)number : 0);
	gp_line_add(lines, "\n");
}

bool gp_settings_plan(const struct gp_settings *settings, const char *prefix, struct gp_line *lines)
{
	char letters[3] = "";
	/* The key that a program's end belongs to is left out: that dump is requested. */
	gp_line_add(lines, "format=gperftools");
	if (settings->maps)
		gp_line_add(lines, settings->only_maps ? "/mapping" : "/all");
	gp_line_add(lines, "\nrestart-all=1\n");
	gp_line_add(lines, settings->talks ? "announce=1\n" : "announce=0\n");
	/* Distances are of the heap, which is not counted then. */
	const bool no_heap = settings->only_maps;
	/* More than the interval, there; as much as the distance, here. */
	const bool is_spaced = settings->in_use > 0 && settings->in_use < INT64_MAX;
	add_distance(lines, "allocated=", no_heap ? 0 : settings->allocated);
	add_distance(lines, "freed=", no_heap ? 0 : settings->freed);
	add_distance(lines, "peak=", no_heap ? 0 : settings->in_use + is_spaced);
	add_distance(lines, "every=", settings->seconds);
	gp_line_add(lines, "file=");
	for (const char *p = prefix; *p; p++) {
		if (*p == '\n')
			return false;
		letters[0] = *p;
		letters[1] = 0;
		if (*p == '%')
			letters[1] = '%';
		gp_line_add(lines, letters);
	}
	gp_line_add(lines, "%f.%i.heap\n");
	return !lines->is_cut;
}

void gp_add_exit_reason(struct gp_line *line, uint64_t bytes)
{
	bool mega = bytes >> MEGA_BITS, kilo = bytes >> KILO_BITS;
	gp_line_add(line, "Exiting, ");
	gp_line_add_number(line, mega ? bytes >> MEGA_BITS : kilo ? bytes >> KILO_BITS : bytes);
	gp_line_add(line, mega ? " MB in use" : kilo ? " kB in use" : " bytes in use");
}

bool gp_read_live_bytes(const char *profile, uint64_t *ret)
{
	static const char begin[] = "heap profile: ";
	char *end;
	if (strncmp(profile, begin, sizeof(begin) - 1) != 0)
		return false;
	(void)strtoull(profile + sizeof(begin) - 1, &end, 10);
	if (*end != ':')
		return false;
	*ret = strtoull(end + 1, &end, 10);
	return *end == ' ';
}
