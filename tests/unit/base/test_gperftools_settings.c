/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtime/shims/gperftools/settings.h"

#include <string.h>

#include "lib/tap.h"

static const char *const *variables; /* names and values; NULL ends them */

static const char *find_variable(const char *name)
{
	for (const char *const *at = variables; *at; at += 2)
		if (!strcmp(*at, name))
			return at[1];
	return NULL;
}

static struct gp_settings read_settings(const char *const *from)
{
	struct gp_settings ret;
	variables = from;
	gp_settings_read(find_variable, &ret);
	return ret;
}

CASE(defaults, "without variables gperftools' defaults count")
{
	struct gp_settings s = read_settings((const char *const[]){NULL});
	CHECK(s.allocated == 1 << 30 && s.freed == 0 && s.in_use == 100 << 20 && s.seconds == 0);
	CHECK(!s.maps && !s.only_maps && s.removes_old && s.talks);
}

CASE(odd_values, "numbers are what strtoll makes of them, flags what their first letter says")
{
	struct gp_settings s =
		read_settings((const char *const[]){"HEAP_PROFILE_ALLOCATION_INTERVAL", "abc",
			"HEAP_PROFILE_DEALLOCATION_INTERVAL", " 12k", "HEAP_PROFILE_INUSE_INTERVAL",
			"-5", "HEAP_PROFILE_TIME_INTERVAL", "", "HEAP_PROFILE_ONLY_MMAP", "yes",
			"HEAP_PROFILE_CLEANUP", "0", "PERFTOOLS_VERBOSE", "-1", NULL});
	CHECK(s.allocated == 0 && s.freed == 12 && s.in_use == -5 && s.seconds == 0);
	CHECK(s.maps && s.only_maps && !s.removes_old && !s.talks);
	s = read_settings(
		(const char *const[]){"HEAP_PROFILE_MMAP", "", "HEAP_PROFILE_CLEANUP", "no", NULL});
	CHECK(s.maps && !s.only_maps && !s.removes_old);
}

CASE(plan, "a plan has the distances, and a prefix without letters of patterns")
{
	struct gp_settings s = {.allocated = 7, .in_use = -1, .talks = true};
	struct gp_line lines;
	gp_line_init(&lines);
	CHECK(gp_settings_plan(&s, "/tmp/50%i", &lines));
	CHECK_STR(lines.data, "format=gperftools\nrestart-all=1\nannounce=1\nallocated=7\nfreed=0\n"
			      "peak=0\nevery=0\nfile=/tmp/50%%i%f.%i.heap\n");
	s.in_use = 5 << 20;
	gp_line_init(&lines);
	CHECK(gp_settings_plan(&s, "a", &lines) && strstr(lines.data, "\npeak=5242881\n"));
	s.maps = s.only_maps = true;
	gp_line_init(&lines);
	CHECK(gp_settings_plan(&s, "a", &lines));
	CHECK_STR(lines.data, "format=gperftools/mapping\nrestart-all=1\nannounce=1\n"
			      "allocated=0\nfreed=0\npeak=0\nevery=0\nfile=a%f.%i.heap\n");
	gp_line_init(&lines);
	CHECK(!gp_settings_plan(&s, "a\nkeep=1", &lines));
	static char name[GP_LINE_BYTES];
	memset(name, 'x', sizeof(name) - 1);
	gp_line_init(&lines);
	CHECK(!gp_settings_plan(&s, name, &lines));
}

CASE(exit_reason, "the reason for the last profile has the tool's units")
{
	static const struct {
		uint64_t bytes;
		const char *words;
	} rows[] = {{0, "Exiting, 0 bytes in use"}, {1023, "Exiting, 1023 bytes in use"},
		{91000, "Exiting, 88 kB in use"}, {3145728, "Exiting, 3 MB in use"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct gp_line line;
		gp_line_init(&line);
		gp_add_exit_reason(&line, rows[i].bytes);
		CHECK_STR(line.data, rows[i].words);
	}
}

CASE(first_line, "live bytes are read from a profile's first line, and from nothing else")
{
	uint64_t bytes = 0;
	CHECK(gp_read_live_bytes("heap profile: 13: 91000 [20: 210000] @ heapprofile\n", &bytes));
	CHECK_U64(bytes, 91000);
	CHECK(gp_read_live_bytes("heap profile:     1:      5 [", &bytes));
	CHECK_U64(bytes, 5);
	CHECK(!gp_read_live_bytes("heap_v2/1\n", &bytes));
	CHECK(!gp_read_live_bytes("heap profile: 13", &bytes));
	CHECK(!gp_read_live_bytes("heap profile: 13: 91000", &bytes));
}

TAP_MAIN
