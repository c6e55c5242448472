/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_python FILE: makes a recording of a program of Python that never ran, by the recorder,
 *from what stdin says. Lines, whose fields are separated by tabs:
 *
 *	alloc SIZE FRAME…   a block, numbered from 0; its stack, innermost frame first
 *	free NUMBER         of such a block
 *
 * A frame is FILE, FUNCTION and LINE with U+001F between them (an empty FILE is not known, LINE 0
 * is none), or "native" for one of native code.
 */
#define TAP_PART
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/recorder/recorder.h"
#include "lib/tap.h"
#include "unit/played_source.h"

#define HZ 1000000000u
#define NOBODY INT32_MAX /* no process has that id */
#define NODES_MAX 60000u
#define CODES_MAX 4096u
#define LINES_MAX 128u
#define NATIVE ((1ull << HW_FRAME_ADDRESS_BITS) + 0x401300)
#define CODE(row, instruction)                                                                     \
	((uint64_t)HW_FRAME_CODE << HW_FRAME_ADDRESS_BITS |                                        \
		(uint64_t)(row) << HW_FRAME_INSTRUCTION_BITS | ((instruction) + 1))

static struct feed feed;
static struct played_source played;
static struct hw_node nodes[NODES_MAX];
static uint32_t node_count = 1;

/* Of a function its lines, each of which is the instruction of that number. */
static struct function {
	char *file, *name;
	struct event_line lines[LINES_MAX];
	uint32_t line_count;
} functions[CODES_MAX];
static uint32_t function_count = 1;

static const struct event_module module = {.start = 0x400000,
	.end = 0x500000,
	.bias = 0x1000,
	.path_bytes = 11,
	.path = "/bin/played"};

static void add_line(struct function *function, uint32_t line)
{
	uint32_t at = function->line_count;
	for (uint32_t i = 0; i < at; i++)
		if (function->lines[i].instruction == line)
			return;
	CHECK(at < LINES_MAX);
	for (; at && function->lines[at - 1].instruction > line; at--)
		function->lines[at] = function->lines[at - 1];
	function->lines[at] = (struct event_line){line, line};
	function->line_count++;
}

static uint32_t find_function(const char *file, const char *name)
{
	for (uint32_t i = 1; i < function_count; i++)
		if (!strcmp(functions[i].file, file) && !strcmp(functions[i].name, name))
			return i;
	CHECK(function_count < CODES_MAX);
	functions[function_count].file = strdup(file);
	functions[function_count].name = strdup(name);
	return function_count++;
}

static uint64_t parse_frame(char *text)
{
	if (!strcmp(text, "native"))
		return NATIVE;
	char *name = strchr(text, 0x1f), *line = name ? strchr(name + 1, 0x1f) : NULL;
	CHECK(line);
	*name++ = *line++ = 0;
	uint32_t number = (uint32_t)strtoul(line, NULL, 10);
	uint32_t row = find_function(text, name);
	add_line(&functions[row], number);
	return CODE(row, number);
}

static uint32_t add_node(uint32_t parent, uint64_t frame)
{
	for (uint32_t i = 1; i < node_count; i++)
		if (nodes[i].frame == frame && nodes[i].parent == parent)
			return i;
	CHECK(node_count < NODES_MAX);
	nodes[node_count] = (struct hw_node){.frame = frame, .parent = parent};
	return node_count++;
}

static void put_stamp(void)
{
	feed_put(&feed, 0, feed.stamp += 10);
	feed.ends[0][feed.records[0]++] = (uint32_t)feed.head[0];
}

static void put_alloc(unsigned block, char *fields)
{
	char *frames[256];
	size_t count = 0;
	uint64_t size = strtoull(strtok(fields, "\t"), NULL, 10);
	for (char *frame; count < 256 && (frame = strtok(NULL, "\t"));)
		frames[count++] = frame;
	uint32_t stack = 0;
	while (count)
		stack = add_node(stack, parse_frame(frames[--count]));
	feed_put(&feed, 0, (HW_R_ALLOC + HW_MALLOC) | HW_R_STAMPED | feed_address(block) << 8);
	feed_put(&feed, 0, stack | (size < HW_R_SIZE_BIG ? size : HW_R_SIZE_BIG) << 32);
	if (size >= HW_R_SIZE_BIG)
		feed_put(&feed, 0, size);
	put_stamp();
}

static void put_free(unsigned block)
{
	unsigned kind = hw_matching_free(HW_MALLOC);
	feed_put(&feed, 0, (HW_R_FREE + kind) | HW_R_STAMPED | feed_address(block) << 8);
	put_stamp();
}

static void read_story(void)
{
	char *line = NULL;
	size_t room = 0;
	unsigned blocks = 0;
	while (getline(&line, &room, stdin) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "alloc\t", 6))
			put_alloc(blocks++, line + 6);
		else if (!strncmp(line, "free\t", 5))
			put_free((unsigned)strtoul(line + 5, NULL, 10));
		else
			CHECK(!"alloc or free");
	}
	free(line);
}

static struct event_text text(const char *string)
{
	return (struct event_text){string, (uint32_t)strlen(string)};
}

static uint32_t code_count(struct event_source *source)
{
	(void)source;
	return function_count;
}

static void code_of(struct event_source *source, uint32_t number, struct event_code *ret)
{
	(void)source;
	const struct function *function = &functions[number];
	*ret = (struct event_code){.kind = HPW_FRAME_CODE_OBJECT,
		.language = text("python"),
		.name = text(function->name),
		.outer = text(function->name),
		.file = text(function->file),
		.module = text("story"),
		.lines = function->lines,
		.line_count = function->line_count};
}

static void record(int file, const char *name)
{
	struct clock_pair began = clock_pair_now();
	began.tsc = 1000;
	played_init(&played, &feed, nodes, node_count, HZ,
		(struct clock_pair){began.tsc + HZ, began.ns + HZ});
	struct event_source_ops ops = *played.source.ops;
	ops.code_count = code_count;
	ops.code = code_of;
	played.source.ops = &ops;
	played.module = &module;
	played.notes = HW_NOTE_ATTACHED;
	const struct recorder_start start = {.pid = NOBODY,
		.target_pid = NOBODY,
		.tsc_hz = HZ,
		.source = &played.source,
		.began = began,
		.file = file,
		.file_name = name};
	struct recorder *r;
	CHECK_OK(recorder_create(&start, &r));
	while (recorder_is_called(r))
		CHECK(merge_pass(&r->merge, false));
	recorder_drain(r);
	recorder_service(r);
	struct recorder_totals totals;
	recorder_finish(r, &(struct recorder_end){.kind = HPW_EXIT_STATUS}, &totals);
	recorder_destroy(r);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	int file = open(argv[1], O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0666);
	CHECK(file >= 0);
	feed.stamped = true;
	feed.stamp = 1000;
	read_story();
	record(file, argv[1]);
	return 0;
}
