/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When dumps are due, what they are called, and which remain. */
#include "capture/dumps/dump_files.h"
#include "capture/dumps/dump_trigger.h"
#include "capture/dumps/heap_pages.h"
#include "capture/dumps/memory_watch.h"
#include "lib/tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTHING DUMP_REASONS

static enum dump_reason due(
	struct dump_trigger *t, const struct dump_plan *plan, struct dump_figures now)
{
	enum dump_reason ret = NOTHING;
	return dump_trigger_is_due(t, plan, &now, &ret) ? ret : NOTHING;
}

CASE(numbers, "only patterns with %p tell the dumps of several processes apart")
{
	CHECK(dump_files_name_process("a.%p.%i"));
	CHECK(dump_files_name_process("%%%p"));
	CHECK(!dump_files_name_process("a.%i%%p"));
	CHECK(!dump_files_name_process("%n.%i"));
	CHECK(!dump_files_name_process("p%"));
}

CASE(distances, "a distance is passed once, and begins anew at what was found")
{
	const struct dump_plan plan = {.allocated_bytes = 100, .growth_bytes = 50};
	struct dump_trigger t;
	dump_trigger_init(&t, 0);
	struct dump_figures now = {.allocated_bytes = 99, .live_bytes = 49};
	CHECK(due(&t, &plan, now) == NOTHING);
	now = (struct dump_figures){.allocated_bytes = 130, .live_bytes = 60};
	CHECK(due(&t, &plan, now) == DUMP_GROWTH);
	CHECK(due(&t, &plan, now) == DUMP_ALLOCATED);
	CHECK(due(&t, &plan, now) == NOTHING);
	now.allocated_bytes = 229;
	CHECK(due(&t, &plan, now) == NOTHING);
	now.allocated_bytes = 230;
	CHECK(due(&t, &plan, now) == DUMP_ALLOCATED);
	now.live_bytes = 5; /* fallen by more than the distance: growth counts from here */
	CHECK(due(&t, &plan, now) == NOTHING);
	now.live_bytes = 55;
	CHECK(due(&t, &plan, now) == DUMP_GROWTH);
}

CASE(restarts, "with restart_all a dump for one reason begins all distances anew")
{
	const struct dump_plan plan = {
		.allocated_bytes = 100, .period_ns = 10, .restart_all = true};
	struct dump_trigger t;
	dump_trigger_init(&t, 0);
	CHECK(due(&t, &plan, (struct dump_figures){.allocated_bytes = 90, .now_ns = 10}) ==
		DUMP_TIME);
	CHECK(due(&t, &plan, (struct dump_figures){.allocated_bytes = 110, .now_ns = 11}) ==
		NOTHING);
}

CASE(restarted, "after a restart distances are measured from there, live memory from what was live")
{
	const struct dump_plan plan = {
		.allocated_bytes = 1000, .peak_bytes = 100, .restart_all = true};
	struct dump_trigger t;
	dump_trigger_init(&t, 0);
	struct dump_figures now = {.allocated_bytes = 900, .live_bytes = 50, .peak_bytes = 600};
	dump_trigger_restart(&t, &now);
	now.allocated_bytes = 1000;
	now.live_bytes = 149;
	CHECK(due(&t, &plan, now) == NOTHING);
	now.live_bytes = 150; /* below the old peak */
	CHECK(due(&t, &plan, now) == DUMP_PEAK);
	now.live_bytes = 249;
	CHECK(due(&t, &plan, now) == NOTHING);
	now.peak_bytes = 601; /* between two looks */
	CHECK(due(&t, &plan, now) == DUMP_PEAK);
	now.allocated_bytes = 2000;
	CHECK(due(&t, &plan, now) == DUMP_ALLOCATED);
}

CASE(memory, "resident memory and pressure are reported once, until they were left or last")
{
	const struct dump_plan plan = {
		.resident_bytes = 1600, .resident_percent = 90, .pressure = true, .signal = 10};
	struct dump_trigger t;
	dump_trigger_init(&t, 0);
	CHECK(due(&t, &plan, (struct dump_figures){.resident_bytes = 1600}) == DUMP_RESIDENT);
	CHECK(due(&t, &plan, (struct dump_figures){.resident_bytes = 1599}) == NOTHING);
	CHECK(due(&t, &plan, (struct dump_figures){.resident_bytes = 1700}) == NOTHING);
	CHECK(due(&t, &plan, (struct dump_figures){.resident_bytes = 1400}) == NOTHING);
	CHECK(due(&t, &plan, (struct dump_figures){.resident_bytes = 1601}) == DUMP_RESIDENT);
	CHECK(due(&t, &plan, (struct dump_figures){.used_percent = 89}) == NOTHING);
	CHECK(due(&t, &plan, (struct dump_figures){.used_percent = 90}) == DUMP_RESIDENT);
	struct dump_figures now = {.is_short = true, .now_ns = 1000000000};
	CHECK(due(&t, &plan, now) == DUMP_PRESSURE);
	now.now_ns += 9000000000;
	CHECK(due(&t, &plan, now) == NOTHING);
	now.now_ns += 1000000000;
	CHECK(due(&t, &plan, now) == DUMP_PRESSURE);
	now.is_short = false;
	now.signals = 1;
	CHECK(due(&t, &plan, now) == DUMP_SIGNAL);
	CHECK(due(&t, &plan, now) == NOTHING);
}

static void need_name(struct dump_files *files, const char *pattern, enum dump_reason reason,
	const char *expected)
{
	const struct dump_plan plan = {.files = pattern};
	const struct dump_naming naming = {.plan = &plan,
		.recording = "/r/app.hpw",
		.program = "app",
		.folder = "/folder",
		.pid = 47};
	char *name = dump_files_next(files, &naming, reason);
	CHECK(name && !strcmp(name, expected));
	free(name);
}

CASE(names, "patterns of names, and those without one")
{
	struct dump_files files;
	dump_files_init(&files);
	need_name(&files, NULL, DUMP_TIME, "/r/app.0001.dump");
	need_name(&files, "/d/%n.%p.%i.%s.%r%c%%", DUMP_ASKED, "/d/app.47.0002.1.m0%");
	need_name(&files, "j.%p.%s.%r%c.heap", DUMP_ASKED, "/folder/j.47.2.m1.heap");
	need_name(&files, "j.%p.%s.%r%c.heap", DUMP_EXIT, "/folder/j.47.3.f.heap");
	dump_files_deinit(&files);
	CHECK(dump_files_problem("a.%x") && dump_files_problem("a") && dump_files_problem(""));
	CHECK(!dump_files_problem("a.%i") && dump_files_problem("a%"));
}

static char *make_file(const char *folder, int number)
{
	char *name = NULL;
	CHECK(asprintf(&name, "%s/%d", folder, number) > 0);
	close(open(name, O_CREAT | O_WRONLY, 0600));
	return name;
}

CASE(keeps, "only the latest files remain; one that is written again counts once")
{
	char folder[] = "/tmp/heapwise-dumps-XXXXXX", path[64];
	CHECK(mkdtemp(folder) != NULL);
	struct dump_files files;
	dump_files_init(&files);
	/* The third one ends after the fourth. */
	static const int ends[] = {0, 1, 3, 2, 4, 4};
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		dump_files_note(&files,
			(struct dump_file){
				.name = make_file(folder, ends[i]), .order = (uint64_t)ends[i] + 1},
			2);
	for (int i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%d", folder, i);
		CHECK(!access(path, F_OK) == (i >= 3));
		unlink(path);
	}
	dump_files_deinit(&files);
	rmdir(folder);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "we");
	CHECK(file != NULL);
	if (file) {
		fputs(text, file);
		fclose(file);
	}
}

CASE(limits, "of a cgroup and those above it the limit counts that is nearest")
{
	char top[] = "/tmp/heapwise-cgroup-XXXXXX", inner[64];
	CHECK(mkdtemp(top) != NULL);
	snprintf(inner, sizeof(inner), "%s/a", top);
	CHECK(!mkdir(inner, 0700));
	uint64_t used = 7, limit = 7;
	CHECK(!memory_cgroup_use(top, "/a", false, &used, &limit));
	write_file(top, "memory.max", "1000\n");
	write_file(top, "memory.current", "500\n");
	write_file(inner, "memory.max", "max\n");
	write_file(inner, "memory.current", "300\n");
	CHECK(memory_cgroup_use(top, "/a", false, &used, &limit) && used == 500 && limit == 1000);
	write_file(inner, "memory.high", "400\n");
	CHECK(memory_cgroup_use(top, "/a", false, &used, &limit) && used == 300 && limit == 400);
	CHECK(!memory_cgroup_use(top, "/a", true, &used, &limit));
	write_file(inner, "memory.limit_in_bytes", "9223372036854771712\n");
	write_file(inner, "memory.usage_in_bytes", "10\n");
	CHECK(!memory_cgroup_use(top, "/a", true, &used, &limit));
	const char *const names[] = {"memory.max", "memory.current", "a/memory.max",
		"a/memory.current", "a/memory.high", "a/memory.limit_in_bytes",
		"a/memory.usage_in_bytes", NULL};
	for (int i = 0; names[i]; i++) {
		char path[128];
		snprintf(path, sizeof(path), "%s/%s", top, names[i]);
		unlink(path);
	}
	rmdir(inner);
	rmdir(top);
}

CASE(full, "a cgroup near its limit is full, but not of pages of files")
{
	char top[] = "/tmp/heapwise-cgroup-XXXXXX";
	CHECK(mkdtemp(top) != NULL);
	CHECK(!memory_cgroup_is_full(top, "", false));
	write_file(top, "memory.max", "1000000\n");
	write_file(top, "memory.current", "949999\n");
	CHECK(!memory_cgroup_is_full(top, "/gone", false));
	write_file(top, "memory.current", "960000\n");
	CHECK(memory_cgroup_is_full(top, "/gone", false) && memory_cgroup_is_full(top, "", false));
	write_file(top, "memory.stat", "anon 1\ninactive_file 9000\nactive_file 1000\n");
	CHECK(memory_cgroup_is_full(top, "", false));
	write_file(top, "memory.stat", "anon 1\ninactive_file 9000\nactive_file 1001\n");
	CHECK(!memory_cgroup_is_full(top, "", false));
	write_file(top, "memory.high", "100\n"); /* which slows down, and doesn't kill */
	CHECK(!memory_cgroup_is_full(top, "", false));
	write_file(top, "memory.limit_in_bytes", "1000000\n");
	write_file(top, "memory.usage_in_bytes", "960000\n");
	CHECK(memory_cgroup_is_full(top, "", true));
	write_file(top, "memory.stat", "inactive_file 0\ntotal_inactive_file 20000\n");
	CHECK(!memory_cgroup_is_full(top, "", true));
	const char *const names[] = {"memory.max", "memory.current", "memory.stat", "memory.high",
		"memory.limit_in_bytes", "memory.usage_in_bytes", NULL};
	for (int i = 0; names[i]; i++) {
		char path[128];
		snprintf(path, sizeof(path), "%s/%s", top, names[i]);
		unlink(path);
	}
	rmdir(top);
}

/* Pages of one block of a size, and how many blocks need no other ones. */
static uint64_t pages_of(uint64_t bytes, uint64_t *ret_blocks)
{
	struct heap_pages pages;
	heap_pages_begin(&pages);
	heap_pages_add(&pages, bytes, 1);
	uint64_t first = pages.pages;
	for (*ret_blocks = 1; pages.pages == first && *ret_blocks < 1000; ++*ret_blocks)
		heap_pages_add(&pages, bytes, 1);
	--*ret_blocks;
	return first;
}

CASE(pages, "size classes, slabs and large blocks are those of jemalloc")
{
	/* Size, pages of a slab or block, blocks in it: as malloc_stats_print() shows them. */
	static const uint64_t rows[][3] = {{0, 1, 512}, {8, 1, 512}, {9, 1, 256}, {17, 1, 128},
		{48, 3, 256}, {80, 5, 256}, {128, 1, 32}, {129, 5, 128}, {160, 5, 128},
		{161, 3, 64}, {224, 7, 128}, {1000, 1, 4}, {1025, 5, 16}, {4096, 1, 1},
		{4097, 5, 4}, {6144, 3, 2}, {8192, 2, 1}, {10240, 5, 2}, {14336, 7, 2},
		{14337, 5, 1}, {16384, 5, 1}, {16385, 6, 1}, {100000, 29, 1}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t blocks, pages = pages_of(rows[i][0], &blocks);
		CHECK_U64(pages, rows[i][1]);
		CHECK_U64(blocks, rows[i][2]);
	}
}

CASE(pages_return,
	"pages of freed blocks count again, samples cancel out, and nothing goes below 0")
{
	struct heap_pages pages;
	heap_pages_begin(&pages);
	for (int i = 0; i < 5; i++)
		heap_pages_add(&pages, 5000, 1);
	CHECK(pages.pages == 10 && pages.peak == 10);
	heap_pages_remove(&pages, 5000, 1);
	CHECK(pages.pages == 5 && pages.peak == 10);
	heap_pages_add(&pages, 5000, 1);
	CHECK(pages.peak == 10);
	heap_pages_begin(&pages);
	for (int i = 0; i < 1000; i++)
		heap_pages_add(&pages, 24, 21845.83 + i);
	for (int i = 0; i < 1000; i++)
		heap_pages_remove(&pages, 24, 21845.83 + i);
	CHECK(pages.pages == 0 && pages.peak > 100000);
	heap_pages_remove(&pages, 24, 1);
	heap_pages_remove(&pages, 1 << 20, 1);
	CHECK(pages.pages == 0);
	heap_pages_add(&pages, UINT64_MAX, 1e30);
	heap_pages_remove(&pages, UINT64_MAX, 1e30);
	CHECK(pages.pages == 0);
}

CASE(pages_due, "a dump is due once for each height in pages")
{
	const struct dump_plan plan = {.pages = true}, none = {.pages = false};
	struct dump_trigger t;
	dump_trigger_init(&t, 0);
	CHECK(due(&t, &plan, (struct dump_figures){.peak_pages = 0}) == NOTHING);
	CHECK(due(&t, &plan, (struct dump_figures){.peak_pages = 1}) == DUMP_PAGES);
	CHECK(due(&t, &plan, (struct dump_figures){.peak_pages = 1}) == NOTHING);
	CHECK(due(&t, &plan, (struct dump_figures){.peak_pages = 9}) == DUMP_PAGES);
	CHECK(due(&t, &none, (struct dump_figures){.peak_pages = 12}) == NOTHING);
}

TAP_MAIN
