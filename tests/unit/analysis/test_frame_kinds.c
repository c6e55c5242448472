/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks that mix native frames, code objects, methods and names, from a source of events to what
 * is shown, compared, exported and read again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/comparison.h"
#include "analysis/grain.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/util.h"
#include "format/hpw.h"
#include "lib/tap.h"
#include "sources/anonymize.h"
#include "sources/hpw_anonymize.h"
#include "sources/merge.h"
#include "sources/source.h"
#include "table/answer.h"
#include "unit/mixed_frames.h"
#include "views/export.h"
#include "views/stacks/frames.h"

#define METHOD "com.example.Store.open(java.lang.String, int[])"
#define OVERLOAD "com.example.Store.open(long)"
#define NAME "LazyCompile:*hot app.js:3"
#define NATIVE "played+0x4002ff"

static struct model *record(struct mixed_change change)
{
	size_t len;
	_cleanup_free_ uint8_t *bytes = mixed_frames_record(change, &len);
	struct model *model;
	CHECK_OK(source_open_bytes("mixed.hpw", bytes, len, 0, &model));
	CHECK(model_recording(model)->complete);
	return model;
}

/* "FUNCTION parse.py:12 [module] kind", innermost first. */
static void add_frame(struct text *text, const struct shown_frame *frame)
{
	const char *kind = shown_frame_kind_name(frame);
	shown_frame_add_code(text, frame);
	if (frame->file) {
		text_add_char(text, ' ');
		shown_frame_add_line(text, frame);
	}
	text_printf(text, " [%s] %s\n", frame->module ? frame->module : "", kind ? kind : "native");
}

/* The row of a site of so many bytes. */
static const struct row *row_of(const struct rows *rows, uint64_t bytes)
{
	for (size_t i = 0; i < rows->rows.len; i++)
		if (rows->rows.data[i].sums->live_bytes == bytes)
			return &rows->rows.data[i];
	return NULL;
}

static void check_row(const struct rows *rows, uint64_t bytes, const char *expected)
{
	const struct row *row = row_of(rows, bytes);
	struct text text;
	text_init(&text);
	CHECK(row);
	for (size_t i = 0; i < row->depth; i++)
		add_frame(&text, row->frames[i]);
	CHECK_STR(text.data, expected);
	text_deinit(&text);
}

static bool collect(void *ctx, const char *data, size_t len)
{
	text_add_n(ctx, data, len);
	return true;
}

/* Of files that were made by hand: without a row that a frame names. */
static struct model *read_golden(const char *name)
{
	const char *root = getenv("HW_SOURCE_DIR");
	char path[4096];
	snprintf(path, sizeof(path), "%s/tests/data/golden/%s", root ? root : ".", name);
	struct model *model;
	CHECK_OK(source_open(path, &model));
	return model;
}

CASE(missing, "code whose row is lost is unknown, and its instruction no address")
{
	_cleanup_(model_cleanup) struct model *model = read_golden("recording-frames.hpw");
	_cleanup_(profile_deinit) struct profile profile;
	profile_init(&profile);
	CHECK_OK(profile_build(model, false, NULL, &profile));
	const struct row *row = row_of(&profile.all, 33);
	CHECK(row && shown_frame_is_unknown(row->frames[0]) && !row->frames[0]->address);
	check_row(&profile.all, 33,
		"(unknown) [] name\n"
		"Parser.read parse.py:10 [parse] code-object\n"
		"story+0x401135 [story] native\n");
}

CASE(older, "a recording of version 1.0 has native frames, marks, and names of its own")
{
	_cleanup_(model_cleanup) struct model *model = read_golden("recording-code.hpw");
	struct stack_node node = model_stack(model, (struct stack_id){3});
	CHECK(node.kind == FRAME_NAME && node.address == 0x7f0000300020);
	CHECK_STR(model_code(model, node.code)->name, "add /tmp/calc.js:7");
	CHECK(model_stack(model, (struct stack_id){1}).kind == FRAME_NATIVE);
}

CASE(version, "a recording with such frames needs a reader that knows them, others do not")
{
	size_t len;
	_cleanup_free_ uint8_t *bytes = mixed_frames_record((struct mixed_change){0}, &len);
	const struct hpw_header *header = (const struct hpw_header *)bytes;
	CHECK_U64(header->version_major, 1);
	CHECK_U64(header->version_minor, 3);
	CHECK_U64(header->required_features, HPW_FEATURE_CODE);
}

CASE(model, "the model has each frame with its kind, and tells instructions from marks")
{
	_cleanup_(model_cleanup) struct model *model = record((struct mixed_change){0});
	static const enum frame_kind kinds[] = {FRAME_NATIVE, FRAME_NAME, FRAME_METHOD,
		FRAME_CODE_OBJECT, FRAME_NATIVE, FRAME_CODE_OBJECT, FRAME_NATIVE};
	size_t count;
	const struct site *sites = model_sites(model, &count);
	CHECK_U64(count, 4);
	struct stack_id at = sites[0].stack;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct stack_node node = model_stack(model, at);
		CHECK(node.kind == kinds[i] && stack_node_mark(node) == MARK_NONE);
		at = node.parent;
	}
	CHECK_U64(at.value, 0);
	/* A frame of code that the source does not have is one of no module. */
	CHECK(model_stack(model, sites[3].stack).kind != FRAME_CODE_OBJECT);
}

CASE(shown, "frames of all kinds are shown in one stack, with the lines of their instructions")
{
	_cleanup_(model_cleanup) struct model *model = record((struct mixed_change){0});
	_cleanup_(profile_deinit) struct profile profile;
	profile_init(&profile);
	CHECK_OK(profile_build(model, false, NULL, &profile));
	check_row(&profile.all, 1000,
		NATIVE " [played] native\n" NAME " [] name\n" METHOD " Store.java:31 [] method\n"
		       "Parser.read parse.py:12 [app.parse] code-object\n"
		       "played+0x4001ff [played] native\n"
		       "App.run main.py:4 [__main__] code-object\n"
		       "played+0x4000ff [played] native\n");
	check_row(&profile.all, 500,
		NATIVE " [played] native\n" OVERLOAD " Store.java [] method\n"
		       "Parser.read parse.py:12 [app.parse] code-object\n"
		       "played+0x4001ff [played] native\n"
		       "App.run main.py:4 [__main__] code-object\n"
		       "played+0x4000ff [played] native\n");
	/* Blame falls on the innermost of the program's own code, whatever made it. */
	const struct row *row = row_of(&profile.all, 10);
	CHECK(row && row->place && row->place->is_program);
	CHECK_STR(row->frames[1]->function, "Parser.read");
	CHECK_U64(row->frames[1]->line, 11);
}

CASE(bounds,
	"a text that is too long ends in an ellipsis; of code with too many lines none is known")
{
	enum { LETTERS = 70000 };
	_cleanup_free_ char *name = calloc(LETTERS, 2);
	CHECK(name);
	for (size_t i = 0; i + 1 < LETTERS; i++)
		memcpy(name + 2 * i, "é", 2);
	_cleanup_(model_cleanup) struct model *model =
		record((struct mixed_change){.renamed = name, .many_lines = true});
	size_t count;
	struct stack_id at = model_sites(model, &count)[0].stack;
	const struct code *code[2]; /* the code object and its caller */
	for (size_t found = 0; found < 2; at = model_stack(model, at).parent) {
		CHECK(at.value);
		struct stack_node node = model_stack(model, at);
		if (node.kind == FRAME_CODE_OBJECT)
			code[found++] = model_code(model, node.code);
	}
	size_t len = strlen(code[0]->outer);
	CHECK_U64(len, 65535);
	CHECK_STR(code[0]->outer + len - 5, "é…");
	CHECK_U64(code[0]->line_count, 3);
	CHECK_STR(code[1]->outer, "App.run");
	CHECK_U64(code[1]->line_count, 0);
}

CASE(as_json, "frames in JSON say their kind, language and instruction where they are not native")
{
	_cleanup_(model_cleanup) struct model *model = record((struct mixed_change){0});
	_cleanup_(profile_deinit) struct profile profile;
	profile_init(&profile);
	CHECK_OK(profile_build(model, false, NULL, &profile));
	const struct row *row = row_of(&profile.all, 1000);
	CHECK(row);
	static const struct answer_type type = {.schema = "test/1"};
	static const char *const parts[] = {"{\"function\": null",
		"{\"kind\": \"name\", \"function\"",
		"{\"kind\": \"method\", \"language\": \"java\", \"instruction\": 5,",
		"{\"kind\": \"code-object\", \"language\": \"python\", \"instruction\": 8,"};
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct text text;
		text_init(&text);
		const struct sink sink = {collect, &text};
		const struct table frame = {
			&plain_frame_type, row->frames, 1, .first = i, .limit = 1};
		struct answer *answer = answer_json_create(&sink, false);
		answer_begin(answer, &type);
		answer_table(answer, &frame);
		CHECK_OK(answer_end(answer));
		answer_destroy(answer);
		CHECK_CONTAINS(text.data, parts[i]);
		text_deinit(&text);
	}
}

CASE(filtered, "filters know functions, files and modules of all kinds")
{
	static const struct {
		const char *pattern;
		size_t rows;
	} cases[] = {{"^Parser\\.read$", 3}, {"app\\.parse", 3}, {"Store\\.open", 2}, {"hot", 1},
		{"parse\\.py", 3}, {"Store\\.java", 2}};
	_cleanup_(model_cleanup) struct model *model = record((struct mixed_change){0});
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(filter_deinit) struct filter filter = {.by_kind = false};
		_cleanup_(profile_deinit) struct profile profile;
		profile_init(&profile);
		CHECK_OK(filter_set(&filter, FILTER_FOCUS, cases[i].pattern));
		CHECK_OK(profile_build(model, false, &filter, &profile));
		CHECK_U64(profile_rows(&profile)->rows.len, cases[i].rows);
	}
}

CASE(grains, "each grain tells apart what it should, of all kinds")
{
	static const struct {
		enum grain grain;
		const char *spots; /* of the deepest stack, innermost first */
		size_t count;      /* of all stacks with such frames */
	} cases[] = {
		{GRAIN_FUNCTIONS,
			NATIVE "|" NAME "|" METHOD
			       "|Parser.read|played+0x4001ff|App.run|played+0x4000ff|",
			8},
		{GRAIN_LINES,
			NATIVE "|" NAME "|" METHOD
			       "|Parser.read|played+0x4001ff|App.run|played+0x4000ff|",
			9},
		{GRAIN_FILES,
			"played|[not in the file]|Store.java|/srv/app/parse.py|played|"
			"/srv/app/main.py|played|",
			5},
		{GRAIN_MODULES,
			"played|[not in the file]|[in no module]|app.parse|played|__main__|"
			"played|",
			5},
		{GRAIN_ADDRESSES,
			NATIVE "|" NAME "|" METHOD
			       "|Parser.read|played+0x4001ff|App.run|played+0x4000ff|",
			9},
	};
	_cleanup_(model_cleanup) struct model *model = record((struct mixed_change){0});
	_cleanup_(profile_deinit) struct profile profile;
	profile_init(&profile);
	CHECK_OK(profile_build(model, false, NULL, &profile));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(spots_cleanup) struct spots *spots = NULL;
		_cleanup_(spot_vec_deinit) struct spot_vec stack;
		struct text text;
		text_init(&text);
		spot_vec_init(&stack);
		CHECK_OK(spots_create(cases[i].grain, &spots));
		static const uint64_t sites[] = {500, 10, 1000};
		for (size_t k = 0; k < ARRAY_SIZE(sites); k++) {
			const struct row *row = row_of(&profile.all, sites[k]);
			CHECK_OK(spots_stack(spots, row->frames, row->depth, &stack));
		}
		for (size_t k = 0; k < stack.len; k++)
			text_printf(&text, "%s|", stack.data[k]->name);
		CHECK_STR(text.data, cases[i].spots);
		CHECK_U64(spots_count(spots), cases[i].count);
		text_deinit(&text);
	}
}

/* How many rows of a comparison are new, and how many gone. */
static void check_compared(
	struct mixed_change before, struct mixed_change after, size_t added, size_t gone)
{
	_cleanup_(model_cleanup) struct model *older = record(before);
	_cleanup_(model_cleanup) struct model *newer = record(after);
	_cleanup_(comparison_deinit) struct comparison comparison;
	comparison_init(&comparison);
	const struct diff_options options = {.metric = METRIC_LIVE_BYTES};
	CHECK_OK(comparison_build(older, newer, &options, false, NULL, &comparison));
	CHECK_U64(comparison.diff.lists[DIFF_NEW].len, added);
	CHECK_U64(comparison.diff.lists[DIFF_GONE].len, gone);
	CHECK_U64(comparison.diff.lists[DIFF_GROWN].len, 0);
}

CASE(compared, "between runs code is known by its names, wherever its lines have moved to")
{
	const struct mixed_change as_it_was = {.lines = 0};
	check_compared(as_it_was, as_it_was, 0, 0);
	check_compared(as_it_was, (struct mixed_change){.lines = 40}, 0, 0);
	check_compared(
		as_it_was, (struct mixed_change){.lines = 40, .renamed = "Other.scan"}, 3, 3);
}

CASE(called_main, "a function of an interpreter that is called main is not where a program begins")
{
	check_compared((struct mixed_change){.renamed = "main"},
		(struct mixed_change){.renamed = "main", .caller = "Tool.run"}, 3, 3);
}

/* Writes in a format of others. */
static void write_as(const struct profile *profile, const char *format, struct text *ret)
{
	_cleanup_(text_deinit) struct text lost;
	text_init(&lost);
	text_init(ret);
	const struct exported from = {
		.profile = profile, .metric = METRIC_LIVE_BYTES, .lost = &lost};
	const struct sink sink = {collect, ret};
	const struct export_format *found = export_find(format);
	CHECK(found);
	CHECK_OK(export_write(found, found->packing, &from, &sink));
	CHECK(ret->len && !ret->failed);
}

/* Files of others that this reads too have the functions of all kinds in their order. */
static void check_exported(const char *format, bool has_files)
{
	_cleanup_(model_cleanup) struct model *model = record((struct mixed_change){0});
	_cleanup_(profile_deinit) struct profile profile, again;
	_cleanup_(text_deinit) struct text file;
	profile_init(&profile);
	profile_init(&again);
	CHECK_OK(profile_build(model, false, NULL, &profile));
	write_as(&profile, format, &file);
	_cleanup_(model_cleanup) struct model *read = NULL;
	CHECK_OK(source_open_bytes("exported", file.data, file.len, 0, &read));
	CHECK_OK(profile_build(read, false, NULL, &again));
	const struct row *was = row_of(&profile.all, 1000), *is = row_of(&again.all, 1000);
	CHECK(was && is);
	CHECK_U64(is->depth, was->depth);
	for (size_t i = 0; i < was->depth; i++) {
		const struct shown_frame *a = was->frames[i], *b = is->frames[i];
		if (!a->function)
			continue;
		CHECK_STR(b->function, a->function);
		/* Names of a file without addresses have no invented ones. */
		CHECK(!b->address);
		CHECK(b->kind == FRAME_NAME);
		if (has_files && a->file) {
			CHECK_STR(b->file, a->file);
			CHECK_U64(b->line, a->line);
		}
	}
}

CASE(exported, "what is exported and read again has the same functions, files and lines")
{
	check_exported("pprof", true);
	check_exported("folded", false);
}

CASE(all_formats, "every format of text has a place for such frames")
{
	static const char *const formats[] = {
		"folded", "speedscope", "firefox", "callgrind", "dhat", "json", "csv"};
	_cleanup_(model_cleanup) struct model *model = record((struct mixed_change){0});
	_cleanup_(profile_deinit) struct profile profile;
	profile_init(&profile);
	CHECK_OK(profile_build(model, false, NULL, &profile));
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		_cleanup_(text_deinit) struct text file;
		write_as(&profile, formats[i], &file);
		if (!memmem(file.data, file.len, "Parser.read", 11))
			tap_fail("%s has no Parser.read:\n%s", formats[i], file.data);
	}
}

static struct error *each_allocation(void *context, const struct event_sink *sink)
{
	size_t count;
	struct error *error = NULL;
	(void)model_sites(context, &count);
	for (uint32_t i = 0; i < count && !error; i++)
		error = sink->take(sink->context,
			&(struct event){.kind = EVENT_ALLOC, .site = {i}, .size = 16, .block = i});
	return error;
}

CASE(log_of_calls, "a log of mtrace names files alone, not modules of other languages")
{
	_cleanup_(model_cleanup) struct model *model =
		record((struct mixed_change){.by_code = true});
	_cleanup_(profile_deinit) struct profile profile;
	_cleanup_(text_deinit) struct text lost, file;
	profile_init(&profile);
	CHECK_OK(profile_build(model, false, NULL, &profile));
	text_init(&lost);
	text_init(&file);
	const struct event_stream events = {model, each_allocation};
	const struct exported from = {.profile = &profile, .events = &events, .lost = &lost};
	const struct sink sink = {collect, &file};
	CHECK_OK(export_write(export_find("mtrace"), PACKING_NONE, &from, &sink));
	CHECK_CONTAINS(file.data, "\n@ /bin/played:[0x400300] + 0x10 0x10\n");
	CHECK_CONTAINS(file.data, "\n+ 0x30 0x10\n");
	CHECK(!strstr(file.data, "app.parse"));
}

CASE(merged, "recordings that are added up keep the frames of each")
{
	_cleanup_(model_cleanup) struct model *first = record((struct mixed_change){0});
	_cleanup_(model_cleanup) struct model *second = record((struct mixed_change){0});
	_cleanup_(model_cleanup) struct model *sum = NULL;
	const struct model *models[] = {first, second};
	CHECK_OK(merge_models(models, 2, &sum));
	_cleanup_(profile_deinit) struct profile profile;
	profile_init(&profile);
	CHECK_OK(profile_build(sum, false, NULL, &profile));
	const struct row *row = row_of(&profile.all, 2000);
	CHECK(row);
	CHECK_U64(row->stacks, 2);
	CHECK_STR(row->frames[2]->function, METHOD);
	CHECK_STR(row->frames[3]->function, "Parser.read");
}

CASE(anonymous, "without names, kinds and lines are what is left")
{
	_cleanup_(model_cleanup) struct model *model = record((struct mixed_change){0});
	_cleanup_(anonymizer_cleanup) struct anonymizer *anonymizer = NULL;
	CHECK_OK(anonymizer_create(&anonymizer));
	CHECK_OK(anonymizer_model(anonymizer, model));
	_cleanup_(profile_deinit) struct profile profile;
	profile_init(&profile);
	CHECK_OK(profile_build(model, false, NULL, &profile));
	const struct row *row = row_of(&profile.all, 1000);
	CHECK(row);
	CHECK_U64(row->frames[3]->line, 12);
	for (size_t i = 0; i < row->depth; i++) {
		struct text text;
		text_init(&text);
		add_frame(&text, row->frames[i]);
		static const char *const words[] = {
			"Parser", "Store", "open", "app", "hot", "String"};
		for (size_t k = 0; k < ARRAY_SIZE(words); k++)
			if (strstr(text.data, words[k]))
				tap_fail("%s is left: %s", words[k], text.data);
		text_deinit(&text);
	}
}

static const char *const secrets[] = {"Parser", "Store", "open", "parse", "hot", "String", "srv"};

struct chunks {
	size_t code, all;
};

static struct error *check_chunk(void *ctx, unsigned type, const struct buf *payload)
{
	struct chunks *chunks = ctx;
	chunks->all++;
	chunks->code += type == HPW_CODE;
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		if (memmem(payload->data, payload->len, secrets[i], strlen(secrets[i])))
			tap_fail("%s is left in a chunk of type %u", secrets[i], type);
	/* What language it is stays. */
	CHECK(type != HPW_CODE || memmem(payload->data, payload->len, "python", 6));
	return NULL;
}

CASE(written_again, "a recording that is written again without names has none in its code either")
{
	size_t len;
	_cleanup_free_ uint8_t *bytes = mixed_frames_record((struct mixed_change){0}, &len);
	char path[] = "/tmp/frame-kinds-XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	const struct source_place place = {.path = path, .name = "mixed.hpw"};
	_cleanup_(model_cleanup) struct model *model = record((struct mixed_change){0});
	_cleanup_(anonymizer_cleanup) struct anonymizer *anonymizer = NULL;
	CHECK_OK(anonymizer_create(&anonymizer));
	CHECK_OK(anonymizer_model(anonymizer, model));
	struct chunks chunks = {.all = 0};
	const struct hpw_chunk_sink sink = {check_chunk, &chunks};
	CHECK_OK(hpw_anonymize(&place, anonymizer, model, &sink));
	CHECK(!unlink(path));
	CHECK(chunks.code == 1 && chunks.all > 5);
}

TAP_MAIN
