/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory as it lies there: bytes, strings. */
#ifndef VIEWS_HEAP_REGIONS_H
#define VIEWS_HEAP_REGIONS_H

#include "heap/heap.h"
#include "views/views.h"

#define REGION_ALL_THERE UINT64_MAX

struct region_options {
	bool json, csv, json_before;
	uint64_t start, end; /* UINT64_MAX: all that there is */
	size_t least;        /* characters of a string */
	size_t limit;
};

/* As `hexdump -C` does it. ERROR_INPUT: nothing there can be read. *ret_lacking becomes the address
 * from which on what is wanted is not there; it stays as it is if all is, or was left out by the
 * limit. */
struct error *heap_hexdump_write(const struct address_space *space,
	const struct region_options *options, const struct sink *sink,
	uint64_t *ret_lacking) must_check_;
/* Printable characters in a row, with their addresses, as strings(1) finds them; what lies behind
 * what is lacking is searched, too. */
struct error *heap_strings_write(const struct address_space *space,
	const struct region_options *options, const struct sink *sink,
	uint64_t *ret_lacking) must_check_;

#endif
