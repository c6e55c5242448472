/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/java/jfr.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "sources/foreign/foreign.h"
#include "sources/foreign/foreign_query.h"
#include "sources/java/jfr_events.h"
#include "sources/java/jfr_words.h"
#include "sources/recording/stream.h"

/* What a frame is made of: a method at a line, or a class. */
struct jfr_code {
	uint64_t key;
	uint32_t line;
	bool is_class;
};

static uint64_t jfr_code_hash(struct jfr_code code)
{
	return hash_u64(code.key ^ hash_u64((uint64_t)code.line << 1 | code.is_class));
}

static bool jfr_code_equal(struct jfr_code a, struct jfr_code b)
{
	return a.key == b.key && a.line == b.line && a.is_class == b.is_class;
}

/* What is live at a site: of a kind of objects, or a block of malloc. */
struct jfr_live {
	struct site_id site;
	struct jfr_sums sums;
};

DEFINE_MAP(jfr_codes, struct jfr_code, struct foreign_frame, jfr_code_hash, jfr_code_equal)
DEFINE_MAP(jfr_blocks, uint64_t, struct jfr_live, jfr_key_hash, jfr_key_equal)
DEFINE_VEC(jfr_live_vec, struct jfr_live)
DEFINE_MAP(jfr_sites, uint64_t, struct site_id, jfr_key_hash, jfr_key_equal)

/* Blocks of malloc that were not freed yet. */
#define BLOCKS_MAX (1u << 25)

struct reading {
	struct foreign foreign;
	const char *name;
	struct jfr_facts facts;
	struct jfr_codes codes; /* of the chunk */
	struct jfr_sites sites; /* of its calls of malloc, by the keys of stacks */
	struct jfr_frame_vec frames;
	struct jfr_live_vec live[JFR_KINDS]; /* of the last chunk that has any */
	struct jfr_blocks blocks;
};

static void jfr_reading_deinit(struct reading *reading)
{
	foreign_deinit(&reading->foreign);
	jfr_codes_deinit(&reading->codes);
	jfr_sites_deinit(&reading->sites);
	jfr_frame_vec_deinit(&reading->frames);
	for (size_t i = 0; i < JFR_KINDS; i++)
		jfr_live_vec_deinit(&reading->live[i]);
	jfr_blocks_deinit(&reading->blocks);
}

/* A file of JFR does not name source files: the class stands for its own. */
static struct error *code_name(const struct jfr_constants *constants, struct jfr_code code,
	struct text *ret, size_t *ret_file)
{
	bool known = code.is_class ? jfr_class_add(constants, code.key, ret)
				   : jfr_method_add(constants, code.key, ret, ret_file);
	if (!known) {
		text_clear(ret);
		*ret_file = 0;
		text_add(ret, code.is_class ? "(unknown class)" : "(unknown method)");
	}
	return ret->failed ? error_no_memory() : NULL;
}

static struct error *code_frame(struct reading *reading, const struct jfr_constants *constants,
	struct jfr_code code, struct foreign_frame *ret)
{
	bool is_new;
	struct foreign_frame *known = jfr_codes_insert(&reading->codes, code, &is_new);
	if (!known)
		return error_no_memory();
	if (!is_new) {
		*ret = *known;
		return NULL;
	}
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	size_t file = 0;
	struct error *error = code_name(constants, code, &name, &file);
	if (error)
		return error;
	const struct foreign_line line = {.function = {name.data, name.len},
		.file = {file ? name.data : NULL, file},
		.line = code.line};
	error = foreign_frame(&reading->foreign, (struct module_id){0}, 0, true, &line, 1, known);
	*ret = *known;
	return error;
}

static struct error *code_push(struct reading *reading, const struct jfr_constants *constants,
	struct jfr_code code, struct stack_id *stack)
{
	struct foreign_frame frame;
	struct error *error = code_frame(reading, constants, code, &frame);
	return error ? error : foreign_push(&reading->foreign, *stack, frame, stack);
}

/* The site of a stack and, innermost, the class of the object. */
static struct error *site_find(struct reading *reading, const struct jfr_chunk *chunk,
	struct jfr_row_key key, uint64_t events, struct site_id *ret)
{
	const struct jfr_constants *constants = &chunk->constants;
	bool truncated, no_memory;
	bool known = jfr_stack_read(constants, key.stack, &reading->frames, &truncated, &no_memory);
	if (no_memory)
		return error_no_memory();
	reading->facts.stackless += known ? 0 : events;
	reading->facts.truncated += truncated ? events : 0;
	struct stack_id stack = {0};
	struct error *error = NULL;
	for (size_t i = known ? reading->frames.len : 0; i > 0 && !error; i--) {
		const struct jfr_frame *frame = &reading->frames.data[i - 1];
		struct jfr_code code = {.key = frame->method, .line = frame->line};
		error = code_push(reading, constants, code, &stack);
	}
	uint64_t class =
		key.kind == JFR_OLD ? jfr_old_object_class(constants, key.class) : key.class;
	if (!error && key.kind != JFR_MALLOC)
		error = code_push(reading, constants,
			(struct jfr_code){.key = class, .is_class = true}, &stack);
	enum alloc_kind called = key.kind == JFR_MALLOC ? KIND_MALLOC : KIND_UNKNOWN;
	return error ? error : foreign_site(&reading->foreign, stack, called, ret);
}

static uint64_t figure_round(double value)
{
	return value >= 1e19 ? UINT64_MAX : (uint64_t)(value + 0.5);
}

static struct error *sum_up(struct reading *reading, uint64_t *sum, double more)
{
	return __builtin_add_overflow(*sum, figure_round(more), sum)
		       ? error_create(ERROR_INPUT,
				 "%s: figures of one stack add up to more than 2^64", reading->name)
		       : NULL;
}

static struct error *allocated_add(
	struct reading *reading, struct site_id id, const struct jfr_sums *more)
{
	struct site *site = build_site_at(reading->foreign.model, id);
	site->spread.allocations += more->objects_spread;
	site->spread.allocated_bytes += more->bytes_spread;
	struct error *error = sum_up(reading, &site->allocations, more->objects);
	return error ? error : sum_up(reading, &site->allocated_bytes, more->bytes);
}

static struct error *live_add(
	struct reading *reading, struct site_id id, const struct jfr_sums *more)
{
	struct site *site = build_site_at(reading->foreign.model, id);
	site->spread.live_blocks += more->objects_spread;
	site->spread.live_bytes += more->bytes_spread;
	struct error *error = sum_up(reading, &site->live_blocks, more->objects);
	return error ? error : sum_up(reading, &site->live_bytes, more->bytes);
}

static int call_compare(const void *left, const void *right)
{
	const struct jfr_call *a = left, *b = right;
	/* What was freed may have been given out again in the same tick. */
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->size != 0) - (b->size != 0);
}

static struct error *call_add(
	struct reading *reading, const struct jfr_chunk *chunk, const struct jfr_call *call)
{
	if (!call->size) {
		jfr_blocks_remove(&reading->blocks, call->address);
		return NULL;
	}
	/* Each stack of a call has a row. */
	const struct site_id *site = jfr_sites_find(&reading->sites, call->stack);
	if (!site)
		return NULL;
	struct jfr_live row = {
		.site = *site, .sums = jfr_block_of(call->size, chunk->malloc_interval)};
	struct jfr_live *block = jfr_blocks_insert(&reading->blocks, call->address, NULL);
	if (!block)
		return error_no_memory();
	*block = row;
	if (reading->blocks.len > BLOCKS_MAX)
		return error_create(ERROR_INPUT,
			"%s: more than %u blocks of malloc are live at a time", reading->name,
			BLOCKS_MAX);
	return NULL;
}

static struct error *calls_add(struct reading *reading, struct jfr_chunk *chunk)
{
	struct error *error = NULL;
	reading->facts.frees |= !chunk->no_frees;
	if (chunk->calls.len)
		qsort(chunk->calls.data, chunk->calls.len, sizeof(*chunk->calls.data),
			call_compare);
	for (size_t i = 0; i < chunk->calls.len && !error; i++)
		error = call_add(reading, chunk, &chunk->calls.data[i]);
	return error;
}

/* Samples of the same allocations that TLAB events are of are left out. */
static bool is_used(const struct jfr_chunk *chunk, enum jfr_kind kind)
{
	return kind != JFR_SAMPLED ||
	       !(chunk->sums[JFR_IN_TLAB].events || chunk->sums[JFR_OUTSIDE].events ||
		       chunk->sums[JFR_INTERVAL].events);
}

static struct error *row_take(struct reading *reading, const struct jfr_chunk *chunk,
	struct jfr_row_key key, const struct jfr_sums *sums)
{
	struct site_id id;
	if (!is_used(chunk, key.kind))
		return NULL;
	struct error *error = site_find(reading, chunk, key, sums->events, &id);
	if (error)
		return error;
	if (key.kind == JFR_MALLOC) {
		struct site_id *site = jfr_sites_insert(&reading->sites, key.stack, NULL);
		if (!site)
			return error_no_memory();
		*site = id;
	}
	if (key.kind != JFR_LIVE && key.kind != JFR_OLD)
		return allocated_add(reading, id, sums);
	struct jfr_live live = {.site = id, .sums = *sums};
	return jfr_live_vec_push(&reading->live[key.kind], live) ? NULL : error_no_memory();
}

static void facts_add(struct jfr_facts *facts, const struct jfr_chunk *chunk)
{
	for (int kind = 0; kind < JFR_KINDS; kind++) {
		const struct jfr_sums *more = &chunk->sums[kind];
		if (!is_used(chunk, (enum jfr_kind)kind)) {
			facts->left_out += more->events;
			continue;
		}
		/* What is live is as of the last chunk that says it. */
		bool is_live = kind == JFR_LIVE || kind == JFR_OLD;
		if (is_live && more->events)
			facts->sums[kind] = (struct jfr_sums){.events = 0};
		facts->sums[kind].events += more->events;
		facts->sums[kind].bytes += more->bytes;
	}
	uint64_t end_ns = chunk->start_ns + chunk->duration_ns;
	if (!facts->chunks++ || chunk->start_ns < facts->start_ns)
		facts->start_ns = chunk->start_ns;
	if (end_ns > facts->end_ns)
		facts->end_ns = end_ns;
	facts->events += chunk->events;
	facts->sizeless |= chunk->sizeless;
	facts->interval = chunk->interval ? chunk->interval : facts->interval;
	facts->malloc_interval =
		chunk->malloc_interval ? chunk->malloc_interval : facts->malloc_interval;
}

/* "Shop 2500": the words of the program, as far as spaces tell. */
static struct error *command_set(struct reading *reading, const struct jfr_chunk *chunk)
{
	struct model *model = reading->foreign.model;
	if (chunk->pid)
		build_target(model)->pid = chunk->pid;
	if (!chunk->main.len || build_target(model)->command_len)
		return NULL;
	struct error *error = NULL;
	for (const char *word = chunk->main.data; *word && !error;) {
		size_t len = strcspn(word, " ");
		if (len)
			error = build_argument(model, word, len);
		word += len + (word[len] != '\0');
	}
	return error;
}

/* A chunk whose events were all read. */
static struct error *chunk_add(struct reading *reading, struct jfr_chunk *chunk)
{
	static const enum jfr_kind live[] = {JFR_LIVE, JFR_OLD};
	jfr_codes_deinit(&reading->codes);
	jfr_sites_deinit(&reading->sites);
	for (size_t i = 0; i < ARRAY_SIZE(live); i++)
		if (chunk->sums[live[i]].events)
			jfr_live_vec_clear(&reading->live[live[i]]);
	facts_add(&reading->facts, chunk);
	struct error *error = command_set(reading, chunk);
	uint32_t slot = 0;
	const struct jfr_row_key *key;
	const struct jfr_sums *sums;
	while (!error && (sums = jfr_rows_next(&chunk->rows, &slot, &key)))
		error = row_take(reading, chunk, *key, sums);
	return error ? error : calls_add(reading, chunk);
}

/* What comes after the last chunk that is whole. */
static struct error *rest_add(
	struct reading *reading, const struct input *input, uint64_t offset, bool open)
{
	char sentence[256];
	if (open)
		snprintf(sentence, sizeof(sentence),
			"the file was still being written, or its JVM was killed: what is read "
			"is what had been flushed");
	else
		snprintf(sentence, sizeof(sentence),
			"the file is cut off, or is still being written: its last chunk, at "
			"offset %" PRIu64 " of %" PRIu64 " bytes, is not whole, and its events "
			"are left out",
			offset, input->bytes);
	if (!reading->facts.chunks)
		return error_create(ERROR_INPUT,
			"%s: the file is cut off, or is still being written: not even its first "
			"chunk is whole. JFR writes what is needed to read it when a recording "
			"ends: 'jcmd PID JFR.dump filename=FILE' does so now",
			reading->name);
	return build_damage(reading->foreign.model, sentence);
}

static struct error *chunk_spoilt(struct reading *reading, uint64_t offset, struct error *error)
{
	if (error->code != ERROR_INPUT)
		return error;
	reading->facts.spoilt++;
	char sentence[512];
	snprintf(sentence, sizeof(sentence), "the chunk at offset %" PRIu64 " is left out: %s",
		offset, error->message);
	if (!reading->facts.spoilt_words[0])
		snprintf(reading->facts.spoilt_words, sizeof(reading->facts.spoilt_words), "%s",
			error->message);
	error_destroy(error);
	return reading->facts.spoilt > SPOILT_NAMED_MOST
		       ? NULL
		       : build_damage(reading->foreign.model, sentence);
}

static struct error *chunk_take(
	struct reading *reading, struct jfr_window *window, uint64_t offset, uint64_t *ret_next)
{
	_cleanup_(jfr_chunk_deinit) struct jfr_chunk chunk;
	bool is_whole;
	*ret_next = window->input->bytes;
	struct error *error = jfr_chunk_open(&chunk, window, offset, &is_whole);
	if (error)
		return chunk_spoilt(reading, offset, error);
	if (!is_whole)
		return rest_add(reading, window->input, offset, false);
	if (!chunk.open)
		*ret_next = offset + chunk.bytes;
	error = jfr_chunk_read(&chunk, window);
	if (error)
		return chunk_spoilt(reading, offset, error);
	error = chunk_add(reading, &chunk);
	if (!error && chunk.open)
		error = rest_add(reading, window->input, offset, true);
	return error;
}

static struct error *chunks_take(struct reading *reading, const struct input *input)
{
	_cleanup_(jfr_window_deinit) struct jfr_window window;
	jfr_window_init(&window, input);
	struct error *error = NULL;
	for (uint64_t offset = 0; offset < input->bytes && !error;)
		error = chunk_take(reading, &window, offset, &offset);
	uint64_t unnamed = reading->facts.spoilt > SPOILT_NAMED_MOST
				   ? reading->facts.spoilt - SPOILT_NAMED_MOST
				   : 0;
	char sentence[128];
	snprintf(sentence, sizeof(sentence), "%" PRIu64 " more chunks are left out, as damaged",
		unnamed);
	if (!error && unnamed)
		error = build_damage(reading->foreign.model, sentence);
	if (!error && !reading->facts.chunks)
		error = error_create(ERROR_INPUT,
			"%s: is a recording of JFR that can't be read: "
			"its first chunk %s",
			reading->name, reading->facts.spoilt_words);
	return error;
}

/* What is live: objects that async-profiler followed, or those that JFR kept an eye on. */
static struct error *lives_add(struct reading *reading)
{
	bool shows_old = jfr_shows_old(&reading->facts);
	const struct jfr_live_vec *live = &reading->live[shows_old ? JFR_OLD : JFR_LIVE];
	struct error *error = NULL;
	for (size_t i = 0; i < live->len && !error; i++)
		error = live_add(reading, live->data[i].site, &live->data[i].sums);
	uint32_t slot = 0;
	const struct jfr_live *block;
	while (!error && reading->facts.frees &&
		(block = jfr_blocks_next(&reading->blocks, &slot, NULL)))
		error = live_add(reading, block->site, &block->sums);
	return error;
}

static struct error *model_facts_set(struct reading *reading)
{
	struct model *model = reading->foreign.model;
	struct recording *recording = build_recording(model);
	const struct jfr_facts *facts = &reading->facts;
	recording->whole_stacks = recording->snapshot = true;
	build_target(model)->wall_start_ns = facts->start_ns;
	if (facts->end_ns > facts->start_ns) {
		recording->duration_ns = facts->end_ns - facts->start_ns;
		recording->unknown &= ~(uint32_t)UNKNOWN_TIMES;
	}
	recording->unknown &= ~jfr_known_figures(facts);
	recording->sample_bytes = jfr_distance(facts);
	recording->biased_samples = jfr_is_biased(facts);
	if (recording->sample_bytes)
		recording->mode = "sample";
	_cleanup_(text_deinit) struct text remark;
	text_init(&remark);
	jfr_remark_add(facts, &remark);
	if (remark.failed)
		return error_no_memory();
	return build_string(model, remark.data, remark.len, &recording->remark);
}

static struct error *file_read(struct reading *reading, const struct input *input)
{
	struct error *error = foreign_create(&reading->foreign, "jfr", input);
	if (!error)
		error = chunks_take(reading, input);
	if (!error && !jfr_known_figures(&reading->facts))
		error = jfr_no_memory_events(&reading->facts, reading->name);
	if (!error)
		error = lives_add(reading);
	if (!error)
		error = model_facts_set(reading);
	return error ? error : foreign_total(&reading->foreign);
}

bool jfr_recognise(const uint8_t *head, size_t len)
{
	return len >= 4 && !memcmp(head, "FLR", 4);
}

/* A packed file is unpacked as a whole: chunks are not read from their beginnings on. */
static struct error *input_unpack(const struct input *input, struct buf *bytes, struct input *ret)
{
	_cleanup_(stream_close) struct stream stream;
	struct error *error = stream_open(&stream, input, stream_whole_limit(input));
	*ret = *input;
	if (error || stream.packing == PACKING_NONE)
		return error;
	error = stream_rest(&stream, bytes);
	if (error)
		return error;
	input_of_buffer(ret, input->name, bytes->data, bytes->len);
	ret->root = input->root;
	return NULL;
}

struct error *jfr_open(const struct input *input, unsigned flags, const struct source_query *query,
	struct model **ret)
{
	(void)flags;
	struct error *error = foreign_refuse(input, query, 0, "a recording of JFR");
	if (error)
		return error;
	_cleanup_(buf_deinit) struct buf bytes;
	buf_init(&bytes);
	struct input unpacked;
	_cleanup_(jfr_reading_deinit) struct reading reading = {.name = input->name};
	error = input_unpack(input, &bytes, &unpacked);
	if (!error)
		error = file_read(&reading, &unpacked);
	if (error)
		return error;
	build_finish(reading.foreign.model);
	*ret = steal_ptr(reading.foreign.model);
	return NULL;
}
