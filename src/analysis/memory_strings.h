/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is in pages, in short: how much of it is text, zeros, and what most strings look like.
 * Strings that only differ in their digits are one kind: "user-1234-name" is "user-#-name".
 */
#ifndef ANALYSIS_MEMORY_STRINGS_H
#define ANALYSIS_MEMORY_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Kinds of strings that are counted; further ones take the place of the rarest. */
#define MEMORY_STRINGS_MAX 256u
/* Bytes of a kind's text that are compared and shown. */
#define MEMORY_STRING_BYTES_MAX 64u

struct memory_string {
	char text[MEMORY_STRING_BYTES_MAX + 1]; /* printable ASCII */
	uint64_t count;                         /* at least so many were seen */
	uint64_t bytes;                         /* of all of these */
	uint64_t error;                         /* of `count`, so many may be of other kinds */
};

struct memory_strings {
	uint64_t bytes, zero_bytes; /* that were looked at; of these zero */
	uint64_t string_bytes;      /* in strings of `least` characters or more */
	uint64_t strings;
	size_t kinds;
	struct memory_string rows[MEMORY_STRINGS_MAX];
};

#define MEMORY_STRINGS_LEAST 6u

void memory_strings_init(struct memory_strings *strings);
/* Adds memory that lies together. */
void memory_strings_add(struct memory_strings *strings, const uint8_t *bytes, size_t len);
/* Sorts rows by bytes, the most first. */
void memory_strings_finish(struct memory_strings *strings);

#endif
