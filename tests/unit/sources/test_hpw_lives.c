/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lives of blocks, whose numbers come in order from 0, or begin later, or are very many. */
#include "sources/events/hpw_lives.h"

#include "lib/tap.h"

/* What was told of lives. */
struct told {
	uint64_t died, died_bytes, stayed, stayed_bytes, grown;
	uint64_t last_size; /* of the one that died last */
};

static void on_died(void *context, const struct hpw_life *life, const struct hpw_life_end *end)
{
	struct told *told = context;
	(void)end;
	told->died++;
	told->died_bytes += life->size;
	told->last_size = life->size;
}

static void on_grew(void *context, const struct hpw_life *from, const struct hpw_life *to)
{
	(void)from;
	((struct told *)context)->grown += to->grown;
}

static void on_stayed(void *context, const struct hpw_life *life, const struct hpw_life_end *end)
{
	struct told *told = context;
	(void)end;
	told->stayed++;
	told->stayed_bytes += life->size;
}

static void check_alloc(
	const struct hpw_visitor *visitor, uint32_t thread, uint64_t number, uint64_t size)
{
	const struct hpw_step step = {
		.kind = HPW_STEP_ALLOC, .thread = thread, .number = number, .size = size};
	CHECK_OK(visitor->step(visitor->context, &step));
}

static void check_free(
	const struct hpw_visitor *visitor, uint32_t thread, uint32_t owner, uint64_t number)
{
	const struct hpw_step step = {.kind = HPW_STEP_FREE,
		.thread = thread,
		.owner = owner,
		.number = number,
		.known = true,
		.free_kind = HPW_FREE_MATCHING};
	CHECK_OK(visitor->step(visitor->context, &step));
}

static struct told read_lives(struct error *(*each)(const void *context,
				      const struct hpw_visitor *visitor, const bool *enough),
	const void *context, uint64_t blocks_max)
{
	struct told told = {.died = 0};
	const struct event_replay story = {context, each, blocks_max};
	const struct hpw_span span = {.to_step = UINT64_MAX};
	const struct hpw_lives_sink sink = {
		.context = &told, .died = on_died, .grew = on_grew, .stayed = on_stayed};
	CHECK_OK(hpw_lives_read(&story, &span, &sink));
	return told;
}

static struct error *tell_mixed(
	const void *context, const struct hpw_visitor *visitor, const bool *enough)
{
	const struct hpw_step realloc_free = {.kind = HPW_STEP_FREE,
		.owner = 0,
		.number = 1,
		.known = true,
		.free_kind = HW_FREE_REALLOC};
	(void)context, (void)enough;
	check_alloc(visitor, 0, 0, 1);
	check_alloc(visitor, 0, 1, 10);
	check_alloc(visitor, 3, 77, 100); /* of a thread whose earlier blocks are not in the file */
	check_alloc(visitor, 3, 78, 1000);
	check_alloc(visitor, 3, 0, 10000); /* as no writer has it */
	CHECK_OK(visitor->step(visitor->context, &realloc_free));
	check_alloc(visitor, 0, 2, 100000);
	check_free(visitor, 0, 3, 77);
	check_free(visitor, 0, 3, 77); /* for the second time, */
	check_free(visitor, 0, 3, 5);  /* and of blocks that never were */
	check_free(visitor, 0, 9, 0);
	check_free(visitor, 3, 0, 0);
	check_free(visitor, 3, 0, 0);
	return NULL;
}

CASE(lives_mixed, "blocks end once, wherever their thread's numbers begin")
{
	struct told told = read_lives(tell_mixed, NULL, 100);
	CHECK_U64(told.died, 3);
	CHECK_U64(told.died_bytes, 111);
	CHECK_U64(told.grown, 1);
	CHECK_U64(told.stayed, 3);
	CHECK_U64(told.stayed_bytes, 111000);
}

static struct error *tell_many(
	const void *context, const struct hpw_visitor *visitor, const bool *enough)
{
	uint64_t count = *(const uint64_t *)context;
	for (uint64_t i = 0; i < count && !*enough; i++)
		check_alloc(visitor, (uint32_t)(i % 2), i / 2, i);
	for (uint64_t i = 0; i < count && !*enough; i++)
		if (i % 1000 != 7)
			check_free(visitor, 0, (uint32_t)(i % 2), i / 2);
	return NULL;
}

CASE(lives_many, "more blocks than arrays are for are found as well")
{
	const uint64_t count = 4500000;
	struct told told = read_lives(tell_many, &count, count + 1);
	CHECK_U64(told.died, count - count / 1000);
	CHECK_U64(told.last_size, count - 1);
	CHECK_U64(told.stayed, count / 1000);
	CHECK_U64(told.stayed_bytes, UINT64_C(4499) * 4500 / 2 * 1000 + 4500 * 7);
	CHECK_U64(told.died_bytes, count * (count - 1) / 2 - told.stayed_bytes);
}

CASE(lives_too_many, "it ends when more blocks live than are believed")
{
	const uint64_t count = 1000;
	struct told told = read_lives(tell_many, &count, 100);
	CHECK_U64(told.died, 0);
	CHECK_U64(told.stayed, 100);
}

TAP_MAIN
