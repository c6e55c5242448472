/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/hpw_range.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "format/hpw.h"

static struct error *hpw_range_misfit(const char *what)
{
	return error_create(ERROR_INPUT, "its sums do not fit: %s", what);
}

void hpw_ranges_deinit(struct hpw_ranges *parts)
{
	for (size_t i = 0; i < parts->marks.len; i++)
		free(parts->marks.data[i].name);
	hpw_range_marks_deinit(&parts->marks);
	hpw_range_chunks_deinit(&parts->chunks);
}

static struct error *add_marks(
	struct hpw_ranges *parts, struct hpw_sums *sums, const struct hpw_range_chunk *chunk)
{
	struct hpw_mark mark;
	while (hpw_sums_mark(sums, &mark)) {
		struct hpw_range_mark row = {.step = chunk->head[HPW_SUMS_FIRST_STEP] + mark.step,
			.name = strndup(mark.name, mark.len),
			.has_figures = mark.has_figures,
			.stamp = mark.stamp,
			.live_blocks = mark.live_blocks,
			.live_bytes = mark.live_bytes};
		if (!row.name || !hpw_range_marks_push(&parts->marks, row)) {
			free(row.name);
			return error_no_memory();
		}
	}
	return NULL;
}

static struct error *payload_of(
	const struct hpw_ranges *parts, size_t place, struct hpw_payload *ret)
{
	return hpw_file_payload(parts->file, &parts->file->chunks.data[place], ret);
}

static struct error *add_chunk(struct hpw_ranges *parts, struct hpw_range_chunk *chunk)
{
	_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
	struct hpw_sums sums;
	struct error *error = payload_of(parts, chunk->sums, &payload);
	if (!error)
		error = hpw_sums_open(&payload, &sums);
	if (error)
		return error;
	memcpy(chunk->head, sums.head, sizeof(chunk->head));
	error = add_marks(parts, &sums, chunk);
	if (error)
		return error;
	if (chunk->head[HPW_SUMS_FIRST_STEP] != parts->steps || !chunk->head[HPW_SUMS_STEPS] ||
		chunk->head[HPW_SUMS_STEPS] > HPW_STEPS_MAX)
		return hpw_range_misfit("steps are missing");
	parts->steps += chunk->head[HPW_SUMS_STEPS];
	return hpw_range_chunks_push(&parts->chunks, *chunk) ? NULL : error_no_memory();
}

static struct error *list_chunks(struct hpw_ranges *parts)
{
	static const struct hpw_range_chunk none = {SIZE_MAX, SIZE_MAX, SIZE_MAX, {0}};
	struct hpw_range_chunk next = none;
	struct error *error = NULL;
	for (size_t i = 0; !error && i < parts->file->chunks.len; i++) {
		uint16_t type = parts->file->chunks.data[i].type;
		if (type == HPW_DEATHS)
			next.deaths = i;
		else if (type == HPW_SUMS)
			next.sums = i;
		if (type != HPW_EVENTS)
			continue;
		next.events = i;
		if (next.sums == SIZE_MAX)
			return hpw_range_misfit("a chunk of events has none");
		error = add_chunk(parts, &next);
		next = none;
	}
	return error;
}

struct error *hpw_ranges_open(
	const struct hpw_file *file, const struct model *model, struct hpw_ranges *ret)
{
	*ret = (struct hpw_ranges){.file = file, .model = model};
	struct error *error = list_chunks(ret);
	if (!error && !ret->chunks.len)
		error = hpw_range_misfit("there are none");
	if (error)
		hpw_ranges_deinit(ret);
	return error;
}

size_t hpw_ranges_chunk(const struct hpw_ranges *parts, uint64_t step)
{
	size_t low = 0, high = parts->chunks.len;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (parts->chunks.data[middle].head[HPW_SUMS_FIRST_STEP] <= step)
			low = middle;
		else
			high = middle;
	}
	return low;
}

struct error *hpw_ranges_visit(
	const struct hpw_ranges *parts, size_t chunk, const struct hpw_visitor *visitor)
{
	_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
	struct error *error = payload_of(parts, parts->chunks.data[chunk].events, &payload);
	return error ? error : hpw_events_decode(&payload, visitor);
}

/* Older blocks that die in a chunk, with their identity, which the events have. */
struct pairing {
	struct hpw_deaths deaths;
	uint64_t *first; /* by thread: its allocations before the chunk, + 1; 0: it has no slot */
	size_t *slot;    /* by thread */
	size_t threads, slots;
	struct error *(*found)(
		void *context, const struct hpw_step *step, const struct hpw_death *death);
	void *context;
};

static void pairing_deinit(struct pairing *pairing)
{
	hpw_deaths_deinit(&pairing->deaths);
	free(pairing->first);
	free(pairing->slot);
}

static struct error *pair_slot(void *context, const struct hpw_slot_head *slot)
{
	struct pairing *pairing = context;
	if (slot->thread >= HPW_BLOCK_THREADS)
		return error_create(
			ERROR_INPUT, "thread %" PRIu32 " is out of range", slot->thread);
	if (slot->thread >= pairing->threads) {
		size_t threads = slot->thread + 64u;
		uint64_t *first = realloc(pairing->first, threads * sizeof(*first));
		if (first)
			pairing->first = first;
		size_t *slots = realloc(pairing->slot, threads * sizeof(*slots));
		if (slots)
			pairing->slot = slots;
		if (!first || !slots)
			return error_no_memory();
		memset(first + pairing->threads, 0, (threads - pairing->threads) * sizeof(*first));
		pairing->threads = threads;
	}
	pairing->first[slot->thread] = slot->allocations + 1;
	pairing->slot[slot->thread] = pairing->slots++;
	return NULL;
}

static struct error *pair_step(void *context, const struct hpw_step *step)
{
	struct pairing *pairing = context;
	if (step->kind != HPW_STEP_FREE || !step->known)
		return NULL;
	uint64_t first = step->owner < pairing->threads ? pairing->first[step->owner] : 0;
	if (first && step->number + 1 >= first)
		return NULL;
	size_t slot = pairing->slot[step->thread];
	struct hpw_death death;
	if (slot >= pairing->deaths.count || !hpw_deaths_next(&pairing->deaths.slots[slot], &death))
		return hpw_range_misfit("an older block is missing");
	return pairing->found(pairing->context, step, &death);
}

static struct error *open_deaths(const struct hpw_ranges *parts,
	const struct hpw_range_chunk *chunk, size_t slots, struct hpw_payload *payload,
	struct hpw_deaths *ret)
{
	struct error *error = NULL;
	if (chunk->deaths != SIZE_MAX)
		error = payload_of(parts, chunk->deaths, payload);
	return error ? error
		     : hpw_deaths_open(chunk->deaths != SIZE_MAX ? payload : NULL, slots, ret);
}

/* Calls found for each older block that dies in the chunk, in the order of the steps. */
static struct error *hpw_range_pair(
	const struct hpw_ranges *parts, size_t number, struct pairing *pairing)
{
	const struct hpw_range_chunk *chunk = &parts->chunks.data[number];
	_cleanup_(hpw_payload_deinit) struct hpw_payload events = {0}, deaths = {0};
	struct hpw_events_head head;
	struct error *error = payload_of(parts, chunk->events, &events);
	if (!error)
		error = hpw_events_head(&events, &head);
	if (!error && (head.first_step != chunk->head[HPW_SUMS_FIRST_STEP] ||
			      head.steps != chunk->head[HPW_SUMS_STEPS]))
		error = hpw_range_misfit("they are of other events");
	if (!error)
		error = open_deaths(parts, chunk, head.slots, &deaths, &pairing->deaths);
	const struct hpw_visitor visitor = {
		.context = pairing, .slot = pair_slot, .step = pair_step};
	return error ? error : hpw_events_decode(&events, &visitor);
}

/* The replay of a part as it is being filled. */
struct filling {
	const struct hpw_ranges *parts;
	struct hpw_replay *replay;
	size_t first;      /* chunk in which the part begins */
	bool inside;       /* not with it */
	size_t peak_chunk; /* one that the replay does not go through has the peak; SIZE_MAX: none
			    */
};

static struct error *know_block(
	void *context, const struct hpw_step *step, const struct hpw_death *death)
{
	struct hpw_replay *replay = context;
	if (step->owner >= HPW_BLOCK_THREADS || step->number >= HPW_BLOCK_NUMBERS - 1)
		return hpw_range_misfit("invalid block number");
	return hpw_blocks_add(&replay->blocks, hpw_block_key(step->owner, step->number),
		       death->size, death->site)
		       ? NULL
		       : error_no_memory();
}

static struct error *make_threads(struct hpw_replay *replay, const struct hpw_sums *sums)
{
	for (size_t i = 0; i < sums->threads.len; i++) {
		uint32_t thread = sums->threads.data[i].thread;
		if (thread >= HPW_BLOCK_THREADS)
			return hpw_range_misfit("a thread is out of range");
		while (replay->threads.len <= thread)
			if (!hpw_tally_thread_vec_push(
				    &replay->threads, (struct hpw_tally_thread){0}))
				return error_no_memory();
	}
	return NULL;
}

struct error *hpw_ranges_sums(const struct hpw_ranges *parts, size_t number,
	struct hpw_payload *payload, struct hpw_sums *ret)
{
	struct error *error = payload_of(parts, parts->chunks.data[number].sums, payload);
	return error ? error : hpw_sums_decode(payload, ret);
}

/* Goes through the events of a chunk, from the state that the replay is in. */
static struct error *replay_chunk(struct filling *filling, size_t number)
{
	struct hpw_replay *replay = filling->replay;
	_cleanup_(pairing_deinit) struct pairing pairing = {.found = know_block, .context = replay};
	_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0}, events = {0};
	struct hpw_sums sums;
	struct error *error = hpw_ranges_sums(filling->parts, number, &payload, &sums);
	if (error)
		return error;
	error = make_threads(replay, &sums);
	for (size_t i = 0; !error && i < sums.threads.len; i++) {
		struct hpw_tally_thread *thread =
			&replay->threads.data[sums.threads.data[i].thread];
		thread->in_realloc = sums.threads.data[i].in_realloc;
		thread->fresh = sums.threads.data[i].fresh;
	}
	hpw_sums_deinit(&sums);
	hpw_blocks_deinit(&replay->blocks);
	hpw_blocks_init(&replay->blocks);
	if (!error)
		error = hpw_range_pair(filling->parts, number, &pairing);
	const struct hpw_range_chunk *chunk = &filling->parts->chunks.data[number];
	replay->next_step = chunk->head[HPW_SUMS_FIRST_STEP];
	replay->heap.live_padding = chunk->head[HPW_SUMS_PADDING];
	uint64_t missing;
	if (!error)
		error = payload_of(filling->parts, chunk->events, &events);
	return error ? error : hpw_replay_chunk(replay, &events, &missing);
}

static void add_heap(struct heap_counters *heap, const struct site_counters *more)
{
	heap->live_blocks += more->live_blocks;
	heap->live_bytes += more->live_bytes;
	heap->failed += more->failed;
}

static inline size_t hpw_range_place_of(const struct hpw_replay *replay, uint32_t site)
{
	return site < replay->sites_len ? site : replay->sites_len;
}

/* A chunk's sums, as if the replay had gone through it. */
static struct error *hpw_range_add_sums(struct filling *filling, const struct hpw_sums *sums)
{
	struct hpw_replay *replay = filling->replay;
	struct error *error = make_threads(replay, sums);
	if (error)
		return error;
	if (filling->inside && sums->head[HPW_SUMS_LIVE_BYTES] != replay->heap.live_bytes)
		return hpw_range_misfit("other blocks are live");
	replay->unknown |= filling->inside ? sums->unknown : 0;
	for (size_t i = 0; i < sums->sites.len; i++) {
		const struct hpw_sums_site *row = &sums->sites.data[i];
		size_t place = hpw_range_place_of(replay, row->site);
		site_counters_add(&replay->sites[place].counters, &row->counters);
		replay->sites_end = max(replay->sites_end, place + 1);
		add_heap(&replay->heap, &row->counters);
	}
	for (size_t i = 0; i < sums->threads.len; i++) {
		const struct hpw_sums_thread *row = &sums->threads.data[i];
		struct hpw_tally_thread *thread = &replay->threads.data[row->thread];
		thread->next = row->number + row->allocations;
		thread->seen = true;
		call_counters_add(&thread->calls, &row->calls);
		call_counters_add(&replay->calls, &row->calls);
	}
	for (size_t i = 0; !error && filling->inside && i < sums->sizes.len; i++)
		error = hpw_replay_count_size(
			replay, sums->sizes.data[i].size, sums->sizes.data[i].allocations);
	replay->events += sums->head[HPW_SUMS_CALLS];
	replay->lost += sums->head[HPW_SUMS_LOST];
	replay->unknown_frees += sums->head[HPW_SUMS_UNKNOWN_FREES];
	replay->mismatched += sums->head[HPW_SUMS_MISMATCHED];
	return error;
}

/* A block that was allocated before the part is none of those that are kept. */
static void take_back(struct hpw_replay *replay, const struct hpw_death *death)
{
	hpw_replay_older_freed(
		replay, &replay->sites[hpw_range_place_of(replay, death->site)], death->size);
}

static struct error *take_back_paired(
	void *context, const struct hpw_step *step, const struct hpw_death *death)
{
	struct filling *filling = context;
	struct hpw_replay *replay = filling->replay;
	bool before = death->birth < filling->first;
	if (death->birth == filling->first)
		before = step->owner >= replay->threads.len ||
			 step->number < replay->threads.data[step->owner].from;
	if (before)
		take_back(replay, death);
	return NULL;
}

/* Whether some were allocated in the chunk in which the part begins. */
static bool is_unclear(const struct filling *filling, const struct hpw_deaths *deaths)
{
	struct hpw_death death;
	for (size_t i = 0; i < deaths->count; i++)
		for (struct hpw_deaths_slot slot = deaths->slots[i];
			hpw_deaths_next(&slot, &death);)
			if (death.birth == filling->first)
				return true;
	return false;
}

/*
 * Of the blocks that die in a chunk those that are older than the part. Which chunk they were
 * allocated in says so, except for that in which the part begins: then the events say.
 */
static struct error *take_back_older(
	struct filling *filling, size_t number, const struct hpw_sums *sums)
{
	const struct hpw_ranges *parts = filling->parts;
	const struct hpw_range_chunk *chunk = &parts->chunks.data[number];
	_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
	_cleanup_(hpw_deaths_deinit) struct hpw_deaths deaths = {0};
	if (chunk->deaths == SIZE_MAX || !filling->replay->from_step)
		return NULL;
	struct error *error = open_deaths(parts, chunk, sums->threads.len, &payload, &deaths);
	if (error)
		return error;
	if (is_unclear(filling, &deaths)) {
		_cleanup_(pairing_deinit) struct pairing pairing = {
			.found = take_back_paired, .context = filling};
		return hpw_range_pair(parts, number, &pairing);
	}
	struct hpw_death death;
	for (size_t i = 0; i < deaths.count; i++)
		while (hpw_deaths_next(&deaths.slots[i], &death))
			if (death.birth < filling->first)
				take_back(filling->replay, &death);
	return NULL;
}

/* A chunk that lies inside the part as a whole. */
static struct error *add_inside(struct filling *filling, size_t number)
{
	struct hpw_replay *replay = filling->replay;
	_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
	struct hpw_sums sums;
	struct error *error = hpw_ranges_sums(filling->parts, number, &payload, &sums);
	if (error)
		return error;
	error = hpw_range_add_sums(filling, &sums);
	if (!error)
		error = take_back_older(filling, number, &sums);
	if (sums.head[HPW_SUMS_HIGHEST_BYTES] > replay->heap.peak_bytes) {
		replay->heap.peak_bytes = sums.head[HPW_SUMS_HIGHEST_BYTES];
		filling->peak_chunk = number;
	}
	hpw_sums_deinit(&sums);
	return error;
}

static struct error *add_before(struct filling *filling, size_t number)
{
	_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
	struct hpw_sums sums;
	struct error *error = hpw_ranges_sums(filling->parts, number, &payload, &sums);
	if (error)
		return error;
	error = hpw_range_add_sums(filling, &sums);
	hpw_sums_deinit(&sums);
	return error;
}

/* Everything up to the end of the chunk in which the part begins, if that is where it is. */
static struct error *fill_first(struct filling *filling)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < filling->first; i++)
		error = add_before(filling, i);
	if (error)
		return error;
	error = replay_chunk(filling, filling->first);
	hpw_replay_settle_peak(filling->replay);
	filling->inside = true;
	return error;
}

static void replay_cleanup(struct hpw_replay *replay)
{
	hpw_replay_deinit(replay);
}

struct error *hpw_ranges_replay_one(
	const struct hpw_ranges *parts, size_t number, struct hpw_replay *ret)
{
	struct filling filling = {.parts = parts, .replay = ret, .first = number};
	struct error *error = hpw_replay_init(
		ret, parts->model, hpw_replay_blocks_max(parts->file->input->bytes));
	if (error)
		return error;
	ret->from_step = parts->chunks.data[number].head[HPW_SUMS_FIRST_STEP];
	error = fill_first(&filling);
	if (!error)
		hpw_replay_settle(ret);
	return error;
}

/* The peak is in a chunk that was only summed up: what was live then? */
static struct error *fill_peak(struct filling *filling)
{
	struct hpw_replay *replay = filling->replay;
	_cleanup_(replay_cleanup) struct hpw_replay one = {0};
	struct error *error = hpw_ranges_replay_one(filling->parts, filling->peak_chunk, &one);
	if (error)
		return error;
	if (one.heap.peak_bytes != replay->heap.peak_bytes)
		return hpw_range_misfit("the peak is another one");
	replay->heap.peak_blocks = replay->totals.peak_blocks = one.heap.peak_blocks;
	replay->peak_stamp = one.peak_stamp;
	replay->peak_step = one.peak_step;
	for (size_t i = 0; i <= replay->sites_len; i++) {
		replay->sites[i].peak_blocks = one.sites[i].peak_blocks;
		replay->sites[i].peak_bytes = one.sites[i].peak_bytes;
	}
	return NULL;
}

/* Subtraction of what never came would show as absurdly much. */
static struct error *hpw_range_check(const struct hpw_replay *replay)
{
	for (size_t i = 0; i <= replay->sites_len; i++) {
		const struct hpw_tally_site *site = &replay->sites[i];
		uint64_t kept_blocks = site->live_blocks - site->older_blocks;
		uint64_t kept_bytes = site->live_bytes - site->older_bytes;
		if ((site->live_blocks | site->live_bytes | kept_blocks | kept_bytes) >> 63)
			return hpw_range_misfit("more was freed than allocated");
	}
	return NULL;
}

struct error *hpw_ranges_fill(const struct hpw_ranges *parts, struct hpw_replay *replay)
{
	struct filling filling = {.parts = parts, .replay = replay, .peak_chunk = SIZE_MAX};
	filling.first = hpw_ranges_chunk(parts, replay->from_step);
	size_t last = parts->chunks.len;
	if (replay->to_step < parts->steps)
		last = hpw_ranges_chunk(parts, replay->to_step);
	struct error *error = NULL;
	if (!replay->from_step && last > 0) {
		filling.first = 0;
		filling.inside = replay->begun = true;
	} else {
		error = fill_first(&filling);
	}
	bool by_sums = filling.first == 0 && !replay->from_step && last > 0;
	for (size_t i = filling.first + !by_sums; !error && i < last; i++)
		error = add_inside(&filling, i);
	uint64_t peak_bytes = replay->heap.peak_bytes;
	if (!error && last < parts->chunks.len && (by_sums || last > filling.first))
		error = replay_chunk(&filling, last);
	if (error)
		return error;
	if (replay->heap.peak_bytes > peak_bytes)
		filling.peak_chunk = SIZE_MAX;
	hpw_replay_settle(replay);
	if (filling.peak_chunk != SIZE_MAX)
		error = fill_peak(&filling);
	return error ? error : hpw_range_check(replay);
}

/*
 * Goes through a chunk alone. What was live before it is known, not of which sites: so totals, and
 * the moment of their peak, are right in the end, and figures of sites are not.
 */
static struct error *replay_alone(
	const struct hpw_ranges *parts, size_t number, struct hpw_replay *ret)
{
	struct filling filling = {.parts = parts, .replay = ret, .first = number};
	const uint64_t *head = parts->chunks.data[number].head;
	struct error *error = hpw_replay_init(
		ret, parts->model, hpw_replay_blocks_max(parts->file->input->bytes));
	if (error)
		return error;
	ret->from_step = head[HPW_SUMS_FIRST_STEP];
	ret->heap.live_blocks = head[HPW_SUMS_LIVE_BLOCKS];
	ret->heap.live_bytes = head[HPW_SUMS_LIVE_BYTES];
	error = replay_chunk(&filling, number);
	if (!error)
		hpw_replay_settle(ret);
	return error;
}

struct error *hpw_ranges_peak(
	const struct hpw_ranges *parts, uint64_t *ret_step, uint64_t *ret_stamp)
{
	size_t highest = 0;
	for (size_t i = 1; i < parts->chunks.len; i++)
		if (parts->chunks.data[i].head[HPW_SUMS_HIGHEST_BYTES] >
			parts->chunks.data[highest].head[HPW_SUMS_HIGHEST_BYTES])
			highest = i;
	_cleanup_(replay_cleanup) struct hpw_replay one = {0};
	struct error *error = replay_alone(parts, highest, &one);
	*ret_step = one.peak_step;
	*ret_stamp = one.peak_stamp;
	return error;
}

struct error *hpw_ranges_each(const struct hpw_ranges *parts,
	bool (*before)(void *context, size_t chunk, struct hpw_replay *replay), void *context,
	struct hpw_replay *replay)
{
	struct filling filling = {.parts = parts, .replay = replay, .peak_chunk = SIZE_MAX};
	struct error *error = hpw_replay_init(
		replay, parts->model, hpw_replay_blocks_max(parts->file->input->bytes));
	replay->begun = true;
	for (size_t i = 0; !error && i < parts->chunks.len; i++) {
		bool by_steps = before(context, i, replay);
		error = by_steps ? replay_chunk(&filling, i) : add_before(&filling, i);
	}
	return error;
}
