/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logs as those of glibc's mtrace(): each call with the place that made it, a file and an address
 * in it, which readers look up. Who freed a block is not known. Addresses of blocks are numbers.
 */
#include <string.h>

#include "base/cleanup.h"
#include "views/export.h"
#include "views/export/export_frames.h"
#include "views/export/export_out.h"

DEFINE_VEC(caller_vec, const struct shown_frame *)

struct writing {
	const struct exported *from;
	const struct model *model;
	struct export_out out;
	struct caller_vec callers; /* by site; NULL: not yet, or none */
	struct frame_vec stack;
	bool unplaced; /* callers that are in no file, or in one that can't be named */
};

static void writing_deinit(struct writing *at)
{
	export_out_deinit(&at->out);
	caller_vec_deinit(&at->callers);
	frame_vec_deinit(&at->stack);
}

static struct error *find_caller(
	struct writing *at, const struct site *site, const struct shown_frame **ret)
{
	struct resolver *resolver = at->from->profile->resolver;
	struct error *error = NULL;
	at->stack.len = 0;
	if (resolver)
		error = resolver_stack(resolver, site->stack, KIND_UNKNOWN, &at->stack);
	for (size_t i = 0; i < at->stack.len && !*ret && !error; i++)
		if (at->stack.data[i]->mark == MARK_NONE)
			*ret = at->stack.data[i];
	return error;
}

static struct error *caller_of(struct writing *at, uint32_t id, const struct shown_frame **ret)
{
	size_t count;
	const struct site *sites = model_sites(at->model, &count);
	*ret = NULL;
	if (id >= count)
		return NULL;
	while (at->callers.len <= id)
		if (!caller_vec_push(&at->callers, NULL))
			return error_no_memory();
	struct error *error = NULL;
	if (!at->callers.data[id])
		error = find_caller(at, &sites[id], &at->callers.data[id]);
	*ret = at->callers.data[id];
	return error;
}

static void add_number(struct text *text, const char *before, uint64_t value)
{
	text_add(text, before);
	text_add(text, "0x");
	export_add_hex(text, value);
}

/* Words end at spaces, and what terminals take for commands is no path that a script looks up. */
static bool export_mtrace_is_word(const char *path)
{
	for (const unsigned char *c = (const unsigned char *)path; *c; c++)
		if (*c <= ' ' || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0))
			return false;
	return true;
}

/* "@ /usr/bin/app:[0x1234] ": where the call returns to. */
static void add_caller(struct writing *at, const struct shown_frame *frame)
{
	struct text *text = &at->out.text;
	/* The module of code in no loaded file is none that could be looked up. */
	const char *path = frame && frame->kind == FRAME_NATIVE ? frame->module_path : NULL;
	bool placed = path && *path && export_mtrace_is_word(path);
	at->unplaced |= !placed;
	if (!placed && !(frame && frame->address))
		return;
	text_add(text, "@ ");
	if (placed) {
		text_add(text, path);
		text_add_char(text, ':');
	}
	bool has_offset = placed && !frame->unplaced;
	add_number(text, "[", has_offset ? frame->offset + 1 : frame->address);
	text_add(text, "] ");
}

/* As far apart as an allocator's blocks, and none at 0. */
static uint64_t address_of(const struct event *event)
{
	return ((uint64_t)event->block + 1) * 16;
}

static struct error *add_event(struct writing *at, const struct event *event)
{
	struct text *text = &at->out.text;
	const struct shown_frame *caller;
	if (event->kind == EVENT_FREE) {
		add_number(text, event->of_realloc ? "< " : "- ", address_of(event));
		text_add_char(text, '\n');
		return NULL;
	}
	struct error *error = caller_of(at, event->site.value, &caller);
	if (error)
		return error;
	add_caller(at, caller);
	if (event->kind == EVENT_FAILED)
		text_add(text, "+ (nil)");
	else
		add_number(text, event->of_realloc ? "> " : "+ ", address_of(event));
	add_number(text, " ", event->size);
	text_add_char(text, '\n');
	return NULL;
}

static struct error *export_mtrace_take(void *context, const struct event *event)
{
	struct writing *at = context;
	if (at->out.stopped)
		return NULL;
	struct error *error = add_event(at, event);
	return error ? error : export_out_flush(&at->out);
}

static void export_mtrace_describe_losses(const struct writing *at)
{
	struct text *lost = at->from->lost;
	text_add(lost, "An mtrace log has only one caller per call and no times, threads or names: "
		       "readers look addresses up in the files; block addresses are replaced by "
		       "numbers.\n");
	if (at->unplaced)
		text_add(
			lost, "Some callers are in no file, or in a file whose name has spaces.\n");
}

struct error *export_mtrace(const struct exported *from, const struct sink *sink)
{
	_cleanup_(writing_deinit) struct writing at = {.from = from, .model = from->profile->model};
	const struct event_sink events = {.context = &at, .take = export_mtrace_take};
	export_out_init(&at.out, sink);
	text_add(&at.out.text, "= Start\n");
	struct error *error = from->events->each(from->events->context, &events);
	text_add(&at.out.text, "= End\n");
	if (!error)
		error = export_out_end(&at.out);
	if (!error)
		export_mtrace_describe_losses(&at);
	return error;
}
