/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logs of mtrace made by hand: what is read of them, and what is refused. */
#include "foreign_files.h"

static const char story[] = "= Start\n"
			    "@ ./app:(make+1d)[0x11d0] + 0x5500 0x64\n"
			    "@ ./app:[0x11b1] + 0x5600 0x32\n"
			    "@ ./app:(main+3b)[0x120d] < 0x5500\n"
			    "@ ./app:(main+3b)[0x120d] > 0x5700 0x1f4\n"
			    "@ ./app:(main+4b)[0x121d] - 0x5600\n"
			    "@ ./app:(main+4b)[0x121d] - 0x5600\n"
			    "@ ./app:(main+c1)[0x1293] ! 0x5700 0x7fffffffffffffff\n"
			    "@ ./app:(main+d1)[0x12a3] + (nil) 0x7fffffffffffffff\n"
			    "@ [0x7f0011223344] + 0x5800 0\n"
			    "+ 0x5900 0x7\n"
			    "= End\n";

CASE(figures, "totals, the peak, frees of what is not there, calls that failed")
{
	_cleanup_model_ struct model *model = open_good(story);
	const struct totals *totals = model_totals(model);
	CHECK_U64(totals->allocations, 5);
	CHECK_U64(totals->allocated_bytes, 100 + 50 + 500 + 0 + 7);
	CHECK_U64(totals->frees, 3);
	CHECK_U64(totals->failed, 2);
	CHECK_U64(totals->live_blocks, 3);
	CHECK_U64(totals->live_bytes, 507);
	CHECK_U64(totals->peak_bytes, 550);
	CHECK_U64(totals->temporary, 0);
	CHECK_U64(model_recording(model)->unknown_frees, 1);
	CHECK_STR(model_recording(model)->source, "mtrace");
}

CASE(callers, "one frame a call, by the name that the log has where the file is not there")
{
	_cleanup_model_ struct model *model = open_good(story);
	size_t count;
	const struct site *sites = model_sites(model, &count);
	CHECK_U64(count, 7);
	struct stack_node node = model_stack(model, sites[0].stack);
	CHECK_U64(node.parent.value, 0);
	CHECK_U64(node.address, 0x11d0);
	CHECK_STR(model_module(model, node.module)->path, "./app");
	CHECK_STR(model_embedded(model, node)->frames[0].function, "make");
	CHECK_U64(sites[0].kind, KIND_UNKNOWN);
	CHECK_U64(sites[2].kind, KIND_REALLOC);
	CHECK_U64(sites[2].allocations, 1);
	CHECK_U64(sites[6].stack.value, 0);
}

CASE(reallocs, "both lines of a realloc are one")
{
	struct model *model = NULL;
	CHECK_OK(source_open_bytes("file", story, strlen(story), SOURCE_WITH_LIVES, &model));
	size_t count;
	const struct realloc_site *row = model_reallocs(model, &count);
	CHECK_U64(count, 1);
	CHECK_U64(row->grown_bytes, 400);
	CHECK_U64(model_recording(model)->events, 9);
	model_destroy(model);
}

CASE(no_times, "a log has no times, and says so; its peak is a moment")
{
	struct model *model = NULL;
	const struct source_query late = {
		.to = {.kind = SOURCE_TIME, .time_ns = 1000}, .to_text = "1us"};
	CHECK_ERROR(source_open_bytes_query("file", story, strlen(story), 0, &late, &model),
		ERROR_INPUT, "contains no times");
	const struct source_query peak = {.to = {.kind = SOURCE_PEAK}};
	CHECK_OK(source_open_bytes_query("file", story, strlen(story), 0, &peak, &model));
	CHECK_U64(model_totals(model)->live_bytes, 550);
	model_destroy(model);
}

CASE(hostile, "lines that are none, and sums above 2^64, are refused with their place")
{
	check_refused("= Start\nhello\n", "file: line 2 (offset 8): invalid mtrace line: hello");
	check_refused("= Start\n@ ./app + 0x10 0x10\n", "line 2");
	check_refused("= Start\n@ ./app:[0x1] + 0x10\n", "line 2");
	check_refused("= Start\n@ ./app:[0x1] + 0x10 0x10 0x10\n", "line 2");
	check_refused("= Start\n@ ./app:[0x1] + 0x10000000000000000 0x10\n", "line 2");
	check_refused("= Start\n@ ./app:[0x1] + 0x10 0x8000000000000000\n"
		      "@ ./app:[0x1] + 0x20 0x8000000000000000\n",
		"2^64");
}

CASE(two, "two logs in one file are refused: their addresses have nothing to do with each other")
{
	check_refused("= Start\n@ ./app:[0x1] + 0x10 0x10\n= End\n= Start\n", "line 4");
	check_refused("@ ./app:[0x1] + 0x10 0x10\n= Start\n@ ./app:[0x1] + 0x10 0x10\n",
		"begins another log");
}

CASE(huge,
	"numbers of 2^60 and more are sizes and addresses as others, or refused with their place")
{
	_cleanup_model_ struct model *model =
		open_good("= Start\n@ a:[0x1] + 0x1000000000000000 0x1000000000000000\n"
			  "@ a:[0x1000000000000000] + 0xffffffffffffffff 0x1000000000000000\n");
	CHECK_U64(model_totals(model)->peak_bytes, UINT64_C(1) << 61);
	check_refused("= Start\n@ a:[0x1] + 0x10 0x10000000000000000\n", "file: line 2 (offset 8)");
}

CASE(bomb_lines, "lines without an end, and empty ones without number")
{
	check_bomb("= Start\n", '\n');
	check_bomb("= Start\n", 'x');
	check_bomb("= Start\n@ a", 'x');
}

CASE(bomb_callers, "packed names of callers that take more memory than the file explains")
{
	check_bomb_lines("= Start\n", "@ %u", 'x', ":[0x1] + 0x10 0x10\n", 1000, "MiB of callers");
}

CASE(odd_callers, "callers of whatever form are kept apart and do no harm")
{
	_cleanup_model_ struct model *model = open_good("= Start\n"
							"@ a b(c:[0x1] + 0x10 0x1\n"
							"@ :()[0x1] + 0x20 0x1\n"
							"@ [] + 0x30 0x1\n"
							"@ ] + 0x40 0x1\n"
							"@ (f-1)[zz] + 0x50 0x1\n"
							"@ /x] - y:[0x2] + 0x60 0x1\n");
	CHECK_U64(model_totals(model)->live_blocks, 6);
}

CASE(cut, "a log that is cut is read as far as its lines are whole")
{
	check_cut_anywhere(story);
	check_incomplete("= Start\n@ ./app:[0x1] + 0x10 0x10\n@ ./app:[0x1] + 0x20 0x1", "is cut");
}

CASE(changed, "a log with any byte changed is read or refused")
{
	check_changed_anywhere(story);
}

TAP_MAIN
