/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash_index.h"
#include "base/path.h"
#include "base/util.h"
#include "capture/watch/changed_code.h"
#include "capture/watch/kmem_events.h"
#include "capture/watch/throw_limit.h"
#include "capture/watch/watch_kernel.h"
#include "capture/watch/watch_mappings.h"
#include "capture/watch/watch_modules.h"
#include "capture/watch/watch_rights.h"
#include "process/proc_info.h"

/* Sizes of the tables in the kernel, whose entries take memory when they are needed. */
#define BLOCKS_MOST (1u << 22)
#define SITES_MOST (1u << 16)
#define THREADS_MOST (1u << 15)
#define RING_BYTES (4u << 20)
/* Those of the kernel's own blocks have all their memory from the start, as nothing may be
 * allocated within an allocation: 114 MiB. */
#define KERNEL_BLOCKS_MOST (1u << 20)
#define KERNEL_SITES_MOST (1u << 14)
/* With each call: a quarter of a second of two processors that do nothing else. */
#define RING_CALLS_MOST (32u << 20)
/* Unwind rows: room for four times as many as there are at first, so that libraries may be loaded
 * and other programs executed later; at least this (16 MiB for both tables). */
#define ROWS_LEAST (1u << 19)
#define ROWS_MOST (1u << WATCH_SEARCH_STEPS)

/* Between looks at the mappings, unless the dynamic linker says that there are others; at the
 * process; and at its threads. */
#define REFRESH_NS 300000000ull
#define ALIVE_NS 50000000ull
#define PURGE_NS 5000000000ull

DEFINE_VEC(watch_events, struct watch_event)

/* A site of the kernel as it was read last. `stack` of the same number is what is shown of it. */
struct known_site {
	uint64_t key;
	uint64_t *frames;
};
DEFINE_VEC(known_sites, struct known_site)

struct watch {
	struct watch_options options;
	uint64_t start_ticks; /* of the process: another one may get its number */
	struct module_table modules;
	struct watch_kernel kernel;
	struct watch_mappings mappings;
	struct watch_events events; /* of mappings, not yet taken in */
	struct hash_index by_key;
	struct known_sites sites;
	struct watch_stacks stacks;
	struct watch_losses losses;
	struct watch_lives lives;
	bool keeps_blocks, no_memory;
	uint64_t rows_missing;
	uint64_t replaced_ns;   /* when the last of them was */
	uint64_t programs;      /* that it executed since the start */
	bool has_more;          /* calls that on_call had no room for */
	bool sees_threads;      /* their numbers are those of the kernel's programs */
	bool modules_changed;   /* the dynamic linker said so, */
	uint64_t modules_at_ns; /* the one at this address first at this time */
	uint64_t linker;        /* that address; 0: not known */
	bool linker_changed;    /* so there is another program */
	uint64_t refreshed_ns, alive_ns, purged_ns;
	size_t functions, files; /* that are probed */
	/* During a look. */
	uint64_t now_ns, older_ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

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
		if (!watch->modules_changed || watch->linker != event->address)
			watch->modules_at_ns = event->time_ns;
		watch->linker_changed |= watch->linker && watch->linker != event->address;
		watch->linker = event->address;
		watch->modules_changed = true;
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
	for (size_t i = 0; i < watch->modules.files.len; i++) {
		struct watch_file *file = &watch->modules.files.data[i];
		const char *path = file->open_path ? file->open_path : file->path;
		if (file->is_attached || !file->places.len || !file_is_meant(watch, file))
			continue;
		file->is_attached = true;
		struct error *error = changed_code_refuse(&watch->modules, i);
		if (error)
			return error;
		error = watch->options.is_dry ? NULL
					      : watch_kernel_attach(&watch->kernel, path,
							watch->options.pid, &file->places);
		if (error)
			return error;
		watch->functions += file->places.len;
		watch->files++;
	}
	return NULL;
}

static struct error *rows_put(struct watch *watch, const struct watch_row_vec *rows)
{
	size_t count = min(rows->len, (size_t)watch->kernel.sizes.rows);
	watch->rows_missing = rows->len - count;
	return watch_kernel_rows(&watch->kernel, rows->data, (uint32_t)count);
}

static bool has_allocator(const struct watch *watch)
{
	for (size_t i = 0; i < watch->modules.files.len; i++) {
		const struct watch_file *file = &watch->modules.files.data[i];
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
	for (size_t i = 0; i < watch->modules.files.len; i++)
		has_code |= watch->modules.files.data[i].is_readable;
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

static uint32_t rows_room(size_t rows)
{
	uint64_t room = max((uint64_t)ROWS_LEAST, 4 * (uint64_t)rows);
	return (uint32_t)min(room, (uint64_t)ROWS_MOST);
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
	struct error *error = watch_kernel_open_kmem(&sizes, &config, &watch->kernel);
	return error ? error
		     : kmem_events_attach(
			       &watch->kernel, watch->options.is_percpu, &watch->functions);
}

static struct error *kernel_start(struct watch *watch, size_t rows)
{
	const struct watch_options *options = &watch->options;
	const struct watch_sizes sizes = {.blocks = BLOCKS_MOST,
		.sites = SITES_MOST,
		.threads = THREADS_MOST,
		.rows = rows_room(rows),
		.ring_bytes = options->on_call ? RING_CALLS_MOST : RING_BYTES};
	const struct watch_config config = config_make(options);
	return watch_kernel_open(
		&sizes, &config, options->probes, event_take, watch, &watch->kernel);
}

static struct error *watch_start(struct watch *watch)
{
	pid_t pid = watch->options.pid;
	bool changed, other;
	_cleanup_(watch_row_vec_deinit) struct watch_row_vec rows = {0};
	if (kill(pid, 0) && errno == ESRCH)
		return error_create(ERROR_INPUT, "no such process: %d", (int)pid);
	watch->start_ticks = process_start_ticks(pid);
	struct error *error = module_table_refresh(&watch->modules, &changed, &other);
	if (error)
		return error_prefix(error,
			"process %d can't be watched (run heapwise as root, or as its user)",
			(int)pid);
	if (!has_allocator(watch))
		return allocator_missing(watch);
	error = module_table_rows(&watch->modules, &rows);
	if (!error)
		error = kernel_start(watch, rows.len);
	if (!error)
		error = rows_put(watch, &rows);
	if (!error)
		error = watch_kernel_throws(&watch->kernel, throw_limit_read(pid));
	return error ? error : probes_attach(watch);
}

/* The first PID namespace (PROC_PID_INIT_INO), whose numbers the programs in the kernel see. */
#define FIRST_PID_NAMESPACE 0xeffffffcu

static bool is_in_first_namespace(void)
{
	struct stat info;
	return stat("/proc/self/ns/pid", &info) == 0 && info.st_ino == FIRST_PID_NAMESPACE;
}

struct error *watch_open(const struct watch_options *options, struct watch **ret)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	if (!watch)
		return error_no_memory();
	watch->options = *options;
	watch->sees_threads = is_in_first_namespace();
	module_table_init(&watch->modules, options->pid);
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
	watch_kernel_close(&watch->kernel);
	module_table_deinit(&watch->modules);
	watch_mappings_deinit(&watch->mappings);
	for (size_t i = 0; i < watch->sites.len; i++)
		free(watch->sites.data[i].frames);
	known_sites_deinit(&watch->sites);
	watch_stacks_deinit(&watch->stacks);
	watch_events_deinit(&watch->events);
	watch_lives_deinit(&watch->lives);
	hash_index_deinit(&watch->by_key);
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
			watch_kernel_remove(&watch->kernel, WATCH_MAP_BLOCKS, &address[i]);
	}
	return true;
}

static struct error *program_replace(struct watch *watch, uint64_t at_ns)
{
	struct error *error = watch_kernel_events(&watch->kernel);
	watch->programs++;
	watch->linker_changed = false;
	watch->replaced_ns = at_ns;
	watch_events_clear(&watch->events);
	watch_mappings_deinit(&watch->mappings);
	watch_mappings_init(&watch->mappings);
	return error ? error
		     : watch_kernel_each(&watch->kernel, WATCH_MAP_BLOCKS, blocks_drop, watch);
}

/* When the program that is there now began: a static one has no dynamic linker that says so. */
static uint64_t program_time(struct watch *watch)
{
	size_t linker = module_table_find(&watch->modules, watch->linker);
	if (watch->modules_changed && linker != SIZE_MAX &&
		!watch->modules.modules.data[linker].is_gone)
		return watch->modules_at_ns;
	watch->linker = 0; /* what its own says later is no other program */
	return now_ns();
}

static struct error *modules_follow(struct watch *watch)
{
	bool changed, other;
	_cleanup_(watch_row_vec_deinit) struct watch_row_vec rows = {0};
	struct error *error = module_table_refresh(&watch->modules, &changed, &other);
	if (error || !changed)
		return error;
	if (other)
		error = program_replace(watch, program_time(watch));
	if (!error)
		error = module_table_rows(&watch->modules, &rows);
	if (!error)
		error = rows_put(watch, &rows);
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

static bool has_ended(const struct watch *watch)
{
	return process_start_ticks(watch->options.pid) != watch->start_ticks;
}

/* Returns whether something is due that was done last at *last_ns. */
static bool time_is_due(uint64_t *last_ns, uint64_t every_ns)
{
	uint64_t now = now_ns();
	if (now - *last_ns < every_ns)
		return false;
	*last_ns = now;
	return true;
}

static struct error *process_follow(struct watch *watch)
{
	struct error *error = NULL;
	if (time_is_due(&watch->refreshed_ns, REFRESH_NS) || watch->modules_changed) {
		error = modules_follow(watch);
		if (!error)
			error = watch_kernel_throws(
				&watch->kernel, throw_limit_read(watch->options.pid));
		watch->modules_changed = false;
	}
	if (!error && watch->sees_threads && time_is_due(&watch->purged_ns, PURGE_NS))
		error = watch_kernel_purge(&watch->kernel, WATCH_MAP_THREADS, thread_drop, watch);
	return error;
}

struct error *watch_poll(struct watch *watch, bool *ret_ended)
{
	*ret_ended = false;
	if (watch->options.is_kernel)
		return NULL;
	*ret_ended = time_is_due(&watch->alive_ns, ALIVE_NS) && has_ended(watch);
	struct error *error = watch_kernel_events(&watch->kernel);
	if (!error && !*ret_ended)
		error = process_follow(watch);
	/* It has ended meanwhile. */
	if (error && has_ended(watch)) {
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
	*ret_ns = now_ns();
	watch->has_more = false;
	struct error *error = watch_kernel_events(&watch->kernel);
	*ret_more = watch->has_more;
	return error;
}

int watch_fd(const struct watch *watch)
{
	return watch_kernel_fd(&watch->kernel);
}

void watch_stop(struct watch *watch)
{
	watch_kernel_detach(&watch->kernel);
}

/* Looking. */

/* Returns the number of the site with a key; SIZE_MAX: none. */
static size_t site_find(const struct watch *watch, uint64_t key)
{
	struct hash_index_place place;
	uint32_t number;
	if (!watch->by_key.cap)
		return SIZE_MAX;
	/* Keys are hashes already. */
	place.hash = hash_index_fold(key);
	place.slot = place.hash & (watch->by_key.cap - 1);
	while ((number = hash_index_next(&watch->by_key, &place))) {
		if (watch->sites.data[number - 1].key == key)
			return number - 1;
	}
	return SIZE_MAX;
}

static bool mapping_is_own(const struct watch *watch, const struct watch_site *site)
{
	for (uint32_t i = 0; i < site->frames && i < WATCH_FRAMES_MOST; i++) {
		if (module_table_is_allocator(&watch->modules, site->pcs[i] - 1, i == 0))
			return true;
	}
	return false;
}

static void stack_name(const struct watch *watch, unsigned number, struct watch_stack *stack)
{
	if (watch->options.is_kernel) {
		stack->function = stack->symbol = kmem_event_name(number);
		return;
	}
	if (number >= watched_function_count)
		return;
	const struct watched_function *function = &watched_functions[number];
	stack->function = function->shown;
	stack->symbol = function->name;
	stack->is_mapping = function->where == WATCHED_LIBC;
}

/* Adds a site that was not known. */
static bool site_add(struct watch *watch, uint64_t key, const struct watch_site *site)
{
	struct hash_index_place place;
	uint32_t frames = min(site->frames, (uint32_t)WATCH_FRAMES_MOST);
	uint64_t *copy = malloc(max(frames, 1u) * sizeof(*copy));
	if (!copy)
		return false;
	memcpy(copy, site->pcs, frames * sizeof(*copy));
	struct watch_stack stack = {.frames = copy,
		.frame_count = frames,
		.is_incomplete = site->flags & (WATCH_INCOMPLETE | WATCH_CUT),
		.is_cut = site->flags & WATCH_CUT,
		.is_guessed = site->flags & WATCH_GUESSED};
	stack_name(watch, site->function, &stack);
	stack.is_own = stack.is_mapping && mapping_is_own(watch, site);
	const struct known_site known = {.key = key, .frames = copy};
	if (!hash_index_seek(&watch->by_key, key, &place) ||
		!watch_stacks_push(&watch->stacks, stack) ||
		!known_sites_push(&watch->sites, known)) {
		free(copy);
		return false;
	}
	/* To the first free place: none of these is it. */
	while (hash_index_next(&watch->by_key, &place))
		;
	hash_index_put(&watch->by_key, &place, (uint32_t)(watch->sites.len - 1));
	return true;
}

static void stack_set(
	const struct watch *watch, const struct watch_site *site, struct watch_stack *stack)
{
	bool is_exact = !watch->options.mean_bytes && watch->options.every <= 1;
	stack->all_samples = site->allocs;
	stack->all_bytes = (double)site->alloc_bytes;
	stack->freed_bytes = (double)site->freed_bytes;
	stack->all_blocks = is_exact ? (double)site->allocs
				     : (double)site->alloc_weight / (double)WATCH_WEIGHT_ONE;
	stack->freed_blocks = is_exact ? (double)site->frees
				       : (double)site->freed_weight / (double)WATCH_WEIGHT_ONE;
}

static bool sites_take(void *context, const void *keys, const void *values, size_t count)
{
	struct watch *watch = context;
	const uint64_t *key = keys;
	const struct watch_site *site = values;
	for (size_t i = 0; i < count; i++, key++, site++) {
		size_t number = site_find(watch, *key);
		if (number == SIZE_MAX && !site_add(watch, *key, site))
			return false;
		number = number == SIZE_MAX ? watch->sites.len - 1 : number;
		stack_set(watch, site, &watch->stacks.data[number]);
		watch->losses.samples += site->allocs;
		if (watch->stacks.data[number].is_incomplete)
			watch->losses.incomplete += site->allocs;
	}
	return true;
}

/* What a sample of that size stands for (src/bpf/watch.bpf.c, block_weight()). */
static double size_weight(const struct watch *watch, uint64_t size)
{
	const struct watch_options *options = &watch->options;
	if (options->mean_bytes)
		return 1 / -expm1(-((double)size + 1) / (double)options->mean_bytes);
	return options->every > 1 ? options->every : 1;
}

static bool is_old(const struct watch *watch, uint64_t time_ns)
{
	return watch->now_ns >= watch->older_ns && time_ns <= watch->now_ns - watch->older_ns;
}

static bool blocks_take(void *context, const void *keys, const void *values, size_t count)
{
	struct watch *watch = context;
	const uint64_t *address = keys;
	const struct watch_block *block = values;
	for (size_t i = 0; i < count; i++, address++, block++) {
		size_t number = site_find(watch, block->site);
		/* Its site came after the sites were read: so it is young. */
		if (number == SIZE_MAX || !is_old(watch, block->time_ns))
			continue;
		struct watch_stack *stack = &watch->stacks.data[number];
		double weight = size_weight(watch, block->size);
		stack->live_samples++;
		stack->live_blocks += weight;
		stack->live_bytes += weight * (double)block->size;
		const struct watch_live live = {
			watch->options.is_kernel ? kmem_key_address(*address) : *address,
			block->size, block->time_ns, weight, number};
		if (watch->keeps_blocks && !watch_lives_push(&watch->lives, live))
			return false;
	}
	return true;
}

static struct error *mappings_follow(struct watch *watch)
{
	for (size_t i = 0; i < watch->events.len; i++) {
		const struct watch_event *event = &watch->events.data[i];
		size_t number = site_find(watch, event->site);
		bool is_own = number != SIZE_MAX && watch->stacks.data[number].is_own;
		struct error *error = watch_mappings_take(&watch->mappings, event, is_own);
		if (error)
			return error;
	}
	watch_events_clear(&watch->events);
	return NULL;
}

static void unmapped_count(struct watch *watch)
{
	for (size_t i = 0; i < watch->mappings.gone.len; i++) {
		const struct watch_unmapped *gone = &watch->mappings.gone.data[i];
		size_t number = site_find(watch, gone->site);
		if (number == SIZE_MAX)
			continue;
		struct watch_stack *stack = &watch->stacks.data[number];
		stack->all_samples += gone->count;
		stack->all_blocks += (double)gone->count;
		stack->freed_blocks += (double)gone->count;
		stack->all_bytes += (double)gone->bytes;
		stack->freed_bytes += (double)gone->bytes;
	}
}

/* The mappings that there are, each a block of its site. */
static void mappings_count(struct watch *watch)
{
	for (size_t i = 0; i < watch->mappings.all.len; i++) {
		const struct watch_mapping *mapping = &watch->mappings.all.data[i];
		size_t number = site_find(watch, mapping->site);
		if (number == SIZE_MAX)
			continue;
		struct watch_stack *stack = &watch->stacks.data[number];
		stack->all_samples++;
		stack->all_blocks++;
		stack->all_bytes += (double)mapping->first_bytes;
		stack->freed_bytes += (double)(mapping->first_bytes - mapping->bytes);
		stack->freed_blocks += !mapping->bytes;
		if (!mapping->bytes || !is_old(watch, mapping->time_ns))
			continue;
		stack->live_samples++;
		stack->live_blocks++;
		stack->live_bytes += (double)mapping->bytes;
	}
}

static void stacks_clear(struct watch *watch)
{
	for (size_t i = 0; i < watch->stacks.len; i++) {
		struct watch_stack *stack = &watch->stacks.data[i];
		stack->live_blocks = stack->live_bytes = 0;
		stack->live_samples = 0;
	}
	watch_lives_clear(&watch->lives);
	watch->losses = (struct watch_losses){
		.rows_missing = watch->rows_missing, .programs = watch->programs};
}

struct error *watch_losses_read(struct watch *watch)
{
	uint64_t counts[WATCH_COUNTS];
	struct error *error = watch_kernel_counts(&watch->kernel, counts);
	if (error)
		return error;
	watch->losses.blocks = counts[WATCH_COUNT_BLOCKS_FULL];
	watch->losses.stacks = counts[WATCH_COUNT_SITES_FULL];
	watch->losses.threads = counts[WATCH_COUNT_THREADS_FULL];
	watch->losses.events = counts[WATCH_COUNT_EVENTS_LOST];
	watch->losses.throwing = counts[WATCH_COUNT_THROWS];
	watch->losses.failed = counts[WATCH_COUNT_FAILED];
	watch->losses.unknown_frees = counts[WATCH_COUNT_UNKNOWN];
	watch->losses.replaced = counts[WATCH_COUNT_REPLACED];
	watch->losses.resizes = counts[WATCH_COUNT_RESIZE_LOST];
	if (watch->options.is_kernel)
		error = watch_kernel_skipped(
			&watch->kernel, &watch->losses.skipped, &watch->losses.skipped_is_known);
	return error;
}

/* Blocks first would have sites that are not known yet. Events before sites: those are of sites
 * that are there. */
struct error *watch_look(struct watch *watch, uint64_t older_ns)
{
	stacks_clear(watch);
	watch->older_ns = older_ns;
	struct error *error = watch_kernel_events(&watch->kernel);
	watch->now_ns = now_ns();
	if (!error)
		error = watch_kernel_each(&watch->kernel, WATCH_MAP_SITES, sites_take, watch);
	if (!error)
		error = watch_kernel_each(&watch->kernel, WATCH_MAP_BLOCKS, blocks_take, watch);
	if (!error)
		error = mappings_follow(watch);
	if (error)
		return error;
	unmapped_count(watch);
	mappings_count(watch);
	return watch_losses_read(watch);
}

struct error *watch_stack_of(struct watch *watch, uint64_t site, size_t *ret)
{
	bool is_found;
	*ret = site_find(watch, site);
	if (*ret != SIZE_MAX)
		return NULL;
	_cleanup_free_ struct watch_site *found = malloc(sizeof(*found));
	if (!found)
		return error_no_memory();
	struct error *error =
		watch_kernel_find(&watch->kernel, WATCH_MAP_SITES, &site, found, &is_found);
	if (error || !is_found)
		return error;
	if (!site_add(watch, site, found))
		return error_no_memory();
	*ret = watch->stacks.len - 1;
	return NULL;
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

const struct watch_stacks *watch_stacks_get(const struct watch *watch)
{
	return &watch->stacks;
}

const struct watch_losses *watch_losses_get(const struct watch *watch)
{
	return &watch->losses;
}

void watch_keep_blocks(struct watch *watch)
{
	watch->keeps_blocks = true;
}

const struct watch_lives *watch_lives_get(const struct watch *watch)
{
	return &watch->lives;
}

const struct watch_modules *watch_modules_get(const struct watch *watch)
{
	return &watch->modules.modules;
}

size_t watch_module_of(const struct watch *watch, uint64_t address)
{
	return module_table_find(&watch->modules, address);
}

bool watch_is_kernel(const struct watch *watch)
{
	return watch->options.is_kernel;
}

const char *watch_way_name(const struct watch *watch)
{
	switch (watch->kernel.way) {
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
