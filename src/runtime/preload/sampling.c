/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see sampling.h. May touch: the same. */
#include "runtime/preload/sampling.h"

#include "runtime/core/probe.h"
#include "runtime/preload/frees.h"
#include "runtime/preload/memory.h"

uint32_t rt_mode;
uint64_t rt_filter[RT_FILTER_WORDS];

static const uint32_t no_changes;
const uint32_t *rt_changes = &no_changes;
/* Of the process's shared memory, or its parent's: see rt_sampling_prepare(). */
static const struct hw_shm *kept_head;

static uint64_t mean_bytes, seed, seeds_given;
static uint32_t mean_changes; /* the number of changes that mean_bytes is of */
bool rt_without_heap;

/*
 * The probes of OpenTelemetry's design for memory profiles
 * (opentelemetry-ebpf-profiler/design-docs/00003-memory-profiling): alloc(address, bytes, bytes
 * that they stand for) after a block was sampled, free(address) before it is given back. They are
 * of sampled recordings alone: events of an exact one are far too many for a tracer, and its usual
 * path (rt_event_alloc) has no branch that they could share. A realloc is a free and, if its new
 * block is sampled, an allocation; of one that fails the block was told to be free.
 */
RT_PROBE_DEFINE(otel_memory, alloc);
RT_PROBE_DEFINE(otel_memory, free);

/* What the mode is now, as the shared memory says, after so many changes. */
static void read_mode(const struct rt_process *p, uint32_t changes)
{
	uint64_t mean = __atomic_load_n(&p->shm->sample_bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&mean_bytes, mean, __ATOMIC_RELAXED);
	__atomic_store_n(&mean_changes, changes, __ATOMIC_RELAXED);
	__atomic_store_n(
		&seed, __atomic_load_n(&p->shm->sample_seed, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	__atomic_store_n(&seeds_given, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&rt_mode, mean ? RT_MODE_SAMPLE : RT_MODE_EXACT, __ATOMIC_RELAXED);
}

/* The thread's distance to its next sample is drawn anew. */
static void forget_distance(struct rt_here *here)
{
	here->until = here->random = 0;
}

void rt_sampling_prepare(struct rt_process *p, const struct hw_shm *head)
{
	struct rt_here *here = &rt_here;
	/* A child's first thread has its parent's distance, which goes on if the mean is the same:
	 * another one, drawn when this one has come to its end, would pass over a sample. */
	if (here->changes != mean_changes || mean_bytes != p->shm->sample_bytes)
		forget_distance(here);
	here->changes = p->mode_changes = 0;
	kept_head = head;
	__atomic_store_n(&rt_changes, &head->mode_changes, __ATOMIC_RELEASE);
	rt_without_heap = p->shm->mappings == HW_MAPPINGS_ONLY || p->shm->errors_only;
	if (rt_without_heap) {
		__atomic_store_n(&rt_mode, RT_MODE_SAMPLE, __ATOMIC_RELAXED);
		return;
	}
	if (p->shm->sample_bytes)
		rt_sampler_prepare(&p->sampler, rt_filter, rt_memory_places());
	read_mode(p, 0);
}

/*
 * The first thread that sees a change: from here on all that any thread decides is decided by the
 * new mode. Samples of a sampled mode before stay in the table: their frees are recorded, of blocks
 * that are not known. A recorder that stops and starts goes on in other words: rt_stopped().
 */
static void change_mode(struct rt_process *p, uint32_t changes)
{
	if (!p->shm->sample_bytes) {
		rt_frees_prepare(false);
	} else if (__atomic_load_n(&rt_mode, __ATOMIC_RELAXED) != RT_MODE_SAMPLE) {
		rt_frees_end();
		if (!p->sampler.places)
			rt_sampler_prepare(&p->sampler, rt_filter, rt_memory_places());
		rt_sampler_clear(&p->sampler);
	}
	__atomic_store_n(&p->shm->longest_wait_ns, 0, __ATOMIC_RELAXED);
	read_mode(p, changes);
}

/* False: this thread is doing it already, below a handler, or the lock can't be had. */
static bool follow_change(struct rt_process *p, uint32_t changes)
{
	if (__atomic_load_n(&p->mode_changes, __ATOMIC_ACQUIRE) >= changes)
		return true;
	if (!rt_lock_try(&p->sampler.lock))
		return false;
	if (p->mode_changes < changes) {
		change_mode(p, changes);
		__atomic_store_n(&p->mode_changes, changes, __ATOMIC_RELEASE);
	}
	rt_unlock(&p->sampler.lock);
	return true;
}

bool rt_sampling(void)
{
	if (rt_unlikely(rt_mode == RT_MODE_UNKNOWN))
		rt_thread_start();
	return rt_mode == RT_MODE_SAMPLE;
}

/*
 * Blocks that were allocated while the recording was stopped: their frees need no event. Those that
 * others have pushed out get one, which the collector ignores. An entry is an address and, in its
 * low bits, the number of the stop, so that one of an earlier stop is none.
 */
#define PASSED_PLACES (1u << 15)
#define STOP_BITS 15u
static uint64_t passed_blocks[PASSED_PLACES];
static uint32_t stops;

static uint64_t *passed_place(uint64_t address)
{
	return &passed_blocks[((address >> 4) ^ (address >> 19)) % PASSED_PLACES];
}

static uint64_t passed_entry(uint64_t address)
{
	return (address & ~(uint64_t)STOP_BITS) |
	       (__atomic_load_n(&stops, __ATOMIC_RELAXED) & STOP_BITS);
}

static void note_passed(uint64_t address)
{
	if (!(address & STOP_BITS)) /* as all blocks of 16 bytes and more */
		__atomic_store_n(passed_place(address), passed_entry(address), __ATOMIC_RELAXED);
}

/* Returns whether the block was one, and removes it. */
static bool take_passed(uint64_t address)
{
	uint64_t entry = passed_entry(address), *place = passed_place(address);
	return !(address & STOP_BITS) && __atomic_load_n(place, __ATOMIC_RELAXED) == entry &&
	       __atomic_compare_exchange_n(
		       place, &entry, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void rt_stop_begin(void)
{
	uint32_t mode = RT_MODE_EXACT;
	if (__atomic_load_n(&rt_mode, __ATOMIC_RELAXED) != mode)
		return;
	/* First: an entry of an earlier stop must not be one of this. */
	if (!(__atomic_add_fetch(&stops, 1, __ATOMIC_SEQ_CST) & STOP_BITS)) {
		for (unsigned i = 0; i < PASSED_PLACES; i++)
			__atomic_store_n(&passed_blocks[i], 0, __ATOMIC_RELAXED);
	}
	__atomic_compare_exchange_n(
		&rt_mode, &mode, RT_MODE_STOPPED, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Asks the page that forked children keep: a handler may fork between the two looks. */
static bool is_stopped_now(void)
{
	return rt_process_is_recording(rt_process) &&
	       __atomic_load_n(&kept_head->stopped, __ATOMIC_RELAXED);
}

/* A forked child goes on when its own recording says so. */
bool rt_stopped(void)
{
	if (rt_mode != RT_MODE_STOPPED)
		return false;
	if (is_stopped_now())
		return true;
	uint32_t stopped = RT_MODE_STOPPED;
	__atomic_compare_exchange_n(
		&rt_mode, &stopped, RT_MODE_EXACT, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return false;
}

static void draw_distance(struct rt_here *here)
{
	/* 0: the mode has just become an exact one, and what is decided here counts for nothing. */
	uint64_t mean = __atomic_load_n(&mean_bytes, __ATOMIC_RELAXED);
	here->until = mean ? rt_sampler_gap(&here->random, mean) : 0;
}

__attribute__((noinline)) uint32_t rt_mode_adopt(bool begins)
{
	struct rt_here *here = &rt_here;
	if (begins && !here->busy && !rt_process_is_recording(rt_process))
		rt_thread_start();
	if (!rt_process_is_recording(rt_process))
		return here->changes;
	uint32_t now = __atomic_load_n(rt_changes, __ATOMIC_ACQUIRE);
	if (now == here->changes)
		return now;
	bool ours = rt_as_event_begin((uint64_t)__builtin_frame_address(0)),
	     followed = rt_process_is_recording(rt_process) && follow_change(rt_process, now);
	if (!rt_as_event_end(ours) || !followed)
		return here->changes;
	forget_distance(here);
	if (here->thread->ring) { /* perhaps in the middle of an event, if this is a handler's */
		here->thread->has_changed = true;
		here->thread->limit = here->thread->head;
	}
	here->changes = now;
	return now;
}

static bool add_sample(struct rt_here *here, const void *block)
{
	if (!here->thread->ring && !rt_thread_start())
		return false;
	struct rt_process *p = rt_process;
	if (rt_sampler_add(&p->sampler, (uint64_t)block) == RT_SAMPLER_YES)
		return true;
	rt_ring_count_lost(p->shm, HW_LOST_SAMPLER);
	return false;
}

bool rt_sampling_records(const void *block, size_t size)
{
	if (rt_unlikely(rt_stopped())) {
		note_passed((uint64_t)block);
		return false;
	}
	if (!rt_sampling())
		return true;
	struct rt_here *here = &rt_here;
	if (rt_unlikely(rt_without_heap)) {
		here->until = UINT64_MAX;
		return false;
	}
	if (!here->random) {
		here->random = rt_sampler_seed(
			seed, __atomic_fetch_add(&seeds_given, 1, __ATOMIC_RELAXED));
		draw_distance(here);
	}
	if (rt_passes(size))
		return false;
	draw_distance(here);
	/* Samples come seldom: no need to remember it. */
	if (is_stopped_now())
		return false;
	if (!block)
		return true;
	bool ours = rt_as_event_begin((uint64_t)__builtin_frame_address(0)),
	     added = add_sample(here, block);
	if (!rt_as_event_end(ours) || !added)
		return false;
	if (rt_probe_on(otel_memory, alloc))
		rt_probe_3(otel_memory, alloc, (uint64_t)block & ~RT_POOL_BLOCK, size,
			rt_sampler_weight(size, __atomic_load_n(&mean_bytes, __ATOMIC_RELAXED)));
	return true;
}

static bool take_sample(const void *block)
{
	struct rt_process *p = rt_process;
	if (!rt_process_is_recording(p))
		return false;
	enum rt_sampler_answer answer = rt_sampler_take(&p->sampler, (uint64_t)block);
	if (answer == RT_SAMPLER_BUSY)
		rt_ring_count_lost(p->shm, HW_LOST_SAMPLER);
	return answer == RT_SAMPLER_YES;
}

bool rt_sampling_records_free(const void *block)
{
	if (rt_mode == RT_MODE_STOPPED)
		return !take_passed((uint64_t)block);
	if (!rt_sampling())
		return true;
	if (rt_unlikely(rt_without_heap))
		return false;
	bool ours = rt_as_event_begin((uint64_t)__builtin_frame_address(0)),
	     taken = take_sample(block);
	if (!rt_as_event_end(ours) || !taken)
		return false;
	if (rt_probe_on(otel_memory, free))
		rt_probe_1(otel_memory, free, (uint64_t)block & ~RT_POOL_BLOCK);
	return true;
}

void rt_sampling_goes_on(const void *block)
{
	struct rt_here *here = &rt_here;
	if (rt_mode != RT_MODE_SAMPLE)
		return;
	bool ours = rt_as_event_begin((uint64_t)__builtin_frame_address(0));
	add_sample(here, block);
	rt_as_event_end(ours);
}
