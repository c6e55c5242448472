/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A source of events without a process: records that are there already, of one thread a lane, are
 * played into lanes of a thousand words, in batches of any length, as room comes. Its clock
 * stands still, after all of them. A lane is busy while it has more to come.
 */
#ifndef TESTS_PLAYED_SOURCE_H
#define TESTS_PLAYED_SOURCE_H

#include <stdlib.h>
#include <string.h>

#include "capture/recorder/event_source.h"
#include "lib/tap.h"
#include "unit/record_feed.h"

#define PLAYED_WORDS 1024u
#define PLAYED_BATCH 700u /* records; a lane does not always have room for them */

struct played_lane {
	uint64_t words[PLAYED_WORDS];
	uint64_t head, tail;
	uint32_t next; /* record */
	uint32_t batches;
};

struct played_source {
	struct event_source source;
	const struct feed *feed;
	struct clock_pair now;
	struct played_lane lanes[FEED_LANES];
	uint32_t lane_full; /* how often a batch did not fit */
	uint32_t notes;
	const struct event_module *module; /* number 1 */
	const char *names[FEED_LANES];     /* of the threads */
	struct event_report report;
};

static inline struct played_source *played_of(struct event_source *source)
{
	return (struct played_source *)source;
}

static inline void played_put(struct played_lane *lane, const uint64_t *words, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		lane->words[(lane->head + i) % PLAYED_WORDS] = words[i];
	lane->head += count;
}

/* One record more; false: no room. */
static inline bool played_next(struct played_lane *lane, const struct feed *feed, uint32_t number)
{
	uint32_t begin = lane->next ? feed->ends[number][lane->next - 1] : 0;
	uint64_t count = feed->ends[number][lane->next] - begin;
	uint64_t lap = PLAYED_WORDS - lane->head % PLAYED_WORDS, pad = count > lap ? lap : 0;
	if (lane->head + pad + count - lane->tail > PLAYED_WORDS)
		return false;
	if (pad) {
		lane->words[lane->head % PLAYED_WORDS] = HW_R_PAD;
		lane->head += pad;
	}
	played_put(lane, feed->words[number] + begin, count);
	lane->next++;
	return true;
}

static inline bool played_has_more(const struct played_source *p, uint32_t number)
{
	return p->lanes[number].next < p->feed->records[number];
}

static inline void played_lane_of(
	struct event_source *source, uint32_t lane, struct event_lane *ret)
{
	*ret = (struct event_lane){
		.words = played_of(source)->lanes[lane].words, .size = PLAYED_WORDS};
}

static inline uint64_t played_stamp(struct event_source *source)
{
	return played_of(source)->now.tsc;
}

static inline struct clock_pair played_clock(struct event_source *source)
{
	return played_of(source)->now;
}

static inline void played_pass_begin(struct event_source *source)
{
	struct played_source *p = played_of(source);
	for (uint32_t i = 0; i < FEED_LANES; i++) {
		struct played_lane *lane = &p->lanes[i];
		uint32_t batch = 1 + (lane->batches++ * 37 + i * 11) % PLAYED_BATCH;
		while (batch && played_has_more(p, i) && played_next(lane, p->feed, i))
			batch--;
		p->lane_full += batch && played_has_more(p, i);
	}
}

static inline bool played_look(struct event_source *source, uint32_t lane, struct event_look *ret)
{
	const struct played_source *p = played_of(source);
	*ret = (struct event_look){.busy = played_has_more(p, lane),
		.head = p->lanes[lane].head,
		.generation = 1,
		.tid = 100 + lane};
	return p->feed->records[lane] > 0;
}

static inline void played_taken(struct event_source *source, uint32_t lane, uint64_t tail)
{
	struct played_lane *played = &played_of(source)->lanes[lane];
	CHECK(tail >= played->tail && tail <= played->head);
	played->tail = tail;
}

static inline bool played_is_called(struct event_source *source)
{
	bool more = false;
	for (uint32_t i = 0; i < FEED_LANES; i++)
		more |= played_has_more(played_of(source), i);
	return more;
}

static inline bool played_thread_name(
	struct event_source *source, uint32_t tid, char ret[EVENT_THREAD_NAME_BYTES])
{
	const char *name = played_of(source)->names[tid - 100];
	memset(ret, 0, EVENT_THREAD_NAME_BYTES);
	if (name)
		memcpy(ret, name, strlen(name));
	return name != NULL;
}

static inline uint32_t played_module_count(struct event_source *source)
{
	return 1 + (played_of(source)->module != NULL);
}

static inline void played_module(
	struct event_source *source, uint32_t number, struct event_module *ret)
{
	CHECK(number == 1);
	*ret = *played_of(source)->module;
}

static inline void played_report(
	struct event_source *source, uint64_t duration_ns, struct event_report *ret)
{
	(void)duration_ns;
	*ret = played_of(source)->report;
}

/* feed, nodes: borrowed. now: after the last stamp. */
static inline void played_init(struct played_source *p, const struct feed *feed,
	const struct hw_node *nodes, uint32_t nodes_max, uint64_t hz, struct clock_pair now)
{
	static const struct event_source_ops ops = {.lane = played_lane_of,
		.stamp = played_stamp,
		.clock = played_clock,
		.pass_begin = played_pass_begin,
		.look = played_look,
		.taken = played_taken,
		.is_called = played_is_called,
		.thread_name = played_thread_name,
		.module_count = played_module_count,
		.module = played_module,
		.report = played_report};
	memset(p, 0, sizeof(*p));
	p->source = (struct event_source){.ops = &ops,
		.hz = hz,
		.lanes = FEED_LANES,
		.nodes = nodes,
		.nodes_max = nodes_max,
		.notes = &p->notes};
	p->feed = feed;
	p->now = now;
}

#endif
