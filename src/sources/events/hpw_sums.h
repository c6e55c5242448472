/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes SUMS and DEATHS (FORMAT.md): what one chunk of events comes to, and what is to be known
 * of the older blocks that die in it.
 */
#ifndef SOURCES_HPW_SUMS_H
#define SOURCES_HPW_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "accounts/counters.h"
#include "base/vec.h"
#include "model/model.h"
#include "sources/events/hpw_columns.h"
#include "sources/recording/hpw_file.h"

struct hpw_sums_site {
	uint32_t site;
	struct site_counters counters; /* live_…: may be less than 0; peak_… unset */
};
DEFINE_VEC(hpw_sums_sites, struct hpw_sums_site)

struct hpw_sums_thread {
	uint32_t thread;
	bool in_realloc, fresh; /* before the chunk: as in struct hpw_tally_thread */
	uint64_t number;        /* of its first allocation in the chunk */
	CALL_COUNTERS_MEMBERS;
	uint64_t stack_bytes; /* largest size of its stack; 0: not known */
};
DEFINE_VEC(hpw_sums_threads, struct hpw_sums_thread)
DEFINE_VEC(hpw_sums_sizes, struct size_count)

struct hpw_sums {
	uint64_t head[HPW_SUMS_HEADS];
	uint32_t unknown;                /* figures of sites that it has not */
	struct hpw_sums_sites sites;     /* ascending */
	struct hpw_sums_threads threads; /* as the slots of the events */
	struct hpw_sums_sizes sizes;     /* ascending */
	struct hpw_column marks;         /* in the payload */
	struct hpw_column mark_figures[3];
};

/* Finds the head and the marks of a chunk, and no rows of sites, threads and sizes. They stay valid
 * as long as the payload; there is nothing to free. ERROR_INPUT: the head is malformed. */
struct error *hpw_sums_open(const struct hpw_payload *payload, struct hpw_sums *ret);
/* Finds all of a chunk; it stays valid as long as the payload. ERROR_INPUT: it is malformed. */
struct error *hpw_sums_decode(const struct hpw_payload *payload, struct hpw_sums *ret);
/* Decodes only the head. */
struct error *hpw_sums_head(const struct hpw_payload *payload, uint64_t ret[HPW_SUMS_HEADS]);
void hpw_sums_deinit(struct hpw_sums *sums);

struct hpw_mark {
	uint64_t step; /* in the chunk */
	const char *name;
	size_t len;
	bool has_figures; /* the next three are known */
	uint64_t stamp, live_blocks, live_bytes;
};
/* Finds the next mark; false: there is none. */
bool hpw_sums_mark(struct hpw_sums *sums, struct hpw_mark *ret);

/* A block of an earlier chunk. */
struct hpw_death {
	uint32_t site;
	uint32_t birth; /* number of the chunk of events in which it was allocated, from 0 */
	uint64_t size;
};

/* Of one slot, in the order of its frees. */
struct hpw_deaths_slot {
	struct hpw_column rows;
	struct hpw_death last;
};

struct hpw_deaths {
	struct hpw_deaths_slot *slots;
	size_t count;
};

/* Opens the deaths of a chunk; payload NULL: it has none. */
struct error *hpw_deaths_open(
	const struct hpw_payload *payload, size_t slots, struct hpw_deaths *ret);
void hpw_deaths_deinit(struct hpw_deaths *deaths);
/* Reads the next death. Returns false if there are no more, or they are malformed. */
bool hpw_deaths_next(struct hpw_deaths_slot *slot, struct hpw_death *ret);

#endif
