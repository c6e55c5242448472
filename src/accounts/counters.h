/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters of an allocation site, as one table. The collector's row, the row of the reader's
 * replay and the model's site have these members; the columns of a recording are written and read
 * by it (site_columns.h). Quantities are defined in docs/quantities.md.
 *
 * A new counter is a row here, the numbers of its columns in format/hpw.h, the line of accounts.h
 * that counts it, and the views that show it: docs/howto/counter.md.
 *
 *	X(name, how, column in SITE_STATS, column in SUMS, enum unknown_figure if it is missing)
 *
 * `how` says what becomes of two figures when two sites, or two parts of a recording, are one:
 *
 *	SUM         they add up
 *	LIVE_BLOCKS they add up; SUMS has the blocks that were freed: allocations less these
 *	LIVE_BYTES  they add up; SUMS has the bytes that were freed: allocated_bytes less these
 *	PEAK        they add up; what was live at one moment, which SUMS do not have
 *	LEAST       the smaller one, of those that have allocations
 *	MOST        the larger one; 0 where there is none
 */
#ifndef ACCOUNTS_COUNTERS_H
#define ACCOUNTS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
#define SITE_COUNTERS(X)                                                                           \
	X(allocations,     SUM,         HPW_SITE_ALLOCATIONS, HPW_SUMS_SITE_ALLOCATIONS, UNKNOWN_ALLOCATIONS) \
	X(allocated_bytes, SUM,         HPW_SITE_ALLOCATED,   HPW_SUMS_SITE_ALLOCATED,   UNKNOWN_ALLOCATED_BYTES) \
	X(live_blocks,     LIVE_BLOCKS, HPW_SITE_LIVE_BLOCKS, HPW_SUMS_SITE_FREES,       UNKNOWN_LIVE_BLOCKS) \
	X(live_bytes,      LIVE_BYTES,  HPW_SITE_LIVE_BYTES,  HPW_SUMS_SITE_FREED,       UNKNOWN_LIVE_BYTES) \
	/* Its share at the peak of the process. */                                                \
	X(peak_blocks,     PEAK,        HPW_SITE_PEAK_BLOCKS, HPW_SUMS_COLUMNS,          UNKNOWN_PEAK_BLOCKS) \
	X(peak_bytes,      PEAK,        HPW_SITE_PEAK_BYTES,  HPW_SUMS_COLUMNS,          UNKNOWN_PEAK_BYTES) \
	X(temporary,       SUM,         HPW_SITE_TEMPORARY,   HPW_SUMS_SITE_TEMPORARY,   UNKNOWN_TEMPORARY) \
	/* Blocks freed by the frame that allocated them. */                                       \
	X(same_frame,      SUM,         HPW_SITE_SAME_FRAME,  HPW_SUMS_SITE_SAME_FRAME,  UNKNOWN_TEMPORARY) \
	X(failed,          SUM,         HPW_SITE_FAILED,      HPW_SUMS_SITE_FAILED,      UNKNOWN_FAILED) \
	/* Of successful allocations. */                                                           \
	X(min_size,        LEAST,       HPW_SITE_MIN_SIZE,    HPW_SUMS_SITE_MIN,         UNKNOWN_EXTREMES) \
	X(max_size,        MOST,        HPW_SITE_MAX_SIZE,    HPW_SUMS_SITE_MAX,         UNKNOWN_EXTREMES) \
	/* The largest size that a call requested without success. */                                      \
	X(max_failed_size, MOST,        HPW_SITE_MAX_FAILED,  HPW_SUMS_SITE_MAX_FAILED,  UNKNOWN_FAILED_SIZE)
/* clang-format on */

#define SITE_COUNTER_MEMBER_(name, how, column, part, unknown) uint64_t name;
struct site_counters {
	SITE_COUNTERS(SITE_COUNTER_MEMBER_)
};

/* The counters as members of another struct: each by its name, all of them as `counters`. */
#define SITE_COUNTERS_MEMBERS                                                                      \
	union {                                                                                    \
		struct site_counters counters;                                                     \
		struct {                                                                           \
			SITE_COUNTERS(SITE_COUNTER_MEMBER_)                                        \
		};                                                                                 \
	}

#define SITE_COUNTER_ONE_(name, how, column, part, unknown) +1u
#define SITE_COUNTERS_COUNT (0u SITE_COUNTERS(SITE_COUNTER_ONE_))

/* Adds the counters of another site, or of a later part of the same one, to `sums`. */
static inline void site_counters_add(struct site_counters *sums, const struct site_counters *more)
{
	bool first = !sums->allocations, any = more->allocations != 0;
#define ADD_SUM(name) sums->name += more->name;
#define ADD_LIVE_BLOCKS ADD_SUM
#define ADD_LIVE_BYTES ADD_SUM
#define ADD_PEAK ADD_SUM
#define ADD_LEAST(name)                                                                            \
	if (any && (first || more->name < sums->name))                                             \
		sums->name = more->name;
#define ADD_MOST(name)                                                                             \
	if (more->name > sums->name)                                                               \
		sums->name = more->name;
#define ADD(name, how, column, part, unknown) ADD_##how(name)
	SITE_COUNTERS(ADD)
#undef ADD
#undef ADD_SUM
#undef ADD_LIVE_BLOCKS
#undef ADD_LIVE_BYTES
#undef ADD_PEAK
#undef ADD_LEAST
#undef ADD_MOST
}

/*
 * Parts of a recording. A counter that is LEAST or MOST says nothing of a part unless it is cleared
 * when the part begins (then LEAST is UINT64_MAX until there is a figure), and is put together
 * again with what it was when the part ends.
 */
void site_counters_clear_extremes(struct site_counters *counters);
void site_counters_join_extremes(
	struct site_counters *counters, const struct site_counters *before);

/* Returns what a part comes to: from the counters now, and when it began; LIVE_… may be less than
 * 0. */
struct site_counters site_counters_since(
	const struct site_counters *now, const struct site_counters *before);

/* Calls of a thread, or of all of them. */
#define CALL_COUNTER_MEMBERS_ uint64_t allocations, allocated_bytes, frees, temporary;
struct call_counters {
	CALL_COUNTER_MEMBERS_
};

/* The counters as members of another struct: each by its name, all of them as `calls`. */
#define CALL_COUNTERS_MEMBERS                                                                      \
	union {                                                                                    \
		struct call_counters calls;                                                        \
		struct {                                                                           \
			CALL_COUNTER_MEMBERS_                                                      \
		};                                                                                 \
	}

static inline void call_counters_add(struct call_counters *sums, const struct call_counters *more)
{
	sums->allocations += more->allocations;
	sums->allocated_bytes += more->allocated_bytes;
	sums->frees += more->frees;
	sums->temporary += more->temporary;
}

#endif
