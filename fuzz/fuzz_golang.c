/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is read of Go programs, as any bytes: a table of functions with trees of inlined calls, or
 * memory with a list of buckets, which is written as a profile. It ends, and reads nothing else.
 *
 *	| what: 0 table, else memory | 7 bytes | bytes… |
 */
#include <stdlib.h>
#include <string.h>

#include "golang/impl/go_encode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define AT 0x1000ull

struct fuzz_memory {
	const uint8_t *data;
	size_t bytes;
};

static size_t fuzz_read(void *context, uint64_t address, void *ret, size_t bytes)
{
	const struct fuzz_memory *memory = context;
	if (address < AT || address - AT >= memory->bytes)
		return 0;
	size_t from = (size_t)(address - AT);
	size_t got = memory->bytes - from < bytes ? memory->bytes - from : bytes;
	memcpy(ret, memory->data + from, got);
	return got;
}

static void try_table(const uint8_t *data, size_t size)
{
	struct go_functions functions;
	struct go_place place;
	uint64_t start, end;
	if (!go_functions_open(data, size, &functions))
		return;
	functions.inlines = data + size / 2;
	functions.inline_bytes = size - size / 2;
	for (uint64_t i = 0; i < 256; i++)
		if (go_functions_find(&functions, functions.text + i, &place) &&
			(!memchr(place.function, 0, size) || place.entry > functions.text + i))
			abort();
	(void)go_functions_named(&functions, "main.main", &start, &end);
}

static void try_memory(const uint8_t *data, size_t size)
{
	struct fuzz_memory image = {data, size};
	const struct go_memory memory = {fuzz_read, &image};
	const struct go_functions functions = {.text = 0};
	const struct go_mapping mapping = {.path = "x"};
	const struct go_encoding encoding = {.comment = "y"};
	struct go_buckets buckets;
	struct buf out;
	struct error *error = go_buckets_read(&memory, AT, "x", &buckets);
	buf_init(&out);
	if (!error)
		error = go_encode(&buckets, &functions, &mapping, 512, &encoding, &out);
	error_destroy(error);
	buf_deinit(&out);
	go_buckets_deinit(&buckets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size <= 8)
		return 0;
	/* Of exactly that size, for the address sanitizer. */
	uint8_t *copy = malloc(size - 8);
	if (!copy)
		return 0;
	memcpy(copy, data + 8, size - 8);
	if (data[0])
		try_memory(copy, size - 8);
	else
		try_table(copy, size - 8);
	free(copy);
	return 0;
}
