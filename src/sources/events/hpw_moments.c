/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See hpw_moments.h. The sums of chunks say which of them has a moment, and that one is walked.
 * Without sums all of them are, once for times and marks, and once more, with all books, for the
 * peak.
 */
#include "sources/events/hpw_moments.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "sources/events/hpw_events.h"
#include "sources/events/hpw_replay.h"
#include "sources/recording/hpw_marks.h"

/* This many names of marks are listed in a message. */
#define NAMED_MAX 8u

/* One moment that is being looked for. */
struct wanted {
	const struct source_moment *moment;
	uint64_t seen; /* marks of that name */
	bool found;
	uint64_t step, stamp;
};

struct search {
	const struct hpw_moments *moments;
	struct wanted wanted[2];
	const struct wanted *alone; /* times of others do not count now; NULL: all do */
	uint64_t step, stamp, last_ns;
	char *named[NAMED_MAX]; /* marks, each name once, for messages */
	size_t named_len;       /* more than NAMED_MAX: there are others */
};

static void search_deinit(struct search *search)
{
	for (size_t i = 0; i < ARRAY_SIZE(search->named); i++)
		free(search->named[i]);
}

static void found_at(struct search *search, struct wanted *wanted, uint64_t step)
{
	wanted->found = true;
	wanted->step = step;
	wanted->stamp = search->stamp;
}

static void hpw_moments_on_time(void *context, uint64_t stamp)
{
	struct search *search = context;
	uint64_t ns = hpw_clock_ns(search->moments->clock, stamp);
	for (size_t i = 0; i < ARRAY_SIZE(search->wanted); i++) {
		struct wanted *wanted = &search->wanted[i];
		if (search->alone && search->alone != wanted)
			continue;
		if (wanted->moment->kind == SOURCE_TIME && !wanted->found &&
			ns > wanted->moment->time_ns)
			found_at(search, wanted, search->step);
	}
	search->stamp = stamp;
	search->last_ns = ns;
}

static struct error *remember_name(struct search *search, const char *name)
{
	if (!hpw_mark_is_users(name, strlen(name)) || search->named_len > NAMED_MAX)
		return NULL;
	for (size_t i = 0; i < search->named_len; i++)
		if (strcmp(search->named[i], name) == 0)
			return NULL;
	if (search->named_len < NAMED_MAX && !(search->named[search->named_len] = strdup(name)))
		return error_no_memory();
	search->named_len++;
	return NULL;
}

/* A mark at the current step. */
static struct error *on_mark(struct search *search, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(search->wanted); i++) {
		struct wanted *wanted = &search->wanted[i];
		const struct source_moment *moment = wanted->moment;
		if (moment->kind == SOURCE_MARK && !wanted->found &&
			strcmp(moment->mark, name) == 0 && ++wanted->seen >= moment->nth)
			found_at(search, wanted, search->step + 1);
	}
	return remember_name(search, name);
}

static struct error *hpw_moments_on_step(void *context, const struct hpw_step *step)
{
	struct search *search = context;
	struct error *error = NULL;
	if (step->kind == HPW_STEP_MARK) {
		_cleanup_free_ char *name = strndup((const char *)step->bytes, (size_t)step->size);
		error = name ? on_mark(search, name) : error_no_memory();
	}
	if (error)
		return error;
	search->step++;
	for (size_t i = 0; i < ARRAY_SIZE(search->wanted); i++) {
		struct wanted *wanted = &search->wanted[i];
		if (wanted->moment->kind == SOURCE_STEP && wanted->moment->step == search->step)
			found_at(search, wanted, search->step);
	}
	return NULL;
}

/* Marks have been found by the sums. */
static struct error *on_step_only(void *context, const struct hpw_step *step)
{
	(void)step;
	((struct search *)context)->step++;
	return NULL;
}

static struct error *hpw_moments_on_head(void *context, const struct hpw_events_head *head)
{
	((struct search *)context)->step = head->first_step;
	return NULL;
}

static struct error *search_all(struct search *search)
{
	const struct event_replay *story = search->moments->story;
	const struct hpw_visitor visitor = {.context = search,
		.head = hpw_moments_on_head,
		.time = hpw_moments_on_time,
		.step = hpw_moments_on_step};
	return story->each(story->context, &visitor, NULL);
}

/* When a step was. */
struct stamped {
	uint64_t step, wanted, stamp;
};

static void stamp_time(void *context, uint64_t stamp)
{
	struct stamped *stamped = context;
	if (stamped->step < stamped->wanted)
		stamped->stamp = stamp;
}

static struct error *stamp_step(void *context, const struct hpw_step *step)
{
	(void)step;
	((struct stamped *)context)->step++;
	return NULL;
}

static struct error *seek_stamp(const struct search *search, struct wanted *wanted)
{
	const struct hpw_ranges *parts = search->moments->parts;
	size_t chunk = hpw_ranges_chunk(parts, wanted->step - 1);
	struct stamped stamped = {.step = parts->chunks.data[chunk].head[HPW_SUMS_FIRST_STEP],
		.wanted = wanted->step};
	const struct hpw_visitor visitor = {
		.context = &stamped, .time = stamp_time, .step = stamp_step};
	struct error *error = hpw_ranges_visit(parts, chunk, &visitor);
	wanted->stamp = stamped.stamp;
	return error;
}

static uint64_t ns_of(const struct search *search, size_t chunk)
{
	return hpw_clock_ns(search->moments->clock,
		search->moments->parts->chunks.data[chunk].head[HPW_SUMS_STAMP]);
}

/* Looks at the chunk in which the time is, and at the first stamp of the next one. */
static struct error *seek_time(struct search *search, const struct wanted *wanted)
{
	uint64_t time_ns = wanted->moment->time_ns;
	search->alone = wanted;
	const struct hpw_ranges *parts = search->moments->parts;
	size_t low = 0, high = parts->chunks.len;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (ns_of(search, middle) <= time_ns)
			low = middle;
		else
			high = middle;
	}
	const struct hpw_visitor visitor = {.context = search,
		.head = hpw_moments_on_head,
		.time = hpw_moments_on_time,
		.step = on_step_only};
	struct error *error = hpw_ranges_visit(parts, low, &visitor);
	if (!error && low + 1 < parts->chunks.len) {
		search->step = parts->chunks.data[low + 1].head[HPW_SUMS_FIRST_STEP];
		hpw_moments_on_time(search, parts->chunks.data[low + 1].head[HPW_SUMS_STAMP]);
	}
	return error;
}

/* Looks for marks and times by sums. */
static struct error *hpw_moments_seek(struct search *search)
{
	const struct hpw_ranges *parts = search->moments->parts;
	struct error *error = NULL;
	for (size_t i = 0; !error && i < parts->marks.len; i++) {
		search->step = parts->marks.data[i].step;
		search->stamp = parts->marks.data[i].stamp;
		error = on_mark(search, parts->marks.data[i].name);
	}
	for (size_t i = 0; !error && i < ARRAY_SIZE(search->wanted); i++) {
		struct wanted *wanted = &search->wanted[i];
		/* That of another moment says nothing of this one. */
		search->stamp = 0;
		if (wanted->moment->kind == SOURCE_TIME)
			error = seek_time(search, wanted);
		else if (wanted->moment->kind == SOURCE_STEP && wanted->moment->step)
			found_at(search, wanted, wanted->moment->step);
		if (!error && wanted->found && wanted->moment->kind != SOURCE_TIME &&
			!wanted->stamp)
			error = seek_stamp(search, wanted);
	}
	return error;
}

static void replay_cleanup(struct hpw_replay *replay)
{
	hpw_replay_deinit(replay);
}

static struct error *find_peak(const struct hpw_moments *moments, struct wanted *wanted)
{
	wanted->found = true;
	if (moments->parts) {
		struct error *error =
			hpw_ranges_peak(moments->parts, &wanted->step, &wanted->stamp);
		if (!error || error->code != ERROR_INPUT)
			return error;
		error_destroy(error);
	}
	_cleanup_(replay_cleanup) struct hpw_replay replay;
	const struct event_replay *story = moments->story;
	struct error *error = hpw_replay_init(&replay, moments->model, story->blocks_max);
	const struct hpw_visitor visitor = hpw_replay_visitor(&replay);
	if (!error)
		error = story->each(story->context, &visitor, NULL);
	if (error)
		return error;
	hpw_replay_settle(&replay);
	wanted->step = replay.peak_step;
	wanted->stamp = replay.peak_stamp;
	if (moments->peak && !moments->peak->sites) {
		*moments->peak = replay.estimate;
		replay.estimate.sites = NULL;
	}
	return NULL;
}

/* "'a', 'b' and others" */
static void hpw_moments_add_names(struct text *text, const struct search *search)
{
	size_t len = min(search->named_len, (size_t)NAMED_MAX);
	for (size_t i = 0; i < len; i++) {
		text_add(text, i ? ", '" : "'");
		text_add_shown(text, search->named[i], 64);
		text_add(text, "'");
	}
	text_add(text, search->named_len > NAMED_MAX ? " and others" : "");
}

static struct error *missing_mark(const struct search *search, const struct wanted *wanted)
{
	if (wanted->seen)
		return error_create(ERROR_INPUT,
			"it has only %" PRIu64 " %s named '%s', not %" PRIu64, wanted->seen,
			wanted->seen == 1 ? "mark" : "marks", wanted->moment->mark,
			wanted->moment->nth);
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "it has no mark '%s'", wanted->moment->mark);
	if (search->named_len) {
		text_add(&text, "; it has ");
		hpw_moments_add_names(&text, search);
	} else {
		text_add(&text, ", nor any other mark: heapwise_mark() and heapwise mark set them");
	}
	return text.failed ? error_no_memory() : error_create(ERROR_INPUT, "%s", text.data);
}

static struct error *missing_time(const struct wanted *wanted, uint64_t end_ns)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add(&text, "the recording is shorter than ");
	text_add_duration_ns(&text, wanted->moment->time_ns);
	text_add(&text, ": it ends after ");
	text_add_duration_ns(&text, end_ns);
	return text.failed ? error_no_memory() : error_create(ERROR_INPUT, "%s", text.data);
}

/* What the events have not shown. */
static struct error *hpw_moments_conclude(struct search *search, struct wanted *wanted)
{
	switch (wanted->moment->kind) {
	case SOURCE_START:
		found_at(search, wanted, 0);
		wanted->stamp = search->moments->clock->tsc_start;
		return NULL;
	case SOURCE_END:
		found_at(search, wanted, UINT64_MAX);
		wanted->stamp = search->moments->clock->tsc_end;
		return NULL;
	case SOURCE_PEAK:
		return find_peak(search->moments, wanted);
	case SOURCE_TIME: {
		uint64_t duration = model_recording(search->moments->model)->duration_ns;
		uint64_t end = duration > search->last_ns ? duration : search->last_ns;
		if (!wanted->found && wanted->moment->time_ns > end)
			return missing_time(wanted, end);
		if (!wanted->found)
			found_at(search, wanted, UINT64_MAX);
		wanted->stamp = hpw_clock_stamp(search->moments->clock, wanted->moment->time_ns);
		return NULL;
	}
	case SOURCE_MARK:
		return wanted->found ? NULL : missing_mark(search, wanted);
	case SOURCE_STEP:
		if (!wanted->found)
			found_at(search, wanted, wanted->moment->step);
		if (!wanted->moment->step)
			wanted->stamp = search->moments->clock->tsc_start;
		return NULL;
	}
	return NULL;
}

static bool needs_events(const struct source_moment *moment)
{
	return moment->kind == SOURCE_TIME || moment->kind == SOURCE_MARK ||
	       moment->kind == SOURCE_STEP;
}

/* Two times may fall between the same steps. */
static bool comes_after(const struct wanted *one, const struct wanted *other)
{
	if (one->moment->kind == SOURCE_TIME && other->moment->kind == SOURCE_TIME)
		return one->moment->time_ns > other->moment->time_ns;
	return one->step > other->step;
}

struct error *hpw_moments_find(
	const struct hpw_moments *moments, const struct source_query *query, struct hpw_span *ret)
{
	_cleanup_(search_deinit) struct search search = {
		.moments = moments, .wanted = {{.moment = &query->from}, {.moment = &query->to}}};
	struct error *error = NULL;
	if (needs_events(&query->from) || needs_events(&query->to))
		error = moments->parts ? hpw_moments_seek(&search) : search_all(&search);
	for (size_t i = 0; !error && i < ARRAY_SIZE(search.wanted); i++)
		error = hpw_moments_conclude(&search, &search.wanted[i]);
	if (error)
		return error;
	const struct wanted *from = &search.wanted[0], *to = &search.wanted[1];
	if (comes_after(from, to))
		return error_create(ERROR_INPUT, "%s comes after %s",
			query->from_text ? query->from_text : "the beginning",
			query->to_text ? query->to_text : "the end");
	*ret = (struct hpw_span){from->step, to->step, from->stamp, to->stamp};
	return NULL;
}

void hpw_span_times(const struct hpw_span *span, const struct source_query *query,
	const struct hpw_clock *clock, uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	bool from_time = query && query->from.kind == SOURCE_TIME;
	bool to_time = query && query->to.kind == SOURCE_TIME;
	*ret_from_ns = from_time ? query->from.time_ns : hpw_clock_ns(clock, span->from_stamp);
	*ret_to_ns = to_time ? query->to.time_ns : hpw_clock_ns(clock, span->to_stamp);
}

struct error *hpw_span_put(const struct hpw_span *span, const struct source_query *query,
	const struct hpw_clock *clock, struct model *model)
{
	struct range *range = &build_recording(model)->range;
	range->part = true;
	range->from_step = span->from_step;
	range->to_step = span->to_step;
	hpw_span_times(span, query, clock, &range->from_ns, &range->to_ns);
	if (query->to.kind == SOURCE_END)
		range->to_ns = build_recording(model)->duration_ns;
	const char *from = query->from_text ? query->from_text : "start";
	const char *to = query->to_text ? query->to_text : "end";
	struct error *error = build_string(model, from, strlen(from), &range->from);
	return error ? error : build_string(model, to, strlen(to), &range->to);
}
