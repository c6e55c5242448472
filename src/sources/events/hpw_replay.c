/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/hpw_replay.h"

#include "sources/recording/hpw_marks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/kinds.h"

/* Live blocks of a replay: a file can say a lot of them in few bytes, but not without bound. */
#define BLOCKS_FIXED (1ull << 22)
#define BLOCKS_PER_BYTE 256u
#define BLOCKS_MAX (1ull << 27)

uint64_t hpw_replay_blocks_max(uint64_t file_bytes)
{
	return file_bytes < BLOCKS_MAX / BLOCKS_PER_BYTE
		       ? BLOCKS_FIXED + file_bytes * BLOCKS_PER_BYTE
		       : BLOCKS_MAX;
}

struct error *hpw_replay_init(
	struct hpw_replay *replay, const struct model *model, uint64_t blocks_max)
{
	*replay = (struct hpw_replay){
		.model = model, .blocks_max = blocks_max, .to_step = UINT64_MAX};
	hpw_tally_thread_vec_init(&replay->threads);
	hpw_size_map_init(&replay->sizes);
	hpw_blocks_init(&replay->blocks);
	model_sites(model, &replay->sites_len);
	struct error *error = hpw_estimate_init(
		&replay->estimate, model_recording(model)->sample_bytes, replay->sites_len);
	if (error)
		return error;
	replay->sites = calloc(replay->sites_len + 1, sizeof(*replay->sites));
	replay->sizes_small = calloc(HPW_SIZES_SMALL, sizeof(*replay->sizes_small));
	return replay->sites && replay->sizes_small ? NULL : error_no_memory();
}

void hpw_replay_deinit(struct hpw_replay *replay)
{
	free(replay->sites);
	free(replay->sizes_small);
	hpw_estimate_deinit(&replay->estimate);
	hpw_tally_thread_vec_deinit(&replay->threads);
	hpw_size_map_deinit(&replay->sizes);
	hpw_blocks_deinit(&replay->blocks);
	replay->sites = NULL;
	replay->sizes_small = NULL;
}

/* A site that no chunk named shares the last place with all others of that sort. */
static inline size_t site_place(const struct hpw_replay *replay, uint32_t site)
{
	return site < replay->sites_len ? site : replay->sites_len;
}

static inline void catch_up(const struct hpw_replay *replay, struct hpw_tally_site *site)
{
	if (site->seen == replay->heap.epoch)
		return;
	account_catch_up(&replay->heap, &site->counters, site->seen);
	site->seen = replay->heap.epoch;
}

void hpw_replay_settle_peak(struct hpw_replay *replay)
{
	for (size_t i = 0; i <= replay->sites_len; i++)
		catch_up(replay, &replay->sites[i]);
}

void hpw_replay_older_freed(struct hpw_replay *replay, struct hpw_tally_site *site, uint64_t size)
{
	site->older_blocks--;
	site->older_bytes -= size;
	replay->older_blocks--;
	replay->older_bytes -= size;
}

struct error *hpw_replay_count_size(struct hpw_replay *replay, uint64_t size, uint64_t allocations)
{
	if (size < HPW_SIZES_SMALL) {
		replay->sizes_small[size] += allocations;
		return NULL;
	}
	uint64_t *count = hpw_size_map_insert(&replay->sizes, size ^ replay->blocks.seed, NULL);
	if (!count)
		return error_no_memory();
	*count += allocations;
	return NULL;
}

static void count_alloc(
	struct hpw_replay *replay, struct hpw_tally_thread *thread, const struct hpw_step *step)
{
	size_t place = site_place(replay, step->site);
	struct hpw_tally_site *site = &replay->sites[place];
	if (place >= replay->sites_end)
		replay->sites_end = place + 1;
	catch_up(replay, site);
	thread->fresh = false;
	replay->calls.allocations++;
	replay->calls.allocated_bytes += step->size;
	if (account_alloc(&replay->heap, &site->counters, &thread->calls, step->size, false)) {
		replay->peak_stamp = replay->stamp;
		replay->peak_step = replay->step + 1;
		replay->peak_allocated = replay->calls.allocated_bytes;
		replay->peak_padding = replay->heap.live_padding;
	}
}

static bool is_sampled(const struct hpw_replay *replay)
{
	return replay->estimate.mean_bytes > 0;
}

static void estimate_alloc(
	struct hpw_replay *replay, struct hpw_tally_thread *thread, const struct hpw_step *step)
{
	struct hpw_estimate *estimate = &replay->estimate;
	double weight = hpw_estimate_weight(estimate, step->size);
	thread->estimated += weight;
	thread->estimated_bytes += weight * (double)step->size;
	const struct hpw_estimate_block block = {
		.place = site_place(replay, step->site),
		.size = step->size,
		.identity = hpw_block_key(step->thread, step->number),
		.in_range = true,
	};
	hpw_estimate_alloc(
		estimate, &block, (struct hpw_estimate_moment){replay->step + 1, replay->stamp});
}

static void estimate_free(struct hpw_replay *replay, struct hpw_tally_thread *thread,
	const struct hpw_block *block, bool in_range)
{
	thread->estimated_frees += hpw_estimate_weight(&replay->estimate, block->size);
	const struct hpw_estimate_block freed = {
		.place = site_place(replay, block->site),
		.size = block->size,
		.identity = block->key,
		.in_range = in_range,
	};
	hpw_estimate_free(&replay->estimate, &freed);
}

/* Whether an allocation there can be the second half of a realloc, which is one call. */
static bool is_realloc(const struct hpw_replay *replay, uint32_t site)
{
	size_t count;
	if (site >= replay->sites_len)
		return true;
	enum alloc_kind kind = model_sites(replay->model, &count)[site].kind;
	return kind == KIND_REALLOC || kind == KIND_UNKNOWN;
}

static struct error *on_alloc(
	struct hpw_replay *replay, struct hpw_tally_thread *thread, const struct hpw_step *step)
{
	if (step->number >= HPW_BLOCK_NUMBERS - 1)
		return error_create(ERROR_INPUT, "invalid block number");
	uint64_t allocation = replay->allocation++;
	if (replay->choice && !hpw_block_filter_has(replay->choice, allocation, step)) {
		thread->next = step->number + 1;
		thread->in_realloc = thread->fresh = false;
		return NULL;
	}
	if (replay->blocks.len >= replay->blocks_max)
		return error_create(ERROR_INPUT,
			"more than %" PRIu64 " blocks are live, too many for a file of this size",
			replay->blocks_max);
	if (!hpw_blocks_add(&replay->blocks, hpw_block_key(step->thread, step->number), step->size,
		    step->site))
		return error_no_memory();
	replay->events += !(thread->in_realloc && is_realloc(replay, step->site));
	thread->in_realloc = false;
	thread->next = step->number + 1;
	count_alloc(replay, thread, step);
	if (is_sampled(replay))
		estimate_alloc(replay, thread, step);
	return hpw_replay_count_size(replay, step->size, 1);
}

/* free, and realloc's half of it, suit what malloc and its like gave. */
static enum hw_free_kind matching_free(enum alloc_kind kind)
{
	switch (kind) {
	case KIND_NEW:
	case KIND_NEW_NOTHROW:
	case KIND_NEW_ALIGNED:
	case KIND_NEW_ALIGNED_NOTHROW:
		return HW_DELETE;
	case KIND_NEW_ARRAY:
	case KIND_NEW_ARRAY_NOTHROW:
	case KIND_NEW_ARRAY_ALIGNED:
	case KIND_NEW_ARRAY_ALIGNED_NOTHROW:
		return HW_DELETE_ARRAY;
	default:
		return HW_FREE;
	}
}

static bool is_mismatch(const struct hpw_replay *replay, uint32_t site, uint8_t free_kind)
{
	if (free_kind == HPW_FREE_MATCHING || site >= replay->sites_len)
		return false;
	size_t count;
	enum alloc_kind kind = model_sites(replay->model, &count)[site].kind;
	if (kind == KIND_UNKNOWN)
		return false;
	uint8_t done = hw_free_is_realloc(free_kind) ? HW_FREE : free_kind;
	return done != matching_free(kind);
}

static bool hpw_replay_take_block(
	struct hpw_replay *replay, const struct hpw_step *step, struct hpw_block *ret)
{
	return step->known && step->owner < HPW_BLOCK_THREADS &&
	       step->number < HPW_BLOCK_NUMBERS - 1 &&
	       hpw_blocks_take(&replay->blocks, hpw_block_key(step->owner, step->number), ret);
}

/* Of a block of the thread's own, by the number of allocations since. */
static bool is_temporary(const struct hpw_replay *replay, const struct hpw_tally_thread *thread,
	const struct hpw_step *step)
{
	uint64_t within = replay->choice ? replay->choice->wanted->temporary_within : 0;
	if (within <= 1)
		return step->number + 1 == thread->next && !thread->fresh && !step->lasting;
	return step->number >= thread->first && thread->next - step->number <= within;
}

static struct error *on_free(
	struct hpw_replay *replay, struct hpw_tally_thread *thread, const struct hpw_step *step)
{
	struct hpw_block block;
	bool found = hpw_replay_take_block(replay, step, &block);
	thread->in_realloc = step->free_kind == HW_FREE_REALLOC;
	if (!found && replay->choice && !source_blocks_are_all(replay->choice->wanted))
		return NULL;
	replay->events++;
	replay->calls.frees++;
	if (!found) {
		account_unknown_free(&thread->calls);
		replay->unknown_frees++;
		return NULL;
	}
	struct hpw_tally_site *site = &replay->sites[site_place(replay, block.site)];
	bool in_range = step->number >= replay->threads.data[step->owner].from;
	const struct account_free freed = {.size = block.size,
		.temporary = !hw_free_is_realloc(step->free_kind) && step->owner == step->thread &&
			     is_temporary(replay, thread, step),
		.same_frame = step->same_frame};
	catch_up(replay, site);
	account_free(&replay->heap, &site->counters, &thread->calls, &freed);
	replay->calls.temporary += freed.temporary;
	if (!in_range)
		hpw_replay_older_freed(replay, site, block.size);
	if (is_sampled(replay))
		estimate_free(replay, thread, &block, in_range);
	replay->mismatched += is_mismatch(replay, block.site, step->free_kind);
	return NULL;
}

static bool is_until(const struct hpw_replay *replay, const struct hpw_step *step)
{
	return replay->until && strlen(replay->until) == step->size &&
	       !memcmp(replay->until, step->bytes, (size_t)step->size);
}

/* The range begins: what counts calls starts anew, what is live stays, and is the first peak. */
static void begin_range(struct hpw_replay *replay)
{
	replay->begun = true;
	if (!replay->from_step)
		return;
	replay->before_bytes = replay->calls.allocated_bytes;
	replay->calls = (struct call_counters){0};
	account_begin_anew(&replay->heap);
	replay->older_blocks = replay->heap.live_blocks;
	replay->older_bytes = replay->heap.live_bytes;
	replay->peak_stamp = replay->stamp;
	replay->peak_step = replay->from_step;
	replay->peak_padding = replay->heap.live_padding;
	replay->peak_allocated = 0;
	for (size_t i = 0; i <= replay->sites_len; i++) {
		struct hpw_tally_site *site = &replay->sites[i];
		*site = (struct hpw_tally_site){
			.live_blocks = site->live_blocks,
			.live_bytes = site->live_bytes,
			.older_blocks = site->live_blocks,
			.older_bytes = site->live_bytes,
		};
	}
	for (size_t i = 0; i < replay->threads.len; i++) {
		struct hpw_tally_thread *thread = &replay->threads.data[i];
		thread->from = thread->next;
		thread->calls = (struct call_counters){0};
		thread->estimated = thread->estimated_bytes = thread->estimated_frees = 0;
	}
	memset(replay->sizes_small, 0, HPW_SIZES_SMALL * sizeof(*replay->sizes_small));
	hpw_size_map_deinit(&replay->sizes);
	hpw_size_map_init(&replay->sizes);
	replay->events = replay->lost = replay->unknown_frees = replay->mismatched = 0;
	if (is_sampled(replay))
		hpw_estimate_begin_range(&replay->estimate,
			(struct hpw_estimate_moment){replay->from_step, replay->stamp});
}

static struct error *do_step(struct hpw_replay *replay, const struct hpw_step *step);

static struct error *hpw_replay_on_step(void *context, const struct hpw_step *step)
{
	struct hpw_replay *replay = context;
	if (__builtin_expect(!replay->begun, 0) && replay->step >= replay->from_step)
		begin_range(replay);
	replay->reached = replay->reached || replay->step >= replay->to_step;
	if (__builtin_expect(replay->step >= replay->watch_step, 0) && replay->watch)
		replay->watch(replay->watch_context, replay);
	struct error *error = replay->reached ? NULL : do_step(replay, step);
	replay->step++;
	return error;
}

/* A call that failed has no life. */
static bool has_failed_call(const struct hpw_block_filter *choice, const struct hpw_step *step)
{
	return !choice->bits && hpw_block_filter_has(choice, 0, step);
}

static void on_failed(struct hpw_replay *replay, const struct hpw_step *step)
{
	size_t place = site_place(replay, step->site);
	struct hpw_tally_site *site = &replay->sites[place];
	replay->events++;
	catch_up(replay, site);
	account_failed(&replay->heap, &site->counters, step->size);
	if (is_sampled(replay))
		hpw_estimate_failed(&replay->estimate, place, step->size);
}

static struct error *do_step(struct hpw_replay *replay, const struct hpw_step *step)
{
	struct hpw_tally_thread *thread = &replay->threads.data[step->thread];
	if (!thread->seen) {
		thread->seen = true;
		thread->first_stamp = replay->stamp;
	}
	thread->last_stamp = replay->done_stamp = replay->stamp;
	switch (step->kind) {
	case HPW_STEP_ALLOC:
		return on_alloc(replay, thread, step);
	case HPW_STEP_FREE:
		return on_free(replay, thread, step);
	case HPW_STEP_FAILED:
		thread->in_realloc = false;
		if (!replay->choice || has_failed_call(replay->choice, step))
			on_failed(replay, step);
		return NULL;
	case HPW_STEP_THREAD_END:
		thread->ended = true;
		return NULL;
	case HPW_STEP_LOST:
		replay->lost += step->size;
		return NULL;
	case HPW_STEP_MARK:
		replay->reached = is_until(replay, step);
		replay->marks += hpw_mark_is_users((const char *)step->bytes, (size_t)step->size);
		return replay->on_mark ? replay->on_mark(replay->watch_context, replay,
						 (const char *)step->bytes, (size_t)step->size)
				       : NULL;
	case HPW_STEP_THREAD_START:
		thread->others += thread->ended;
		thread->ended = false;
		thread->fresh = true;
		thread->first = thread->next;
		return NULL;
	}
	return NULL;
}

static struct error *on_slot(void *context, const struct hpw_slot_head *slot)
{
	struct hpw_replay *replay = context;
	if (slot->thread >= HPW_BLOCK_THREADS)
		return error_create(
			ERROR_INPUT, "thread %" PRIu32 " is out of range", slot->thread);
	while (replay->threads.len <= slot->thread)
		if (!hpw_tally_thread_vec_push(&replay->threads, (struct hpw_tally_thread){0}))
			return error_no_memory();
	replay->threads.data[slot->thread].next = slot->allocations;
	return NULL;
}

static struct error *hpw_replay_on_head(void *context, const struct hpw_events_head *head)
{
	struct hpw_replay *replay = context;
	if (head->first_step < replay->next_step)
		return error_create(ERROR_INPUT, "its steps from %" PRIu64 " on were there before",
			head->first_step);
	replay->missing = head->first_step - replay->next_step;
	replay->next_step = head->first_step + head->steps;
	replay->step = head->first_step;
	if (head->closed_tsc && head->closed_ns) {
		int which = replay->pair_tsc[0] != 0;
		replay->pair_tsc[which] = head->closed_tsc;
		replay->pair_ns[which] = head->closed_ns;
	}
	return NULL;
}

static void hpw_replay_on_time(void *context, uint64_t stamp)
{
	struct hpw_replay *replay = context;
	if (replay->watch_time && stamp > replay->stamp)
		replay->watch_time(replay->watch_context, replay, stamp);
	replay->stamp = stamp;
}

struct hpw_visitor hpw_replay_visitor(struct hpw_replay *replay)
{
	return (struct hpw_visitor){
		.context = replay,
		.head = hpw_replay_on_head,
		.slot = on_slot,
		.time = hpw_replay_on_time,
		.step = hpw_replay_on_step,
	};
}

struct error *hpw_replay_chunk(
	struct hpw_replay *replay, const struct hpw_payload *payload, uint64_t *ret_missing)
{
	const struct hpw_visitor visitor = hpw_replay_visitor(replay);
	replay->missing = 0;
	struct error *error = hpw_events_decode(payload, &visitor);
	*ret_missing = replay->missing;
	return error;
}

/* What was counted makes place for what it stands for. What has no weight is not known. */
static void settle_estimates(struct hpw_replay *replay)
{
	hpw_estimate_settle(&replay->estimate);
	struct hpw_estimate_moment peak = hpw_estimate_peak_moment(&replay->estimate);
	replay->peak_step = peak.step;
	replay->peak_stamp = peak.stamp;
	replay->unknown_frees = replay->mismatched = 0;
	hpw_estimate_put_totals(&replay->estimate, &replay->totals);
	for (size_t i = 0; i < replay->threads.len; i++) {
		struct hpw_tally_thread *thread = &replay->threads.data[i];
		thread->allocations = hpw_estimate_whole(thread->estimated);
		thread->allocated_bytes = hpw_estimate_whole(thread->estimated_bytes);
		thread->frees = hpw_estimate_whole(thread->estimated_frees);
		thread->temporary = 0;
	}
}

void hpw_replay_settle(struct hpw_replay *replay)
{
	if (!replay->begun)
		begin_range(replay);
	hpw_replay_settle_peak(replay);
	const struct heap_counters *heap = &replay->heap;
	replay->totals = (struct totals){.allocations = replay->calls.allocations,
		.allocated_bytes = replay->calls.allocated_bytes,
		.frees = replay->calls.frees,
		.failed = heap->failed,
		.live_blocks = heap->live_blocks,
		.live_bytes = heap->live_bytes,
		.kept_blocks = heap->live_blocks - replay->older_blocks,
		.kept_bytes = heap->live_bytes - replay->older_bytes,
		.temporary = replay->calls.temporary,
		.peak_blocks = heap->peak_blocks,
		.peak_bytes = heap->peak_bytes,
		.threads = replay->threads.len};
	for (size_t i = 0; i < replay->threads.len; i++)
		replay->totals.threads += replay->threads.data[i].others;
	if (is_sampled(replay))
		settle_estimates(replay);
}

static void put_site(const struct hpw_tally_site *tally, struct site *site)
{
	site->counters = tally->counters;
	site->kept_blocks = tally->live_blocks - tally->older_blocks;
	site->kept_bytes = tally->live_bytes - tally->older_bytes;
}

struct error *hpw_replay_put_sites(const struct hpw_replay *replay, struct model *model)
{
	const struct hpw_tally_site *no_site = &replay->sites[replay->sites_len];
	size_t count = replay->sites_len;
	build_recording(model)->unknown |= replay->unknown;
	if (no_site->allocations || no_site->failed) {
		struct error *error = build_site(model, (struct site_id){(uint32_t)count},
			(struct stack_id){0}, KIND_UNKNOWN);
		if (error)
			return error;
		count++;
	}
	for (size_t i = 0; i < count; i++) {
		struct site *site = build_site_at(model, (struct site_id){(uint32_t)i});
		put_site(&replay->sites[i], site);
		if (replay->from_step)
			site->same_frame = 0; /* some of these blocks came earlier */
		if (is_sampled(replay))
			hpw_estimate_put_site(&replay->estimate, i, site);
	}
	return NULL;
}

static int hpw_replay_compare_sizes(const void *a, const void *b)
{
	uint64_t x = ((const struct size_count *)a)->size, y = ((const struct size_count *)b)->size;
	return (x > y) - (x < y);
}

/* This many allocations of that size were seen, or are estimated. so_far: hpw_estimate_next(). */
static struct error *put_size(const struct hpw_replay *replay, struct model *model, uint64_t size,
	uint64_t count, double *so_far)
{
	if (is_sampled(replay))
		count = hpw_estimate_next(
			so_far, (double)count * hpw_estimate_weight(&replay->estimate, size));
	return build_size(model, size, count);
}

struct error *hpw_replay_put_sizes(const struct hpw_replay *replay, struct model *model)
{
	struct error *error = NULL;
	double so_far = 0;
	for (size_t i = 0; !error && i < HPW_SIZES_SMALL; i++)
		if (replay->sizes_small[i])
			error = put_size(replay, model, i, replay->sizes_small[i], &so_far);
	if (error || !replay->sizes.len)
		return error;
	_cleanup_free_ struct size_count *large = malloc(replay->sizes.len * sizeof(*large));
	if (!large)
		return error_no_memory();
	size_t len = 0;
	uint32_t index = 0;
	const uint64_t *key, *count;
	while ((count = hpw_size_map_next(&replay->sizes, &index, &key)))
		large[len++] = (struct size_count){*key ^ replay->blocks.seed, *count};
	qsort(large, len, sizeof(*large), hpw_replay_compare_sizes);
	for (size_t i = 0; !error && i < len; i++)
		error = put_size(replay, model, large[i].size, large[i].allocations, &so_far);
	return error;
}
