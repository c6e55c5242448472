/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of heaptrack made by hand: what is read of them, and what is refused. */
#include "foreign_files.h"

#include "base/cleanup.h"
#include "base/packing.h"

/* main → make, which allocates 16 and 48 bytes, and operator new[] below operator new of 100. */
static const char tables[] = "v 10400 3\n"
			     "X ./app -n 3\n"
			     "I 1000 100\n"
			     "s 8 /bin/app\n"
			     "s 4 main\n"
			     "s 4 make\n"
			     "s 6 main.c\n"
			     "s 1b operator new(unsigned long)\n"
			     "s 1d operator new[](unsigned long)\n"
			     "i 401000 1 2 4 a\n"
			     "t 1 0\n"
			     "i 402000 1 3 4 14 2 4 b\n"
			     "t 2 1\n"
			     "i 7f0000 1 6\n"
			     "i 7f1000 1 5\n"
			     "t 3 1\n"
			     "t 4 3\n"
			     "a 10 2\n"
			     "a 30 2\n"
			     "a 64 4\n";

#define FILE_OF(events) ((const char *)join(events))

static char joined[4096];

static const char *join(const char *events)
{
	snprintf(joined, sizeof(joined), "%s%s", tables, events);
	return joined;
}

CASE(bounds, "more inlined functions or empty lines than any file has are refused")
{
	_cleanup_(buf_deinit) struct buf file;
	buf_init(&file);
	buf_bytes(&file, tables, strlen(tables));
	buf_bytes(&file, "i 403000 1", 10);
	for (unsigned i = 0; i < 257; i++)
		buf_bytes(&file, " 2 4 a", 6);
	buf_bytes(&file, "\n", 1);
	check_refused_bytes(file.data, file.len, "too many inlined functions");
	buf_clear(&file);
	buf_bytes(&file, tables, strlen(tables));
	for (unsigned i = 0; i < 1001; i++)
		buf_bytes(&file, "\n", 1);
	buf_bytes(&file, "c 5\n", 4);
	check_refused_bytes(file.data, file.len, "after 1000 empty lines");
}

CASE(figures, "totals, the peak and its time, temporary as heaptrack counts it")
{
	_cleanup_model_ struct model *model = open_good(FILE_OF("c 5\n"
								"+ 0\n"
								"+ 1\n"
								"- 1\n"
								"- 0\n"
								"c 14\n"
								"+ 2\n"
								"+ 0\n"
								"- 2\n"
								"c 1e\n"));
	const struct totals *totals = model_totals(model);
	CHECK_U64(totals->allocations, 4);
	CHECK_U64(totals->allocated_bytes, 16 + 48 + 100 + 16);
	CHECK_U64(totals->frees, 3);
	CHECK_U64(totals->live_blocks, 1);
	CHECK_U64(totals->live_bytes, 16);
	CHECK_U64(totals->peak_bytes, 116);
	CHECK_U64(totals->peak_time_ns, 20000000);
	CHECK_U64(totals->temporary, 1);
	CHECK_U64(model_recording(model)->duration_ns, 30000000);
	CHECK_STR(model_recording(model)->source, "heaptrack");
	CHECK_U64(model_target(model)->command_len, 3);
	CHECK_STR(model_target(model)->command[2], "3");
}

CASE(no_times, "a file without time stamps says nothing of times, and knows its peak all the same")
{
	_cleanup_model_ struct model *model = open_good(FILE_OF("+ 0\n"
								"+ 1\n"
								"- 1\n"));
	CHECK_U64(model_recording(model)->unknown & UNKNOWN_TIMES, UNKNOWN_TIMES);
	CHECK_U64(model_totals(model)->peak_bytes, 16 + 48);
}

CASE(stacks, "frames with their inlined ones; operator new is a kind, not a frame")
{
	_cleanup_model_ struct model *model = open_good(FILE_OF("+ 0\n+ 2\n"));
	size_t count;
	const struct site *sites = model_sites(model, &count);
	CHECK_U64(count, 2);
	CHECK_U64(sites[0].kind, KIND_UNKNOWN);
	CHECK_U64(sites[1].kind, KIND_NEW_ARRAY);
	struct stack_node inner = model_stack(model, sites[0].stack);
	const struct embedded_run *run = model_embedded(model, inner);
	CHECK(run);
	CHECK_U64(run->count, 2);
	CHECK_STR(run->frames[0].function, "make");
	CHECK_U64(run->frames[0].line, 20);
	CHECK(run->frames[0].inlined);
	CHECK_STR(run->frames[1].function, "main");
	CHECK_U64(inner.parent.value, sites[1].stack.value);
}

CASE(older, "versions 1 and 2 have strings without lengths; others are refused")
{
	_cleanup_model_ struct model *model =
		open_good("v 10100 1\ns a b c\ni 1000 0 1\nt 1 0\na 8 1\n+ 0\n");
	struct stack_node node = model_stack(model, (struct stack_id){1});
	CHECK_STR(model_embedded(model, node)->frames[0].function, "a b c");
	_cleanup_model_ struct model *unversioned = open_good("v 10200\na 8 0\n+ 0\n");
	CHECK_U64(model_totals(unversioned)->live_bytes, 8);
	check_refused("v 10000\n+ 8 0 7f00\n", "before 1.0");
	check_refused("v 20000 4\n", "newer than 3, the latest supported");
}

CASE(long_strings, "a string may have ends of lines in it, which are no events")
{
	_cleanup_model_ struct model *model =
		open_good("v 10400 3\na 8 0\ns 7 a\n+ 0\nb\n+ 0\ns 0 \ns 0\n");
	CHECK_U64(model_totals(model)->allocations, 1);
	/* A carriage return before such an end is of the string; behind it, of a file that has one
	 * in each line. */
	_cleanup_model_ struct model *returns =
		open_good("v 10400 3\r\na 8 0\r\ns 8 a\r\n+ 0\nb\r\n+ 0\r\ns 0 \r\ns 0\r\n");
	CHECK_U64(model_totals(returns)->allocations, 1);
	check_refused("v 10400 3\ns 3 a\nabcdef\n", "line 3 (offset 16)");
	check_refused("v 10400 3\ns ffffffff a\n", "4294967295 bytes");
	check_refused("v 10400 3\ns 1 abc\n", "not a string");
}

CASE(beginning, "a file that ends before anything happened does not say that nothing did")
{
	check_incomplete("v 10400 3\n", "before it names a program");
	check_incomplete("v 10400 3\nX ./app\nI 1000 5e2922\n", "before the first event");
	_cleanup_model_ struct model *model =
		open_good("v 10400 3\nX ./idle\nc 1\n\n# strings: 0\n# ips: 0\n");
	CHECK(model_recording(model)->complete);
}

CASE(raw, "raw data is refused with what to do")
{
	check_refused("v 10400 3\nx 8 /bin/app\nm 1 -\n", "heaptrack_interpret");
}

CASE(moments, "a moment, a range and a series")
{
	static const char events[] = "c 5\n+ 0\nc a\n+ 1\nc f\n- 0\n- 1\n";
	struct model *model = NULL;
	const struct source_query at = {.to = {.kind = SOURCE_TIME, .time_ns = 12000000}};
	const char *file = FILE_OF(events);
	CHECK_OK(source_open_bytes_query("file", file, strlen(file), 0, &at, &model));
	CHECK_U64(model_totals(model)->live_bytes, 64);
	model_destroy(model);
	const struct source_query range = {
		.from = {.kind = SOURCE_TIME, .time_ns = 7000000}, .to = {.kind = SOURCE_PEAK}};
	CHECK_OK(source_open_bytes_query("file", file, strlen(file), 0, &range, &model));
	CHECK_U64(model_totals(model)->allocations, 1);
	CHECK_U64(model_totals(model)->kept_bytes, 48);
	model_destroy(model);
	const struct source_series rows = {.rows = 10, .with_sites = true};
	const struct source_query series = {.to = {.kind = SOURCE_END}, .series = &rows};
	CHECK_OK(source_open_bytes_query("file", file, strlen(file), 0, &series, &model));
	size_t count;
	const struct series_row *row = model_series(model, &count);
	CHECK(count >= 3);
	CHECK_U64(row[count - 1].live_bytes, 0);
	model_destroy(model);
	const struct source_blocks of_thread = {.thread = "main"};
	const struct source_query thread = {.to = {.kind = SOURCE_END}, .blocks = &of_thread};
	CHECK_ERROR(source_open_bytes_query("file", file, strlen(file), 0, &thread, &model),
		ERROR_INPUT, "does not record threads");
}

CASE(times_back, "a time that goes back is left out")
{
	_cleanup_model_ struct model *model = open_good(FILE_OF("c a\n+ 0\nc 5\n+ 1\n"));
	CHECK_U64(model_totals(model)->peak_time_ns, 10000000);
}

CASE(unknown_free, "a free of what was not allocated is an unknown one")
{
	_cleanup_model_ struct model *model = open_good(FILE_OF("- 0\n+ 0\n"));
	CHECK_U64(model_recording(model)->unknown_frees, 1);
	CHECK_U64(model_totals(model)->live_bytes, 16);
}

CASE(hostile, "ids that are not there, numbers that are none, sums above 2^64")
{
	check_refused(FILE_OF("+ 3\n"), "file: line 21 (offset 2");
	check_refused(FILE_OF("+ ffffffffffffffff\n"), "allocation 18446744073709551615");
	check_refused(FILE_OF("+ 10000000000000000\n"), "not an event");
	check_refused(FILE_OF("+ \n"), "not an event");
	check_refused(FILE_OF("t 1 5\n"), "names stack 5");
	check_refused(FILE_OF("t 5 1\n"), "names frame 5");
	check_refused(FILE_OF("t 0 1\n"), "names frame 0");
	check_refused(FILE_OF("i 1 7\n"), "names string 7");
	check_refused(FILE_OF("i 1 1 2 4\n"), "not a frame");
	check_refused(FILE_OF("a 1 ffff\n"), "names stack 65535");
	check_refused(FILE_OF("a 8000000000000000 0\n+ 3\n+ 3\n"), "2^64");
	check_refused(FILE_OF("c ffffffffffffffff\n"), "not a time");
	check_refused(FILE_OF("v 10400 3\n"), "second version");
	check_refused(FILE_OF("X again\n"), "second command");
	check_refused(FILE_OF("q\n"), "not a record");
}

CASE(huge, "counts of 2^60, and stacks that are their own callers, are refused with their place")
{
	check_refused(FILE_OF("s 1000000000000000 x\n"), "file: line 21 (offset 2");
	check_refused(FILE_OF("s 1000000000000000 x\n"), "1152921504606846976 bytes");
	check_refused(FILE_OF("i 1 1000000000000000\n"), "string 1152921504606846976");
	check_refused(FILE_OF("i 1 1 1000000000000000 4 1\n"), "string 1152921504606846976");
	check_refused(FILE_OF("t 1000000000000000 1\n"), "frame 1152921504606846976");
	check_refused(FILE_OF("t 1 1000000000000000\n"), "stack 1152921504606846976");
	check_refused(FILE_OF("a 8 1000000000000000\n"), "stack 1152921504606846976");
	check_refused(FILE_OF("+ 1000000000000000\n"), "allocation 1152921504606846976");
	check_refused(FILE_OF("c 1000000000000000\n"), "not a time");
	check_refused(FILE_OF("i 1 1 2 4 1000000000000000\ns 1000000000000000 \n"), "line 22");
	/* There are 4 stacks. */
	check_refused(FILE_OF("t 1 5\n"), "names stack 5, of which there are 4");
	check_refused(FILE_OF("t 1 6\nt 1 5\n"), "names stack 6");
	_cleanup_model_ struct model *model =
		open_good(FILE_OF("a 1000000000000000 2\n+ 3\n+ 3\n"));
	CHECK_U64(model_totals(model)->peak_bytes, UINT64_C(1) << 61);
}

CASE(bomb_lines, "lines without an end, and empty ones without number")
{
	static const char head[] = "v 10400 3\na 8 0\n";
	check_bomb(head, '\n');
	check_bomb(head, 'x');
	check_bomb_lines(head, "\n#", 'x', "", 4500, "unpacks to more than");
}

CASE(bomb_tables, "packed names and stacks that take more memory than the file explains")
{
	check_bomb_lines("v 10400 3\n", "s e0001 \n", 'x', "\n", 1000, "MiB of names and stacks");
	check_bomb_lines("v 10400 2\n", "s %u", 'x', "\n", 1000, "MiB of names and stacks");
}

static void keep(void *ctx, const char *data, size_t len)
{
	buf_bytes(ctx, data, len);
}

CASE(bomb_blocks, "more live blocks than the file explains")
{
	static const char head[] = "v 10400 3\na 8 0\n";
	char events[40000];
	struct packer *packer;
	struct buf file;
	for (size_t i = 0; i < sizeof(events); i++)
		events[i] = "+ 0\n"[i % 4];
	buf_init(&file);
	CHECK_OK(packer_create(PACKING_ZSTD, &packer));
	CHECK_OK(packer_run(packer, head, strlen(head), false, keep, &file));
	for (unsigned i = 0; i < 500; i++)
		CHECK_OK(packer_run(packer, events, sizeof(events), i == 499, keep, &file));
	CHECK(!file.failed && file.len < 4000);
	check_refused_bytes(file.data, file.len, "file: line 4");
	check_refused_bytes(file.data, file.len, "live blocks");
	packer_destroy(packer);
	buf_deinit(&file);
}

CASE(cut, "a file that is cut is read as far as its lines are whole")
{
	const char *file = FILE_OF("+ 0\n+ 1\n- 1\n");
	check_cut_anywhere(file);
	check_incomplete(FILE_OF("+ 0\n+ 1"), "is cut");
	_cleanup_model_ struct model *model = open_good(FILE_OF("+ 0\n+ 1"));
	CHECK_U64(model_totals(model)->allocations, 1);
}

CASE(changed, "a file with any byte changed is read or refused")
{
	check_changed_anywhere(FILE_OF("c 1\n+ 0\n+ 1\n- 1\n"));
}

CASE(deep, "a stack of 100,000 frames")
{
	size_t room = 4000000, len = 0;
	char *text = malloc(room);
	len += (size_t)snprintf(text, room, "v 10400 3\ni 401000 0\n");
	for (unsigned i = 0; i < 100000; i++)
		len += (size_t)snprintf(text + len, room - len, "t 1 %x\n", i);
	snprintf(text + len, room - len, "a 8 186a0\n+ 0\n");
	_cleanup_model_ struct model *model = open_good(text);
	CHECK_U64(model_totals(model)->live_bytes, 8);
	free(text);
}

CASE(repeated, "millions of strings in a few kilobytes are refused before they fill the memory")
{
	check_repeated("v 10400 3\n", "s 1 a\n", 7500000, "names and stacks");
}

TAP_MAIN
