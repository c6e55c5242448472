/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See profile_write.h. Messages of protocol buffers: a field is its number and type, then a number
 * (varint) or a length and bytes. A message within another is made whole first, as its length comes
 * before it. */
#include "runtime/jvm/profile_write.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fields of Profile and of what is in it. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	TYPE_TYPE = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_NUMBER = 3,
	LABEL_UNIT = 4,
	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	LOCATION_ID = 1,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

/* Strings of the form itself stand after those of the tables. */
static const char *const own_strings[] = {
	"alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space", "space"};
enum own {
	OWN_ALLOC_OBJECTS,
	OWN_COUNT,
	OWN_ALLOC_SPACE,
	OWN_BYTES,
	OWN_INUSE_OBJECTS,
	OWN_INUSE_SPACE,
	OWN_SPACE,
	OWN_STRINGS
};
static_assert(sizeof(own_strings) / sizeof(*own_strings) == OWN_STRINGS, "each has its string");

struct bytes {
	uint8_t *data;
	size_t len, cap;
	bool failed;
};

struct writer {
	int fd, error;
	const struct sample_tables *tables;
	const struct profile_facts *facts;
	struct bytes out, message, part;
};

static void bytes_add(struct bytes *bytes, const void *data, size_t len)
{
	if (bytes->len + len > bytes->cap) {
		size_t cap = 2 * (bytes->len + len) + 4096;
		uint8_t *moved = bytes->failed ? NULL : realloc(bytes->data, cap);
		if (!moved) {
			bytes->failed = true;
			return;
		}
		bytes->data = moved;
		bytes->cap = cap;
	}
	if (len)
		memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
}

static void varint_add(struct bytes *bytes, uint64_t value)
{
	uint8_t digits[10];
	size_t len = 0;
	for (; value > 0x7f; value >>= 7)
		digits[len++] = (uint8_t)(value | 0x80);
	digits[len++] = (uint8_t)value;
	bytes_add(bytes, digits, len);
}

static void number_add(struct bytes *bytes, unsigned field, uint64_t value)
{
	varint_add(bytes, field << 3);
	varint_add(bytes, value);
}

static void bytes_field(struct bytes *bytes, unsigned field, const void *data, size_t len)
{
	varint_add(bytes, field << 3 | 2);
	varint_add(bytes, len);
	bytes_add(bytes, data, len);
}

static void part_add(struct bytes *bytes, unsigned field, struct bytes *part)
{
	bytes_field(bytes, field, part->data, part->len);
	bytes->failed |= part->failed;
	part->len = 0;
}

static void writer_flush(struct writer *writer)
{
	size_t done = 0;
	if (writer->out.failed)
		writer->error = ENOMEM;
	while (!writer->error && done < writer->out.len) {
		ssize_t n = write(writer->fd, writer->out.data + done, writer->out.len - done);
		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			writer->error = n == 0 ? EIO : errno;
	}
	writer->out.len = 0;
}

/* The message that was made is a field of the profile. */
static void message_end(struct writer *writer, unsigned field)
{
	part_add(&writer->out, field, &writer->message);
	if (writer->out.len > 1u << 16)
		writer_flush(writer);
}

static uint64_t own_string(const struct writer *writer, enum own string)
{
	return writer->tables->string_count + string;
}

static void type_write(struct writer *writer, unsigned field, enum own type, enum own unit)
{
	number_add(&writer->message, TYPE_TYPE, own_string(writer, type));
	number_add(&writer->message, TYPE_UNIT, own_string(writer, unit));
	message_end(writer, field);
}

static void types_write(struct writer *writer)
{
	type_write(writer, PROFILE_SAMPLE_TYPE, OWN_ALLOC_OBJECTS, OWN_COUNT);
	type_write(writer, PROFILE_SAMPLE_TYPE, OWN_ALLOC_SPACE, OWN_BYTES);
	if (writer->facts->has_live) {
		type_write(writer, PROFILE_SAMPLE_TYPE, OWN_INUSE_OBJECTS, OWN_COUNT);
		type_write(writer, PROFILE_SAMPLE_TYPE, OWN_INUSE_SPACE, OWN_BYTES);
	}
	type_write(writer, PROFILE_PERIOD_TYPE, OWN_SPACE, OWN_BYTES);
	number_add(&writer->out, PROFILE_PERIOD, writer->facts->interval);
	number_add(&writer->out, PROFILE_TIME, writer->facts->start_ns);
	number_add(&writer->out, PROFILE_DURATION, writer->facts->duration_ns);
}

static uint64_t value_round(double value)
{
	return value > 0 ? (uint64_t)(value + 0.5) : 0;
}

static void sample_write(struct writer *writer, const struct sample_cell *cell)
{
	const struct sample_tables *tables = writer->tables;
	uint64_t size = value_round(cell->bytes / cell->objects);
	for (uint32_t node = cell->node; node; node = tables->nodes[node].parent)
		varint_add(&writer->part, node);
	part_add(&writer->message, SAMPLE_LOCATION, &writer->part);
	varint_add(&writer->part, value_round(cell->objects));
	varint_add(&writer->part, value_round(cell->bytes));
	if (writer->facts->has_live) {
		varint_add(&writer->part, value_round(cell->live_objects));
		varint_add(&writer->part, value_round(cell->live_bytes));
	}
	part_add(&writer->message, SAMPLE_VALUE, &writer->part);
	number_add(&writer->part, LABEL_KEY, own_string(writer, OWN_BYTES));
	number_add(&writer->part, LABEL_NUMBER, size);
	number_add(&writer->part, LABEL_UNIT, own_string(writer, OWN_BYTES));
	part_add(&writer->message, SAMPLE_LABEL, &writer->part);
	message_end(writer, PROFILE_SAMPLE);
}

static void function_write(struct writer *writer, size_t id)
{
	const struct sample_function *function = &writer->tables->functions[id];
	bool is_short = writer->facts->short_names && function->short_name;
	number_add(&writer->message, FUNCTION_ID, id);
	number_add(
		&writer->message, FUNCTION_NAME, is_short ? function->short_name : function->name);
	number_add(&writer->message, FUNCTION_SYSTEM_NAME, function->full_name);
	if (function->file)
		number_add(&writer->message, FUNCTION_FILE, function->file);
	message_end(writer, PROFILE_FUNCTION);
}

/* Readers take the first mapping for the program; no location is in it. */
static void program_write(struct writer *writer)
{
	if (!*writer->facts->program)
		return;
	number_add(&writer->message, MAPPING_ID, 1);
	number_add(&writer->message, MAPPING_FILE, own_string(writer, OWN_STRINGS));
	message_end(writer, PROFILE_MAPPING);
}

/* A node's location has the node's number: locations may be equal, which readers allow. */
static void location_write(struct writer *writer, size_t id)
{
	const struct sample_node *node = &writer->tables->nodes[id];
	number_add(&writer->part, LINE_FUNCTION, node->function);
	if (node->line)
		number_add(&writer->part, LINE_LINE, node->line);
	number_add(&writer->message, LOCATION_ID, id);
	part_add(&writer->message, LOCATION_LINE, &writer->part);
	message_end(writer, PROFILE_LOCATION);
}

static bool has_young(const struct profile_facts *facts)
{
	return facts->has_live && facts->young_bytes;
}

/* Readers of heapwise show it, and pprof has it as a comment. */
static void comment_write(struct writer *writer)
{
	if (has_young(writer->facts) || writer->facts->collections)
		number_add(&writer->out, PROFILE_COMMENT, own_string(writer, OWN_STRINGS) + 1);
}

/*
 * HotSpot adds what is left of a thread's buffer (TLAB) to the bytes that it counts when the buffer
 * begins, and a collection takes the buffer away: ThreadLocalAllocBuffer::set_sample_end(). So the
 * next object of that thread may be sampled for bytes that nobody allocated.
 */
static void comment_string_write(struct writer *writer)
{
	const struct profile_facts *facts = writer->facts;
	char text[400];
	int len = snprintf(text, sizeof(text), "heapwise java: ");
	if (has_young(facts))
		len += snprintf(text + len, sizeof(text) - (size_t)len,
			"About %llu KiB of what is shown as live were allocated after the last "
			"garbage collection, so part of it may be garbage. ",
			(unsigned long long)facts->young_bytes / 1024 + 1);
	if (facts->collections)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
			"After a garbage collection (there were %u) HotSpot may sample the next "
			"object of a thread though too little was allocated: figures of small "
			"classes may be far too high, and ranges don't know that.",
			(unsigned)facts->collections);
	bytes_field(&writer->out, PROFILE_STRING, text, (size_t)len);
}

static void strings_write(struct writer *writer)
{
	const struct sample_tables *tables = writer->tables;
	bytes_field(&writer->out, PROFILE_STRING, "", 0);
	for (size_t i = 1; i < tables->string_count; i++) {
		bytes_field(&writer->out, PROFILE_STRING, tables->strings[i],
			strlen(tables->strings[i]));
		if (writer->out.len > 1u << 16)
			writer_flush(writer);
	}
	for (size_t i = 0; i < OWN_STRINGS; i++)
		bytes_field(&writer->out, PROFILE_STRING, own_strings[i], strlen(own_strings[i]));
	bytes_field(&writer->out, PROFILE_STRING, writer->facts->program,
		strlen(writer->facts->program));
	comment_string_write(writer);
}

int profile_write(int fd, const struct sample_tables *tables, const struct profile_facts *facts)
{
	struct writer writer = {.fd = fd, .tables = tables, .facts = facts};
	types_write(&writer);
	program_write(&writer);
	comment_write(&writer);
	for (size_t i = 0; i < tables->cell_count && !writer.error; i++)
		sample_write(&writer, &tables->cells[i]);
	for (size_t i = 1; i < tables->node_count && !writer.error; i++)
		location_write(&writer, i);
	for (size_t i = 1; i < tables->function_count && !writer.error; i++)
		function_write(&writer, i);
	strings_write(&writer);
	writer_flush(&writer);
	free(writer.out.data);
	free(writer.message.data);
	free(writer.part.data);
	return writer.error;
}
