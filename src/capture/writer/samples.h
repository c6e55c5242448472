/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the blocks of a sampled recording stand for, by site and thread: for dumps, which have no
 * events to find it out from. Each stands for as many as sources/events/hpw_estimate.h says.
 */
#ifndef CAPTURE_SAMPLES_H
#define CAPTURE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/hpw.h"

struct samples_site {
	double figures[HPW_ESTIMATES_SITE_COLUMNS]; /* enum hpw_estimates_site */
};

struct samples_thread {
	double figures[HPW_ESTIMATES_THREAD_COLUMNS];
};

/* All 0: empty. */
struct samples {
	struct samples_site *sites;
	struct samples_thread *threads;
	uint32_t site_count, thread_count;
	bool failed; /* there was no memory: nothing here is right */
};

void samples_deinit(struct samples *samples);

/* A sampled block: its site, the thread that allocates or frees it. */
struct samples_block {
	uint32_t site, thread;
	uint64_t size;
	double mean_bytes; /* distance of samples */
};

void samples_alloc(struct samples *samples, const struct samples_block *block);
void samples_free(struct samples *samples, const struct samples_block *block);
/* Counts a call that asked for this many bytes and failed. */
void samples_failed(struct samples *samples, const struct samples_block *block);

/* Copies. Returns false if there is no memory; *ret is empty then. */
bool samples_copy(const struct samples *samples, struct samples *ret);
/* Takes off what is not of live blocks, as it was at an earlier moment. */
void samples_take_off(struct samples *samples, const struct samples *before);

/* Appends a payload of ESTIMATES: at most `rows` of the `sites` sites from `first` on, and with the
 * first ones all `threads` threads. Returns false if there is no memory. */
struct samples_rows {
	uint32_t first, rows, sites, threads;
};
bool samples_put(const struct samples *samples, const struct samples_rows *rows, struct buf *ret);

#endif
