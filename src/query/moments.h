/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moments of a recording as users write them. */
#ifndef QUERY_MOMENTS_H
#define QUERY_MOMENTS_H

#include <stdbool.h>

#include "sources/source.h"

/*
 * "peak", "3.2s", "mark:loaded#2"… Times are in s, ms, us, ns, min or h; without a unit in seconds.
 * `text` must outlive *ret, which may point into it and into *storage, a copy to be freed. False:
 * it is no moment, or there is no memory.
 */
bool moment_parse(const char *text, struct source_moment *ret, char **storage);

/* "3.2s", "150ms"; in s, ms, us, ns, min or h, without a unit in seconds. False: it is none. */
bool duration_parse(const char *text, uint64_t *ret_ns);

/* "FILE@MOMENT" or "FILE": where a moment begins; NULL if there is none. A file whose name has an @
 * in it and exists is a file. */
const char *moment_after(const char *argument);

/* The range that options ask for. Zero before the first; moments_deinit() after the last use. */
struct moments {
	bool given;
	struct source_query query;
	char *storage[2];
};
void moments_deinit(struct moments *moments);

/* Sets where the range begins (`from`), or where it ends. ERROR_USAGE: `text` is no moment, or
 * another one was given before. It must outlive the moments. */
struct error *moments_set(struct moments *moments, const char *text, bool from) must_check_;

/* NULL: none was given. */
const struct source_query *moments_query(const struct moments *moments);

#endif
