/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writers of other tools' formats. Each row of the table in export.c writes one format. Parts of a
 * model that a format can't represent are listed in a note, never omitted silently.
 */
#ifndef VIEWS_EXPORT_H
#define VIEWS_EXPORT_H

#include "analysis/profile.h"
#include "base/packing.h"
#include "model/events.h"
#include "views/views.h"

/* The input of a writer. */
struct exported {
	const struct profile *profile;
	enum metric metric;                      /* for formats with one figure per stack */
	bool metric_given;                       /* the user has chosen it */
	const struct timeline_options *timeline; /* for formats with snapshots */
	const struct event_stream *events;       /* for formats of events; else NULL */
	struct text *lost; /* sentences, each with a newline: what the format can't represent */
};

struct export_format {
	const char *name;
	const char *what;     /* for the help: its tool and readers */
	enum packing packing; /* where the name of a file does not say it */
	bool by_name;         /* its tool tells by a file's name whether it is compressed */
	bool one_figure;      /* which --metric selects */
	bool first_figure;    /* --metric selects which of several readers show first */
	bool differences;     /* can represent negative figures */
	bool moments;         /* needs a series with sites, if there is one; filters don't apply */
	bool leaks;           /* contains the leaks of a search; filters don't apply */
	bool events;          /* needs all events; filters don't apply */
	bool ranges;  /* of events: may begin later, with frees of blocks that it does not have */
	bool samples; /* can mark figures as those of a sample */
	bool hidden;  /* for other parts of heapwise: not listed */
	bool ends;    /* can represent the exit status, and whether data is missing */
	struct error *(*write)(const struct exported *from, const struct sink *sink);
};

/* Of format json, which is heapwise's own. */
struct answer_type;
extern const struct answer_type export_json_type;

/* Returns the format of that name, or NULL. */
const struct export_format *export_find(const char *name);
/* Adds "pprof, folded, …": all names, or only those of formats for differences. */
void export_add_names(struct text *text, bool differences);

/* Returns how a file of that name is compressed; NULL and "-": it has none. */
enum packing export_packing(const struct export_format *format, const char *name);

/* Writes a whole file. Returns NULL also when the sink stopped it. */
struct error *export_write(const struct export_format *format, enum packing packing,
	const struct exported *from, const struct sink *sink) must_check_;

/* Parts that several formats can't represent, as bits. */
enum export_part {
	EXPORT_PEAK = 1,
	EXPORT_MOMENTS = 2,
	EXPORT_THREADS = 4,
	EXPORT_TEMPORARY = 8,
	EXPORT_FAILED = 16,
	EXPORT_KINDS = 32,
};

/* Adds a sentence to `lost`: `format` ("DHAT files") can't represent these parts (enum
 * export_part). Parts that the source does not contain either are not listed. */
void export_omit(const struct exported *from, const char *format, unsigned parts);

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
struct error *export_gperftools_served(
	const struct exported *from, const struct sink *sink) must_check_;
struct error *export_gperftools_names(
	const struct exported *from, const struct sink *sink) must_check_;
struct error *export_jemalloc(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_jemalloc_live(
	const struct exported *from, const struct sink *sink) must_check_;
struct error *export_valgrind(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_heaptrack(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_heaptrack2(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_heaptrack1(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_mtrace(const struct exported *from, const struct sink *sink) must_check_;
struct error *export_folded(const struct exported *from, const struct sink *sink) must_check_;

#endif
