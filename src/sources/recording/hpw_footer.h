/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The totals that a writer leaves at the end: SUMMARY, SITE_STATS, THREADS, SIZES, LIVE. Each part
 * that is whole is used; one that is missing is computed from the events (hpw_replay.h).
 */
#ifndef SOURCES_HPW_FOOTER_H
#define SOURCES_HPW_FOOTER_H

#include <stdbool.h>

#include "base/vec.h"
#include "model/build.h"
#include "sources/events/hpw_clock.h"
#include "sources/recording/hpw_file.h"

/* One more than the largest key known. */
#define HPW_SUM_LIMIT (HPW_SUM_ATTACHED_KEPT + 1)

/* A thread as stored: stamps, not nanoseconds. */
struct hpw_thread_row {
	struct thread row; /* first_ns and last_ns unset */
	uint64_t first_tsc, last_tsc;
	size_t name_offset, name_len; /* in footer's names */
};
DEFINE_VEC(hpw_thread_vec, struct hpw_thread_row)
DEFINE_VEC(hpw_size_vec, struct size_count)
DEFINE_VEC(hpw_site_vec, struct site_counters)

struct hpw_footer {
	bool has_summary, has_sites, has_threads, has_sizes;
	bool has_waits; /* the summary says how many; older ones do not */
	uint64_t summary[HPW_SUM_LIMIT];
	uint32_t unknown; /* figures that the sites have not: of enum unknown_figure */
	/*
	 * Figures of sites go where they are to be in the end: a copy of a million would be 100 MB
	 * more. That is the model, of sites that it knows; NULL: nowhere. Of others they are here,
	 * and there may be more of these than sites are known.
	 */
	struct model *into;
	struct hpw_site_vec sites;
	size_t sites_known, sites_len; /* those in the model; all */
	struct hpw_thread_vec threads;
	char *names;
	struct hpw_size_vec sizes;
};

void hpw_footer_init(struct hpw_footer *footer);
void hpw_footer_deinit(struct hpw_footer *footer);

/* Decodes a chunk; types of no interest are passed over. After an error that part is missing. */
struct error *hpw_footer_decode(
	struct hpw_footer *footer, uint16_t type, const struct hpw_payload *payload);
bool hpw_footer_takes(uint16_t type);
/* Takes the figures of sites out of the model again. */
void hpw_footer_drop_sites(struct hpw_footer *footer);

/* Totals of a SUMMARY, but for the time of the peak. */
struct totals hpw_summary_totals(const uint64_t summary[static HPW_SUM_LIMIT]);
/* How the program ended: into the target. */
void hpw_summary_exit(const uint64_t summary[static HPW_SUM_LIMIT], struct target *ret);

/* Puts one UNRECORDED chunk into a model. */
struct error *hpw_footer_unrecorded(
	struct model *model, const struct hpw_clock *clock, const struct hpw_payload *payload);

/* Puts one LIVE chunk into a model that has its sites and threads. */
struct error *hpw_footer_live(struct model *model, const struct hpw_payload *payload);

/* What the sampled blocks of a dump stand for: FORMAT.md, ESTIMATES. Recordings with events need
 * none, see events/hpw_estimate.h. */
struct hpw_estimates_row {
	double figures[HPW_ESTIMATES_SITE_COLUMNS];
};
struct hpw_estimates_thread {
	double figures[HPW_ESTIMATES_THREAD_COLUMNS];
};
DEFINE_VEC(hpw_estimates_row_vec, struct hpw_estimates_row)
DEFINE_VEC(hpw_estimates_thread_vec, struct hpw_estimates_thread)

struct hpw_estimates {
	struct hpw_estimates_row_vec sites;
	struct hpw_estimates_thread_vec threads;
};

void hpw_estimates_init(struct hpw_estimates *estimates);
void hpw_estimates_deinit(struct hpw_estimates *estimates);

bool hpw_estimates_takes(uint16_t type);
/* Decodes a chunk; after an error nothing is known. */
struct error *hpw_estimates_decode(
	struct hpw_estimates *estimates, const struct hpw_payload *payload);

/* Returns whether there is a row for each of the model's sites. */
bool hpw_estimates_are_whole(const struct hpw_estimates *estimates, const struct model *model);
/* Puts the figures of sites into the model, and totals that are their sums. */
void hpw_estimates_put(const struct hpw_estimates *estimates, struct model *model);
/* Puts the figures of a thread; without any it has none. */
void hpw_estimates_put_thread(
	const struct hpw_estimates *estimates, size_t number, struct call_counters *ret);

#endif
