/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of Massif, as it prints them, and as it does not. */
#include "unit/foreign_files.h"

#define RULER "#-----------\n"
#define HEADER "desc: (none)\ncmd: ./app one two\ntime_unit: ms\n"
#define SNAPSHOT(number, time, heap, extra, stacks, kind)                                          \
	RULER "snapshot=" #number "\n" RULER "time=" #time "\nmem_heap_B=" #heap                   \
	      "\nmem_heap_extra_B=" #extra "\nmem_stacks_B=" #stacks "\nheap_tree=" kind "\n"
#define ROOT " (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"

#define TREE                                                                                       \
	"n2: 1000" ROOT " n2: 900 0x1001: read_line (io.c:12)\n"                                   \
	"  n0: 500 0x1002: main (app.c:3)\n"                                                       \
	"  n0: 300 0x1003: f(std::vector<int>) (in /usr/lib/odd (name).so)\n"                      \
	" n0: 100 in 7 places, all below massif's threshold (1.00%)\n"
#define FILE_TEXT                                                                                  \
	HEADER SNAPSHOT(0, 0, 0, 0, 0, "empty") SNAPSHOT(1, 5, 1000, 24, 8, "peak") TREE SNAPSHOT( \
		3, 9, 300, 8, 0, "detailed") "n1: 300" ROOT                                        \
					     " n0: 300 0x1001: read_line (io.c:12)\n" SNAPSHOT(    \
						     4, 12, 10, 8, 0, "empty")

static struct model *open_series(const char *text)
{
	struct model *model = NULL;
	const struct source_series series = {.rows = 10, .with_sites = true};
	const struct source_query query = {
		.from = {.kind = SOURCE_START}, .to = {.kind = SOURCE_END}, .series = &series};
	CHECK_OK(source_open_bytes_query("file", text, strlen(text), 0, &query, &model));
	return model;
}

CASE(figures,
	"the peak is the largest snapshot, the last one is what was live, and trees say by whom")
{
	_cleanup_model_ struct model *model = open_good(FILE_TEXT);
	const struct recording *recording = model_recording(model);
	CHECK_STR(recording->source, "massif");
	CHECK_U64(model_target(model)->command_len, 3);
	CHECK_STR(model_target(model)->command[2], "two");
	CHECK_U64(model_totals(model)->peak_bytes, 1000);
	CHECK_U64(model_totals(model)->live_bytes, 10);
	CHECK_U64(site_of(model, "live at the end, of no tree")->live_bytes, 10);
	CHECK_U64(model_totals(model)->peak_time_ns, 5000000);
	CHECK_CONTAINS(recording->remark, "of snapshot 4, the last one: Massif takes none");
	CHECK_CONTAINS(recording->remark, "snapshot 3, which had 300 bytes: more than");
	CHECK(recording->unknown & UNKNOWN_PEAK_BLOCKS);
	/* What read_line has more than its callers is a stack that ends there. */
	CHECK_U64(site_of(model, "in 7 places, all below massif's threshold (1.00%)")->peak_bytes,
		100);
	size_t count;
	const struct site *sites = model_sites(model, &count);
	uint64_t found = 0;
	for (size_t i = 0; i < count; i++)
		if (strcmp(innermost_function(model, &sites[i]), "read_line") == 0)
			found += sites[i].peak_bytes;
	CHECK_U64(found, 900);
}

CASE(later,
	"what came after the last tree is a place of its own, and so is all of it without trees")
{
	_cleanup_model_ struct model *model = open_good(HEADER SNAPSHOT(1, 5, 300, 0, 0,
		"detailed") "n1: 300" ROOT " n0: 300 0x1001: f (io.c:12)\n" SNAPSHOT(2, 9, 800, 0,
		0, "empty") SNAPSHOT(3, 12, 700, 0, 0, "empty"));
	CHECK_U64(model_totals(model)->live_bytes, 700);
	CHECK_U64(site_of(model, "f")->live_bytes, 300);
	CHECK_U64(site_of(model, "live at the end, of no tree")->live_bytes, 400);
	CHECK_U64(model_totals(model)->peak_bytes, 800);
	CHECK_U64(model_totals(model)->peak_time_ns, 9000000);
	_cleanup_model_ struct model *bare = open_good(
		HEADER SNAPSHOT(1, 5, 300, 0, 0, "empty") SNAPSHOT(2, 9, 0, 0, 0, "empty"));
	CHECK_U64(model_totals(bare)->live_bytes, 0);
	CHECK_U64(model_totals(bare)->peak_bytes, 300);
	CHECK_U64(model_recording(bare)->unknown & (UNKNOWN_LIVE_BYTES | UNKNOWN_PEAK_BYTES), 0);
}

CASE(frames, "frames have the function, file, line and module of their text")
{
	_cleanup_model_ struct model *model = open_good(FILE_TEXT);
	bool seen = false;
	for (uint32_t i = 1; i < model_stack_limit(model); i++) {
		struct stack_node node = model_stack(model, (struct stack_id){i});
		const struct embedded_run *run = model_embedded(model, node);
		if (node.address == 0x1003 + 1) {
			seen = true;
			CHECK_STR(run->frames[0].function, "f(std::vector<int>)");
			CHECK_STR(model_module(model, node.module)->path, "/usr/lib/odd (name).so");
		}
		if (node.address == 0x1001 + 1) {
			CHECK_STR(run->frames[0].file, "io.c");
			CHECK_U64(run->frames[0].line, 12);
		}
	}
	CHECK(seen);
}

CASE(series, "every snapshot is a moment of the series, with its sites where it has a tree")
{
	_cleanup_model_ struct model *model = open_series(FILE_TEXT);
	size_t count;
	const struct series_row *rows = model_series(model, &count);
	CHECK_U64(count, 4);
	CHECK_U64(rows[1].time_ns, 5000000);
	CHECK_U64(rows[1].live_bytes, 1000);
	CHECK_U64(rows[1].padding, 24);
	CHECK_U64(rows[1].stack_bytes, 8);
	CHECK(rows[1].peak && !rows[2].peak);
	CHECK_U64(rows[1].site_count, 4);
	CHECK_U64(rows[2].site_count, 1);
	CHECK_U64(rows[3].site_count, 0);
	CHECK_STR(model_recording(model)->time_unit, "ms");
}

CASE(refused, "what cannot be so is refused, with its line")
{
	check_refused("desc: x\ncmd: x\ntime_unit: days\n", "line 3");
	check_refused(HEADER SNAPSHOT(1, 5, 1, 0, 0, "empty") SNAPSHOT(1, 5, 1, 0, 0, "empty")
			      SNAPSHOT(9, 5, 1, 0, 0, "empty"),
		"not above the number before");
	check_refused(HEADER SNAPSHOT(1, 5, 1, 0, 0, "empty") SNAPSHOT(2, 4, 1, 0, 0, "empty")
			      SNAPSHOT(9, 5, 1, 0, 0, "empty"),
		"before the time");
	check_refused(HEADER SNAPSHOT(1, -5, 1, 0, 0, "empty"), "no number after 'time='");
	check_refused(HEADER SNAPSHOT(1, 5, 18446744073709551615, 1, 0, "empty"), "2^64");
	check_refused(HEADER SNAPSHOT(1, 1152921504606846976, 1, 1, 0, "empty"), "invalid time");
	check_refused(HEADER SNAPSHOT(1, 5, 1, 0, 0, "huge"), "heap_tree=");
	check_refused(HEADER SNAPSHOT(1, 5, 9, 0, 0, "peak") "n1: 9" ROOT
							     " n0: 10 0x1: f (a.c:1)\n" SNAPSHOT(
								     2, 5, 1, 0, 0, "empty"),
		"more bytes than its parent");
	check_refused(HEADER SNAPSHOT(1, 5, 9, 0, 0, "peak") "n1: 9" ROOT
							     "   n0: 9 0x1: f (a.c:1)\n" SNAPSHOT(
								     2, 5, 1, 0, 0, "empty"),
		"indented by 3");
	check_refused(HEADER SNAPSHOT(1, 5, 9, 0, 0, "peak") "n9999999999999999999999: 9" ROOT,
		"invalid tree node");
	/* The last line, too, if it is whole. */
	check_refused(HEADER SNAPSHOT(1, 5, 1, 0, 0, "empty")
			      SNAPSHOT(2, 6, 18446744073709551615, 1, 0, "empty"),
		"2^64");
}

CASE(pages, "what Massif measured of mapped pages is called so")
{
	_cleanup_model_ struct model *model = open_good(
		"desc: --time-unit=ms --pages-as-heap=yes\ncmd: ./app\ntime_unit: ms\n" SNAPSHOT(
			1, 5, 4096, 0, 0, "empty"));
	CHECK_CONTAINS(model_recording(model)->remark, "mapped pages (--pages-as-heap=yes)");
}

CASE(cut_off, "a file that was cut off shows the snapshots that are whole")
{
	check_incomplete(FILE_TEXT SNAPSHOT(5, 13, 10, 8, 0, "detailed") "n2: 10" ROOT
									 " n0: 5 0x1: f (a.c:1)\n",
		"is the last one: the file is cut off there: later snapshots are missing");
	check_incomplete(FILE_TEXT "#-----------", "is the last one: it has no line end: its "
						   "snapshot is left out, and later ones may be");
	check_cut_anywhere(FILE_TEXT);
	check_changed_anywhere(FILE_TEXT);
}

CASE(deep, "a tree of 100,000 levels is refused")
{
	struct buf file;
	buf_init(&file);
	buf_bytes(&file, HEADER, strlen(HEADER));
	static const char begin[] = SNAPSHOT(1, 5, 9, 0, 0, "peak");
	buf_bytes(&file, begin, strlen(begin));
	char *blanks = malloc(100000);
	CHECK(blanks);
	memset(blanks, ' ', 100000);
	for (unsigned depth = 0; depth < 5000; depth++) {
		buf_bytes(&file, blanks, depth);
		buf_bytes(&file, "n1: 9 0x1: f (a.c:1)\n", 21);
	}
	buf_bytes(&file, "end\n", 4);
	free(blanks);
	check_refused_bytes(file.data, file.len, "deeper than 4096");
	buf_deinit(&file);
}

CASE(bomb, "what unpacks to 10 GB is refused in bounded time and memory")
{
	check_bomb(HEADER, '\n');
	check_bomb(HEADER, 'x');
}

TAP_MAIN
