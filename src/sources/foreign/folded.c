/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/foreign/folded.h"

#include <string.h>

#include "base/cleanup.h"
#include "sources/foreign/foreign_query.h"
#include "sources/foreign/foreign_scan.h"
#include "sources/recording/stream.h"

#define DEPTH_MAX 4096u

/* A line: what is before its last blank, and the number after it. */
struct folded_line {
	struct foreign_text stack;
	uint64_t value;
};

static bool folded_split(const char *line, size_t len, struct folded_line *ret)
{
	while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	const char *blank = line && len ? memrchr(line, ' ', len) : NULL;
	if (!blank || blank == line || memchr(line, '\0', len))
		return false;
	struct foreign_scan scan = foreign_scan_of(blank + 1, (size_t)(line + len - blank - 1));
	ret->stack = (struct foreign_text){line, (size_t)(blank - line)};
	return foreign_scan_u64(&scan, &ret->value) && scan.at == scan.end;
}

bool folded_recognise(const uint8_t *head, size_t len)
{
	const char *at = (const char *)head, *end = at + len;
	size_t lines = 0;
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		struct folded_line line;
		/* The last one may go on after the head; one alone must be whole. */
		if (!line_end && lines)
			break;
		size_t line_len = line_end ? (size_t)(line_end - at) : (size_t)(end - at);
		if (line_len && !folded_split(at, line_len, &line))
			return false;
		lines += line_len > 0;
		at += line_len + (line_end != NULL);
	}
	return lines > 0;
}

bool folded_may_be(const uint8_t *head, size_t len)
{
	return !memchr(head, '\0', len);
}

struct reading {
	struct stream stream;
	struct foreign foreign;
};

static void folded_reading_deinit(struct reading *reading)
{
	stream_close(&reading->stream);
	foreign_deinit(&reading->foreign);
}

/* Frames between semicolons, the outermost one first. */
static struct error *make_stack(
	struct reading *reading, struct foreign_text text, struct stack_id *ret)
{
	struct error *error = NULL;
	size_t depth = 0;
	*ret = (struct stack_id){0};
	for (size_t at = 0; at <= text.len && !error;) {
		const char *semicolon = memchr(text.data + at, ';', text.len - at);
		size_t len = semicolon ? (size_t)(semicolon - text.data) - at : text.len - at;
		struct foreign_line line = {.function = {text.data + at, len}};
		struct foreign_frame frame;
		at += len + 1;
		if (!len)
			continue;
		if (depth++ == DEPTH_MAX)
			return stream_error(&reading->stream, "has more than %u frames", DEPTH_MAX);
		error = foreign_frame(
			&reading->foreign, (struct module_id){0}, 0, true, &line, 1, &frame);
		if (!error)
			error = foreign_push(&reading->foreign, *ret, frame, ret);
	}
	return error;
}

static struct error *folded_add_line(struct reading *reading, const char *text, size_t len)
{
	struct folded_line line, older;
	if (!folded_split(text, len, &line))
		return stream_error(&reading->stream, "invalid stack: expected 'FRAME;FRAME "
						      "NUMBER', with a number from 0 to 2^64 - 1");
	if (folded_split(line.stack.data, line.stack.len, &older))
		return stream_error(&reading->stream,
			"ends with two numbers: the file is a difference of two profiles; give "
			"both to 'heapwise diff'");
	struct stack_id stack;
	struct site_id id;
	struct error *error = make_stack(reading, line.stack, &stack);
	if (!error)
		error = foreign_site(&reading->foreign, stack, KIND_UNKNOWN, &id);
	if (error)
		return error;
	struct site *site = build_site_at(reading->foreign.model, id);
	if (__builtin_add_overflow(site->live_bytes, line.value, &site->live_bytes))
		return stream_error(
			&reading->stream, "makes the figure of its stack more than 2^64");
	return NULL;
}

static struct error *folded_read_lines(struct reading *reading)
{
	struct error *error = NULL;
	while (!error) {
		char *line;
		size_t len;
		error = stream_line(&reading->stream, STREAM_LINE_MAX, &line, &len);
		if (error || !line)
			return error;
		struct foreign_scan scan = foreign_scan_of(line, len);
		if (!foreign_scan_at_end(&scan))
			error = folded_add_line(reading, line, len);
	}
	return error;
}

struct error *folded_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	(void)flags;
	struct error *error = foreign_refuse(input, query, 0, "a file of folded stacks");
	if (error)
		return error;
	_cleanup_(folded_reading_deinit) struct reading reading = {.stream = {.input = NULL}};
	error = foreign_create(&reading.foreign, "folded", input);
	if (!error)
		error = stream_open(&reading.stream, input, stream_whole_limit(input));
	if (!error)
		error = folded_read_lines(&reading);
	if (error)
		return error;
	struct recording *recording = build_recording(reading.foreign.model);
	recording->whole_stacks = recording->snapshot = true;
	recording->unknown &= ~(uint32_t)UNKNOWN_LIVE_BYTES;
	recording->remark =
		"Folded stacks do not name the unit of their numbers: they are read as live bytes.";
	if (reading.stream.cut)
		error = build_damage(reading.foreign.model,
			"its last line has no line end: if the file is cut off there, its number "
			"may be incomplete, and stacks may be missing");
	if (!error)
		error = foreign_total(&reading.foreign);
	if (error)
		return error_prefix(error, "%s", input->name);
	build_finish(reading.foreign.model);
	*ret = steal_ptr(reading.foreign.model);
	return NULL;
}
