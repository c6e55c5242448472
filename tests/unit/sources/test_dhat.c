/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of DHAT, as it prints them, and as it does not. */
#include "base/cleanup.h"
#include "unit/foreign_files.h"

#define BEGIN                                                                                      \
	"{\"dhatFileVersion\":2\n,\"mode\":\"heap\",\"verb\":\"Allocated\"\n,\"bklt\":true,"       \
	"\"bkacc\":true\n"
#define TIMES                                                                                      \
	",\"tu\":\"instrs\",\"Mtu\":\"Minstr\"\n,\"cmd\":\"./app "                                 \
	"-v\"\n,\"pid\":41\n,\"te\":900,\"tg\":500\n"
#define FRAMES                                                                                     \
	",\"ftbl\":[\"[root]\""                                                                    \
	",\"0x48417B4: malloc (in /usr/libexec/valgrind/vgpreload_dhat-amd64-linux.so)\""          \
	",\"0x1001: read_line (io.c:12)\""                                                         \
	",\"0x1002: inner (app.c:4)\""                                                             \
	",\"0x1002: outer (app.c:8)\""                                                             \
	",\"0x48465EF: operator new(unsigned long) (in /usr/lib/vg.so)\""                          \
	",\"0x1003: ns::make<int>(int) (/home/a b/make.rs:7:21)\"]}\n"
#define POINT(tb, tbk, gb, gbk, eb, ebk, fs)                                                       \
	"{\"tb\":" #tb ",\"tbk\":" #tbk ",\"tl\":77,\"mb\":1,\"mbk\":1,\"gb\":" #gb                \
	",\"gbk\":" #gbk ",\"eb\":" #eb ",\"ebk\":" #ebk                                           \
	",\"rb\":0,\"wb\":3,\"acc\":[-2,1],\"fs\":" fs "}"
#define POINTS                                                                                     \
	",\"pps\":[" POINT(1000, 10, 500, 5, 100, 1, "[1,2,3,4]") "," POINT(                       \
		64, 2, 64, 2, 0, 0, "[5,6,4]") "," POINT(24, 1, 0, 0, 24, 1, "[1,2,4,4]") "]"
#define FILE_TEXT BEGIN TIMES POINTS FRAMES

CASE(figures, "allocated, live at t-gmax and live at the end are the figures of a site")
{
	_cleanup_model_ struct model *model = open_good(FILE_TEXT);
	const struct totals *totals = model_totals(model);
	CHECK_STR(model_recording(model)->source, "dhat");
	CHECK_U64(totals->allocations, 13);
	CHECK_U64(totals->allocated_bytes, 1088);
	CHECK_U64(totals->peak_blocks, 7);
	CHECK_U64(totals->peak_bytes, 564);
	CHECK_U64(totals->live_blocks, 2);
	CHECK_U64(totals->live_bytes, 124);
	CHECK_U64(model_target(model)->pid, 41);
	CHECK_STR(model_target(model)->command[1], "-v");
	/* Times are instructions. */
	CHECK(model_recording(model)->unknown & UNKNOWN_TIMES);
}

CASE(frames, "the allocation function is the kind, functions at one address are inlined")
{
	_cleanup_model_ struct model *model = open_good(FILE_TEXT);
	size_t count;
	const struct site *sites = model_sites(model, &count);
	CHECK_U64(count, 3);
	CHECK_U64(sites[0].kind, KIND_MALLOC);
	CHECK_U64(sites[1].kind, KIND_NEW);
	CHECK_STR(innermost_function(model, &sites[0]), "read_line");
	struct stack_node node = model_stack(model, sites[0].stack);
	node = model_stack(model, node.parent);
	CHECK_U64(node.parent.value, 0);
	CHECK_U64(node.address, 0x1003);
	const struct embedded_run *run = model_embedded(model, node);
	CHECK_U64(run->count, 2);
	CHECK_STR(run->frames[0].function, "inner");
	CHECK(run->frames[0].inlined && !run->frames[1].inlined);
	CHECK_STR(run->frames[1].function, "outer");
	/* Twice the same is a call of itself. */
	node = model_stack(model, sites[2].stack);
	node = model_stack(model, node.parent);
	CHECK(node.parent.value != 0);
	CHECK_U64(node.address, model_stack(model, node.parent).address);
	/* A column behind the line. */
	node = model_stack(model, sites[1].stack);
	run = model_embedded(model, node);
	CHECK_STR(run->frames[0].file, "/home/a b/make.rs");
	CHECK_U64(run->frames[0].line, 7);
}

CASE(deep_stack, "a stack of more frames than any tool takes is refused")
{
	static const char begin[] = BEGIN TIMES
		",\"pps\":[{\"tb\":1,\"tbk\":1,\"tl\":7,\"mb\":1,\"mbk\":1,\"gb\":1,\"gbk\":1,"
		"\"eb\":1,\"ebk\":1,\"rb\":0,\"wb\":3,\"acc\":[-2,1],\"fs\":[1";
	_cleanup_(buf_deinit) struct buf file;
	buf_init(&file);
	buf_bytes(&file, begin, strlen(begin));
	for (unsigned i = 0; i < 4096; i++)
		buf_bytes(&file, ",2", 2);
	buf_bytes(&file, "]}]" FRAMES, strlen("]}]" FRAMES));
	check_refused_bytes(file.data, file.len, "of more than 4096 frames");
}

CASE(microseconds, "times in microseconds are known")
{
	_cleanup_model_ struct model *model =
		open_good(BEGIN ",\"tu\":\"µs\",\"te\":900,\"tg\":500" POINTS FRAMES);
	CHECK(!(model_recording(model)->unknown & UNKNOWN_TIMES));
	CHECK_U64(model_totals(model)->peak_time_ns, 500000);
	CHECK_U64(model_recording(model)->duration_ns, 900000);
}

CASE(rust, "what the crate dhat of Rust writes of a heap is one")
{
	_cleanup_model_ struct model *model = open_good(
		"{\n\"dhatFileVersion\": 2,\n\"mode\": \"rust-heap\",\n\"verb\": \"Allocated\",\n"
		"\"bklt\": true,\n\"bkacc\": false,\n\"tu\": \"µs\",\n\"Mtu\": \"s\",\n\"tuth\": "
		"10,\n"
		"\"cmd\": \"target/app\",\n\"pid\": 7,\n\"tg\": 593,\n\"te\": 700,\n\"pps\": [\n"
		"{\n\"tb\": 1024,\n\"tbk\": 1,\n\"tl\": 251,\n\"mb\": 1024,\n\"mbk\": 1,\n"
		"\"gb\": 1024,\n\"gbk\": 1,\n\"eb\": 1024,\n\"ebk\": 1,\n\"fs\": "
		"[\n1,\n2\n]\n}\n],\n"
		"\"ftbl\": [\n\"[root]\",\n"
		"\"0x10ae8441b: <alloc::alloc::Global as core::alloc::Allocator>::allocate "
		"(alloc/src/alloc.rs:226:9)\",\n"
		"\"0x10ae2fe20: app::main (app/src/main.rs:8:5)\"\n]\n}\n");
	CHECK_U64(model_totals(model)->live_bytes, 1024);
	CHECK_U64(model_totals(model)->peak_time_ns, 593000);
	CHECK(!(model_recording(model)->unknown & UNKNOWN_TIMES));
	CHECK_STR(innermost_function(model,
			  site_of(model,
				  "<alloc::alloc::Global as core::alloc::Allocator>::allocate")),
		"<alloc::alloc::Global as core::alloc::Allocator>::allocate");
}

CASE(modes, "profiles of other modes and versions are refused with the reason")
{
	check_refused("{\"dhatFileVersion\":2,\"mode\":\"copy\"}", "mode copy");
	check_refused("{\"dhatFileVersion\":2,\"mode\":\"ad-hoc\"}", "mode ad-hoc");
	check_refused("{\"dhatFileVersion\":2,\"mode\":\"rust-ad-hoc\"}", "mode rust-ad-hoc");
	check_refused("{\"dhatFileVersion\":1,\"mode\":\"heap\"}", "format 1");
	check_refused("{\"dhatFileVersion\":2,\"mode\":\"heap\",\"bklt\":false}", "lifetimes");
}

CASE(refused, "what cannot be so is refused, and where")
{
	check_refused(
		BEGIN TIMES ",\"pps\":[" POINT(-1, 1, 1, 1, 1, 1, "[1]") "]" FRAMES, "pps[0].tb");
	check_refused(
		BEGIN TIMES ",\"pps\":[" POINT(1.5, 1, 1, 1, 1, 1, "[1]") "]" FRAMES, "pps[0].tb");
	check_refused(BEGIN TIMES
		",\"pps\":[" POINT(1, 1, 1, 1, 1, 99999999999999999999, "[1]") "]" FRAMES,
		"line 8");
	check_refused(
		BEGIN TIMES ",\"pps\":[" POINT(1, 1, 1, 1, 1, 1, "[99]") "]" FRAMES, "frame 99");
	check_refused(BEGIN TIMES ",\"pps\":[" POINT(1, 1, 1, 1, 1, 1, "[-1]") "]" FRAMES, "(fs)");
	check_refused(BEGIN TIMES ",\"pps\":[" POINT(1, 1, 1, 1, 1, 1, "7") "]" FRAMES, "(fs)");
	check_refused(BEGIN TIMES ",\"pps\":[7]" FRAMES, "pps[0]");
	check_refused(BEGIN TIMES ",\"pps\":7" FRAMES, "(pps)");
	check_refused(BEGIN TIMES POINTS "}", "(ftbl)");
#define HUGE POINT(9223372036854775807, 1, 1, 1, 1, 1, "[1]")
	check_refused(BEGIN TIMES ",\"pps\":[" HUGE "," HUGE "," HUGE "]" FRAMES, "2^64");
	_cleanup_model_ struct model *model = open_good(BEGIN TIMES ",\"pps\":[" POINT(
		1152921504606846976, 1152921504606846976, 1, 1, 1, 1, "[1]") "]" FRAMES);
	CHECK_U64(model_totals(model)->allocations, 1152921504606846976);
}

CASE(cut, "cut or changed anywhere, it is refused or read")
{
	check_cut_anywhere(FILE_TEXT);
	check_changed_anywhere(FILE_TEXT);
	check_refused_bytes(FILE_TEXT, sizeof(FILE_TEXT), "line");
}

CASE(deep, "a million brackets are refused")
{
	static const char begin[] = "{\"dhatFileVersion\":2,\"x\":";
	char *text = malloc(1 << 20);
	CHECK(text);
	memset(text, '[', 1 << 20);
	memcpy(text, begin, strlen(begin));
	check_refused_bytes(text, 1 << 20, "objects and arrays");
	check_refused_bytes(text, 4000, "depth");
	free(text);
}

CASE(bomb, "what unpacks to 10 GB is refused in bounded time and memory")
{
	check_bomb("{\"dhatFileVersion\":2,\"x\":", ' ');
	check_bomb("{\"dhatFileVersion\":2,\"x\":[", '[');
}

CASE(objects, "15 MB of nothing but small objects, packed, are refused before they are made")
{
	check_repeated("{\"dhatFileVersion\":2,\"x\":[", "{},", 5000000, "objects and arrays");
}

TAP_MAIN
