/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See errors_settle.h. */
#include "analysis/errors_settle.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/leaks/error_facts.h"
#include "analysis/leaks/suppress_stack.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"

static bool settle_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(settle_map, uint64_t, size_t, hash_u64, settle_equal)

struct settling {
	struct model *model;
	struct resolver *resolver;
	struct suppressions *set;
	uint64_t *counts;         /* of each error; 0: it goes */
	struct settle_map firsts; /* by what makes errors equal: number of the first */
	struct frame_vec shown;
	struct suppress_frame_vec frames;
};

static void settling_deinit(struct settling *settling)
{
	resolver_destroy(settling->resolver);
	free(settling->counts);
	settle_map_deinit(&settling->firsts);
	frame_vec_deinit(&settling->shown);
	suppress_frame_vec_deinit(&settling->frames);
}

static const struct error_stack *stacks_of(
	const struct model *model, const struct program_error *error)
{
	size_t count;
	return model_error_stacks(model, &count) + error->first_stack;
}

static struct error *resolve_stack(struct resolver *resolver, uint32_t stack, struct frame_vec *ret)
{
	frame_vec_clear(ret);
	return stack ? resolver_stack(resolver, (struct stack_id){stack}, KIND_UNKNOWN, ret) : NULL;
}

/*
 * The frames that files of suppressions are written for: where the error was made, with the
 * function that frees above those of a recording. Of an error that was found later it is the first
 * stack that is known.
 */
static struct error *find_frames(struct resolver *resolver, const struct model *model,
	const struct program_error *error, struct text *name, struct frame_vec *shown,
	struct suppress_frame_vec *ret)
{
	const struct error_stack *stacks = stacks_of(model, error);
	size_t i = 0;
	while (i < error->stack_count && !stacks[i].stack)
		i++;
	suppress_frame_vec_clear(ret);
	struct error *failed =
		i < error->stack_count ? resolve_stack(resolver, stacks[i].stack, shown) : NULL;
	if (failed || i == error->stack_count || !shown->len)
		return failed;
	struct suppress_frame called;
	bool of_recording = !strcmp(model_recording(model)->source, "recording");
	if (of_recording && i == 0 && error_facts_called(error, name, &called) &&
		!suppress_frame_vec_push(ret, called))
		return error_no_memory();
	return suppress_add_frames(shown->data, shown->len, ret);
}

static struct error *find_suppression(
	struct settling *settling, const struct program_error *error, uint32_t *ret)
{
	_cleanup_(text_deinit) struct text extra, name, call;
	text_init(&extra);
	text_init(&name);
	text_init(&call);
	error_facts_add_extra(error, &extra);
	*ret = SUPPRESS_NONE;
	struct error *failed = find_frames(settling->resolver, settling->model, error, &name,
		&settling->shown, &settling->frames);
	if (!failed && extra.failed)
		failed = error_no_memory();
	const struct suppress_frame_vec *frames = &settling->frames;
	struct suppress_error asked = {.kinds = error_facts_kinds(error),
		.extra = extra.data,
		.frames = frames->data,
		.count = frames->len};
	if (failed || !frames->len)
		return failed;
	error_facts_add_call(error, &frames->data[0], &call);
	if (call.failed)
		return error_no_memory();
	asked.call = call.len ? call.data : NULL;
	return suppressions_match_error(settling->set, &asked, ret);
}

static struct error *suppress_all(
	struct settling *settling, const struct program_error *errors, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t id;
		struct error *error = find_suppression(settling, &errors[i], &id);
		if (error)
			return error;
		if (id == SUPPRESS_NONE)
			continue;
		suppressions_use_error(settling->set, id, errors[i].count);
		settling->counts[i] = 0;
	}
	return NULL;
}

/* A sentence without its addresses: 0x and hexadecimal digits. */
static uint64_t hash_sentence(uint64_t hash, const char *what)
{
	while (*what) {
		if (what[0] == '0' && what[1] == 'x') {
			what += 2;
			what += strspn(what, "0123456789abcdefABCDEF");
			hash = hash_u64(hash ^ 'x');
			continue;
		}
		hash = hash_u64(hash ^ (uint8_t)*what++) + 1;
	}
	return hash_u64(hash);
}

static struct error *hash_error(
	struct settling *settling, const struct program_error *error, uint64_t *ret)
{
	const struct error_stack *stacks = stacks_of(settling->model, error);
	struct frame_vec *frames = &settling->shown;
	uint64_t hash = hash_sentence(hash_bytes(error->kind, strlen(error->kind)), error->what);
	for (size_t i = 0; i < error->stack_count; i++) {
		struct error *failed = resolve_stack(settling->resolver, stacks[i].stack, frames);
		if (failed)
			return failed;
		hash = hash_sentence(hash, stacks[i].what);
		for (size_t k = 0; k < frames->len; k++)
			hash = shown_frame_hash_add(hash, frames->data[k]->place);
		hash = hash_u64(hash + frames->len);
	}
	*ret = hash;
	return NULL;
}

static struct error *merge_all(
	struct settling *settling, const struct program_error *errors, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!settling->counts[i])
			continue;
		uint64_t hash, *counts = settling->counts;
		bool is_new;
		struct error *error = hash_error(settling, &errors[i], &hash);
		size_t *first = error ? NULL : settle_map_insert(&settling->firsts, hash, &is_new);
		if (error || !first)
			return error ? error : error_no_memory();
		if (is_new) {
			*first = i;
			continue;
		}
		if (__builtin_add_overflow(counts[*first], counts[i], &counts[*first]))
			counts[*first] = UINT64_MAX;
		counts[i] = 0;
	}
	return NULL;
}

/* Tells the model which entries for errors were used, or not. */
static struct error *note_entries(struct model *model, const struct suppressions *set, bool used)
{
	for (uint32_t id = 0; id < suppressions_count(set); id++) {
		const struct suppression *one = suppressions_get(set, id);
		if (one->kinds & SUPPRESS_KINDS_ALL || !one->errors == used)
			continue;
		_cleanup_(text_deinit) struct text from;
		text_init(&from);
		text_printf(&from, "%s:%u", one->file, one->line);
		if (from.failed)
			return error_no_memory();
		const struct error_suppression row = {
			.name = one->name, .count = one->errors, .from = from.data};
		struct error *error = model_errors_suppressed(model, &row);
		if (error)
			return error;
	}
	return NULL;
}

static struct error *settle_errors(struct settling *settling, bool merge)
{
	size_t count;
	const struct program_error *errors = model_errors(settling->model, &count);
	settling->counts = calloc(count + 1, sizeof(*settling->counts));
	if (!settling->counts)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		settling->counts[i] = errors[i].count;
	struct error *error = settling->set ? suppress_all(settling, errors, count) : NULL;
	if (!error && merge)
		error = merge_all(settling, errors, count);
	if (!error)
		model_errors_recount(settling->model, settling->counts);
	return error;
}

struct error *errors_settle(struct model *model, struct suppressions *set, bool merge)
{
	size_t count;
	if (!model_errors(model, &count) || (!merge && (!set || !suppressions_count(set))))
		return NULL;
	_cleanup_(settling_deinit) struct settling settling = {.model = model, .set = set};
	settle_map_init(&settling.firsts);
	frame_vec_init(&settling.shown);
	suppress_frame_vec_init(&settling.frames);
	struct error *error = resolver_create(model, true, &settling.resolver);
	if (error)
		return error;
	resolver_add_aliases(settling.resolver);
	error = settle_errors(&settling, merge);
	if (!error && set)
		error = note_entries(model, set, true);
	return error || !set ? error : note_entries(model, set, false);
}

struct error *errors_write_suppression(struct resolver *resolver, const struct model *model,
	const struct program_error *error, struct text *out)
{
	_cleanup_(frame_vec_deinit) struct frame_vec shown;
	_cleanup_(suppress_frame_vec_deinit) struct suppress_frame_vec frames;
	_cleanup_(text_deinit) struct text extra, name;
	frame_vec_init(&shown);
	suppress_frame_vec_init(&frames);
	text_init(&extra);
	text_init(&name);
	error_facts_add_extra(error, &extra);
	struct error *failed = find_frames(resolver, model, error, &name, &shown, &frames);
	if (!failed && extra.failed)
		failed = error_no_memory();
	const struct suppress_error written = {.kinds = error_facts_kinds(error),
		.extra = extra.data,
		.frames = frames.data,
		.count = frames.len};
	if (!failed)
		suppress_write_error(out, &written);
	return failed;
}
