/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is in a model in the formats of other tools. Each row of the table writes one; what a format
 * has no place for is said, never left out in silence.
 */
#ifndef VIEWS_EXPORT_H
#define VIEWS_EXPORT_H

#include "analysis/profile.h"
#include "base/packing.h"
#include "model/events.h"
#include "views/views.h"

/* What is handed to a writer. */
struct exported {
	const struct profile *profile;
	enum metric metric;                      /* for formats that have one figure a stack */
	const struct timeline_options *timeline; /* for formats of moments */
	const struct event_stream *events;       /* for formats of them; else NULL */
	struct text *lost; /* sentences, each with a newline: what the format cannot hold */
};

struct export_format {
	const char *name;
	const char *what; /* whose it is, for the help */
	enum packing packing;
	bool one_figure;  /* --metric chooses it */
	bool differences; /* has a place for what is below 0 */
	bool moments;     /* wants a series with sites where there is one; knows no filter */
	bool leaks;       /* is of a search for leaks; knows no filter either */
	bool events;      /* wants them, from the beginning; knows no filter */
	bool samples;     /* says that figures are of a sample */
	bool ends;        /* says how the program ended, and whether it is all of it */
	struct error *(*write)(const struct exported *from, const struct sink *sink);
};

/* NULL: there is none of that name. */
const struct export_format *export_find(const char *name);
/* Adds "pprof, folded, …": all of them, or those that can hold a difference. */
void export_add_names(struct text *text, bool differences);

/* Writes all of it, packed so, or, if that is PACKING_NONE, as the format wants it. NULL also when
 * the sink stopped it. */
struct error *export_write(const struct export_format *format, enum packing packing,
	const struct exported *from, const struct sink *sink) must_check_;

/* What many formats have no place for, as bits. */
enum export_part {
	EXPORT_PEAK = 1,
	EXPORT_MOMENTS = 2,
	EXPORT_THREADS = 4,
	EXPORT_TEMPORARY = 8,
	EXPORT_FAILED = 16,
	EXPORT_KINDS = 32,
};

/* Adds a sentence to `lost`: `format` ("A file of DHAT") has none of these parts. Those that the
 * source does not know either are not lost. */
void export_lose(const struct exported *from, const char *format, unsigned parts);

#define EXPORT_REMARKS_LOST "Remarks on where stacks are cut, or signals came, are left out.\n"

/* The writers. */
struct error *export_pprof(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_massif(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_dhat(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_speedscope(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_firefox(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_callgrind(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_json(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_csv(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_gperftools(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_jemalloc(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_valgrind(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_heaptrack(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_heaptrack2(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_heaptrack1(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_mtrace(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_folded(const struct exported *from, const struct sink *sink) must_check_;

#endif
