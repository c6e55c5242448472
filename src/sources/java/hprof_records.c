/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/java/hprof_records.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

#define HEAD_TEXT "JAVA PROFILE 1.0."
#define HEAD_BYTES (sizeof(HEAD_TEXT) + 1) /* with a digit and a NUL */

struct error *hprof_error(const struct hprof_records *records, const char *format, ...)
{
	char what[300];
	va_list args;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return error_create(ERROR_INPUT, "%s: offset %" PRIu64 ": %s", records->stream.input->name,
		records->end_offset - (uint64_t)(records->end - records->at), what);
}

/* Makes sure that there is a byte, unless the file ends: *ret is false then. */
static struct error *part_take(struct hprof_records *records, bool *ret)
{
	size_t len;
	*ret = true;
	if (records->at != records->end)
		return NULL;
	struct error *error = stream_take(&records->stream, &records->at, &len);
	if (error) {
		records->at = records->end = NULL;
		return error;
	}
	records->end = records->at + len;
	records->end_offset += len;
	*ret = len > 0;
	return NULL;
}

/* There is a byte, or an error. */
static struct error *part_need(struct hprof_records *records)
{
	bool is_there;
	struct error *error = part_take(records, &is_there);
	if (error || is_there)
		return error;
	return hprof_error(
		records, "the heap dump is cut off: the file ends here, inside a record");
}

static struct error *bytes_join(struct hprof_records *records, size_t len)
{
	buf_deinit(&records->joined);
	buf_init(&records->joined);
	while (records->joined.len < len) {
		struct error *error = part_need(records);
		if (error)
			return error;
		size_t part = min((size_t)(records->end - records->at), len - records->joined.len);
		if (!buf_bytes(&records->joined, records->at, part))
			return error_no_memory();
		records->at += part;
	}
	return NULL;
}

struct error *hprof_bytes(struct hprof_records *records, size_t len, const uint8_t **ret)
{
	if (len > records->left)
		return hprof_error(records, "an entry is longer than the record that it is in");
	records->left -= len;
	if ((size_t)(records->end - records->at) >= len) {
		*ret = records->at;
		records->at += len;
		return NULL;
	}
	struct error *error = bytes_join(records, len);
	*ret = records->joined.data;
	return error;
}

struct error *hprof_skip(struct hprof_records *records, uint64_t len)
{
	if (len > records->left)
		return hprof_error(records, "an entry is longer than the record that it is in");
	records->left -= len;
	while (len) {
		struct error *error = part_need(records);
		if (error)
			return error;
		uint64_t part = min((uint64_t)(records->end - records->at), len);
		records->at += part;
		len -= part;
	}
	return NULL;
}

struct error *hprof_number(struct hprof_records *records, unsigned bytes, uint64_t *ret)
{
	const uint8_t *data;
	struct error *error = hprof_bytes(records, bytes, &data);
	if (!error)
		*ret = hprof_decode(data, bytes);
	return error;
}

struct error *hprof_id(struct hprof_records *records, uint64_t *ret)
{
	return hprof_number(records, records->id_bytes, ret);
}

unsigned hprof_type_bytes(const struct hprof_records *records, uint64_t type)
{
	static const uint8_t bytes[HPROF_TYPES] = {[HPROF_BOOLEAN] = 1,
		[HPROF_CHAR] = 2,
		[HPROF_FLOAT] = 4,
		[HPROF_DOUBLE] = 8,
		[HPROF_BYTE] = 1,
		[HPROF_SHORT] = 2,
		[HPROF_INT] = 4,
		[HPROF_LONG] = 8};
	if (type == HPROF_OBJECT)
		return records->id_bytes;
	return type < HPROF_TYPES ? bytes[type] : 0;
}

static struct error *head_read(struct hprof_records *records)
{
	const uint8_t *text;
	uint64_t id_bytes;
	records->left = HEAD_BYTES + 12;
	struct error *error = hprof_bytes(records, HEAD_BYTES, &text);
	if (error)
		return error;
	if (memcmp(text, HEAD_TEXT, sizeof(HEAD_TEXT) - 1) != 0 || text[HEAD_BYTES - 1])
		return hprof_error(records, "is no heap dump of a JVM: it does not begin with "
					    "\"JAVA PROFILE 1.0.2\"");
	char version = (char)text[HEAD_BYTES - 2];
	if (version == '3')
		return hprof_error(records, "is a heap dump of Android's runtime: make one that "
					    "can be read with 'hprof-conv FILE OUT'");
	if (version != '1' && version != '2')
		return hprof_error(
			records, "is of a version that is not known: 1.0.1 and 1.0.2 are");
	error = hprof_number(records, 4, &id_bytes);
	if (!error)
		error = hprof_skip(records, 8);
	if (!error && id_bytes != 4 && id_bytes != 8)
		return hprof_error(
			records, "its ids are of %" PRIu64 " bytes: expected 4 or 8", id_bytes);
	records->id_bytes = (unsigned)id_bytes;
	return error;
}

struct error *hprof_records_open(struct hprof_records *records, const struct input *input)
{
	*records = (struct hprof_records){.left = 0};
	buf_init(&records->joined);
	/* Read as a stream: memory is for objects and references, not for the bytes between. */
	struct error *error = stream_open(&records->stream, input, UINT64_C(1) << 40);
	return error ? error : head_read(records);
}

void hprof_records_close(struct hprof_records *records)
{
	buf_deinit(&records->joined);
	stream_close(&records->stream);
}

struct error *hprof_record_next(struct hprof_records *records, unsigned *ret)
{
	uint64_t tag, length;
	bool is_there;
	struct error *error = hprof_skip(records, records->left);
	if (!error)
		error = part_take(records, &is_there);
	*ret = 0;
	if (error || !is_there)
		return error;
	records->left = 9;
	error = hprof_number(records, 1, &tag);
	if (!error)
		error = hprof_skip(records, 4);
	if (!error)
		error = hprof_number(records, 4, &length);
	if (error)
		return error;
	records->left = length;
	*ret = (unsigned)tag;
	return tag ? NULL : hprof_error(records, "a record has the tag 0");
}
