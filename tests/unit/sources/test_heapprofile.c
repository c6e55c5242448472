/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampling heap profiles of V8, and the JSON below them. */
#include "unit/foreign_files.h"

#include "base/cleanup.h"
#include "base/util.h"

#define FRAME(name, url, line, column)                                                             \
	"\"callFrame\":{\"functionName\":\"" name "\",\"scriptId\":\"5\",\"url\":\"" url           \
	"\",\"lineNumber\":" #line ",\"columnNumber\":" #column "}"
#define ROOT "{\"head\":{" FRAME("(root)", "", -1, -1) ",\"selfSize\":0,\"id\":1,\"children\":["
#define NODE(name, line, column, size, id, children)                                               \
	"{" FRAME(name, "file:///srv/a%20b.js", line,                                              \
		column) ",\"selfSize\":" #size ",\"id\":" #id ",\"children\":[" children "]}"
#define TREE                                                                                       \
	ROOT NODE("", 0, 0, 600, 2,                                                                \
		NODE("keep\\u00e9\\ud83d\\ude00\\ud800", 4, 11, 1024, 3, "")) "," NODE("a", 9, 3,  \
		10, 4, "") "," NODE("a", 9, 30, 20, 5, "") "]}"
#define FILE_TEXT                                                                                  \
	TREE ",\"samples\":[{\"size\":520,\"nodeId\":3,\"ordinal\":1},"                            \
	     "{\"size\":516,\"nodeId\":3,\"ordinal\":2},{\"size\":600,\"nodeId\":2}]}\n"

CASE(figures, "nodes are stacks with their live bytes; names, paths and lines are for people")
{
	_cleanup_model_ struct model *model = open_good(FILE_TEXT);
	CHECK_STR(model_recording(model)->source, "heapprofile");
	CHECK_STR(model_recording(model)->mode, "sample");
	CHECK_CONTAINS(model_recording(model)->remark, "where functions begin");
	const struct site *site = site_of(model, "keepé😀\xef\xbf\xbd");
	CHECK_U64(site->live_bytes, 1024);
	CHECK_U64(model_totals(model)->live_bytes, 1654);
	CHECK(model_recording(model)->unknown & UNKNOWN_LIVE_BLOCKS);
	CHECK(model_recording(model)->unknown & UNKNOWN_ALLOCATED_BYTES);
	CHECK(!(model_recording(model)->unknown & UNKNOWN_LIVE_BYTES));
	struct stack_node node = model_stack(model, site->stack);
	CHECK_STR(model_embedded(model, node)->frames[0].file, "/srv/a b.js");
	CHECK_U64(model_embedded(model, node)->frames[0].line, 5);
	node = model_stack(model, node.parent);
	CHECK_STR(model_embedded(model, node)->frames[0].function, "(anonymous)");
	CHECK_U64(node.parent.value, 0);
}

CASE(columns, "functions of one name in one line are told apart by their columns")
{
	_cleanup_model_ struct model *model = open_good(FILE_TEXT);
	CHECK_U64(site_of(model, "a (column 4)")->live_bytes, 10);
	CHECK_U64(site_of(model, "a (column 31)")->live_bytes, 20);
}

CASE(distance, "the distance of samples is that of the smallest, a power of two where near")
{
	_cleanup_model_ struct model *model = open_good(FILE_TEXT);
	CHECK_U64(model_recording(model)->sample_bytes, 512);
	/* Samples whose sizes are those of large objects: hardly any of them was left out. */
	_cleanup_model_ struct model *large =
		open_good(TREE ",\"samples\":[{\"size\":1000,\"nodeId\":2},"
			       "{\"size\":1000000,\"nodeId\":3}]}");
	CHECK_U64(model_recording(large)->sample_bytes, 1000);
	CHECK(site_of(large, "keepé😀\xef\xbf\xbd")->spread.live_bytes < 1e-9);
	CHECK(site_of(large, "(anonymous)")->spread.live_bytes > 9e5);
}

CASE(no_samples, "without a list of samples ranges are as wide as can be, and that is said")
{
	_cleanup_model_ struct model *model = open_good(TREE "}");
	CHECK_CONTAINS(model_recording(model)->remark, "does not list its samples");
	CHECK(model_recording(model)->sample_bytes > 0);
	CHECK(site_of(model, "(anonymous)")->spread.live_bytes == 600.0 * 600.0);
}

CASE(empty,
	"a profile without a sample is none of exact figures: node's distance is taken, and said")
{
	_cleanup_model_ struct model *model = open_good(ROOT "]},\"samples\":[]}");
	CHECK_U64(model_totals(model)->live_bytes, 0);
	CHECK_U64(model_recording(model)->sample_bytes, 524288);
	CHECK_CONTAINS(model_recording(model)->remark, "No sample is in the file");
}

CASE(collected, "that collected objects may be in it is said, since the file does not say")
{
	_cleanup_model_ struct model *model = open_good(FILE_TEXT);
	CHECK_CONTAINS(model_recording(model)->remark, "those count as live, too");
}

CASE(nul, "names that differ behind a NUL are different ones")
{
	_cleanup_model_ struct model *model = open_good(
		ROOT NODE("a", 1, 1, 5, 2, "") "," NODE("a\\u0000b", 1, 1, 7, 3, "") "]}}");
	CHECK_U64(site_of(model, "a")->live_bytes, 5);
	CHECK_U64(site_of(model, "a\xef\xbf\xbd"
				 "b")
			  ->live_bytes,
		7);
}

CASE(order, "members may come in any order, and further ones are passed over")
{
	_cleanup_model_ struct model *model =
		open_good("{\"x\":[{\"y\":null}],\"samples\":[],\"head\":{\"children\":[{"
			  "\"children\":[],\"selfSize\":7,\"z\":{}," FRAME("f", "node:fs", 1,
				  1) "}],\"selfSize\":0," FRAME("", "", -1, -1) "}}");
	CHECK_U64(site_of(model, "f")->live_bytes, 7);
}

CASE(refused, "what is not as V8 writes it is refused, with its offset")
{
	check_refused(ROOT "]}} x", "text after its end");
	check_refused(ROOT "5]}}", "children are no nodes");
	check_refused(ROOT "{\"selfSize\":5,\"children\":[]}]}}", "a node has no callFrame");
	check_refused(ROOT "{" FRAME("f", "", 1, 1) "}]}}", "a node has no selfSize");
	check_refused(ROOT NODE("f", 1, 1, -5, 2, "") "]}}", "selfSize is not a whole number");
	check_refused(ROOT NODE("f", 1, 1, 5.5, 2, "") "]}}", "selfSize is not a whole number");
	check_refused(ROOT NODE("f", 1, 1, 05, 2, "") "]}}", "'05' is no number");
	check_refused(ROOT NODE("\\q", 1, 1, 5, 2, "") "]}}", "unknown escape");
	check_refused(ROOT NODE("\\u12g4", 1, 1, 5, 2, "") "]}}", "four hexadecimal digits");
	check_refused(ROOT NODE("a\nb", 1, 1, 5, 2, "") "]}}", "a control character");
	check_refused(ROOT "],}}", "expected a name");
	check_refused(ROOT "}}", "closes nothing");
	check_refused(ROOT "]}", "cut off");
	check_refused(TREE ",\"samples\":[5]}", "a sample is not an object");
	check_refused(ROOT NODE("f", 1, 1, 18446744073709551615, 2, "") "," NODE(
			      "f", 1, 1, 18446744073709551615, 3, "") "]}}",
		"2^64");
}

CASE(numbers, "a number may be written in any form of JSON; what is no whole one is refused")
{
	static const char *const five[] = {"5.0", "5e0", "0.5e1", "50e-1", "5.00000000000000000000",
		"0.000000000000000000000005E+24", "500000000000000000000e-20"};
	static const char *const none[] = {"5e-1", "0.05", "1e20", "1e999999999", "-5e0",
		"18446744073709551616", "184467440737095516150e-2"};
	for (size_t i = 0; i < ARRAY_SIZE(five); i++) {
		_cleanup_free_ char *text = NULL;
		CHECK(asprintf(&text,
			      ROOT "{\"selfSize\":%s,\"children\":[]," FRAME("f", "", 1, 1) "}]}}",
			      five[i]) > 0);
		_cleanup_model_ struct model *model = open_good(text);
		CHECK_U64(site_of(model, "f")->live_bytes, 5);
	}
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		_cleanup_free_ char *text = NULL;
		CHECK(asprintf(&text,
			      ROOT "{\"selfSize\":%s,\"children\":[]," FRAME("f", "", 1, 1) "}]}}",
			      none[i]) > 0);
		check_refused(text, "selfSize is not a whole number");
	}
	_cleanup_model_ struct model *most =
		open_good(ROOT NODE("f", 1, 1, 1844674407370955161.5e1, 2, "") "]}}");
	CHECK_U64(site_of(most, "f")->live_bytes, UINT64_MAX);
	check_refused(ROOT NODE("f", 1, 1, 5e, 2, "") "]}}", "'5e' is no number");
	check_refused(ROOT NODE("f", 1, 1, 5., 2, "") "]}}", "'5.' is no number");
	check_refused(ROOT NODE("f", 1, 1, 5e+, 2, "") "]}}", "'5e+' is no number");
}

CASE(twice, "a member that is there twice is refused: which of both counts nobody knows")
{
	check_refused(ROOT "{\"selfSize\":5,\"selfSize\":6," FRAME("f", "", 1, 1) "}]}}",
		"\"selfSize\" twice");
	check_refused(ROOT "{" FRAME("f", "", 1, 1) "," FRAME("g", "", 1, 1) "}]}}",
		"\"callFrame\" twice");
	check_refused(ROOT "{\"children\":[],\"children\":[]}]}}", "\"children\" twice");
	check_refused(ROOT "{\"callFrame\":{\"url\":\"\",\"url\":\"\"}}]}}", "\"url\" twice");
	check_refused(ROOT "{\"id\":1,\"id\":1}]}}", "\"id\" twice");
	check_refused(TREE ",\"samples\":[],\"samples\":[]}", "\"samples\" twice");
	check_refused(TREE ",\"head\":{}}", "\"head\" twice");
	check_refused(TREE ",\"samples\":[{\"size\":1,\"size\":1}]}", "\"size\" twice");
}

CASE(interval, "the distance of samples is that which the file says, if it does")
{
	_cleanup_model_ struct model *model =
		open_good(ROOT "]},\"samples\":[],\"samplingInterval\":32768}");
	CHECK_U64(model_recording(model)->sample_bytes, 32768);
	CHECK_CONTAINS(model_recording(model)->remark, "that which the file says");
}

CASE(cpu, "a CPU profile of V8 has no heap, and is called by its name")
{
	check_refused("{\"nodes\":[{\"id\":1," FRAME("f", "", 1, 1) ",\"hitCount\":5}]}",
		"CPU profile of V8");
}

CASE(deep, "stacks of more than 4096 frames, and JSON that is nested without end, are refused")
{
	struct buf file;
	buf_init(&file);
	buf_bytes(&file, ROOT, strlen(ROOT));
	for (unsigned i = 0; i < 5000; i++)
		buf_bytes(&file, "{\"children\":[", 13);
	check_refused_bytes(file.data, file.len, "more than 4096 frames");
	buf_clear(&file);
	buf_bytes(&file, ROOT "]},\"x\":", strlen(ROOT "]},\"x\":"));
	for (unsigned i = 0; i < 20000; i++)
		buf_bytes(&file, "[", 1);
	check_refused_bytes(file.data, file.len, "nested more than 16384 deep");
	buf_clear(&file);
	buf_bytes(&file, ROOT "]},\"x\":", strlen(ROOT "]},\"x\":"));
	for (unsigned i = 0; i < 100; i++)
		buf_bytes(&file, "1", 1);
	check_refused_bytes(file.data, file.len, "more than 64 characters");
	buf_deinit(&file);
}

CASE(long_text, "of a name of megabytes the beginning is kept")
{
	struct buf file;
	buf_init(&file);
	buf_bytes(&file, ROOT "{\"selfSize\":5,\"callFrame\":{\"functionName\":\"",
		strlen(ROOT "{\"selfSize\":5,\"callFrame\":{\"functionName\":\""));
	for (unsigned i = 0; i < (3u << 20) / 8; i++)
		buf_bytes(&file, "longname", 8);
	buf_bytes(&file, "\"}}]}}", 6);
	struct model *model = NULL;
	CHECK_OK(source_open_bytes("file", file.data, file.len, 0, &model));
	size_t count;
	const struct site *site = model_sites(model, &count);
	CHECK_U64(count, 1);
	CHECK(strlen(innermost_function(model, site)) <= 1u << 20);
	model_destroy(model);
	buf_deinit(&file);
}

CASE(cut, "cut or changed anywhere, it is refused or read")
{
	check_cut_anywhere(FILE_TEXT);
	check_changed_anywhere(FILE_TEXT);
}

CASE(bomb, "what unpacks to 10 GB is refused in bounded time and memory")
{
	check_bomb(ROOT "]},\"x\":\"", 'x');
	check_bomb(ROOT "]},\"x\":[", '[');
}

TAP_MAIN
