/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory as it lies there: bytes, strings. */
#ifndef VIEWS_HEAP_REGIONS_H
#define VIEWS_HEAP_REGIONS_H

#include "heap/heap.h"
#include "views/views.h"

struct region_options {
	bool json;
	uint64_t start, end; /* UINT64_MAX: all that there is */
	size_t least;        /* characters of a string */
	size_t limit;
};

/* As `hexdump -C` does it. ERROR_INPUT: nothing there can be read. */
struct error *heap_hexdump_write(const struct address_space *space,
	const struct region_options *options, const struct sink *sink) must_check_;
/* Printable characters in a row, with their addresses, as strings(1) finds them. */
struct error *heap_strings_write(const struct address_space *space,
	const struct region_options *options, const struct sink *sink) must_check_;

#endif
