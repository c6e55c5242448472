/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/hpw_block_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "sources/events/hpw_lives.h"

struct by_life {
	struct hpw_block_filter *choice;
	const struct hpw_clock *clock;
	bool no_memory;
};

void hpw_block_filter_deinit(struct hpw_block_filter *choice)
{
	free(choice->threads);
	free(choice->bits);
	*choice = (struct hpw_block_filter){.wanted = NULL};
}

static void set_bit(struct by_life *by, uint64_t number)
{
	struct hpw_block_filter *choice = by->choice;
	if (number / 8 >= choice->bits_len) {
		size_t len = (size_t)(number / 8 + 1) * 2;
		uint8_t *moved = realloc(choice->bits, len);
		if (!moved) {
			by->no_memory = true;
			return;
		}
		memset(moved + choice->bits_len, 0, len - choice->bits_len);
		choice->bits = moved;
		choice->bits_len = len;
	}
	choice->bits[number / 8] |= (uint8_t)(1u << number % 8);
}

static void hpw_block_filter_check(struct by_life *by, const struct hpw_life *life, uint64_t stamp)
{
	const struct source_blocks *wanted = by->choice->wanted;
	uint64_t ns = hpw_clock_ns(by->clock, stamp) - hpw_clock_ns(by->clock, life->stamp);
	if (ns >= wanted->min_life_ns && (!wanted->max_life_ns || ns <= wanted->max_life_ns))
		set_bit(by, life->number);
}

static void on_died(void *context, const struct hpw_life *life, const struct hpw_life_end *end)
{
	struct by_life *by = context;
	if (!by->choice->wanted->live_only)
		hpw_block_filter_check(by, life, end->stamp);
}

static void on_stayed(void *context, const struct hpw_life *life, const struct hpw_life_end *end)
{
	hpw_block_filter_check(context, life, end->stamp);
}

struct error *hpw_block_filter_by_life(struct hpw_block_filter *choice,
	const struct event_replay *story, const struct hpw_clock *clock,
	const struct hpw_span *span)
{
	struct by_life by = {.choice = choice, .clock = clock};
	const struct hpw_lives_sink sink = {.context = &by, .died = on_died, .stayed = on_stayed};
	choice->bits_len = 1;
	choice->bits = calloc(1, 1);
	if (!choice->bits)
		return error_no_memory();
	struct error *error = hpw_lives_read(story, span, &sink);
	return !error && by.no_memory ? error_no_memory() : error;
}

static void add_limits(struct text *text, const char *least, const char *most, uint64_t min,
	uint64_t max, void (*add)(struct text *text, uint64_t value))
{
	if (min) {
		text_add(text, least);
		add(text, min);
	}
	if (max) {
		text_add(text, most);
		add(text, max);
	}
}

/* ", of thread w1 (3 threads, which allocated 12.0 KiB in 7 blocks, have no known name)" */
static void add_thread(struct text *text, const struct hpw_block_filter *choice)
{
	text_printf(text, ", of thread %s", choice->wanted->thread);
	if (!choice->unnamed)
		return;
	text_add(text, " (");
	text_add_counted(text, choice->unnamed, "thread", "threads");
	text_add(text, choice->unnamed == 1 ? " that allocated " : " that together allocated ");
	text_add_bytes(text, choice->unnamed_bytes);
	text_add(text, " in ");
	text_add_counted(text, choice->unnamed_allocations, "block", "blocks");
	text_add(text, choice->unnamed == 1 ? " has no known name)" : " have no known name)");
}

struct error *hpw_block_filter_describe(const struct hpw_block_filter *choice, struct model *model)
{
	const struct source_blocks *wanted = choice->wanted;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (wanted->by_life && wanted->live_only)
		text_add(&text, ", live at the end");
	add_limits(&text, ", of at least ", ", of at most ", wanted->min_size, wanted->max_size,
		text_add_bytes);
	if (wanted->thread)
		add_thread(&text, choice);
	if (wanted->by_life)
		add_limits(&text,
			wanted->live_only ? ", at least as old as " : ", that live at least ",
			wanted->live_only ? ", at most as old as " : ", that live at most ",
			wanted->min_life_ns, wanted->max_life_ns, text_add_duration_ns);
	if (wanted->hidden_frames)
		text_add(&text, ", except those allocated by excluded functions");
	if (text.failed)
		return error_no_memory();
	build_recording(model)->temporary_within = wanted->temporary_within;
	if (source_blocks_are_all(wanted))
		return NULL;
	const char *words = text.data ? text.data + 2 : "all";
	return build_string(model, words, strlen(words), &build_recording(model)->blocks);
}
