/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of heaptrack, as heaptrack_interpret writes them: names, frames and stacks are defined when
 * they are first needed, numbers are hexadecimal and count from 1, but those of "a" (a size and a
 * stack) from 0. heaptrack_print takes a free behind a free for one of the allocation 0; so that
 * number is given to none.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"
#include "views/export.h"
#include "views/export/export_frames.h"
#include "views/export/export_out.h"

#define WRITER "10400" /* the version of heaptrack that writes such files */
#define MS UINT64_C(1000000)

static inline uint64_t string_key_hash(const char *key)
{
	return hash_bytes(key, strlen(key));
}

static inline bool string_key_equal(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* Two numbers: of a frame its first shown one and how many are inlined, of a stack a frame and what
 * is outward of it, of an allocation a site and a size. */
struct pair_key {
	uint64_t a, b;
};

static inline uint64_t pair_key_hash(struct pair_key key)
{
	return hash_u64(key.a ^ hash_u64(key.b));
}

static inline bool pair_key_equal(struct pair_key a, struct pair_key b)
{
	return a.a == b.a && a.b == b.b;
}

DEFINE_MAP(string_numbers, const char *, uint32_t, string_key_hash, string_key_equal)
DEFINE_MAP(pair_numbers, struct pair_key, uint32_t, pair_key_hash, pair_key_equal)
DEFINE_VEC(number_vec, uint32_t)

struct writing {
	const struct exported *from;
	const struct model *model;
	unsigned version;
	struct export_out out;
	struct string_numbers strings;
	struct pair_numbers frames, traces, infos;
	struct number_vec site_traces; /* by site: number + 1, 0: not yet */
	struct number_vec blocks;      /* by block: its allocation */
	struct frame_vec stack;
	uint64_t ms;
	bool remarks_lost, failed_lost;
};

static void writing_deinit(struct writing *at)
{
	export_out_deinit(&at->out);
	string_numbers_deinit(&at->strings);
	pair_numbers_deinit(&at->frames);
	pair_numbers_deinit(&at->traces);
	pair_numbers_deinit(&at->infos);
	number_vec_deinit(&at->site_traces);
	number_vec_deinit(&at->blocks);
	frame_vec_deinit(&at->stack);
}

static void export_heaptrack_add_record(
	struct text *text, char mode, const uint64_t *numbers, size_t count)
{
	text_add_char(text, mode);
	for (size_t i = 0; i < count; i++) {
		text_add_char(text, ' ');
		export_add_hex(text, numbers[i]);
	}
	text_add_char(text, '\n');
}

/* Before version 3 a string ends with its line. What heaptrack_print shows goes to terminals. */
static void add_string(struct writing *at, const char *string)
{
	struct text *text = &at->out.text;
	text_add(text, "s ");
	if (at->version >= 3) {
		export_add_hex(text, strlen(string));
		text_add_char(text, ' ');
	}
	for (const char *from = string; *from;) {
		size_t plain = strcspn(from, "\n");
		text_add_plain_n(text, from, plain);
		from += plain;
		if (*from)
			text_add_char(text, at->version >= 3 ? '\n' : ' '), from++;
	}
	text_add_char(text, '\n');
}

static struct error *string_number(struct writing *at, const char *string, uint64_t *ret)
{
	*ret = 0;
	if (!string || !*string)
		return NULL;
	bool is_new;
	uint32_t *number = string_numbers_insert(&at->strings, string, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		*number = at->strings.len;
		add_string(at, string);
	}
	*ret = *number;
	return NULL;
}

/* Names of a run of inlined functions come before the frame that has them. */
static struct error *export_heaptrack_add_frame(
	struct writing *at, const struct shown_frame *const *frames, size_t count)
{
	_cleanup_(text_deinit) struct text line;
	uint64_t module;
	text_init(&line);
	struct error *error = string_number(at, frames[0]->module_path, &module);
	text_add(&line, "i ");
	export_add_hex(&line, frames[0]->address);
	text_add_char(&line, ' ');
	export_add_hex(&line, module);
	for (size_t i = 0; i < count && !error; i++) {
		uint64_t function, file = 0;
		error = string_number(at, frames[i]->function, &function);
		if (!error)
			error = string_number(at, frames[i]->file, &file);
		if (count == 1 && !function && !file)
			break;
		text_printf(&line, " %" PRIx64 " %" PRIx64 " %" PRIx32, function, file,
			frames[i]->line);
	}
	text_add_char(&line, '\n');
	if (!error && line.failed)
		error = error_no_memory();
	if (!error)
		text_add_n(&at->out.text, line.data, line.len);
	return error;
}

static struct error *frame_number(
	struct writing *at, const struct shown_frame *const *frames, size_t count, uint32_t *ret)
{
	const struct pair_key key = {(uintptr_t)frames[0], count};
	bool is_new;
	uint32_t *number = pair_numbers_insert(&at->frames, key, &is_new);
	if (!number)
		return error_no_memory();
	*ret = *number;
	if (!is_new)
		return NULL;
	*ret = *number = at->frames.len;
	return export_heaptrack_add_frame(at, frames, count);
}

static struct error *trace_number(struct writing *at, uint32_t frame, uint32_t *trace)
{
	const struct pair_key key = {frame, *trace};
	bool is_new;
	uint32_t *number = pair_numbers_insert(&at->traces, key, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		*number = at->traces.len;
		export_heaptrack_add_record(
			&at->out.text, 't', (const uint64_t[]){frame, *trace}, 2);
	}
	*trace = *number;
	return NULL;
}

/* The operators new are frames there, which its readers take off again. */
static struct error *push_operator(struct writing *at, enum alloc_kind kind, uint32_t *trace)
{
	static const struct shown_frame plain = {.function = "operator new(unsigned long)"},
					array = {.function = "operator new[](unsigned long)"};
	const char *name = alloc_kind_name(kind);
	const struct shown_frame *frame = strcmp(name, "operator new") == 0     ? &plain
					  : strcmp(name, "operator new[]") == 0 ? &array
										: NULL;
	uint32_t number;
	if (!frame)
		return NULL;
	struct error *error = frame_number(at, &frame, 1, &number);
	return error ? error : trace_number(at, number, trace);
}

/* Adds the frames that end before `end`, which is where an outer run begins. */
static struct error *push_run(struct writing *at, size_t end, size_t *ret_begin, uint32_t *trace)
{
	const struct shown_frame *const *frames = at->stack.data;
	size_t begin = end - 1;
	uint32_t number;
	*ret_begin = begin;
	if (frames[begin]->mark != MARK_NONE) {
		at->remarks_lost = true;
		return NULL;
	}
	while (begin > 0 && frames[begin - 1]->mark == MARK_NONE && frames[begin - 1]->inlined)
		begin--;
	*ret_begin = begin;
	struct error *error = frame_number(at, frames + begin, end - begin, &number);
	return error ? error : trace_number(at, number, trace);
}

static struct error *make_trace(struct writing *at, const struct site *site, uint32_t *ret)
{
	struct resolver *resolver = at->from->profile->resolver;
	struct error *error = NULL;
	at->stack.len = 0;
	*ret = 0;
	if (resolver)
		error = resolver_stack(resolver, site->stack, KIND_UNKNOWN, &at->stack);
	for (size_t end = at->stack.len; end > 0 && !error;)
		error = push_run(at, end, &end, ret);
	return error ? error : push_operator(at, site->kind, ret);
}

static struct error *site_trace(struct writing *at, uint32_t id, uint32_t *ret)
{
	size_t count;
	const struct site *sites = model_sites(at->model, &count);
	*ret = 0;
	if (id >= count)
		return NULL;
	while (at->site_traces.len <= id)
		if (!number_vec_push(&at->site_traces, 0))
			return error_no_memory();
	uint32_t *known = &at->site_traces.data[id];
	if (!*known) {
		struct error *error = make_trace(at, &sites[id], ret);
		if (error)
			return error;
		*known = *ret + 1;
	}
	*ret = *known - 1;
	return NULL;
}

static struct error *info_number(struct writing *at, const struct event *event, uint32_t *ret)
{
	const struct pair_key key = {event->site.value, event->size};
	const uint32_t *known = pair_numbers_find(&at->infos, key);
	if (known) {
		*ret = *known;
		return NULL;
	}
	uint32_t trace;
	struct error *error = site_trace(at, event->site.value, &trace);
	uint32_t *number = error ? NULL : pair_numbers_insert(&at->infos, key, NULL);
	if (error || !number)
		return error ? error : error_no_memory();
	export_heaptrack_add_record(&at->out.text, 'a', (const uint64_t[]){event->size, trace}, 2);
	*ret = *number = at->infos.len;
	return NULL;
}

/* What nearly all lines are: at once. */
static void add_event(struct text *text, char mode, uint32_t number)
{
	char line[2 + 8 + 1];
	size_t begin = sizeof(line);
	line[--begin] = '\n';
	do {
		line[--begin] = "0123456789abcdef"[number & 15];
		number >>= 4;
	} while (number);
	line[--begin] = ' ';
	line[--begin] = mode;
	text_add_n(text, line + begin, sizeof(line) - begin);
}

static struct error *add_alloc(struct writing *at, const struct event *event)
{
	uint32_t info = 0;
	struct error *error = info_number(at, event, &info);
	while (!error && at->blocks.len <= event->block)
		if (!number_vec_push(&at->blocks, 0))
			error = error_no_memory();
	if (error)
		return error;
	at->blocks.data[event->block] = info;
	add_event(&at->out.text, '+', info);
	return NULL;
}

static void add_time(struct writing *at, uint64_t ns)
{
	if (ns / MS <= at->ms)
		return;
	at->ms = ns / MS;
	export_heaptrack_add_record(&at->out.text, 'c', &at->ms, 1);
}

static struct error *export_heaptrack_take(void *context, const struct event *event)
{
	struct writing *at = context;
	if (at->out.stopped)
		return NULL;
	add_time(at, event->time_ns);
	struct error *error = NULL;
	if (event->kind == EVENT_ALLOC) {
		error = add_alloc(at, event);
	} else if (event->kind == EVENT_FREE) {
		add_event(&at->out.text, '-', at->blocks.data[event->block]);
	} else {
		at->failed_lost = true;
	}
	return error ? error : export_out_flush(&at->out);
}

static void export_heaptrack_add_head(struct writing *at)
{
	struct text *text = &at->out.text;
	text_printf(text, "v " WRITER " %x\nX ", at->version);
	export_add_command(text, at->model);
	text_add(text, "\na 0 0\n");
}

/* As heaptrack ends its files: one without events is whole then. */
static void add_end(struct writing *at)
{
	text_printf(&at->out.text, "\n# strings: %" PRIu32 "\n# ips: %" PRIu32 "\n",
		at->strings.len, at->frames.len);
}

static void export_heaptrack_describe_losses(const struct writing *at)
{
	struct text *lost = at->from->lost;
	text_add(lost, "heaptrack files contain no threads and no block addresses, and times in "
		       "milliseconds; an allocation is temporary there if the next event of any "
		       "thread frees or reallocates it.\n");
	if (at->failed_lost)
		text_add(lost, "Failed calls are omitted.\n");
	if (at->remarks_lost)
		text_add(lost, EXPORT_REMARKS_LOST);
}

static struct error *write_version(
	const struct exported *from, const struct sink *sink, unsigned version)
{
	_cleanup_(writing_deinit) struct writing at = {
		.from = from, .model = from->profile->model, .version = version};
	const struct event_sink events = {.context = &at, .take = export_heaptrack_take};
	export_out_init(&at.out, sink);
	export_heaptrack_add_head(&at);
	struct error *error = from->events->each(from->events->context, &events);
	const struct recording *recording = model_recording(at.model);
	if (!error)
		add_time(&at,
			recording->range.part ? recording->range.to_ns : recording->duration_ns);
	add_end(&at);
	if (!error)
		error = export_out_end(&at.out);
	if (!error)
		export_heaptrack_describe_losses(&at);
	return error;
}

struct error *export_heaptrack(const struct exported *from, const struct sink *sink)
{
	return write_version(from, sink, 3);
}

struct error *export_heaptrack2(const struct exported *from, const struct sink *sink)
{
	return write_version(from, sink, 2);
}

struct error *export_heaptrack1(const struct exported *from, const struct sink *sink)
{
	return write_version(from, sink, 1);
}
