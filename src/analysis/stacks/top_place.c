/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See top_place.h. The list's rows may be several of one place (they are merged by weight), so
 * places are counted by themselves where none of the rows weighs much.
 */
#include "analysis/stacks/top_place.h"

#include <string.h>

#include "analysis/summary.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/path.h"

void top_place_add_share(struct text *text, uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;
	if (part < whole && percent > 99)
		text_add(text, "more than 99%");
	else if (part > 0 && percent < 1)
		text_add(text, "less than 1%");
	else
		text_printf(text, "%.0f%%", percent);
}

const struct row *top_place_find(const struct row_list *list, enum metric metric)
{
	const struct row *top = NULL;
	uint64_t most = 0;
	for (size_t i = 0; i < list->len; i++) {
		uint64_t value = metric_of_site(metric, list->data[i]->sums);
		if (value <= most || !list->data[i]->place)
			continue;
		most = value;
		top = list->data[i];
	}
	return top;
}

static inline uint64_t number_hash(uint32_t number)
{
	return hash_u64(number);
}

static inline bool number_equal(uint32_t a, uint32_t b)
{
	return a == b;
}

struct place_sum {
	uint64_t value;
	const char *module; /* last part of its path; NULL: unknown */
	const char *path;
};

DEFINE_MAP(place_sums, uint32_t, struct place_sum, number_hash, number_equal)

/* What a list has, dealt out by place and by module. */
struct spread_places {
	struct place_sums places, modules;
	uint64_t most;                     /* that one place has */
	const struct place_sum *in_module; /* that has most; NULL: no module is known */
};

static bool sum_add(struct place_sums *sums, uint32_t number, const struct shown_frame *frame,
	uint64_t value, uint64_t *most)
{
	bool is_new;
	struct place_sum *sum = place_sums_insert(sums, number, &is_new);
	if (!sum)
		return false;
	if (is_new)
		*sum = (struct place_sum){.module = frame->module, .path = frame->module_path};
	sum->value += value;
	*most = sum->value > *most ? sum->value : *most;
	return true;
}

static bool spread_places_fill(
	struct spread_places *ret, const struct row_list *list, enum metric metric)
{
	uint64_t most = 0;
	for (size_t i = 0; i < list->len; i++) {
		const struct shown_frame *frame = list->data[i]->place;
		uint64_t value = metric_of_site(metric, list->data[i]->sums);
		if (!frame || !value)
			continue;
		if (!sum_add(&ret->places, frame->place, frame, value, &ret->most))
			return false;
		if (frame->module && frame->code_module &&
			!sum_add(&ret->modules, frame->code_module, frame, value, &most))
			return false;
	}
	const struct place_sum *sum;
	for (uint32_t at = 0; (sum = place_sums_next(&ret->modules, &at, NULL));)
		if (sum->value == most)
			ret->in_module = sum;
	return true;
}

static void spread_places_deinit(struct spread_places *places)
{
	place_sums_deinit(&places->places);
	place_sums_deinit(&places->modules);
}

/* "; 80% of it in libfoo.so": where that says more than the name of the program. */
static void top_place_add_module(const struct spread_places *places, uint64_t total, const char *it,
	const char *exe, struct text *text)
{
	const struct place_sum *module = places->in_module;
	if (!module || module->value < total / 2 ||
		(places->modules.len == 1 && !strcmp(module->path, exe)))
		return;
	text_add(text, "; ");
	if (module->value == total)
		text_add(text, "all");
	else
		top_place_add_share(text, module->value, total);
	text_printf(text, " of %s in ", it);
	text_add_shown(text, module->module, SIZE_MAX);
}

/* "from 300 allocation sites, none with more than 1% of it"; nothing and false if it is one place.
 */
static bool add_spread(const struct row_list *list, enum metric metric, uint64_t total,
	const char *it, const char *exe, struct text *text)
{
	_cleanup_(spread_places_deinit) struct spread_places places = {.most = 0};
	place_sums_init(&places.places);
	place_sums_init(&places.modules);
	if (!spread_places_fill(&places, list, metric)) {
		text->failed = true;
		return true;
	}
	if (places.places.len < 2)
		return false;
	double share = 100.0 * (double)places.most / (double)total;
	unsigned percent = (unsigned)share + (share > (unsigned)share);
	text_add(text, "from ");
	text_add_count(text, places.places.len);
	text_printf(text, " allocation sites, none with more than %u%% of %s", percent, it);
	top_place_add_module(&places, total, it, exe, text);
	return true;
}

static void top_place_add_part(struct text *text, uint64_t part, uint64_t total, const char *it)
{
	if (part == total)
		text_add(text, "all");
	else
		top_place_add_share(text, part, total);
	text_printf(text, " of %s from ", it);
}

void top_place_add(const struct row_list *list, enum metric metric, uint64_t total, const char *it,
	const char *exe, struct text *text)
{
	const struct row *top = top_place_find(list, metric);
	uint64_t most = top ? metric_of_site(metric, top->sums) : 0, unknown = 0;
	for (size_t i = 0; i < list->len; i++)
		if (!list->data[i]->place)
			unknown += metric_of_site(metric, list->data[i]->sums);
	if (unknown > most) {
		text_add(text, ", ");
		top_place_add_part(text, unknown, total, it);
		text_add(text, "unknown allocation sites");
	}
	bool is_small = most < total / TOP_PLACE_PARTS;
	if (!top || (is_small && unknown > most))
		return;
	text_add(text, ", ");
	if (is_small && add_spread(list, metric, total, it, exe, text))
		return;
	top_place_add_part(text, most, total, it);
	text_add(text, "one allocation site: ");
	summary_add_place(text, top->place);
}
