/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/heaps/heap_owners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "heap/retained.h"

struct owners {
	const struct heap_scan *scan;
	struct foreign *foreign;
	struct retained retained;
	struct site_id *sites; /* of each holder; then of what several hold, and of what is lost */
	uint32_t *top;         /* of each block: its holder's number, or one of these two */
};

static void name_variable(const struct retained_holder *holder, char *ret, size_t room)
{
	const struct address_module *module = holder->place.module;
	const char *file = module ? path_last_part(module->path) : "";
	if (holder->place.name)
		snprintf(ret, room, "global %s [%s]", holder->place.name, file);
	else if (module)
		snprintf(ret, room, "global %s+0x%llx", file,
			(unsigned long long)(holder->start - module->bias));
	else
		snprintf(ret, room, "global");
}

static void name_thread_local(
	const struct retained_holder *holder, const char *whose, char *ret, size_t room)
{
	if (holder->place.name)
		snprintf(ret, room, "thread-local %s [%s] of %s", holder->place.name,
			path_last_part(holder->place.module->path), whose);
	else
		snprintf(ret, room, "thread-local storage of %s", whose);
}

/* Threads are other ones in each process: only the first is distinguished. */
static void name_holder(
	const struct owners *o, const struct retained_holder *holder, char *ret, size_t room)
{
	const char *whose = holder->tid == o->scan->heap.space->owner.pid ? "the first thread"
									  : "other threads";
	switch (holder->kind) {
	case HEAP_ROOT_DATA:
		name_variable(holder, ret, room);
		break;
	case HEAP_ROOT_STACK:
		snprintf(ret, room, "stack of %s", whose);
		break;
	case HEAP_ROOT_TLS:
		name_thread_local(holder, whose, ret, room);
		break;
	case HEAP_ROOT_REGISTERS:
		snprintf(ret, room, "registers of %s", whose);
		break;
	case HEAP_ROOT_COLLECTOR:
		snprintf(ret, room, "Go's collector");
		break;
	default:
		snprintf(ret, room, "mapping %s",
			holder->map && *holder->map->path ? holder->map->path : "of no file");
	}
}

static struct error *heap_owners_make_site(
	struct foreign *foreign, const char *name, struct site_id *ret)
{
	struct foreign_line line = {.function = {name, strlen(name)}};
	struct foreign_frame frame;
	struct stack_id stack;
	struct error *error =
		foreign_frame(foreign, (struct module_id){0}, 0, true, &line, 1, &frame);
	if (!error)
		error = foreign_push(foreign, (struct stack_id){0}, frame, &stack);
	return error ? error : foreign_site(foreign, stack, KIND_UNKNOWN, ret);
}

static struct error *make_sites(struct owners *o)
{
	const struct retained_holders *holders = &o->retained.holders;
	char name[1024];
	struct error *error = NULL;
	for (size_t i = 0; i < holders->len && !error; i++) {
		name_holder(o, &holders->data[i], name, sizeof(name));
		error = heap_owners_make_site(o->foreign, name, &o->sites[i]);
	}
	if (!error)
		error = heap_owners_make_site(
			o->foreign, "several owners together", &o->sites[holders->len]);
	return error ? error
		     : heap_owners_make_site(
			       o->foreign, "nothing: it is lost", &o->sites[holders->len + 1]);
}

#define NOT_KNOWN UINT32_MAX

/* Up to what is known, or to the end; then down again: each block is gone over twice. */
static void find_top(struct owners *o, uint32_t block)
{
	const struct dominators *d = &o->retained.dominators;
	uint32_t at = block, found;
	while (at < d->block_count && o->top[at] == NOT_KNOWN && d->above[at] < DOMINATORS_LOST)
		at = d->above[at];
	if (at >= d->block_count)
		found = at - d->block_count;
	else if (o->top[at] != NOT_KNOWN)
		found = o->top[at];
	else
		found = d->holder_count + (d->above[at] == DOMINATORS_LOST);
	for (at = block; at < d->block_count && o->top[at] == NOT_KNOWN;) {
		o->top[at] = found;
		at = d->above[at];
	}
}

static void heap_owners_count(struct owners *o)
{
	const struct dominators *d = &o->retained.dominators;
	for (uint32_t block = 0; block < d->block_count; block++) {
		if (o->top[block] == NOT_KNOWN)
			find_top(o, block);
		struct site *site = build_site_at(o->foreign->model, o->sites[o->top[block]]);
		site->live_blocks++;
		site->live_bytes += search_block_size(o->scan->search, block);
	}
}

static struct error *heap_owners_put_put(struct owners *o)
{
	const struct dominators *d = &o->retained.dominators;
	o->sites = calloc((size_t)d->holder_count + 2, sizeof(*o->sites));
	o->top = malloc(((size_t)d->block_count + 1) * sizeof(*o->top));
	if (!o->sites || !o->top)
		return error_no_memory();
	memset(o->top, 0xff, ((size_t)d->block_count + 1) * sizeof(*o->top));
	struct error *error = make_sites(o);
	if (!error)
		heap_owners_count(o);
	return error;
}

struct error *heap_owners_put(const struct heap_scan *scan, struct foreign *foreign)
{
	struct owners o = {.scan = scan, .foreign = foreign};
	struct error *error = heap_retained(scan, 0, &o.retained);
	if (!error)
		error = heap_owners_put_put(&o);
	free(o.sites);
	free(o.top);
	heap_retained_deinit(&o.retained);
	return error;
}
