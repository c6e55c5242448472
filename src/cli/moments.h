/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moments of a recording as users write them. */
#ifndef CLI_MOMENTS_H
#define CLI_MOMENTS_H

#include <stdbool.h>

#include "cli/options.h"
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
const char *moment_behind(const char *argument);

/* The range that options ask for. Zero before the first; moments_deinit() after the last use. */
struct moments {
	bool given;
	struct source_query query;
	char *storage[2];
};
void moments_deinit(struct moments *moments);

/* Takes the argument of --from (`from`), or --at or --to. False, after saying so: it is no moment.
 */
bool moments_take(const struct options *options, struct moments *moments, bool from);
/* The same of a text that stands for --at. */
bool moments_take_text(
	const struct command *command, const char *text, struct moments *moments, bool from);

/* NULL: none was given. */
const struct source_query *moments_query(const struct moments *moments);

#endif
