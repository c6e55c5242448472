/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/names/names_file.h"

#include <string.h>

#include "base/checksum.h"

_Static_assert(sizeof(struct names_header) == 48, "addresses are aligned behind it");
_Static_assert(sizeof(struct names_symbol) == 20, "it has no gaps");

uint64_t names_file_checksum(const uint8_t *data, size_t len)
{
	size_t after = offsetof(struct names_header, checksum) + sizeof(uint64_t);
	return checksum64(data + after, len - after);
}

/* Counts have 32 bits, so that no sum of these overflows. */
static bool has_length(const struct names_header *header, size_t len)
{
	uint64_t want = sizeof(*header) + (uint64_t)header->addresses * sizeof(uint64_t) +
			((uint64_t)header->addresses + 1) * sizeof(uint32_t) +
			(uint64_t)header->symbols * sizeof(struct names_symbol) +
			((uint64_t)header->strings + 1) * sizeof(uint32_t) + header->key_len +
			header->text_len;
	return want == len;
}

static void set_parts(struct names_file *file, const uint8_t *data)
{
	const struct names_header *header = file->header = (const void *)data;
	const uint8_t *at = data + sizeof(*header);
	file->addresses = (const void *)at;
	at += header->addresses * sizeof(*file->addresses);
	file->firsts = (const void *)at;
	at += ((size_t)header->addresses + 1) * sizeof(*file->firsts);
	file->symbols = (const void *)at;
	at += header->symbols * sizeof(*file->symbols);
	file->ends = (const void *)at;
	at += ((size_t)header->strings + 1) * sizeof(*file->ends);
	file->key = (const char *)at;
	file->text = file->key + header->key_len;
}

/* Each is more than the one before; the first is 0, the last as it should be. */
static bool is_partition(const uint32_t *bounds, uint32_t parts, uint32_t end)
{
	if (bounds[0] != 0 || bounds[parts] != end)
		return false;
	for (uint32_t i = 0; i < parts; i++)
		if (bounds[i] >= bounds[i + 1])
			return false;
	return true;
}

static bool addresses_rise(const struct names_file *file)
{
	for (uint32_t i = 1; i < file->header->addresses; i++)
		if (file->addresses[i - 1] >= file->addresses[i])
			return false;
	return true;
}

static bool symbols_name_strings(const struct names_file *file)
{
	uint32_t strings = file->header->strings;
	for (uint32_t i = 0; i < file->header->symbols; i++) {
		const struct names_symbol *symbol = &file->symbols[i];
		if (symbol->function > strings || symbol->raw_name > strings ||
			symbol->linkage_name > strings || symbol->file > strings)
			return false;
	}
	return true;
}

static bool strings_end(const struct names_file *file)
{
	for (uint32_t i = 1; i <= file->header->strings; i++)
		if (file->text[file->ends[i] - 1] != '\0')
			return false;
	return true;
}

bool names_file_parse(struct names_file *ret, const uint8_t *data, size_t len)
{
	const struct names_header *header = (const void *)data;
	if (len < sizeof(*header) || len > NAMES_FILE_MAX ||
		memcmp(header->magic, NAMES_MAGIC, sizeof(header->magic)) != 0 ||
		!has_length(header, len) || names_file_checksum(data, len) != header->checksum)
		return false;
	set_parts(ret, data);
	return header->separate <= 1 && addresses_rise(ret) &&
	       is_partition(ret->firsts, header->addresses, header->symbols) &&
	       symbols_name_strings(ret) &&
	       is_partition(ret->ends, header->strings, header->text_len) && strings_end(ret);
}

bool names_file_has_key(const struct names_file *file, const char *key, size_t len)
{
	return file->header->key_len == len && memcmp(file->key, key, len) == 0;
}

const struct names_symbol *names_file_find(
	const struct names_file *file, uint64_t address, size_t *ret_count)
{
	size_t low = 0, high = file->header->addresses;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (file->addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == file->header->addresses || file->addresses[low] != address)
		return NULL;
	*ret_count = file->firsts[low + 1] - file->firsts[low];
	return &file->symbols[file->firsts[low]];
}
