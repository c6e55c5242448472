/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of processes by mappings, at one look or over several: as text, JSON "heapwise.maps/1"
 * (docs/schema/maps-1.md) and CSV. The text is a table that `heapwise maps` reads again.
 */
#ifndef VIEWS_MAPS_VIEW_H
#define VIEWS_MAPS_VIEW_H

#include "analysis/mapping_series.h"
#include "analysis/memory_strings.h"
#include "base/sink.h"
#include "table/answer.h"

extern const struct answer_type maps_answer_type;

#define MAPS_NOTES_MAX 6u

/* What the new pages of a region have. */
struct maps_pages {
	size_t region;      /* index in the series */
	uint64_t new_bytes; /* of pages that were not in memory at the first look */
	const char *unread; /* why nothing was read, or not all of it; NULL: all was */
	struct memory_strings strings;
};

/* What was written to: pages that were in memory at the first and at the last look. */
struct maps_changes {
	struct maps_change {
		uint64_t compared; /* bytes */
		uint64_t changed;  /* bytes of these, in pages whose contents differ */
	} * regions;               /* by index in the series */
	size_t count;
	const char *unknown; /* why nothing was compared, or not all; or NULL */
};

struct maps_subject {
	uint64_t pid;                      /* 0: files */
	const char *name;                  /* of the command, or the file (the newer one of two) */
	const char *base;                  /* the older one; or NULL */
	const char *source;                /* "PAGEMAP_SCAN", "smaps", "pmap"… */
	const char *end;                   /* why the looks ended before they were to; or NULL */
	const char *notes[MAPS_NOTES_MAX]; /* what is not known, sentences without a full stop; NULL
					      ends them */
	bool is_running;                   /* commands that look inside can be given */
	bool times_known;                  /* seconds of the series are */
	const struct mapping_series *series;   /* finished, of one look or more */
	const struct maps_pages *const *pages; /* of some regions */
	size_t page_count;
	const struct maps_changes *changes; /* NULL: they were not asked for */
	const struct look_node_vec *nodes;  /* of the last look; NULL: not known */
};

struct maps_options {
	bool json, csv;
	bool all;     /* rows that did not change, too */
	bool trend;   /* a row for each look */
	size_t limit; /* rows of tables; 0: the usual number */
};

struct error *maps_view_write(const struct maps_subject *subjects, size_t count,
	const struct maps_options *options, const struct sink *sink) must_check_;

#endif
