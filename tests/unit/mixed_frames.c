/* SPDX-License-Identifier: GPL-2.0-or-later */
#define TAP_PART
#include "unit/mixed_frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/recorder/recorder.h"
#include "lib/tap.h"
#include "unit/played_source.h"

#define HZ 1000000000u
#define NOBODY INT32_MAX /* no process has that id */

static struct feed feed;
static struct played_source played;

static const struct event_module module = {.start = 0x400000,
	.end = 0x500000,
	.bias = 0x1000,
	.path_bytes = 11,
	.path = "/bin/played"};

#define NATIVE(address) ((1ull << HW_FRAME_ADDRESS_BITS) + (address))
#define CODE(row, instruction)                                                                     \
	((uint64_t)HW_FRAME_CODE << HW_FRAME_ADDRESS_BITS |                                        \
		(uint64_t)(row) << HW_FRAME_INSTRUCTION_BITS | ((instruction) + 1))
#define NOWHERE(row)                                                                               \
	((uint64_t)HW_FRAME_CODE << HW_FRAME_ADDRESS_BITS | (uint64_t)(row)                        \
								    << HW_FRAME_INSTRUCTION_BITS)

/* 3 has the loop of an interpreter between two code objects; 8, 9 and 11 allocate. */
static const struct hw_node nodes[] = {
	{.frame = 0},
	{.frame = NATIVE(0x401100), .parent = 0},
	{.frame = CODE(1, 0), .parent = 1},
	{.frame = NATIVE(0x401200), .parent = 2},
	{.frame = CODE(2, 8), .parent = 3},
	{.frame = CODE(3, 5), .parent = 4},
	{.frame = CODE(4, 0), .parent = 4},
	{.frame = NOWHERE(5), .parent = 5},
	{.frame = NATIVE(0x401300), .parent = 7},
	{.frame = NATIVE(0x401300), .parent = 6},
	{.frame = CODE(2, 20), .parent = 3},
	{.frame = NATIVE(0x401300), .parent = 10},
	/* Its row is not there. */
	{.frame = NOWHERE(77), .parent = 1},
};

static struct event_line lines[2][3];
static struct event_line many[HPW_CODE_LINES_MAX + 1];
static struct event_code codes[6];

static struct event_text text(const char *string)
{
	return (struct event_text){string, string ? (uint32_t)strlen(string) : 0};
}

static void make_codes(struct mixed_change change)
{
	static const struct event_line java[] = {{0, 31}, {6, 33}};
	const struct event_line python[2][3] = {
		{{0, 4}, {10, 5}, {20, 6}}, {{0, 10}, {8, 12}, {20, 11}}};
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 3; k++)
			lines[i][k] = (struct event_line){
				python[i][k].instruction, python[i][k].line + change.lines};
	for (int i = 1; i <= 2; i++)
		codes[i] = (struct event_code){.kind = HPW_FRAME_CODE_OBJECT,
			.first_line = (i == 1 ? 3 : 9) + change.lines,
			.language = text("python"),
			.name = text(i == 1 ? "run" : "read"),
			.outer = text(i == 1 ? "App.run" : "Parser.read"),
			.file = text(i == 1 ? "/srv/app/main.py" : "/srv/app/parse.py"),
			.module = text(i == 1 ? "__main__" : "app.parse"),
			.lines = lines[i - 1],
			.line_count = 3};
	if (change.renamed)
		codes[2].outer = text(change.renamed);
	if (change.caller)
		codes[1].outer = text(change.caller);
	for (uint32_t i = 0; i < HPW_CODE_LINES_MAX + 1 && change.many_lines; i++)
		many[i] = (struct event_line){i, i + 1};
	if (change.many_lines) {
		codes[1].lines = many;
		codes[1].line_count = HPW_CODE_LINES_MAX + 1;
	}
	for (int i = 3; i <= 4; i++)
		codes[i] = (struct event_code){.kind = HPW_FRAME_METHOD,
			.language = text("java"),
			.name = text("open"),
			.outer = text("com/example/Store"),
			.signature = text(i == 3 ? "(Ljava/lang/String;[I)V" : "(J)V"),
			.file = text("Store.java"),
			.lines = i == 3 ? java : NULL,
			.line_count = i == 3 ? 2 : 0};
	codes[5] = (struct event_code){
		.kind = HPW_FRAME_NAME, .name = text("LazyCompile:*hot app.js:3")};
}

static uint32_t code_count(struct event_source *source)
{
	(void)source;
	return 6;
}

static void code_of(struct event_source *source, uint32_t number, struct event_code *ret)
{
	(void)source;
	CHECK(number >= 1 && number <= 5);
	*ret = codes[number];
}

static void add(uint64_t block, uint32_t stack, uint64_t size)
{
	feed_put(&feed, 0,
		(HW_R_ALLOC + HW_MALLOC) | HW_R_STAMPED | feed_address((unsigned)block) << 8);
	feed_put(&feed, 0, stack | size << 32);
	feed_put(&feed, 0, feed.stamp += 10);
	feed.ends[0][feed.records[0]++] = (uint32_t)feed.head[0];
}

static void play(int file, struct clock_pair began)
{
	const struct recorder_start start = {.pid = NOBODY,
		.target_pid = NOBODY,
		.tsc_hz = HZ,
		.source = &played.source,
		.began = began,
		.file = file,
		.file_name = "test"};
	struct recorder *r;
	CHECK_OK(recorder_create(&start, &r));
	while (recorder_is_called(r))
		CHECK(merge_pass(&r->merge, false));
	recorder_drain(r);
	recorder_service(r);
	struct recorder_totals totals;
	recorder_finish(r, &(struct recorder_end){.kind = HPW_EXIT_STATUS}, &totals);
	CHECK_U64(totals.allocations, 4);
	recorder_destroy(r);
}

uint8_t *mixed_frames_record(struct mixed_change change, size_t *ret_len)
{
	FILE *file = tmpfile();
	CHECK(file);
	memset(&feed, 0, sizeof(feed));
	feed.stamped = true;
	struct clock_pair began = clock_pair_now();
	began.tsc = feed.stamp = 1000;
	make_codes(change);
	add(1, 8, 1000);
	add(2, 9, 500);
	add(3, change.by_code ? 10 : 11, 10);
	add(4, 12, 7);
	played_init(&played, &feed, nodes, sizeof(nodes) / sizeof(nodes[0]), HZ,
		(struct clock_pair){began.tsc + HZ, began.ns + HZ});
	struct event_source_ops ops = *played.source.ops;
	ops.code_count = code_count;
	ops.code = code_of;
	played.source.ops = &ops;
	played.module = &module;
	played.notes = HW_NOTE_ATTACHED;
	play(dup(fileno(file)), began);
	off_t len = lseek(fileno(file), 0, SEEK_END);
	uint8_t *bytes = malloc((size_t)len);
	CHECK(len > 0 && bytes && pread(fileno(file), bytes, (size_t)len, 0) == len);
	fclose(file);
	*ret_len = (size_t)len;
	return bytes;
}
