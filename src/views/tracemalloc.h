/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of Python in the words of its module tracemalloc: what str() of its Statistic and
 * StatisticDiff gives, byte for byte, one a line.
 *
 *	app.py:41: size=12.3 KiB, count=15, average=840 B
 *	app.py:41: size=12.3 KiB (+2048 B), count=15 (+2), average=840 B
 *
 * By traceback each is followed by what Traceback.format() gives. Control characters in names are
 * escaped, so that a line stays one.
 */
#ifndef VIEWS_TRACEMALLOC_H
#define VIEWS_TRACEMALLOC_H

#include "analysis/python_statistics.h"
#include "base/sink.h"

/* Returns a line of source, of *ret_len bytes without its end; NULL: it is not known. */
typedef struct error *tracemalloc_line(
	void *ctx, const char *file, uint32_t line, const char **ret, size_t *ret_len);

struct tracemalloc_form {
	bool tracebacks;        /* are written */
	bool most_recent_first; /* frames of these; otherwise the oldest comes first */
	size_t limit;           /* so many statistics at most */
	tracemalloc_line *line; /* of tracebacks; NULL: without lines of source */
	void *ctx;
};

/* Write all statistics, or changes, in their order. NULL also when the sink stopped it: the sink
 * knows. */
struct error *tracemalloc_write(const struct python_statistics *statistics,
	const struct tracemalloc_form *form, const struct sink *sink) must_check_;
struct error *tracemalloc_write_changes(const struct python_changes *changes,
	const struct tracemalloc_form *form, const struct sink *sink) must_check_;

/* Adds "12.3 KiB", or with its sign "+12.3 KiB": less than 100 with one decimal but for bytes,
 * others with none, and up to 10239 of a unit. */
void tracemalloc_add_size(struct text *text, double bytes, bool with_sign);

#endif
