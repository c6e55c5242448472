/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/heap_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/unread.h"
#include "sources/foreign/foreign.h"
#include "sources/heap_join.h"
#include "sources/heaps/heap_owners.h"

#define KNOWN (UNKNOWN_LIVE_BLOCKS | UNKNOWN_LIVE_BYTES | UNKNOWN_THREADS)

struct making {
	const struct heap_scan *scan;
	const struct joined *joined; /* NULL: with no recording */
	const uint8_t *lost_types;   /* by type: 1: what is lost of it counts; NULL: of all */
	bool by_owner;
	struct foreign foreign;
	struct site_id *types;     /* by type */
	struct site_id *sites;     /* by site of the search */
	size_t site_count;         /* of these */
	struct module_id *modules; /* by module of the space */
};

static struct foreign_text heap_model_text_of(const char *string)
{
	return (struct foreign_text){string, strlen(string)};
}

static struct error *make_modules(struct making *m)
{
	const struct address_modules *modules = &m->scan->heap.space->modules;
	struct error *error = NULL;
	for (size_t i = 0; i < modules->len && !error; i++) {
		const struct address_module *from = &modules->data[i];
		struct module module = {.build_id = from->build_id_len ? from->build_id : NULL,
			.build_id_len = from->build_id_len,
			.start = from->start,
			.end = from->end,
			.bias = from->bias,
			.executable = from->executable};
		error = foreign_module(
			&m->foreign, heap_model_text_of(from->path), &module, &m->modules[i]);
	}
	return error;
}

static struct error *heap_model_make_site(struct making *m, uint32_t type)
{
	const char *name = m->scan->types.types.data[type].name;
	struct foreign_line line = {.function = heap_model_text_of(name)};
	struct foreign_frame frame;
	struct stack_id stack;
	struct error *error =
		foreign_frame(&m->foreign, (struct module_id){0}, 0, true, &line, 1, &frame);
	if (!error)
		error = foreign_push(&m->foreign, (struct stack_id){0}, frame, &stack);
	if (!error)
		error = foreign_site(&m->foreign, stack, KIND_UNKNOWN, &m->types[type]);
	return error;
}

static void add_blocks(struct making *m, struct site_id id, uint64_t blocks, uint64_t bytes)
{
	struct site *site = build_site_at(m->foreign.model, id);
	site->live_blocks += blocks;
	site->live_bytes += bytes;
}

/* What is in use, by site. */
static void count_blocks(struct making *m)
{
	const struct heap_type_vec *types = &m->scan->types.types;
	for (size_t i = 0; i < types->len && !m->joined; i++)
		add_blocks(m, m->types[i], types->data[i].blocks, types->data[i].bytes);
	if (!m->joined)
		return;
	const struct search *search = m->scan->search;
	uint32_t count = search_block_count(search);
	for (uint32_t block = 0; block < count; block++) {
		add_blocks(m, m->sites[search_block_site(search, block)], 1,
			search_block_size(search, block));
	}
}

static struct error *make_sites(struct making *m)
{
	struct error *error = NULL;
	for (uint32_t i = 0; i < m->scan->types.types.len && !error; i++)
		error = heap_model_make_site(m, i);
	for (uint32_t i = 0; i < m->site_count && !error; i++)
		m->sites[i] = m->types[heap_scan_site_type(m->scan, i)];
	if (!error && m->joined)
		error = heap_join_put(m->scan, m->joined, m->foreign.model, m->sites);
	if (!error)
		count_blocks(m);
	return error;
}

static struct error *make_threads(struct making *m)
{
	const struct address_threads *threads = &m->scan->heap.space->threads;
	struct error *error = NULL;
	/* Of a recording its own are there, with those that have ended. */
	for (size_t i = 0; i < threads->len && !error && !m->joined; i++) {
		struct thread row = {.tid = (uint32_t)threads->data[i].tid};
		error = build_thread(m->foreign.model, &row, "", 0);
	}
	build_totals(m->foreign.model)->threads = threads->len;
	return error;
}

static enum leak_place heap_model_place_of(enum heap_root_kind kind)
{
	static const enum leak_place places[HEAP_ROOT_KINDS] = {[HEAP_ROOT_DATA] = LEAK_PLACE_DATA,
		[HEAP_ROOT_STACK] = LEAK_PLACE_STACK,
		[HEAP_ROOT_TLS] = LEAK_PLACE_STACK,
		[HEAP_ROOT_REGISTERS] = LEAK_PLACE_REGISTERS,
		[HEAP_ROOT_MAPPING] = LEAK_PLACE_MAPPING,
		[HEAP_ROOT_COLLECTOR] = LEAK_PLACE_MAPPING};
	return places[kind];
}

static struct error *make_root(struct making *m, const struct heap_root *from)
{
	const struct address_space *space = m->scan->heap.space;
	struct leak_root root = {.place = heap_model_place_of(from->kind),
		.start = from->start,
		.size = from->end - from->start};
	const struct process_map *map = address_space_map(space, from->start);
	const struct address_module *module = address_space_module(space, from->start);
	if (from->kind == HEAP_ROOT_DATA && module)
		root.module = m->modules[module - space->modules.data];
	if (from->kind == HEAP_ROOT_STACK || from->kind == HEAP_ROOT_TLS ||
		from->kind == HEAP_ROOT_REGISTERS)
		root.tid = (uint32_t)space->threads.data[from->thread].tid;
	const char *name = map ? map->path : "";
	return build_leak_root(m->foreign.model, &root, name, strlen(name));
}

static struct error *make_groups(struct making *m)
{
	size_t count;
	const struct search_group *groups = search_groups(m->scan->search, &count);
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++) {
		const struct search_group *from = &groups[i];
		struct leak_group group = {.parent = from->parent,
			.root = from->root,
			.root_address = from->root_address,
			.site = m->sites[from->site],
			.repeats = from->repeats,
			.together = from->together,
			.holder = from->holder,
			.offset = from->offset,
			.block = from->block,
			.into = from->into};
		error = build_leak_group(m->foreign.model, &group);
	}
	return error;
}

/* A thread that has just begun may have blocks before its recording tells of it. */
static struct thread_id thread_of(const struct making *m, const struct live_block *block)
{
	size_t count;
	model_threads(m->foreign.model, &count);
	return block->thread.value < count ? block->thread : (struct thread_id){LEAK_NO_THREAD};
}

static bool heap_model_is_wanted(const struct making *m, uint32_t site)
{
	return !m->lost_types || m->lost_types[heap_scan_site_type(m->scan, site)];
}

/* Of the blocks of some types how many are of which kind. */
static void count_kinds(const struct making *m, struct leak_search *ret)
{
	const struct search *search = m->scan->search;
	uint32_t count = search_block_count(search);
	for (uint32_t block = 0; block < count; block++) {
		unsigned kind = (unsigned)search_kind(search, block);
		if (!heap_model_is_wanted(m, search_block_site(search, block)))
			continue;
		ret->blocks[kind]++;
		ret->bytes[kind] += search_block_size(search, block);
	}
}

static struct error *make_records(struct making *m)
{
	size_t count;
	const struct search_record *records = search_records(m->scan->search, &count);
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++) {
		const struct search_record *from = &records[i];
		if (!heap_model_is_wanted(m, from->site))
			continue;
		struct leak_record record = {.site = m->sites[from->site],
			.kind = (enum leak_kind)from->kind,
			.group = from->group,
			.blocks = from->blocks,
			.bytes = from->bytes,
			.indirect_blocks = from->indirect_blocks,
			.indirect_bytes = from->indirect_bytes,
			.example = {.address = from->example,
				.size = from->example_size,
				.site = m->sites[from->site],
				.thread = {LEAK_NO_THREAD}},
			.example_ns = LEAK_NO_TIME};
		const struct live_block *known =
			m->joined ? joined_find(m->joined, from->example, from->example_size)
				  : NULL;
		if (known) {
			record.example.thread = thread_of(m, known);
			record.example.number = known->number;
		}
		error = build_leak_record(m->foreign.model, &record);
	}
	return error;
}

static struct error *make_leaks(struct making *m)
{
	const struct heap_scan *s = m->scan;
	const struct search_totals *totals = search_totals(s->search);
	struct leak_search *search = build_leak_search(m->foreign.model);
	const struct address_space *space = s->heap.space;
	/* A core of a process that went on, as gcore makes one, has no signal. */
	bool died = !space->is_live && space->threads.len && space->threads.data[0].signal;
	search->moment = died ? LEAK_ON_DEATH : LEAK_ON_DEMAND;
	search->way = LEAK_WAY_HELD;
	search->alignment = 8;
	search->heuristics = m->lost_types ? 0 : s->heuristics;
	search->threads = s->heap.space->threads.len;
	search->root_bytes = totals->root_bytes;
	search->unread_bytes = totals->unread_bytes;
	for (size_t i = 0; i < s->roots.len; i++) {
		if (!s->roots.data[i].values)
			search->unread_bytes += address_space_absent(
				s->heap.space, s->roots.data[i].start, s->roots.data[i].end);
	}
	search->pointers = totals->pointers;
	for (unsigned i = 0; i < LEAK_KINDS && !m->lost_types; i++) {
		search->blocks[i] = totals->blocks[i];
		search->bytes[i] = totals->bytes[i];
	}
	if (m->lost_types)
		count_kinds(m, search);
	for (unsigned i = 0; i < LEAK_HEURISTICS && !m->lost_types; i++) {
		search->heuristic_blocks[i] = totals->heuristic_blocks[i];
		search->heuristic_bytes[i] = totals->heuristic_bytes[i];
	}
	struct error *error = NULL;
	for (size_t i = 0; i < s->roots.len && !error; i++)
		error = make_root(m, &s->roots.data[i]);
	if (!error)
		error = make_groups(m);
	return error ? error : make_records(m);
}

/* As the kernel has them in a core: with blanks between, whatever they hold themselves. */
static struct error *make_arguments(struct making *m)
{
	struct error *error = NULL;
	for (const char *at = m->scan->heap.space->owner.command; *at && !error;) {
		size_t len = strcspn(at, " ");
		if (len)
			error = build_argument(m->foreign.model, at, len);
		at += len + strspn(at + len, " ");
	}
	return error;
}

static struct error *make_target(struct making *m)
{
	const struct address_space *space = m->scan->heap.space;
	struct target *target = build_target(m->foreign.model);
	target->pid = target->outer_pid = space->owner.pid > 0 ? (uint32_t)space->owner.pid : 0;
	target->exit_kind = space->is_live ? EXIT_KIND_RUNNING : EXIT_KIND_UNKNOWN;
	if (!space->is_live && space->threads.len && space->threads.data[0].signal) {
		target->exit_kind = EXIT_KIND_SIGNAL;
		target->exit_value = space->threads.data[0].signal;
	}
	struct error *error = NULL;
	for (size_t i = 0; i < space->modules.len && !error; i++) {
		const char *path = space->modules.data[i].path;
		if (space->modules.data[i].executable)
			error = build_string(m->foreign.model, path, strlen(path), &target->exe);
	}
	return error ? error : make_arguments(m);
}

static struct error *make_damage(struct making *m)
{
	const struct heap_scan *s = m->scan;
	const struct heap_damage_vec *damage = &s->heap.damage;
	char sentence[512];
	struct error *error = NULL;
	bool amid = damage->len;
	for (size_t i = 0; i < damage->len; i++)
		amid &= damage->data[i].amid;
	if (damage->len) {
		snprintf(sentence, sizeof(sentence),
			"the heap is %s at %zu place%s, first at 0x%llx (%s): blocks there are "
			"unknown",
			amid ? "in the middle of a change by a thread, or damaged," : "damaged",
			damage->len, damage->len == 1 ? "" : "s",
			(unsigned long long)damage->data[0].address, damage->data[0].what);
		error = build_damage(m->foreign.model, sentence);
	}
	if (!error && s->heap.space->core.missing_bytes) {
		snprintf(sentence, sizeof(sentence),
			"the core is cut off: %llu bytes of memory are missing from it",
			(unsigned long long)s->heap.space->core.missing_bytes);
		error = build_damage(m->foreign.model, sentence);
	}
	if (build_recording(m->foreign.model)->no_heap)
		build_recording(m->foreign.model)->remark =
			heap_unread_find(s).largest ? "no heap was found although the memory is "
						      "present: the summary of `heapwise core` and "
						      "`heapwise heap` lists what was searched for"
						    : heap_absence(&s->heap);
	if (!error && address_space_lacks_private(s->heap.space))
		error = build_damage(m->foreign.model,
			"the core contains no private memory and so no heap: bit 0 of "
			"/proc/PID/coredump_filter was not set when it was written");
	return error;
}

static struct error *heap_model_make_make(struct making *m)
{
	struct recording *recording = build_recording(m->foreign.model);
	if (!heap_is_unknown(m->scan))
		recording->unknown &= ~(uint32_t)KNOWN;
	recording->snapshot = recording->is_heap = true;
	recording->types = !m->joined;
	recording->no_heap = !m->scan->heap.areas.len || heap_is_cut_away(m->scan);
	go_types_sum(m->scan, &recording->collected_blocks, &recording->collected_bytes);
	recording->all_collected =
		recording->collected_blocks &&
		recording->collected_blocks == m->scan->totals.blocks[BLOCK_USED];
	recording->whole_stacks = true;
	size_t modules = m->scan->heap.space->modules.len, types = m->scan->types.types.len;
	m->site_count = m->joined ? m->scan->sites.len : types;
	m->modules = calloc(modules + 1, sizeof(*m->modules));
	m->types = calloc(types + 1, sizeof(*m->types));
	m->sites = calloc(m->site_count + 1, sizeof(*m->sites));
	if (!m->modules || !m->types || !m->sites)
		return error_no_memory();
	struct error *error = make_modules(m);
	if (!error)
		error = m->by_owner ? heap_owners_put(m->scan, &m->foreign) : make_sites(m);
	if (!error)
		error = foreign_total(&m->foreign);
	if (!error)
		error = make_threads(m);
	if (!error)
		error = make_target(m);
	if (!error && !m->by_owner && !heap_is_unknown(m->scan))
		error = make_leaks(m);
	return error ? error : make_damage(m);
}

static struct error *make_of(struct making *m, const char *name, struct model **ret)
{
	const char *source = m->scan->heap.space->is_live ? "process" : "core";
	struct input input;
	input_of_buffer(&input, name, NULL, 0);
	struct error *error = foreign_create(&m->foreign, source, &input);
	if (!error)
		error = heap_model_make_make(m);
	if (!error) {
		build_finish(m->foreign.model);
		*ret = steal_ptr(m->foreign.model);
	}
	foreign_deinit(&m->foreign);
	free(m->modules);
	free(m->types);
	free(m->sites);
	return error;
}

struct error *heap_model_make(const struct heap_scan *scan, const char *name,
	const struct joined *joined, struct model **ret)
{
	return heap_model_make_of(scan, name, joined, NULL, ret);
}

struct error *heap_model_make_of(const struct heap_scan *scan, const char *name,
	const struct joined *joined, const uint8_t *types, struct model **ret)
{
	struct making m = {.scan = scan, .joined = joined, .lost_types = types};
	return make_of(&m, name, ret);
}

struct error *heap_model_make_owners(
	const struct heap_scan *scan, const char *name, struct model **ret)
{
	struct making m = {.scan = scan, .by_owner = true};
	return make_of(&m, name, ret);
}

static struct error *scan_and_make(const struct address_space *space, struct heap_names *names,
	const char *name, struct model **ret)
{
	struct heap_scan scan;
	struct error *error =
		heap_scan_open(space, names, POINTERS_ALIGNED, SEARCH_HEURISTICS_ALL, &scan);
	if (!error)
		error = heap_scan_find_types(&scan);
	if (!error)
		error = heap_scan_find_leaks(&scan);
	if (!error)
		error = heap_model_make(&scan, name, NULL, ret);
	heap_scan_close(&scan);
	return error;
}

struct error *heap_model_of_core(const struct input *input, struct model **ret)
{
	struct heap_names names;
	struct core_file core = {.fd = -1};
	struct address_space space = {.core.fd = -1, .memory = {-1, -1, -1, NULL, NULL, NULL}};
	int fd = input->fd >= 0 ? dup(input->fd) : -1;
	if (fd < 0)
		return error_create(
			ERROR_INPUT, "%s: a core dump can't be read from a pipe", input->name);
	struct error *error = heap_names_open(NULL, NULL, &names);
	if (error) {
		close(fd);
		return error;
	}
	error = core_file_open_fd(fd, input->name, &core);
	struct address_files files = heap_names_files(&names);
	if (!error)
		error = address_space_of_core(&core, &files, &space);
	if (!error)
		error = scan_and_make(&space, &names, input->name, ret);
	address_space_close(&space);
	core_file_close(&core);
	heap_names_close(&names);
	return error;
}
