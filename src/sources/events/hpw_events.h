/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes one EVENTS chunk (FORMAT.md, "EVENTS") into calls, one for each step, in the order in
 * which things happened. Knows nothing of other chunks: sites, threads and blocks are numbers.
 */
#ifndef SOURCES_HPW_EVENTS_H
#define SOURCES_HPW_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "format/kinds.h"
#include "sources/recording/hpw_file.h"

enum hpw_step_kind {
	HPW_STEP_ALLOC,
	HPW_STEP_FREE,
	HPW_STEP_FAILED,
	HPW_STEP_THREAD_START,
	HPW_STEP_THREAD_END,
	HPW_STEP_MARK,
	HPW_STEP_LOST,
};

/* A free of the kind that matches the block's allocation. */
#define HPW_FREE_MATCHING HW_FREE_KINDS

struct hpw_step {
	enum hpw_step_kind kind;
	uint32_t thread;   /* index of the thread that did it */
	uint32_t site;     /* alloc, failed; below HPW_SITES_MAX */
	uint32_t owner;    /* free: index of the thread that allocated the block */
	bool known;        /* free: owner and number say which block it was */
	bool same_frame;   /* free: by the frame that allocated */
	bool lasting;      /* free: the block was not temporary, whatever else says so */
	uint8_t free_kind; /* free: enum hw_free_kind or HPW_FREE_MATCHING */
	uint64_t size;   /* alloc, failed: requested bytes; lost: events; mark: bytes of its name */
	uint64_t number; /* alloc, free: the block is its owner's number-th allocation, from 0 */
	const uint8_t *bytes; /* mark: its name; borrowed */
};

struct hpw_slot_head {
	uint32_t thread;
	uint64_t allocations; /* of that thread before this chunk */
};

/* What META says. */
struct hpw_events_head {
	uint64_t first_step, steps;
	uint64_t first_stamp;
	uint64_t closed_tsc, closed_ns; /* taken together; 0, 0: unknown */
	size_t slots;
};

/* An error that a visitor returns ends the decoding and is passed on. Every call may be NULL. */
struct hpw_visitor {
	void *context;
	struct error *(*head)(void *context, const struct hpw_events_head *head);
	struct error *(*slot)(void *context, const struct hpw_slot_head *slot);
	/* The steps that follow took place at this stamp or later. */
	void (*time)(void *context, uint64_t stamp);
	struct error *(*step)(void *context, const struct hpw_step *step);
};

/* Finds what a chunk is about, without its steps. */
struct error *hpw_events_head(const struct hpw_payload *payload, struct hpw_events_head *ret);

/* Decodes a chunk of events. Returns ERROR_INPUT for a malformed chunk, after the steps that could
 * be decoded. */
struct error *hpw_events_decode(
	const struct hpw_payload *payload, const struct hpw_visitor *visitor);

#endif
