/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded stacks, as flame graphs take them, and what only looks like them. */
#include "unit/foreign_files.h"

#define FILE_TEXT                                                                                  \
	"main;read line;x::alloc<a, b> 100\nmain;other 7\n\nmain;read line;x::alloc<a, b> 5\r\n"

CASE(figures, "each stack has the sum of its lines, taken as live bytes, and that is said")
{
	_cleanup_model_ struct model *model = open_good(FILE_TEXT);
	CHECK_STR(model_recording(model)->source, "folded");
	CHECK_CONTAINS(model_recording(model)->remark, "read as live bytes");
	CHECK_U64(site_of(model, "x::alloc<a, b>")->live_bytes, 105);
	CHECK_U64(site_of(model, "other")->live_bytes, 7);
	CHECK_U64(model_totals(model)->live_bytes, 112);
	CHECK(model_recording(model)->unknown & UNKNOWN_LIVE_BLOCKS);
	struct stack_node node = model_stack(model, site_of(model, "x::alloc<a, b>")->stack);
	node = model_stack(model, node.parent);
	CHECK_STR(model_embedded(model, node)->frames[0].function, "read line");
}

CASE(one, "one line without an end is a file")
{
	model_destroy(open_good("main 1152921504606846976"));
}

CASE(others, "other text is none")
{
	check_refused("hello\n", "unrecognised file format");
	check_refused("a;b 1\nhello world\n", "unrecognised file format");
	check_refused("a;b -1\n", "unrecognised file format");
	check_refused(" 1\n", "unrecognised file format");
	check_refused_bytes("a\0b 1\n", 6, "unrecognised file format");
}

CASE(refused, "what cannot be so is refused, with its line")
{
	check_refused("a;b 1 2\n", "line 1");
	check_refused("a;b 18446744073709551615\na;b 1\n", "line 2");
	check_refused("a 18446744073709551615\nb 1\n", "2^64");
	/* Behind what the kind is told by. */
	struct buf file;
	buf_init(&file);
	for (unsigned i = 0; i < 2000; i++)
		buf_bytes(&file, "a;b;c 1\n", 8);
	buf_bytes(&file, "a;b;c -1\n", 9);
	check_refused_bytes(file.data, file.len, "line 2001");
	buf_deinit(&file);
}

CASE(deep, "a stack of 100,000 frames is refused")
{
	struct buf file;
	buf_init(&file);
	buf_bytes(&file, "a 1\n", 4);
	for (unsigned i = 0; i < 100000; i++)
		buf_bytes(&file, "a;", 2);
	buf_bytes(&file, "a 1\n", 4);
	check_refused_bytes(file.data, file.len, "more than 4096 frames");
	buf_deinit(&file);
}

CASE(cut, "cut or changed anywhere, it is refused or read")
{
	check_cut_anywhere(FILE_TEXT);
	check_changed_anywhere(FILE_TEXT);
}

CASE(bomb, "what unpacks to 10 GB is refused in bounded time and memory")
{
	check_bomb("a;b 1\n", '\n');
	check_bomb("a;b 1\n", 'x');
}

CASE(hidden_frames, "what a file cannot leave out is refused, not ignored")
{
	const bool hidden_frames[1] = {true};
	const struct source_blocks blocks = {
		.hidden_frames = hidden_frames, .hidden_frames_len = 1};
	const struct source_query query = {
		.from = {.kind = SOURCE_START}, .to = {.kind = SOURCE_END}, .blocks = &blocks};
	struct model *model = NULL;
	CHECK_ERROR(source_open_bytes_query("file", "a;b 1\n", 6, 0, &query, &model), ERROR_INPUT,
		"can't exclude functions");
}

TAP_MAIN
