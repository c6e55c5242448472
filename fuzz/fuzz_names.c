/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of kept names as anybody may write them. The checksum is made right first, so that it keeps
 * nothing from being tried; what is taken then is read wholly.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/names/names_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether a string is one, and within the text. */
static void read_string(const struct names_file *file, uint32_t number)
{
	if (number && strlen(names_file_string(file, number)) >= file->header->text_len)
		abort();
}

static void read_answer(const struct names_file *file, uint64_t address)
{
	size_t count = 0;
	const struct names_symbol *found = names_file_find(file, address, &count);
	if (!found || !count)
		abort();
	for (size_t i = 0; i < count; i++) {
		read_string(file, found[i].function);
		read_string(file, found[i].raw_name);
		read_string(file, found[i].linkage_name);
		read_string(file, found[i].file);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	if (!copy)
		abort();
	memcpy(copy, data, size);
	if (size >= sizeof(struct names_header)) {
		uint64_t checksum = names_file_checksum(copy, size);
		memcpy(copy + offsetof(struct names_header, checksum), &checksum, sizeof(checksum));
	}
	struct names_file file;
	if (names_file_parse(&file, copy, size)) {
		for (uint32_t i = 0; i < file.header->addresses; i++)
			read_answer(&file, file.addresses[i]);
		size_t count;
		names_file_find(&file, size, &count);
		if (!names_file_has_key(&file, file.key, file.header->key_len))
			abort();
	}
	free(copy);
	return 0;
}
