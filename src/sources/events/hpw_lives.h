/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lives of all blocks of a recording, one by one: from which step to which, how long, and
 * whether a block is what a realloc made of another one. Goes through all events; memory follows
 * the number of blocks that live at once.
 */
#ifndef SOURCES_HPW_LIVES_H
#define SOURCES_HPW_LIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "sources/events/event_replay.h"
#include "sources/events/hpw_clock.h"

struct hpw_life {
	uint64_t number; /* of the allocation in the recording, from 0 */
	uint64_t stamp, step;
	uint64_t size;
	uint32_t site;
	uint32_t grown; /* this many reallocs made it what it is, the one it came from included */
	uint64_t first_size; /* of the block that the first of these was of; else size */
};

/* Its last moment: that of the free, or the end of what counts. */
struct hpw_life_end {
	uint64_t step, stamp;
	uint64_t allocations; /* in the recording until then */
};

/* Each may be NULL. Stamps are those of the last entry of TIME, or of GAPS. */
struct hpw_lives_sink {
	void *context;
	uint64_t expected; /* how many blocks may live at once; a guess, 0: none */
	void (*died)(void *context, const struct hpw_life *life, const struct hpw_life_end *end);
	/* A realloc made the second of the first, which has died just now. */
	void (*grew)(void *context, const struct hpw_life *from, const struct hpw_life *to);
	/* It is live after the last step that counts. */
	void (*stayed)(void *context, const struct hpw_life *life, const struct hpw_life_end *end);
};

/* Reads lives before span->to_step, or until more blocks live at once than are accepted. Blocks
 * that remain live until span->to_stamp. */
struct error *hpw_lives_read(const struct event_replay *story, const struct hpw_span *span,
	const struct hpw_lives_sink *sink) must_check_;

#endif
