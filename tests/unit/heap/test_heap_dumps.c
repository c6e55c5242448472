/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heap dumps of jemalloc and gperftools, as their writers print them, and as nobody does. */
#include "unit/foreign_files.h"

#define MAPS                                                                                       \
	"\nMAPPED_LIBRARIES:\n"                                                                    \
	"1000-3000 r--p 00000000 fe:00 12   /nowhere/app\n"                                        \
	"3000-9000 r-xp 00002000 fe:00 12   /nowhere/app\n"                                        \
	"70000000-70010000 r-xp 00010000 fe:00 13   /nowhere/lib of x.so (deleted)\n"              \
	"7f0000000000-7f0000010000 rw-p 00000000 00:00 0   [stack]\n"

#define JEMALLOC                                                                                   \
	"heap_v2/1024\n"                                                                           \
	"  t*: 5: 700 [9: 1100]\n"                                                                 \
	"  t0: 3: 500 [6: 800]\n"                                                                  \
	"  t1: 2: 200 [3: 300] worker one\n"                                                       \
	"@ 0x3010 0x3020\n"                                                                        \
	"  t*: 4: 400 [8: 800]\n"                                                                  \
	"  t0: 2: 200 [5: 500]\n"                                                                  \
	"  t1: 2: 200 [3: 300] worker one\n"                                                       \
	"@ 0x70000100 0x3020\n"                                                                    \
	"  t*: 1: 300 [1: 300]\n"                                                                  \
	"  t0: 1: 300 [1: 300]\n"

static void check_module(const struct model *model, const struct site *site, const char *path)
{
	CHECK_STR(model_module(model, model_stack(model, site->stack).module)->path, path);
}

#define NAMES                                                                                      \
	"--- symbol\nbinary=/nowhere/app\n0x300f inner--Number::operator----outer\n"               \
	"0x3020 main\n0x4000 \n---\n--- heap\n"

static void check_names(const char *dump)
{
	_cleanup_model_ struct model *model = open_good(dump);
	CHECK(model_recording(model)->complete);
	const struct site *site = site_at(model, 0x3010);
	const struct stack_node stack = model_stack(model, site->stack);
	const struct embedded_run *given = model_embedded(model, stack);
	CHECK(given && given->count == 3);
	CHECK_STR(given->frames[0].function, "inner");
	CHECK_STR(given->frames[1].function, "Number::operator--");
	CHECK_STR(given->frames[2].function, "outer");
}

CASE(names_in_front, "names in front of a dump are those of its addresses, without files too")
{
	check_names(NAMES JEMALLOC "\nMAPPED_LIBRARIES:\n");
	check_names(NAMES "heap profile: 1: 8 [2: 16] @ heapprofile\n1: 8 [2: 16] @ 0x3010 0x3020\n"
			  "\nMAPPED_LIBRARIES:\n");
	check_refused("--- symbol\nnonsense\n---\nheap_v2/1\n", "expected a name");
	check_refused("--- symbol\n0x12 f\n", "cut off before its stacks begin");
	check_cut_anywhere(NAMES JEMALLOC MAPS);
}

CASE(jemalloc, "jemalloc's samples are scaled by the mean size of each stack's blocks")
{
	_cleanup_model_ struct model *model = open_good(JEMALLOC MAPS);
	const struct recording *recording = model_recording(model);
	CHECK_STR(recording->source, "jemalloc");
	CHECK_STR(recording->mode, "sample");
	CHECK_U64(recording->sample_bytes, 1024);
	CHECK(recording->snapshot && recording->complete);
	/* 4 / (1 - e^(-100/1024)), and so on */
	const struct site *site = site_at(model, 0x3010);
	CHECK_U64(site->live_blocks, 43);
	CHECK_U64(site->live_bytes, 4299);
	CHECK_U64(site->allocations, 86);
	CHECK_U64(site->allocated_bytes, 8599);
	CHECK(site->spread.live_bytes > 0);
	check_module(model, site, "/nowhere/app");
	site = site_at(model, 0x70000100);
	CHECK_U64(site->live_bytes, 1181);
	check_module(model, site, "/nowhere/lib of x.so");
	CHECK_U64(model_totals(model)->live_bytes, 4299 + 1181);
	CHECK_STR(model_target(model)->exe, "/nowhere/app");
	CHECK(!(recording->unknown & UNKNOWN_ALLOCATIONS));
}

CASE(thread, "--thread takes what one thread allocated, by number or name")
{
	static const char *const names[] = {"1", "worker one"};
	for (size_t i = 0; i < 2; i++) {
		_cleanup_model_ struct model *model = NULL;
		const struct source_blocks blocks = {.thread = names[i]};
		const struct source_query query = {.from = {.kind = SOURCE_START},
			.to = {.kind = SOURCE_END},
			.blocks = &blocks};
		CHECK_OK(source_open_bytes_query(
			"file", JEMALLOC MAPS, strlen(JEMALLOC MAPS), 0, &query, &model));
		CHECK_U64(model_totals(model)->live_bytes, 2150);
		CHECK_CONTAINS(model_recording(model)->blocks, names[i]);
	}
	struct model *model = NULL;
	const struct source_blocks blocks = {.thread = "7"};
	const struct source_query query = {
		.from = {.kind = SOURCE_START}, .to = {.kind = SOURCE_END}, .blocks = &blocks};
	CHECK_ERROR(source_open_bytes_query(
			    "file", JEMALLOC MAPS, strlen(JEMALLOC MAPS), 0, &query, &model),
		ERROR_INPUT, "no thread '7'");
}

CASE(no_accum, "without prof_accum allocations are unknown, not 0")
{
	_cleanup_model_ struct model *model =
		open_good("heap_v2/1\n  t*: 1: 100 [0: 0]\n@ 0x3010\n  t*: 1: 100 [0: 0]\n" MAPS);
	CHECK(model_recording(model)->unknown & UNKNOWN_ALLOCATIONS);
	CHECK_U64(model_totals(model)->live_bytes, 100);
}

CASE(jemalloc_3, "nor are they 0 in dumps of jemalloc 3, which have the heap profiler's first line")
{
	_cleanup_model_ struct model *model =
		open_good("heap profile:  3: 500 [ 0: 0] @ heapprofile\n"
			  "   3:  500 [  0:  0] @ 0x3010 0x3020\n" MAPS);
	CHECK(model_recording(model)->complete);
	CHECK(model_recording(model)->unknown & UNKNOWN_ALLOCATIONS);
	CHECK(model_recording(model)->unknown & UNKNOWN_ALLOCATED_BYTES);
	CHECK_U64(model_totals(model)->live_bytes, 500);
}

#define ROWS                                                                                       \
	"   2:  400 [  5: 1000] @ 0x3010 0x3020\n"                                                 \
	"   1:  100 [  1:  100] @ 0x70000100 0x3020\n"

CASE(heapprofile, "gperftools' heap profiler is exact")
{
	_cleanup_model_ struct model *model =
		open_good("heap profile:  3: 500 [ 6: 1100] @ heapprofile\n" ROWS MAPS);
	CHECK_STR(model_recording(model)->source, "gperftools");
	CHECK_STR(model_recording(model)->mode, "exact");
	CHECK(model_recording(model)->complete);
	const struct site *site = site_at(model, 0x3010);
	CHECK_U64(site->live_blocks, 2);
	CHECK_U64(site->live_bytes, 400);
	CHECK_U64(site->allocations, 5);
	CHECK_U64(site->allocated_bytes, 1000);
	CHECK(site->spread.live_bytes == 0);
	check_module(model, site, "/nowhere/app");
}

CASE(sampled, "heap_v2, heapz_v2 and heap (half of its number) are samples")
{
	static const char *const kinds[] = {"heap_v2/1000", "heapz_v2/1000", "heap/2000"};
	for (size_t i = 0; i < 3; i++) {
		char text[2000];
		snprintf(text, sizeof(text), "heap profile: 3: 500 [ 6: 1100] @ %s\n" ROWS MAPS,
			kinds[i]);
		_cleanup_model_ struct model *model = open_good(text);
		CHECK_U64(model_recording(model)->sample_bytes, 1000);
		/* 2 / (1 - e^-0.2) */
		CHECK_U64(site_at(model, 0x3010)->live_blocks, 11);
		CHECK_U64(site_at(model, 0x3010)->live_bytes, 2207);
		CHECK_U64(site_at(model, 0x3010)->allocated_bytes, 5517);
	}
	/* Brackets that only repeat what is in use say nothing. */
	_cleanup_model_ struct model *model =
		open_good("heap profile: 2: 400 [2: 400] @ heap_v2/1000\n"
			  "2: 400 [2: 400] @ 0x3010\n" MAPS);
	CHECK(model_recording(model)->unknown & UNKNOWN_ALLOCATIONS);
	CHECK_U64(model_totals(model)->allocations, 0);
}

CASE(go, "Go's text names its frames, and needs no mappings")
{
	_cleanup_model_ struct model *model =
		open_good("heap profile: 3: 500 [6: 1100] @ heap/1048576\n"
			  "2: 400 [5: 1000] @ 0x401 0x3010 0x4010 0x5000\n"
			  "#\t0x300f\tmain.(*T[...]).grow+0x1d\t/src/my app.go:12\n"
			  "#\t0x400f\tmain.main+0x10\t\t\t/src/main.go:7\n"
			  "\n"
			  "1: 100 [1: 100] @ 0x6000\n\n\n"
			  "# runtime.MemStats\n# Alloc = 12\n");
	CHECK(model_recording(model)->complete);
	CHECK_U64(model_recording(model)->sample_bytes, 524288);
	const struct site *site = site_of(model, "main.(*T[...]).grow");
	struct stack_node node = model_stack(model, site->stack);
	CHECK_U64(node.address, 0x3010);
	CHECK_STR(model_embedded(model, node)->frames[0].file, "/src/my app.go");
	CHECK_U64(model_embedded(model, node)->frames[0].line, 12);
	CHECK_U64(model_stack(model, node.parent).address, 0x4010);
	CHECK(!model_stack(model, node.parent).parent.value);
	CHECK(site_at(model, 0x6000)->live_blocks);
	check_incomplete("heap profile: 1: 100 [1: 200] @ heap/1048576\n1: 100 [1: 200] @ 0x6000\n",
		"end of the dump");
}

CASE(growth, "growthz has what the allocator took from the system, and says so")
{
	_cleanup_model_ struct model *model =
		open_good("heap profile: 3: 500 [ 6: 1100] @ growthz\n" ROWS MAPS);
	CHECK_U64(model_totals(model)->live_bytes, 500);
	CHECK_CONTAINS(model_recording(model)->remark, "from the system");
	CHECK(model_recording(model)->unknown & UNKNOWN_ALLOCATIONS);
}

CASE(missing, "what is missing is said")
{
	check_incomplete(JEMALLOC, "no MAPPED_LIBRARIES");
	check_incomplete("heap profile: 4: 600 [6: 1100] @ heapprofile\n" ROWS MAPS,
		"some stacks are missing");
}

CASE(cut_line, "a line that is cut off takes its row with it, and what came before is shown")
{
	static const char *const ends[] = {"@ 0x30", "@ 0x3010 0x3020\n  t*: 4", "  t", "hello"};
	for (size_t i = 0; i < 4; i++) {
		char text[2000];
		snprintf(text, sizeof(text), JEMALLOC "%s", ends[i]);
		check_incomplete(text, "no MAPPED_LIBRARIES");
	}
	const char *text = "heap profile: 2: 400 [ 5: 1100] @ heapprofile\n"
			   "2: 400 [5: 1100] @ 0x3010\n1: 100 [1: 100] @ 0x3010 0x70";
	_cleanup_model_ struct model *model = open_good(text);
	CHECK_U64(model_totals(model)->live_bytes, 400);
	check_incomplete(text, "no MAPPED_LIBRARIES");
}

CASE(two, "two dumps in one file are refused, as only one would count")
{
	check_refused(JEMALLOC MAPS JEMALLOC MAPS, "begins another dump");
	check_refused("heap profile: 3: 500 [ 6: 1100] @ heapprofile\n" ROWS MAPS
		      "heap profile: 3: 500 [ 6: 1100] @ heapprofile\n" ROWS MAPS,
		"begins another dump");
}

CASE(every_block, "a distance of one byte leaves no block out: figures are exact")
{
	static const char *const texts[] = {
		"heap_v2/1\n  t*: 1: 100 [0: 0]\n@ 0x3010\n  t*: 1: 100 [0: 0]\n" MAPS,
		"heap profile: 3: 500 [ 6: 1100] @ heap_v2/1\n" ROWS MAPS};
	for (size_t i = 0; i < 2; i++) {
		_cleanup_model_ struct model *model = open_good(texts[i]);
		CHECK_STR(model_recording(model)->mode, "exact");
		CHECK_U64(model_recording(model)->sample_bytes, 0);
	}
}

CASE(refused, "what cannot be so is refused, with its line")
{
	check_refused("heap_v2/0\n", "line 1");
	check_refused("heap_v2/x\n", "line 1");
	check_refused("heap_v2/99999999999999999999\n", "line 1");
	check_refused("heap_v2/512\n  t*: 1: -5 [0: 0]\n", "line 2");
	check_refused("heap_v2/512\n@ 0x1 0xg\n", "line 2");
	check_refused("heap_v2/512\n@ 0x10000000000000000\n", "line 2");
	check_refused("heap_v2/512\nhello\n", "line 2");
	check_refused("heap_v2/512\n@ 0x3010\n"
		      "  t*: 1152921504606846976: 1152921504606846976 [0: 0]\n",
		"2^63");
	check_refused("heap profile: 1: 2 [3: 4]\n", "line 1");
	check_refused("heap profile: 1: 2 [3: 4] @ fragmentationz\n", "fragmentationz");
	check_refused("heap profile: 1: 2 [3: 4] @ heapprofile\n-1: 2 [3: 4] @ 0x1\n", "line 2");
	check_refused("heap profile: 1: 2 [3: 4] @ heapprofile\n"
		      "1: 18446744073709551615 [1: 1] @ 0x1\n1: 1 [1: 1] @ 0x1\n",
		"line 3");
}

CASE(nul, "NUL bytes and long lines are refused")
{
	check_refused_bytes("heap_v2/512\n@ 0x1\0 0x2\n", 24, "line 2");
	char *line = malloc(3 << 20);
	CHECK(line);
	memset(line, '1', 3 << 20);
	memcpy(line, "heap_v2/512\n@ ", 14);
	check_refused_bytes(line, 3 << 20, "longer than");
	free(line);
}

CASE(deep, "a stack of a million addresses is refused")
{
	struct buf file;
	buf_init(&file);
	buf_bytes(&file, "heap_v2/512\n@", 13);
	for (unsigned i = 0; i < 200000; i++)
		buf_bytes(&file, " 0x1", 4);
	buf_bytes(&file, "\n", 1);
	check_refused_bytes(file.data, file.len, "more than 4096 addresses");
	buf_deinit(&file);
}

CASE(cut, "cut or changed anywhere, they are refused or read as far as they go")
{
	check_cut_anywhere(JEMALLOC MAPS);
	check_cut_anywhere("heap profile: 3: 500 [ 6: 1100] @ heapprofile\n" ROWS MAPS);
	check_changed_anywhere(JEMALLOC MAPS);
	check_changed_anywhere("heap profile: 3: 500 [ 6: 1100] @ heap/1000\n" ROWS MAPS);
}

CASE(bomb, "what unpacks to 10 GB is refused in bounded time and memory")
{
	check_bomb("heap_v2/512\n", '\n');
	check_bomb("heap_v2/512\n", 'x');
	check_bomb("heap profile: 3: 500 [ 6: 1100] @ heapprofile\n", '\n');
}

CASE(repeated, "millions of stacks in a few kilobytes are refused before they fill the memory")
{
	check_repeated("heap profile: 3: 500 [ 6: 1100] @ heapprofile\n", "1: 1 [1: 1] @ 0x1\n",
		1200000, "beyond");
	check_repeated(
		"heap_v2/512\n", "@ 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8 0x9\n", 600000, "beyond");
}

TAP_MAIN
