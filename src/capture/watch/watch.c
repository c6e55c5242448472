/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/util.h"
#include "capture/watch/changed_code.h"
#include "capture/watch/kmem_events.h"
#include "capture/watch/throw_limit.h"
#include "capture/watch/watch_rights.h"
#include "capture/watch/watch_state.h"
#include "process/clock.h"
#include "process/proc_info.h"

/* Entries of the kernel's table of live blocks, which take memory when they are used. */
#define BLOCKS_MOST (1u << 22)
#define RING_BYTES (4u << 20)
/* The tables of the kernel's own blocks have all their memory from the start, as nothing may be
 * allocated within an allocation: 114 MiB. */
#define KERNEL_BLOCKS_MOST (1u << 20)
#define KERNEL_SITES_MOST (1u << 14)
/* With each call: a quarter of a second of two processors that do nothing else. */
#define RING_CALLS_MOST (32u << 20)

/* Between looks at the threads of the process. */
#define PURGE_NS 5000000000ull

/* Hands on a call. Returns false if the others are to wait. */
static bool call_take(struct watch *watch, const struct watch_event *event)
{
	static const enum watch_call_kind kinds[] = {[WATCH_EVENT_ALLOC] = WATCH_CALL_ALLOC,
		[WATCH_EVENT_FREE] = WATCH_CALL_FREE,
		[WATCH_EVENT_RESIZE] = WATCH_CALL_RESIZE,
		[WATCH_EVENT_FAILED] = WATCH_CALL_FAILED};
	const struct watch_call call = {.kind = kinds[event->kind],
		.thread = event->thread,
		.function = event->function,
		.time_ns = event->time_ns,
		.address = event->address,
		.size = event->size,
		.old = event->old_address,
		.site = event->site};
	return watch->options.on_call(watch->options.context, &call);
}

static int event_take(void *context, void *data, size_t bytes)
{
	struct watch *watch = context;
	const struct watch_event *event = data;
	if (bytes < sizeof(*event))
		return 0;
	if (event->kind == WATCH_EVENT_MODULES) {
		/* The linker of another program is elsewhere. */
		if (!watch->process.modules_changed || watch->linker != event->address)
			watch->modules_at_ns = event->time_ns;
		watch->linker_changed |= watch->linker && watch->linker != event->address;
		watch->linker = event->address;
		watch->process.modules_changed = true;
	} else if (event->kind <= WATCH_EVENT_REMAP) {
		watch->no_memory |= !watch_events_push(&watch->events, *event);
	} else if (watch->options.on_call) {
		watch->has_more = !call_take(watch, event);
		if (watch->has_more)
			return -EAGAIN;
	} else if (watch->options.on_event) {
		const struct watch_news news = {event->time_ns, event->address, event->size,
			event->thread, event->kind == WATCH_EVENT_FREE};
		watch->options.on_event(watch->options.context, &news);
	}
	return watch->no_memory ? -ENOMEM : 0;
}

/* Whether a file is the one meant by -O: "c" is libc.so.6. */
static bool file_is_meant(const struct watch *watch, const struct watch_file *file)
{
	const char *wanted = watch->options.object, *name = path_last_part(file->path);
	size_t len = wanted ? strlen(wanted) : 0;
	if (!wanted || !strcmp(wanted, file->path) || !strcmp(wanted, name))
		return true;
	return !strncmp(name, "lib", 3) && !strncmp(name + 3, wanted, len) &&
	       (name[3 + len] == '.' || name[3 + len] == '-');
}

static struct error *probes_attach(struct watch *watch)
{
	for (size_t i = 0; i < watch->process.modules.files.len; i++) {
		struct watch_file *file = &watch->process.modules.files.data[i];
		const char *path = file->open_path ? file->open_path : file->path;
		if (file->is_attached || !file->places.len || !file_is_meant(watch, file))
			continue;
		file->is_attached = true;
		struct error *error = changed_code_refuse(&watch->process.modules, i);
		if (error)
			return error;
		error = watch->options.is_dry ? NULL
					      : watch_kernel_attach(&watch->process.kernel, path,
							watch->options.pid, &file->places);
		if (error)
			return error;
		watch->functions += file->places.len;
		watch->files++;
	}
	return NULL;
}

static bool has_allocator(const struct watch *watch)
{
	for (size_t i = 0; i < watch->process.modules.files.len; i++) {
		const struct watch_file *file = &watch->process.modules.files.data[i];
		if (file->has_malloc && file_is_meant(watch, file))
			return true;
	}
	return false;
}

/* 64-bit ELF files alone are understood, so a 32-bit program has none that is readable. */
static struct error *allocator_missing(const struct watch *watch)
{
	int pid = (int)watch->options.pid;
	bool has_code = false;
	for (size_t i = 0; i < watch->process.modules.files.len; i++)
		has_code |= watch->process.modules.files.data[i].is_readable;
	if (watch->options.object)
		return error_create(ERROR_INPUT,
			"process %d: no file that it has mapped is called %s and defines malloc",
			pid, watch->options.object);
	return error_create(ERROR_INPUT,
		has_code ? "process %d has no malloc that could be found: nothing in it is linked "
			   "with libc (a Go program?), or it is static and stripped"
			 : "process %d has no code that can be read here: it is a 32-bit program, "
			   "or "
			   "its files are not visible (run heapwise as root)",
		pid);
}

static struct watch_config config_make(const struct watch_options *options)
{
	return (struct watch_config){.mean_bytes = options->mean_bytes,
		.min_size = options->min_size,
		.max_size = options->max_size ? options->max_size : UINT64_MAX,
		.sampling = options->mean_bytes  ? WATCH_BY_BYTES
			    : options->every > 1 ? WATCH_EVERY
						 : WATCH_ALL,
		.every = options->every,
		.emits_all = options->on_call    ? WATCH_EMITS_CALLS
			     : options->on_event ? WATCH_EMITS_NEWS
						 : WATCH_EMITS_NONE};
}

/* The kernel's own allocators. */
static struct error *kmem_start(struct watch *watch)
{
	const struct watch_sizes sizes = {.blocks = KERNEL_BLOCKS_MOST, .sites = KERNEL_SITES_MOST};
	const struct watch_config config = config_make(&watch->options);
	struct error *error = watch_kernel_open_kmem(&sizes, &config, &watch->process.kernel);
	return error ? error
		     : kmem_events_attach(
			       &watch->process.kernel, watch->options.is_percpu, &watch->functions);
}

static struct error *kernel_start(struct watch *watch, uint32_t rows_room)
{
	const struct watch_options *options = &watch->options;
	const struct watch_sizes sizes = {.blocks = BLOCKS_MOST,
		.sites = WATCHED_SITES_MOST,
		.threads = WATCHED_THREADS_MOST,
		.rows = rows_room,
		.ring_bytes = options->on_call ? RING_CALLS_MOST : RING_BYTES};
	const struct watch_config config = config_make(options);
	return watch_kernel_open(
		&sizes, &config, options->probes, event_take, watch, &watch->process.kernel);
}

static struct error *watch_start(struct watch *watch)
{
	struct watched_process *process = &watch->process;
	_cleanup_(watch_row_vec_deinit) struct watch_row_vec rows = {0};
	uint32_t room;
	struct error *error = watched_process_read(process);
	if (!error && !has_allocator(watch))
		error = allocator_missing(watch);
	if (!error)
		error = watched_process_rows(process, &rows, &room);
	if (!error)
		error = kernel_start(watch, room);
	if (!error)
		error = watched_process_put(process, &rows);
	if (!error)
		error = watch_kernel_throws(&process->kernel, throw_limit_read(process->pid));
	return error ? error : probes_attach(watch);
}

struct error *watch_open(const struct watch_options *options, struct watch **ret)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	if (!watch)
		return error_no_memory();
	watch->options = *options;
	watch->sees_threads = process_is_in_first_namespace();
	watched_process_init(&watch->process, options->pid);
	watch_mappings_init(&watch->mappings);
	struct error *error =
		options->is_kernel ? kmem_start(watch) : watch_check_filters(options->pid);
	if (!error && !options->is_kernel)
		error = watch_start(watch);
	if (error)
		watch_close(watch);
	else
		*ret = watch;
	return error;
}

void watch_close(struct watch *watch)
{
	if (!watch)
		return;
	watched_process_deinit(&watch->process);
	watch_mappings_deinit(&watch->mappings);
	known_sites_deinit(&watch->sites);
	watch_stacks_deinit(&watch->stacks);
	watch_events_deinit(&watch->events);
	watch_lives_deinit(&watch->lives);
	free(watch);
}

/* What the program before had is gone without a free. */
static bool blocks_drop(void *context, const void *keys, const void *values, size_t count)
{
	const struct watch *watch = context;
	const uint64_t *address = keys;
	const struct watch_block *block = values;
	for (size_t i = 0; i < count; i++) {
		if (block[i].time_ns < watch->replaced_ns)
			watch_kernel_remove(&watch->process.kernel, WATCH_MAP_BLOCKS, &address[i]);
	}
	return true;
}

static struct error *program_replace(struct watch *watch, uint64_t at_ns)
{
	struct error *error = watch_kernel_events(&watch->process.kernel);
	watch->programs++;
	watch->linker_changed = false;
	watch->replaced_ns = at_ns;
	watch_events_clear(&watch->events);
	watch_mappings_deinit(&watch->mappings);
	watch_mappings_init(&watch->mappings);
	return error ? error
		     : watch_kernel_each(
			       &watch->process.kernel, WATCH_MAP_BLOCKS, blocks_drop, watch);
}

/* When the program that is there now began: a static one has no dynamic linker that says so. */
static uint64_t program_time(struct watch *watch)
{
	size_t linker = watch_modules_find(&watch->process.modules.modules, watch->linker);
	if (watch->process.modules_changed && linker != SIZE_MAX &&
		!watch->process.modules.modules.data[linker].is_gone)
		return watch->modules_at_ns;
	watch->linker = 0; /* what its own says later is no other program */
	return clock_now_ns();
}

static struct error *modules_follow(struct watch *watch)
{
	bool changed, other;
	struct error *error = module_table_refresh(&watch->process.modules, &changed, &other);
	if (error || !changed)
		return error;
	if (other)
		error = program_replace(watch, program_time(watch));
	if (!error)
		error = watched_process_renew(&watch->process);
	return error ? error : probes_attach(watch);
}

/* Threads that have ended leave their entries. */
static bool thread_drop(void *context, uint32_t thread)
{
	const struct watch *watch = context;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)watch->options.pid, thread);
	return access(path, F_OK) && errno == ENOENT;
}

static struct error *process_follow(struct watch *watch)
{
	struct error *error = NULL;
	if (watched_process_is_due(&watch->process)) {
		error = modules_follow(watch);
		if (!error)
			error = watch_kernel_throws(
				&watch->process.kernel, throw_limit_read(watch->options.pid));
		watch->process.modules_changed = false;
	}
	if (!error && watch->sees_threads && clock_is_due(&watch->purged_ns, PURGE_NS))
		error = watch_kernel_purge(
			&watch->process.kernel, WATCH_MAP_THREADS, thread_drop, watch);
	return error;
}

struct error *watch_poll(struct watch *watch, bool *ret_ended)
{
	*ret_ended = false;
	if (watch->options.is_kernel)
		return NULL;
	*ret_ended = watched_process_poll_end(&watch->process);
	struct error *error = watch_kernel_events(&watch->process.kernel);
	if (!error && !*ret_ended)
		error = process_follow(watch);
	/* It has ended meanwhile. */
	if (error && watched_process_has_ended(&watch->process)) {
		error_destroy(error);
		error = NULL;
		*ret_ended = true;
	}
	/* Its last program was too short for a look at its modules. */
	if (!error && *ret_ended && watch->linker_changed)
		error = program_replace(watch, watch->modules_at_ns);
	return error;
}

struct error *watch_take(struct watch *watch, bool *ret_more, uint64_t *ret_ns)
{
	*ret_ns = clock_now_ns();
	watch->has_more = false;
	struct error *error = watch_kernel_events(&watch->process.kernel);
	*ret_more = watch->has_more;
	return error;
}

int watch_fd(const struct watch *watch)
{
	return watch_kernel_fd(&watch->process.kernel);
}

void watch_stop(struct watch *watch)
{
	watch_kernel_detach(&watch->process.kernel);
}

const char *watch_call_function(unsigned function)
{
	return function < watched_function_count ? watched_functions[function].name : NULL;
}

uint64_t watch_replaced_ns(const struct watch *watch)
{
	return watch->programs ? watch->replaced_ns : 0;
}

bool watch_sees_threads(const struct watch *watch)
{
	return watch->sees_threads;
}

const struct watch_modules *watch_modules_get(const struct watch *watch)
{
	return &watch->process.modules.modules;
}

bool watch_is_kernel(const struct watch *watch)
{
	return watch->options.is_kernel;
}

const char *watch_way_name(const struct watch *watch)
{
	switch (watch->process.kernel.way) {
	case WATCH_WAY_SESSION:
		return "uprobe sessions";
	case WATCH_WAY_KMEM:
		return "tracepoints";
	case WATCH_WAY_PERF:
		return "uprobes of perf";
	default:
		return "uprobes, many at once";
	}
}

void watch_probes(const struct watch *watch, size_t *ret_functions, size_t *ret_files)
{
	*ret_functions = watch->functions;
	*ret_files = watch->files;
}
