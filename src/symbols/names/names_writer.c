/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/names/names_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"

static inline uint64_t pointer_hash(const char *pointer)
{
	return hash_u64((uintptr_t)pointer);
}

static inline bool pointer_equal(const char *a, const char *b)
{
	return a == b;
}

/* Numbers of strings, by their address. */
DEFINE_MAP(number_map, const char *, uint32_t, pointer_hash, pointer_equal)

struct writer {
	struct number_map numbers;
	struct buf symbols, ends, text;
	uint32_t symbol_count;
	bool failed;
};

static void writer_init(struct writer *writer)
{
	*writer = (struct writer){.failed = false};
	number_map_init(&writer->numbers);
	buf_init(&writer->symbols);
	buf_init(&writer->ends);
	buf_init(&writer->text);
}

static void writer_deinit(struct writer *writer)
{
	number_map_deinit(&writer->numbers);
	buf_deinit(&writer->symbols);
	buf_deinit(&writer->ends);
	buf_deinit(&writer->text);
}

/* Too much of it, or no memory, shows at the end. */
static uint32_t names_writer_number_of(struct writer *writer, const char *string)
{
	if (!string || writer->failed)
		return 0;
	bool is_new;
	uint32_t *number = number_map_insert(&writer->numbers, string, &is_new);
	if (!number) {
		writer->failed = true;
		return 0;
	}
	if (!is_new)
		return *number;
	*number = writer->numbers.len;
	buf_bytes(&writer->text, string, strlen(string) + 1);
	uint32_t end = (uint32_t)writer->text.len;
	buf_bytes(&writer->ends, &end, sizeof(end));
	writer->failed = writer->text.len > NAMES_FILE_MAX;
	return *number;
}

static void add_symbol(struct writer *writer, const struct symbol *symbol)
{
	struct names_symbol stored = {
		.function = names_writer_number_of(writer, symbol->function),
		.raw_name = names_writer_number_of(writer, symbol->raw_name),
		.linkage_name = names_writer_number_of(writer, symbol->linkage_name),
		.file = names_writer_number_of(writer, symbol->file),
		.line = symbol->line,
	};
	buf_bytes(&writer->symbols, &stored, sizeof(stored));
	writer->symbol_count++;
	writer->failed |= writer->symbols.len > NAMES_FILE_MAX;
}

int names_answer_compare(const void *a, const void *b)
{
	uint64_t left = ((const struct names_answer *)a)->address;
	uint64_t right = ((const struct names_answer *)b)->address;
	return (left > right) - (left < right);
}

void names_answers_sort(struct names_answer_vec *answers)
{
	if (answers->len)
		qsort(answers->data, answers->len, sizeof(*answers->data), names_answer_compare);
}

/* In the order of the layout. */
static void add_parts(
	struct writer *writer, struct buf *buf, const struct names_answer_vec *answers)
{
	for (size_t i = 0; i < answers->len; i++)
		buf_bytes(buf, &answers->data[i].address, sizeof(answers->data[i].address));
	uint32_t first = 0;
	buf_bytes(buf, &first, sizeof(first));
	for (size_t i = 0; i < answers->len && !writer->failed; i++) {
		for (size_t j = 0; j < answers->data[i].count && !writer->failed; j++)
			add_symbol(writer, &answers->data[i].symbols[j]);
		buf_bytes(buf, &writer->symbol_count, sizeof(writer->symbol_count));
	}
	buf_bytes(buf, writer->symbols.data, writer->symbols.len);
	first = 0;
	buf_bytes(buf, &first, sizeof(first));
	buf_bytes(buf, writer->ends.data, writer->ends.len);
}

bool names_write(struct buf *buf, const struct names_header *as, const char *key, size_t key_len,
	const struct names_answer_vec *answers)
{
	_cleanup_(writer_deinit) struct writer writer;
	writer_init(&writer);
	if (answers->len > NAMES_FILE_MAX / sizeof(uint64_t) || key_len > NAMES_FILE_MAX)
		return false;
	struct names_header header = {
		.magic = NAMES_MAGIC,
		.state = as->state,
		.separate = as->separate,
		.addresses = (uint32_t)answers->len,
		.key_len = (uint32_t)key_len,
	};
	buf_bytes(buf, &header, sizeof(header));
	add_parts(&writer, buf, answers);
	buf_bytes(buf, key, key_len);
	buf_bytes(buf, writer.text.data, writer.text.len);
	if (writer.failed || writer.symbols.failed || writer.ends.failed || writer.text.failed ||
		buf->failed || buf->len > NAMES_FILE_MAX)
		return false;
	header.symbols = writer.symbol_count;
	header.strings = writer.numbers.len;
	header.text_len = (uint32_t)writer.text.len;
	memcpy(buf->data, &header, sizeof(header));
	header.checksum = names_file_checksum(buf->data, buf->len);
	memcpy(buf->data, &header, sizeof(header));
	return true;
}
