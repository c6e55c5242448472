/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings that live together and are kept once each, so that equal ones have equal addresses. */
#ifndef SYMBOLS_STRINGS_H
#define SYMBOLS_STRINGS_H

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"

static inline uint64_t string_hash(const char *string)
{
	return hash_bytes(string, strlen(string));
}

static inline bool string_equal(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

DEFINE_MAP(string_map, const char *, const char *, string_hash, string_equal)

struct strings {
	struct arena arena;
	struct string_map kept;
	struct string_map demangled; /* by linkage name */
	struct string_map paths;     /* by the path as DWARF has it */
};

void strings_init(struct strings *strings);
void strings_deinit(struct strings *strings);

/* Keeps a copy of a string; equal strings share one. NULL gives NULL, here and below. */
struct error *strings_keep(
	struct strings *strings, const char *string, const char **ret) must_check_;

/* Keeps the demangled form of a string (name_add_demangled()). */
struct error *strings_keep_demangled(
	struct strings *strings, const char *linkage_name, const char **ret) must_check_;

/* Keeps a path without ".", ".." and double slashes, as far as the path itself shows them.
 */
struct error *strings_keep_path(
	struct strings *strings, const char *path, const char **ret) must_check_;

#endif
