/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/growth_change.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/filter.h"
#include "analysis/summary.h"
#include "base/cleanup.h"

/* This many suspects of a fate have a sentence each. */
#define SUSPECTS_NAMED 3u

void growth_change_init(struct growth_change *change)
{
	*change = (struct growth_change){.match = NULL};
	for (int i = 0; i < 2; i++) {
		profile_init(&change->sides[i]);
		growth_init(&change->judged[i]);
	}
	rows_init(&change->rows);
	growth_change_rows_init(&change->list);
	text_init(&change->verdict);
	text_init(&change->notes);
}

void growth_change_deinit(struct growth_change *change)
{
	growth_change_rows_deinit(&change->list);
	rows_deinit(&change->rows);
	match_destroy(change->match);
	for (int i = 0; i < 2; i++) {
		growth_deinit(&change->judged[i]);
		profile_deinit(&change->sides[i]);
	}
	text_deinit(&change->verdict);
	text_deinit(&change->notes);
}

const char *growth_fate_name(enum growth_fate fate)
{
	static const char *const names[GROWTH_FATES] = {
		[GROWTH_NEW] = "new", [GROWTH_STAYS] = "before", [GROWTH_GONE] = "gone"};
	return names[fate];
}

/* Sets ret[row of the model] to the place that it is in. Members are in the order of the rows that
 * a filter has left. */
static struct error *find_places(const struct growth_change *change, unsigned side, uint32_t **ret)
{
	const struct profile *profile = &change->sides[side];
	const struct match_member_vec *members = &change->match->members;
	size_t count = profile_rows(profile)->rows.len, all = profile->all.rows.len, next = 0;
	_cleanup_free_ uint32_t *groups = malloc((count + 1) * sizeof(*groups));
	_cleanup_free_ uint32_t *places = malloc((all + 1) * sizeof(*places));
	if (!groups || !places)
		return error_no_memory();
	for (size_t i = 0; i < members->len && next < count; i++)
		if (members->data[i].side == side)
			groups[next++] = members->data[i].group;
	for (size_t i = 0; i < all; i++) {
		uint32_t left = profile->filter ? profile->left.row_of[i] : (uint32_t)i;
		places[i] = left == ROWS_NONE ? ROWS_NONE : groups[left];
	}
	*ret = steal_ptr(places);
	return NULL;
}

static struct error *evaluate_side(
	struct growth_change *change, unsigned side, unsigned tail_percent)
{
	const struct profile *profile = &change->sides[side];
	_cleanup_free_ uint32_t *shown_of = NULL;
	struct error *error = find_places(change, side, &shown_of);
	const struct growth_places places = {
		.all = &profile->all,
		.shown = &change->rows,
		.shown_of = shown_of,
		.chosen = profile->filter || model_recording(profile->model)->blocks,
	};
	return error ? error
		     : growth_build(profile->model, profile->resolver, &places, tail_percent,
			       &change->judged[side]);
}

static enum growth_fate fate_of(const struct growth_row *older, const struct growth_row *newer)
{
	bool was = older->verdict == GROWTH_LEAK, is = newer->verdict == GROWTH_LEAK;
	return was ? is ? GROWTH_STAYS : GROWTH_GONE : is ? GROWTH_NEW : GROWTH_OTHER;
}

static int64_t growth_change_weight_of(const struct growth_change_row *row)
{
	if (row->fate == GROWTH_OTHER)
		return (int64_t)row->newer.live_bytes;
	return row->fate == GROWTH_GONE ? row->older.grown_bytes : row->newer.grown_bytes;
}

static int growth_change_compare_rows(const void *left, const void *right)
{
	const struct growth_change_row *a = left, *b = right;
	if (a->fate != b->fate)
		return a->fate < b->fate ? -1 : 1;
	int64_t x = growth_change_weight_of(a), y = growth_change_weight_of(b);
	if (x != y)
		return x > y ? -1 : 1;
	if (a->newer.highest != b->newer.highest)
		return a->newer.highest > b->newer.highest ? -1 : 1;
	return a->newer.row < b->newer.row ? -1 : a->newer.row > b->newer.row;
}

/* Sites that are gone and were no suspects are left out. */
static bool growth_change_counts(const struct growth_change_row *row)
{
	return row->newer.verdict != GROWTH_NONE || row->older.verdict == GROWTH_LEAK;
}

static struct error *make_list(struct growth_change *change)
{
	size_t count = change->rows.rows.len;
	_cleanup_free_ struct growth_change_row *rows = calloc(count + 1, sizeof(*rows));
	if (!rows || !growth_change_rows_reserve(&change->list, count))
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		rows[i].older = rows[i].newer = (struct growth_row){
			.row = &change->rows.rows.data[i], .verdict = GROWTH_NONE};
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < change->judged[side].rows.len; i++) {
			const struct growth_row *row = &change->judged[side].rows.data[i];
			size_t place = (size_t)(row->row - change->rows.rows.data);
			*(side ? &rows[place].newer : &rows[place].older) = *row;
		}
	for (size_t i = 0; i < count; i++) {
		rows[i].fate = fate_of(&rows[i].older, &rows[i].newer);
		if (!growth_change_counts(&rows[i]))
			continue;
		if (!growth_change_rows_push(&change->list, rows[i]))
			return error_no_memory();
		change->counts[rows[i].fate]++;
	}
	if (change->list.len)
		qsort(change->list.data, change->list.len, sizeof(*change->list.data),
			growth_change_compare_rows);
	return NULL;
}

/* "1.2 MiB, 39 KiB a second" */
static void add_growth(const struct growth_row *row, struct text *text)
{
	text_add_bytes(text, (uint64_t)row->grown_bytes);
	if (row->bytes_per_s < 1)
		return;
	text_add(text, ", ");
	text_add_bytes(text, (uint64_t)row->bytes_per_s);
	text_add(text, " a second");
}

/* What it is, or was, where it is no suspect. */
static const char *state_of(const struct growth_row *row)
{
	static const char *const states[GROWTH_VERDICTS] = {
		[GROWTH_LEAK] = "kept growing",
		[GROWTH_CACHE] = "levelled off",
		[GROWTH_BURST] = "came and went",
		[GROWTH_STARTUP] = "was there from the beginning",
		[GROWTH_STEADY] = "went up and down",
		[GROWTH_NONE] = "had nothing",
	};
	return states[row->verdict];
}

static void describe_new(
	const struct growth_change *change, const struct growth_change_row *row, struct text *text)
{
	text_add(text, " keeps growing");
	text_add(text, change->older_known ? ", but did not before: by " : ": by ");
	add_growth(&row->newer, text);
	if (change->older_known)
		text_printf(text, "; before it %s", state_of(&row->older));
}

static void describe_place(
	const struct growth_change *change, const struct growth_change_row *row, struct text *text)
{
	const struct shown_frame *place = row->newer.row->place;
	if (place)
		summary_add_place(text, place);
	else
		text_add(text, "An unnamed allocation site");
	switch (row->fate) {
	case GROWTH_NEW:
		describe_new(change, row, text);
		break;
	case GROWTH_STAYS:
		text_add(text, " keeps growing as it did before: by ");
		add_growth(&row->newer, text);
		text_add(text, "; before by ");
		add_growth(&row->older, text);
		break;
	default:
		text_add(text, " no longer keeps growing; before, it grew by ");
		add_growth(&row->older, text);
		text_printf(text, "; now it %s", state_of(&row->newer));
	}
	text_add(text, ".\n");
}

static void describe_fate(
	const struct growth_change *change, enum growth_fate fate, struct text *text)
{
	static const char *const words[][2] = {
		[GROWTH_NEW] = {"allocation site keeps growing, but did not",
			"allocation sites keep growing, but did not"},
		[GROWTH_STAYS] = {"allocation site keeps growing as it did",
			"allocation sites keep growing as they did"},
		[GROWTH_GONE] = {"allocation site no longer keeps growing as it did",
			"allocation sites no longer keep growing as they did"},
	};
	size_t suspects = 0, rest;
	for (size_t i = 0; i < change->list.len; i++)
		if (change->list.data[i].fate == fate && suspects++ < SUSPECTS_NAMED)
			describe_place(change, &change->list.data[i], text);
	if (suspects <= SUSPECTS_NAMED)
		return;
	rest = suspects - SUSPECTS_NAMED;
	if (change->older_known)
		text_printf(text, "%zu more %s before.\n", rest, words[fate][rest != 1]);
	else
		text_printf(text, "%zu more %s growing.\n", rest,
			rest == 1 ? "allocation site keeps" : "allocation sites keep");
}

static void describe_stacks(const struct growth_change *change, struct text *text)
{
	const struct growth_row *older = &change->judged[0].stacks;
	const struct growth_row *newer = &change->judged[1].stacks;
	bool was = older->verdict == GROWTH_LEAK, is = newer->verdict == GROWTH_LEAK;
	if (!was && !is)
		return;
	if (!is) {
		/* Else it is not known. */
		if (newer->highest)
			text_add(text, "Thread stacks no longer keep growing.\n");
		return;
	}
	text_add(text, "Thread stacks keep growing");
	text_add(text, !was && older->highest ? ", but did not before: by " : ": by ");
	add_growth(newer, text);
	if (was) {
		text_add(text, "; before by ");
		add_growth(older, text);
	}
	text_add(text, ".\n");
}

static void growth_change_describe(struct growth_change *change, bool chosen)
{
	static const char *const sides[] = {"older", "newer"};
	struct text *text = &change->verdict;
	for (int fate = 0; fate < GROWTH_OTHER; fate++)
		describe_fate(change, (enum growth_fate)fate, text);
	bool enough = true;
	for (int i = 0; i < 2; i++)
		if (change->judged[i].moments < GROWTH_WINDOWS) {
			text_printf(text,
				"The %s recording has too few data points to distinguish growth "
				"from chance.\n",
				sides[i]);
			enough = false;
		}
	if (enough && !text->len)
		text_printf(text, "No allocation site%s keeps growing, and none did before.\n",
			chosen ? " among those shown" : "");
	describe_stacks(change, text);
}

/* Those of the newer one, and of the older one what is not the same. */
static void growth_change_add_notes(struct growth_change *change, const char *older_label)
{
	const struct text *older = &change->sides[0].notes, *newer = &change->sides[1].notes;
	struct text *out = &change->notes;
	if (newer->len)
		text_add_n(out, newer->data, newer->len);
	if (!older->len ||
		(older->len == newer->len && memcmp(older->data, newer->data, older->len) == 0))
		return;
	for (const char *line = older->data; *line;) {
		size_t len = strcspn(line, "\n");
		text_printf(out, "%s: %.*s\n", older_label, (int)len, line);
		line += len + (line[len] != '\0');
	}
}

struct error *growth_change_build(const struct model *older, const struct model *newer,
	const struct growth_change_options *options, struct growth_change *ret)
{
	const struct model *models[] = {older, newer};
	struct match_side sides[2];
	struct error *error = NULL;
	for (int i = 0; !error && i < 2; i++) {
		error = profile_build(
			models[i], options->all_frames, options->filter, &ret->sides[i]);
		sides[i] = (struct match_side){models[i], profile_rows(&ret->sides[i])};
	}
	if (!error)
		error = match_create(sides, 2, options->same_recording, &ret->match);
	if (!error)
		error = match_rows(ret->match, 1, &ret->rows);
	for (unsigned i = 0; !error && i < 2; i++)
		error = evaluate_side(ret, i, options->tail_percent);
	ret->older_known = ret->judged[0].moments >= GROWTH_WINDOWS;
	if (!error)
		error = make_list(ret);
	if (error)
		return error;
	growth_change_describe(
		ret, filter_is_given(options->filter) || model_recording(newer)->blocks);
	growth_change_add_notes(ret, options->older_label);
	return ret->verdict.failed || ret->notes.failed ? error_no_memory() : NULL;
}
