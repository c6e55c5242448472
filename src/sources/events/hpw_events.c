/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A slot is one thread's part of the chunk: five cursors that move on as ORDER gives it steps. Its
 * memory of sites (what followed which, what size came last) is a list of memos; followers are
 * places in that list, so a predicted allocation, the usual case, needs no hashing.
 */
#include "sources/events/hpw_events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "sources/events/hpw_columns.h"
#include "sources/events/hpw_hash.h"

/* What a slot remembers of a site. memos[0] stands for "no allocation yet". */
struct memo {
	uint64_t size; /* of the last allocation there */
	uint32_t site;
	uint32_t follower; /* memo of the site that followed last time; 0: unknown */
};
DEFINE_VEC(memo_vec, struct memo)

struct slot {
	uint64_t number; /* of the thread's next allocation */
	uint64_t tokens; /* still to come */
	uint64_t run;    /* plain frees still to come before the next token */
	uint32_t thread;
	uint32_t previous; /* memo of the last allocation's site */
	struct hpw_column columns[HPW_SLOT_COLUMNS];
	struct memo_vec memos;
	uint32_t *places; /* hash of sites → memo, 0: empty */
	size_t places_cap;
};

struct decoder {
	const struct hpw_visitor *visitor;
	struct hpw_events_head head;
	struct slot *slots;
	size_t slots_len;
	uint64_t seed;
};

static void decoder_deinit(struct decoder *decoder)
{
	for (size_t i = 0; i < decoder->slots_len; i++) {
		memo_vec_deinit(&decoder->slots[i].memos);
		free(decoder->slots[i].places);
	}
	free(decoder->slots);
}

static bool places_grow(struct slot *slot, uint64_t seed)
{
	size_t cap = slot->places_cap ? slot->places_cap * 2 : 32;
	uint32_t *places = calloc(cap, sizeof(*places));
	if (!places)
		return false;
	for (uint32_t i = 1; i < slot->memos.len; i++) {
		size_t at = hpw_hash(seed, slot->memos.data[i].site) & (cap - 1);
		while (places[at])
			at = (at + 1) & (cap - 1);
		places[at] = i;
	}
	free(slot->places);
	slot->places = places;
	slot->places_cap = cap;
	return true;
}

/* The memo of a site, made if new; 0: no memory. */
static uint32_t slot_memo(struct slot *slot, uint64_t seed, uint32_t site, bool *ret_new)
{
	if (slot->memos.len * 2 >= slot->places_cap && !places_grow(slot, seed))
		return 0;
	size_t mask = slot->places_cap - 1;
	size_t at = hpw_hash(seed, site) & mask;
	while (slot->places[at] && slot->memos.data[slot->places[at]].site != site)
		at = (at + 1) & mask;
	*ret_new = !slot->places[at];
	if (*ret_new) {
		if (!memo_vec_push(&slot->memos, (struct memo){.site = site}))
			return 0;
		slot->places[at] = (uint32_t)slot->memos.len - 1;
	}
	return slot->places[at];
}

static struct error *column_ends(const char *what)
{
	return error_create(ERROR_INPUT, "its column of %s is truncated or malformed", what);
}

static inline bool hpw_events_next(struct slot *slot, enum hpw_slot_column number, uint64_t *ret)
{
	struct hpw_column *column = &slot->columns[number];
	if (__builtin_expect(column->present, 1))
		return cursor_try_varint(&column->cursor, ret);
	*ret = 0; /* a missing column is all zeros */
	return true;
}

static struct error *step_free(
	struct decoder *decoder, struct slot *slot, struct hpw_step *step, uint8_t free_kind)
{
	uint64_t ref;
	if (!hpw_events_next(slot, HPW_SLOT_FREES, &ref))
		return column_ends("frees");
	step->kind = HPW_STEP_FREE;
	step->free_kind = free_kind;
	step->same_frame = ref >> 1 & 1;
	step->owner = slot->thread;
	uint64_t back = ref >> 2;
	if (ref & 1) {
		uint64_t number;
		if (!hpw_events_next(slot, HPW_SLOT_FREES, &number) || back > UINT32_MAX)
			return column_ends("frees");
		step->owner = (uint32_t)back;
		step->number = number;
		step->known = true;
	} else {
		if (back > slot->number)
			return error_create(ERROR_INPUT, "a free names an impossible block");
		step->number = slot->number - back;
		step->known = back != 0;
	}
	return decoder->visitor->step ? decoder->visitor->step(decoder->visitor->context, step)
				      : NULL;
}

static struct error *step_alloc(
	struct decoder *decoder, struct slot *slot, struct hpw_step *step, uint64_t token)
{
	struct memo *memos = slot->memos.data;
	uint32_t at;
	bool fresh = false, sized;
	if (token < HPW_TOKEN_SITE) {
		sized = token == HPW_TOKEN_PREDICTED_SIZE;
		at = memos[slot->previous].follower;
		if (!at)
			return error_create(ERROR_INPUT, "an allocation is predicted from nothing");
	} else {
		uint64_t site = (token - HPW_TOKEN_SITE) >> 1;
		sized = (token - HPW_TOKEN_SITE) & 1;
		if (site >= HPW_SITES_MAX)
			return error_create(ERROR_INPUT, "site %" PRIu64 " is out of range", site);
		at = slot_memo(slot, decoder->seed, (uint32_t)site, &fresh);
		if (!at)
			return error_no_memory();
		memos = slot->memos.data;
		memos[slot->previous].follower = at;
	}
	slot->previous = at;
	if (sized && !hpw_events_next(slot, HPW_SLOT_SIZES, &memos[at].size))
		return column_ends("sizes");
	if (!sized && fresh)
		return error_create(ERROR_INPUT, "an allocation has no size");
	step->kind = HPW_STEP_ALLOC;
	step->site = memos[at].site;
	step->size = memos[at].size;
	step->number = slot->number++;
	return decoder->visitor->step ? decoder->visitor->step(decoder->visitor->context, step)
				      : NULL;
}

/* Operands of the specials that have some, into the step. */
static struct error *special_operands(struct slot *slot, uint8_t special, struct hpw_step *step)
{
	uint64_t site;
	switch (special) {
	case HPW_SP_FAILED:
		if (!hpw_events_next(slot, HPW_SLOT_SPECIALS, &site) ||
			!hpw_events_next(slot, HPW_SLOT_SPECIALS, &step->size) ||
			site >= HPW_SITES_MAX)
			return column_ends("specials");
		step->site = (uint32_t)site;
		return NULL;
	case HPW_SP_LOST:
		return hpw_events_next(slot, HPW_SLOT_SPECIALS, &step->size)
			       ? NULL
			       : column_ends("specials");
	case HPW_SP_MARK:
		if (!hpw_events_next(slot, HPW_SLOT_SPECIALS, &step->size))
			return column_ends("specials");
		return cursor_bytes(
			&slot->columns[HPW_SLOT_SPECIALS].cursor, step->size, &step->bytes);
	default:
		return NULL;
	}
}

static struct error *step_special(struct decoder *decoder, struct slot *slot, struct hpw_step *step)
{
	static const enum hpw_step_kind kinds[] = {
		[HPW_SP_FAILED] = HPW_STEP_FAILED,
		[HPW_SP_THREAD_START] = HPW_STEP_THREAD_START,
		[HPW_SP_THREAD_END] = HPW_STEP_THREAD_END,
		[HPW_SP_MARK] = HPW_STEP_MARK,
		[HPW_SP_LOST] = HPW_STEP_LOST,
	};
	struct cursor *specials = &slot->columns[HPW_SLOT_SPECIALS].cursor;
	uint8_t special, free_kind;
	struct error *error = cursor_u8(specials, &special);
	if (error)
		return error;
	if (special == HPW_SP_FREE) {
		error = cursor_u8(specials, &free_kind);
		if (!error && free_kind >= HW_FREE_KINDS)
			error = error_create(ERROR_INPUT, "unknown free kind %u", free_kind);
		return error ? error : step_free(decoder, slot, step, free_kind);
	}
	if (special < HPW_SP_FAILED || special > HPW_SP_LOST)
		return error_create(ERROR_INPUT, "unknown special %u", special);
	step->kind = kinds[special];
	error = special_operands(slot, special, step);
	if (error || !decoder->visitor->step)
		return error;
	return decoder->visitor->step(decoder->visitor->context, step);
}

static inline struct error *slot_step(struct decoder *decoder, struct slot *slot)
{
	struct hpw_step step = {.thread = slot->thread};
	if (slot->run) {
		slot->run--;
		return step_free(decoder, slot, &step, HPW_FREE_MATCHING);
	}
	if (!slot->tokens)
		return error_create(ERROR_INPUT, "a thread has fewer steps than its order says");
	slot->tokens--;
	uint64_t token;
	if (!hpw_events_next(slot, HPW_SLOT_TOKENS, &token))
		return column_ends("tokens");
	struct error *error = token == HPW_TOKEN_SPECIAL ? step_special(decoder, slot, &step)
							 : step_alloc(decoder, slot, &step, token);
	if (!error && !hpw_events_next(slot, HPW_SLOT_RUNS, &slot->run))
		return column_ends("runs");
	return error;
}

/* Which stamp holds from which step of the chunk on. */
struct times {
	struct hpw_column *regular; /* one every HPW_TIME_STEP steps */
	struct hpw_column gaps;     /* and between them */
	uint64_t stamp, regular_stamp;
	uint64_t gap_step, gap_stamp; /* the next one; UINT64_MAX: none */
	uint64_t due;                 /* step before which one of them comes */
};

static struct error *read_gap(const struct decoder *decoder, struct times *times)
{
	uint64_t step, stamp, before = times->gap_step;
	times->gap_step = UINT64_MAX;
	if (!times->gaps.present || !cursor_left(&times->gaps.cursor))
		return NULL;
	if (!cursor_try_varint(&times->gaps.cursor, &step) ||
		!cursor_try_varint(&times->gaps.cursor, &stamp) || step > HPW_STEPS_MAX)
		return column_ends("gaps");
	times->gap_step = before + step;
	times->gap_stamp = decoder->head.first_stamp + stamp;
	return NULL;
}

static struct error *open_times(const struct decoder *decoder, const struct hpw_payload *payload,
	struct hpw_column *regular, struct times *ret)
{
	uint64_t first = decoder->head.first_stamp;
	*ret = (struct times){.regular = regular, .stamp = first, .regular_stamp = first};
	struct error *error = hpw_columns_find(payload, HPW_EV_GAPS, &ret->gaps);
	return error ? error : read_gap(decoder, ret);
}

/* The stamps that are due before a step. */
static struct error *read_times(const struct decoder *decoder, struct times *times, uint64_t done)
{
	uint64_t step;
	struct error *error = NULL;
	if (done % HPW_TIME_STEP == 0) {
		error = hpw_column_next(times->regular, &step);
		if (error)
			return error;
		times->regular_stamp += step;
		if (times->regular_stamp > times->stamp)
			times->stamp = times->regular_stamp;
	}
	while (!error && times->gap_step <= done) {
		if (times->gap_stamp > times->stamp)
			times->stamp = times->gap_stamp;
		error = read_gap(decoder, times);
	}
	uint64_t next = done - done % HPW_TIME_STEP + HPW_TIME_STEP;
	times->due = times->gap_step < next ? times->gap_step : next;
	if (!error && decoder->visitor->time)
		decoder->visitor->time(decoder->visitor->context, times->stamp);
	return error;
}

static struct error *decode_steps(
	struct decoder *decoder, struct hpw_column *order, struct times *times)
{
	for (uint64_t done = 0; done < decoder->head.steps;) {
		uint64_t slot, n;
		if (!cursor_try_varint(&order->cursor, &slot) ||
			!cursor_try_varint(&order->cursor, &n))
			return column_ends("order");
		if (slot >= decoder->slots_len || n >= decoder->head.steps - done)
			return error_create(ERROR_INPUT, "its order is impossible");
		for (n++; n; n--, done++) {
			struct error *error = NULL;
			if (done >= times->due)
				error = read_times(decoder, times, done);
			if (!error)
				error = slot_step(decoder, &decoder->slots[slot]);
			if (error)
				return error;
		}
	}
	return NULL;
}

static struct error *read_slot_head(struct decoder *decoder, struct cursor *meta, struct slot *slot)
{
	uint64_t thread;
	struct error *error = cursor_varint(meta, &thread);
	if (!error)
		error = cursor_varint(meta, &slot->number);
	if (!error)
		error = cursor_varint(meta, &slot->tokens);
	if (error)
		return error;
	if (thread > UINT32_MAX || slot->number > UINT64_MAX - HPW_STEPS_MAX)
		return error_create(ERROR_INPUT, "thread %" PRIu64 " is impossible", thread);
	slot->thread = (uint32_t)thread;
	struct hpw_slot_head head = {slot->thread, slot->number};
	return decoder->visitor->slot ? decoder->visitor->slot(decoder->visitor->context, &head)
				      : NULL;
}

static struct error *hpw_events_read_head(struct cursor *meta, struct hpw_events_head *ret)
{
	uint64_t v[6];
	for (size_t i = 0; i < 6; i++) {
		struct error *error = cursor_varint(meta, &v[i]);
		if (error)
			return error;
	}
	if (v[1] > HPW_STEPS_MAX || v[5] > HPW_SLOTS_MAX || v[0] > UINT64_MAX - v[1])
		return error_create(ERROR_INPUT, "its numbers of steps or threads are impossible");
	*ret = (struct hpw_events_head){v[0], v[1], v[2], v[3], v[4], (size_t)v[5]};
	return NULL;
}

static struct error *read_meta(struct decoder *decoder, struct hpw_column *column)
{
	struct cursor *meta = &column->cursor;
	struct error *error = hpw_events_read_head(meta, &decoder->head);
	if (!error && decoder->visitor->head)
		error = decoder->visitor->head(decoder->visitor->context, &decoder->head);
	if (error)
		return error;
	decoder->slots = calloc(decoder->head.slots + 1, sizeof(*decoder->slots));
	if (!decoder->slots)
		return error_no_memory();
	decoder->slots_len = decoder->head.slots;
	for (size_t i = 0; !error && i < decoder->slots_len; i++)
		error = read_slot_head(decoder, meta, &decoder->slots[i]);
	return error;
}

/* Gives each slot its columns and the first run. */
static struct error *open_slots(struct decoder *decoder, const struct hpw_column *columns)
{
	for (size_t i = 0; i < decoder->slots_len; i++) {
		struct slot *slot = &decoder->slots[i];
		memcpy(slot->columns, columns + HPW_EV_FIRST_SLOT + i * HPW_SLOT_COLUMNS,
			sizeof(slot->columns));
		struct error *error = hpw_column_next(&slot->columns[HPW_SLOT_RUNS], &slot->run);
		if (error)
			return error;
		if (!memo_vec_push(&slot->memos, (struct memo){.site = 0}))
			return error_no_memory();
	}
	return NULL;
}

static struct error *check_used_up(const struct decoder *decoder)
{
	for (size_t i = 0; i < decoder->slots_len; i++)
		if (decoder->slots[i].run || decoder->slots[i].tokens)
			return error_create(
				ERROR_INPUT, "a thread has more steps than its order says");
	return NULL;
}

struct error *hpw_events_head(const struct hpw_payload *payload, struct hpw_events_head *ret)
{
	struct hpw_column meta[HPW_EV_META + 1];
	struct error *error = hpw_columns_open(payload, meta, HPW_EV_META + 1);
	return error ? error : hpw_events_read_head(&meta[HPW_EV_META].cursor, ret);
}

struct error *hpw_events_decode(
	const struct hpw_payload *payload, const struct hpw_visitor *visitor)
{
	_cleanup_(decoder_deinit) struct decoder decoder = {
		.visitor = visitor, .seed = hpw_hash_seed()};
	struct hpw_column meta[HPW_EV_META + 1];
	struct error *error = hpw_columns_open(payload, meta, HPW_EV_META + 1);
	if (!error)
		error = read_meta(&decoder, &meta[HPW_EV_META]);
	if (error)
		return error;
	size_t limit = HPW_EV_FIRST_SLOT + decoder.slots_len * HPW_SLOT_COLUMNS;
	_cleanup_free_ struct hpw_column *columns = calloc(limit, sizeof(*columns));
	if (!columns)
		return error_no_memory();
	error = hpw_columns_open(payload, columns, limit);
	if (!error)
		error = open_slots(&decoder, columns);
	struct times times;
	if (!error)
		error = open_times(&decoder, payload, &columns[HPW_EV_TIME], &times);
	if (!error)
		error = decode_steps(&decoder, &columns[HPW_EV_ORDER], &times);
	return error ? error : check_used_up(&decoder);
}
