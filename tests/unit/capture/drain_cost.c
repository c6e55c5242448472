/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * drain_cost [SHAPE [EVENTS [MODE]]]: what the recorder needs for an event, in nanoseconds of its
 * own processor time, from the words in a lane to the chunk in the file; MODE is exact or
 * aggregate. Nothing else runs meanwhile: lanes are filled before a pass and emptied by it. Not a
 * test: no figure is right or wrong.
 *
 * pairs: one thread; blocks are freed right after they were allocated, from 50 stacks.
 * churn: one thread; a few thousand blocks of which any may be the next to go, from 50 stacks.
 * stacks: the same from 200,000 stacks.
 * list: one thread; a million blocks, then they go in the order in which they came.
 * threads: 16 threads with stamps in turns of a few events, each as in `pairs`.
 * lists: four threads with stamps, each as in `list`.
 */
#include "capture/recorder/recorder.h"
#include "unit/record_feed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HZ 1000000000u
#define LANES_MAX 16u
#define LANE_WORDS (1u << 17)
#define STACKS_MAX 200000u
#define BLOCKS_MAX (1u << 20)
/* Of any of the shapes, so that no record has to be taken back: an event has at most three words.
 */
#define ROOM_LEAST 64u

struct shape {
	const char *name;
	uint32_t lanes, stacks, blocks;
	uint32_t window; /* of the blocks that may go next; 0: all go once all are there */
	bool stamped;
	uint32_t turn; /* events of a thread before another one's, about */
};

static const struct shape shapes[] = {
	{"pairs", 1, 50, 64, 1, false, 1000},
	{"churn", 1, 50, 4000, 4000, false, 1000},
	{"stacks", 1, STACKS_MAX, 4000, 4000, false, 1000},
	{"list", 1, 1, BLOCKS_MAX, 0, false, 1000},
	{"threads", 16, 50, 64, 1, true, 3},
	{"lists", 4, 1, BLOCKS_MAX / 4, 0, true, 3},
};

struct block {
	uint64_t address;
	bool live;
};

struct thread {
	uint64_t words[LANE_WORDS];
	uint64_t head, tail;
	struct block *blocks;
	uint32_t live, next;
	bool frees;
};

static struct {
	struct event_source source;
	const struct shape *shape;
	struct thread threads[LANES_MAX];
	struct hw_node nodes[STACKS_MAX + 1];
	uint32_t notes;
	uint64_t stamp;
} set;

static void need(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "drain_cost: %s\n", what);
	exit(1);
}

static void put(struct thread *t, uint64_t word)
{
	t->words[t->head++ % LANE_WORDS] = word;
}

static void put_event(struct thread *t, uint64_t first, uint64_t second)
{
	uint64_t lap = LANE_WORDS - t->head % LANE_WORDS;
	if (lap < 4) {
		put(t, HW_R_PAD);
		t->head += lap - 1;
	}
	put(t, first | (set.shape->stamped ? HW_R_STAMPED : 0));
	if (second)
		put(t, second);
	if (set.shape->stamped)
		put(t, set.stamp += 20);
}

static void put_alloc(struct thread *t, struct block *block)
{
	/* A few stacks are those of most calls. */
	uint64_t most = set.shape->stacks;
	uint64_t stack = 1 + (random_below(4) ? random_below(most) : random_below(most) % 8);
	uint64_t size = 16 + 8 * (stack % 3);
	put_event(t, (HW_R_ALLOC + HW_MALLOC) | block->address << 8, stack | size << 32);
	block->live = true;
	t->live++;
}

static void put_free(struct thread *t, struct block *block)
{
	put_event(t, (HW_R_FREE + HW_FREE) | block->address << 8, 0);
	block->live = false;
	t->live--;
}

/* Fills up, then empties again, in the same order. */
static void step_list(struct thread *t)
{
	struct block *block = &t->blocks[t->next++];
	if (t->frees)
		put_free(t, block);
	else
		put_alloc(t, block);
	if (t->next == set.shape->blocks) {
		t->next = 0;
		t->frees = !t->frees;
	}
}

/* One of the window: it goes if it is there, and comes if it is not. */
static void step_window(struct thread *t)
{
	struct block *block = &t->blocks[t->next];
	if (block->live)
		put_free(t, block);
	else
		put_alloc(t, block);
	if (!block->live || set.shape->window > 1)
		t->next = (uint32_t)random_below(set.shape->blocks);
}

static bool is_full(const struct thread *t)
{
	return LANE_WORDS - (t->head - t->tail) < ROOM_LEAST;
}

/* Until a lane is full, or there are so many events. */
static uint64_t fill(uint64_t most)
{
	uint64_t events = 0;
	while (events < most) {
		struct thread *t = &set.threads[random_below(set.shape->lanes)];
		for (uint64_t turn = 1 + random_below(2ull * set.shape->turn - 1); turn; turn--) {
			if (is_full(t))
				return events;
			if (set.shape->window)
				step_window(t);
			else
				step_list(t);
			events++;
		}
	}
	return events;
}

static void set_lane(struct event_source *source, uint32_t lane, struct event_lane *ret)
{
	(void)source;
	*ret = (struct event_lane){.words = set.threads[lane].words, .size = LANE_WORDS};
}

static uint64_t set_stamp(struct event_source *source)
{
	(void)source;
	return set.stamp + HZ;
}

static struct clock_pair set_clock(struct event_source *source)
{
	(void)source;
	return (struct clock_pair){set.stamp + HZ, set.stamp + HZ};
}

static bool set_look(struct event_source *source, uint32_t lane, struct event_look *ret)
{
	(void)source;
	*ret = (struct event_look){
		.head = set.threads[lane].head, .generation = 1, .tid = 100 + lane};
	return true;
}

static void set_taken(struct event_source *source, uint32_t lane, uint64_t tail)
{
	(void)source;
	set.threads[lane].tail = tail;
}

static uint32_t set_module_count(struct event_source *source)
{
	(void)source;
	return 1;
}

static const struct event_source_ops set_ops = {.lane = set_lane,
	.stamp = set_stamp,
	.clock = set_clock,
	.look = set_look,
	.taken = set_taken,
	.module_count = set_module_count};

/* Blocks of the threads are apart; neighbours are 32 bytes from each other. */
static void set_begin(const struct shape *shape)
{
	memset(&set, 0, sizeof(set));
	random_state = 1;
	set.shape = shape;
	set.stamp = HZ;
	set.source = (struct event_source){.ops = &set_ops,
		.hz = HZ,
		.lanes = shape->lanes,
		.unused_most = LANES_MAX,
		.nodes = set.nodes,
		.nodes_max = STACKS_MAX + 1,
		.notes = &set.notes};
	for (uint32_t i = 1; i <= STACKS_MAX; i++)
		set.nodes[i].frame = 0x1000 + i;
	for (uint32_t lane = 0; lane < shape->lanes; lane++) {
		struct thread *t = &set.threads[lane];
		t->blocks = calloc(shape->blocks, sizeof(*t->blocks));
		need(t->blocks, "no memory");
		for (uint64_t i = 0; i < shape->blocks; i++)
			t->blocks[i].address = 0x7f0000000010 + ((uint64_t)lane << 26) + 32 * i;
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * HZ + (uint64_t)now.tv_nsec;
}

static void measure(const struct shape *shape, uint64_t most, enum mode_kind mode)
{
	set_begin(shape);
	const struct recorder_start start = {.pid = INT32_MAX,
		.target_pid = INT32_MAX,
		.tsc_hz = HZ,
		.source = &set.source,
		.mode = {.kind = mode},
		.began = {set.stamp, set.stamp},
		.file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600),
		.file_name = "drained"};
	struct recorder *r;
	need(!recorder_create(&start, &r), "can't record");
	uint64_t events = 0, ns = 0;
	while (events < most) {
		events += fill(most - events);
		uint64_t began = now_ns();
		recorder_drain(r);
		ns += now_ns() - began;
	}
	uint64_t file = r->writer.offset;
	need(r->merge.events == events, "events are left");
	need(!r->tally.repairs && !r->tally.unknown_frees && !r->merge.damaged, "events are wrong");
	printf("%-8s %-9s %6.1f ns an event, %5.2f bytes\n", shape->name,
		mode == MODE_AGGREGATE ? "aggregate" : "exact", (double)ns / (double)events,
		(double)file / (double)events);
	recorder_destroy(r);
	for (uint32_t lane = 0; lane < shape->lanes; lane++)
		free(set.threads[lane].blocks);
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 2 ? strtoull(argv[2], NULL, 10) : 8000000;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		if (argc > 1 && strcmp(argv[1], shapes[i].name) != 0 && strcmp(argv[1], "all") != 0)
			continue;
		if (argc < 4 || !strcmp(argv[3], "exact"))
			measure(&shapes[i], events, MODE_EXACT);
		if (argc < 4 || !strcmp(argv[3], "aggregate"))
			measure(&shapes[i], events, MODE_AGGREGATE);
	}
	return 0;
}
