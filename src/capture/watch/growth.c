/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growth is a difference of two sets of pages, those in memory at the start and those that are
 * there now, and not a sum of events: so it adds up to what the process has, whatever was copied,
 * given back or touched again meanwhile. Faults only say whose a page is. (Dropped: a count of
 * faults, in which a page that fork has copied counts twice, and a huge one once.)
 */
#include "capture/growth.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/hash_index.h"
#include "base/number.h"
#include "base/util.h"
#include "capture/watch/growth_pages.h"
#include "capture/watch/watch_kernel.h"
#include "capture/watch/watch_modules.h"
#include "process/proc_info.h"

/* Sizes of the tables in the kernel: pages that were touched (16 GiB), stacks, threads. */
#define PAGES_MOST (1u << 22)
#define SITES_MOST (1u << 16)
#define THREADS_MOST (1u << 15)
#define RING_BYTES (1u << 16)
/* Room for unwind rows, as `watch` has it. */
#define ROWS_LEAST (1u << 19)
#define ROWS_MOST (1u << WATCH_SEARCH_STEPS)

#define REFRESH_NS 300000000ull
#define ALIVE_NS 50000000ull
#define STATM_BYTES 256

/* A site of the kernel; the stack of the same number is what is shown of it. */
struct growth_site {
	uint64_t key;
	uint64_t *frames;
};
DEFINE_VEC(growth_sites, struct growth_site)
DEFINE_VEC(growth_threads, pid_t)

struct growth {
	pid_t pid;
	uint64_t start_ticks;
	struct module_table modules;
	struct watch_kernel kernel;
	struct growth_threads threads; /* whose faults are followed */
	struct growth_ranges before;   /* in memory at the start */
	uint64_t start_pages, start_counted;
	struct growth_touches touches;
	struct hash_index by_key;
	struct growth_sites sites;
	struct growth_stacks stacks;
	struct growth_sums sums;
	struct growth_losses losses;
	bool large_folios, modules_changed;
	uint64_t refreshed_ns, alive_ns, programs, rows_missing;
};

static const char *const call_names[GROWTH_KINDS] = {[GROWTH_BRK] = "brk",
	[GROWTH_MMAP] = "mmap",
	[GROWTH_MUNMAP] = "munmap",
	[GROWTH_MREMAP] = "mremap",
	[GROWTH_MADVISE] = "madvise"};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool time_is_due(uint64_t *last_ns, uint64_t every_ns)
{
	uint64_t now = now_ns();
	if (now - *last_ns < every_ns)
		return false;
	*last_ns = now;
	return true;
}

static int event_take(void *context, void *data, size_t bytes)
{
	struct growth *growth = context;
	const struct watch_event *event = data;
	if (bytes >= sizeof(*event) && event->kind == WATCH_EVENT_MODULES)
		growth->modules_changed = true;
	return 0;
}

/* Beginning. */

static struct error *rows_put(struct growth *growth, const struct watch_row_vec *rows)
{
	size_t count = min(rows->len, (size_t)growth->kernel.sizes.rows);
	growth->rows_missing = rows->len - count;
	return watch_kernel_rows(&growth->kernel, rows->data, (uint32_t)count);
}

/* The first PID namespace (PROC_PID_INIT_INO), whose numbers the programs in the kernel see. */
#define FIRST_PID_NAMESPACE 0xeffffffcu

static bool is_in_first_namespace(void)
{
	struct stat info;
	return stat("/proc/self/ns/pid", &info) == 0 && info.st_ino == FIRST_PID_NAMESPACE;
}

static struct error *kernel_start(struct growth *growth, size_t rows)
{
	uint64_t room = max((uint64_t)ROWS_LEAST, 4 * (uint64_t)rows);
	const struct watch_sizes sizes = {.blocks = PAGES_MOST,
		.sites = SITES_MOST,
		.threads = THREADS_MOST,
		.rows = (uint32_t)min(room, (uint64_t)ROWS_MOST),
		.ring_bytes = RING_BYTES};
	const struct watch_config config = {.sampling = WATCH_ALL,
		.process = is_in_first_namespace() ? (uint32_t)growth->pid : 0};
	return watch_kernel_open_growth(&sizes, &config, event_take, growth, &growth->kernel);
}

static bool thread_is_followed(const struct growth *growth, pid_t thread)
{
	for (size_t i = 0; i < growth->threads.len; i++) {
		if (growth->threads.data[i] == thread)
			return true;
	}
	return false;
}

static struct error *thread_follow(struct growth *growth, pid_t thread, bool *ret_new)
{
	bool is_gone;
	if (thread_is_followed(growth, thread))
		return NULL;
	*ret_new = true;
	if (!growth_threads_push(&growth->threads, thread))
		return error_no_memory();
	return watch_kernel_follow_faults(&growth->kernel, thread, &is_gone);
}

/* Those that are there. *ret_new: some were not followed yet. */
static struct error *threads_follow_once(struct growth *growth, bool *ret_new)
{
	char path[64];
	struct error *error = NULL;
	const struct dirent *entry;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)growth->pid);
	*ret_new = false;
	DIR *folder = opendir(path);
	if (!folder)
		return error_errno(ERROR_INPUT, errno, "can't list the threads of process %d (%s)",
			(int)growth->pid, path);
	while (!error && (entry = readdir(folder))) {
		uint64_t thread;
		if (number_whole(entry->d_name, &thread))
			error = thread_follow(growth, (pid_t)thread, ret_new);
	}
	closedir(folder);
	return error;
}

/* One descriptor for each thread: as many as this process may have. */
static void descriptors_allow(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* A thread that is followed hands that on to those that it starts. Those that others start
 * meanwhile are found by another look; if two events follow a thread, a page is noted twice, which
 * changes nothing. */
static struct error *threads_follow(struct growth *growth)
{
	bool has_new = true;
	struct error *error = NULL;
	descriptors_allow();
	while (has_new && !error)
		error = threads_follow_once(growth, &has_new);
	return error;
}

/* Where its break is, by whole pages; 0: it has none yet. */
static uint64_t break_read(pid_t pid)
{
	struct process_maps maps;
	uint64_t end = 0;
	struct error *error = process_maps_read(pid, &maps);
	if (error) {
		error_destroy(error);
		return 0;
	}
	for (size_t i = 0; i < maps.maps.len; i++) {
		if (!strcmp(maps.maps.data[i].path, "[heap]"))
			end = maps.maps.data[i].end;
	}
	process_maps_deinit(&maps);
	return end;
}

/* Pages by the kernel's counters: the second number of statm. */
static struct error *counted_read(pid_t pid, uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	size_t bytes;
	unsigned long long resident = 0;
	struct error *error = process_read(pid, "statm", STATM_BYTES, &text, &bytes);
	if (!error && sscanf(text, "%*u %llu", &resident) != 1)
		error = error_create(ERROR_INPUT, "can't read /proc/%d/statm", (int)pid);
	*ret = resident;
	return error;
}

/* The file is opened each time: it is of one program, and the process may execute another. */
static struct error *pages_read(
	struct growth *growth, struct growth_ranges *ret, uint64_t *ret_swapped)
{
	struct page_scan scan;
	bool is_supported;
	struct error *error = page_scan_open(growth->pid, &scan, &is_supported);
	if (!error && !is_supported)
		error = error_create(ERROR_ENVIRONMENT,
			"--growth takes Linux 6.7 or later, which tells the pages of a process "
			"(PAGEMAP_SCAN)");
	if (!error)
		error = growth_pages_read(&scan, ret, ret_swapped);
	page_scan_close(&scan);
	return error;
}

static struct error *start_note(struct growth *growth)
{
	uint64_t swapped;
	struct error *error = pages_read(growth, &growth->before, &swapped);
	if (!error)
		error = counted_read(growth->pid, &growth->start_counted);
	growth->start_pages = growth_pages_count(&growth->before);
	return error;
}

/* What is in memory is noted last: what is touched before that is no growth. */
static struct error *growth_start(struct growth *growth)
{
	bool changed, other;
	_cleanup_(watch_row_vec_deinit) struct watch_row_vec rows = {0};
	if (kill(growth->pid, 0) && errno == ESRCH)
		return error_create(ERROR_INPUT, "no such process: %d", (int)growth->pid);
	growth->start_ticks = process_start_ticks(growth->pid);
	struct error *error = module_table_refresh(&growth->modules, &changed, &other);
	if (error)
		return error_prefix(error,
			"process %d can't be watched (run heapwise as root, or as its user)",
			(int)growth->pid);
	error = module_table_rows(&growth->modules, &rows);
	if (!error)
		error = kernel_start(growth, rows.len);
	if (!error)
		error = rows_put(growth, &rows);
	if (!error)
		error = threads_follow(growth);
	if (!error)
		error = watch_kernel_follow_calls(&growth->kernel, break_read(growth->pid));
	return error ? error : start_note(growth);
}

struct error *growth_open(pid_t pid, struct growth **ret)
{
	struct growth *growth = calloc(1, sizeof(*growth));
	if (!growth)
		return error_no_memory();
	growth->pid = pid;
	growth->large_folios = growth_large_folios();
	module_table_init(&growth->modules, pid);
	struct error *error = growth_start(growth);
	if (error)
		growth_close(growth);
	else
		*ret = growth;
	return error;
}

void growth_close(struct growth *growth)
{
	if (!growth)
		return;
	watch_kernel_close(&growth->kernel);
	module_table_deinit(&growth->modules);
	for (size_t i = 0; i < growth->sites.len; i++)
		free(growth->sites.data[i].frames);
	growth_sites_deinit(&growth->sites);
	growth_stacks_deinit(&growth->stacks);
	growth_threads_deinit(&growth->threads);
	growth_ranges_deinit(&growth->before);
	growth_touches_deinit(&growth->touches);
	hash_index_deinit(&growth->by_key);
	free(growth);
}

/* Meanwhile. */

static struct error *modules_follow(struct growth *growth)
{
	bool changed, other;
	_cleanup_(watch_row_vec_deinit) struct watch_row_vec rows = {0};
	growth->modules_changed = false;
	struct error *error = module_table_refresh(&growth->modules, &changed, &other);
	if (error || !changed)
		return error;
	if (other) { /* which began with no page at all */
		growth->programs++;
		growth->start_pages = growth->start_counted = 0;
		growth_ranges_clear(&growth->before);
	}
	error = module_table_rows(&growth->modules, &rows);
	return error ? error : rows_put(growth, &rows);
}

static bool has_ended(const struct growth *growth)
{
	return process_start_ticks(growth->pid) != growth->start_ticks;
}

struct error *growth_poll(struct growth *growth, bool *ret_ended)
{
	*ret_ended = time_is_due(&growth->alive_ns, ALIVE_NS) && has_ended(growth);
	struct error *error = watch_kernel_events(&growth->kernel);
	if (!error && !*ret_ended &&
		(time_is_due(&growth->refreshed_ns, REFRESH_NS) || growth->modules_changed))
		error = modules_follow(growth);
	if (error && has_ended(growth)) {
		error_destroy(error);
		error = NULL;
		*ret_ended = true;
	}
	return error;
}

int growth_fd(const struct growth *growth)
{
	return watch_kernel_fd(&growth->kernel);
}

/* Looking. */

/* Returns the number of the site with a key; SIZE_MAX: none. */
static size_t site_find(const struct growth *growth, uint64_t key)
{
	struct hash_index_place place;
	uint32_t number;
	if (!growth->by_key.cap)
		return SIZE_MAX;
	/* Keys are hashes already. */
	place.hash = hash_index_fold(key);
	place.slot = place.hash & (growth->by_key.cap - 1);
	while ((number = hash_index_next(&growth->by_key, &place))) {
		if (growth->sites.data[number - 1].key == key)
			return number - 1;
	}
	return SIZE_MAX;
}

static bool site_add(struct growth *growth, uint64_t key, const struct watch_site *site)
{
	struct hash_index_place place;
	uint32_t frames = min(site->frames, (uint32_t)WATCH_FRAMES_MOST);
	uint64_t *copy = malloc(max(frames, 1u) * sizeof(*copy));
	if (!copy)
		return false;
	memcpy(copy, site->pcs, frames * sizeof(*copy));
	const struct growth_stack stack = {.frames = copy,
		.frame_count = frames,
		.call = site->function < GROWTH_KINDS ? call_names[site->function] : NULL,
		.is_overflow = site->flags & WATCH_OVERFLOW,
		.is_incomplete = site->flags & (WATCH_INCOMPLETE | WATCH_CUT),
		.is_guessed = site->flags & WATCH_GUESSED};
	const struct growth_site known = {.key = key, .frames = copy};
	if (!hash_index_seek(&growth->by_key, key, &place) ||
		!growth_stacks_push(&growth->stacks, stack) ||
		!growth_sites_push(&growth->sites, known)) {
		free(copy);
		return false;
	}
	/* To the first free place: none of these is it. */
	while (hash_index_next(&growth->by_key, &place))
		;
	hash_index_put(&growth->by_key, &place, (uint32_t)(growth->sites.len - 1));
	return true;
}

static bool sites_take(void *context, const void *keys, const void *values, size_t count)
{
	struct growth *growth = context;
	const uint64_t *key = keys;
	const struct watch_site *site = values;
	for (size_t i = 0; i < count; i++, key++, site++) {
		size_t number = site_find(growth, *key);
		if (number == SIZE_MAX && !site_add(growth, *key, site))
			return false;
		number = number == SIZE_MAX ? growth->sites.len - 1 : number;
		struct growth_stack *stack = &growth->stacks.data[number];
		stack->more_calls = stack->call || stack->is_overflow ? site->allocs : 0;
		stack->less_calls = site->frees;
		stack->more_bytes = site->alloc_bytes;
		stack->less_bytes = site->freed_bytes;
		growth->losses.events += site->allocs + site->frees;
		if (stack->is_incomplete)
			growth->losses.incomplete += site->allocs + site->frees;
	}
	return true;
}

static bool touches_take(void *context, const void *keys, const void *values, size_t count)
{
	struct growth *growth = context;
	const uint64_t *page = keys;
	const struct watch_block *block = values;
	for (size_t i = 0; i < count; i++) {
		if (!growth_touches_push(
			    &growth->touches, (struct growth_touch){page[i], block[i].site}))
			return false;
	}
	return true;
}

static void share_take(void *context, const struct growth_share *share)
{
	struct growth *growth = context;
	size_t number = share->site ? site_find(growth, *share->site) : SIZE_MAX;
	if (number == SIZE_MAX) {
		growth->sums.unexplained += share->pages;
		return;
	}
	struct growth_stack *stack = &growth->stacks.data[number];
	stack->pages += share->pages;
	stack->along_pages += share->is_along ? share->pages : 0;
	stack->file_pages += share->is_file ? share->pages : 0;
	growth->sums.touched += share->pages;
}

static void stacks_clear(struct growth *growth)
{
	for (size_t i = 0; i < growth->stacks.len; i++) {
		struct growth_stack *stack = &growth->stacks.data[i];
		stack->pages = stack->along_pages = stack->file_pages = 0;
	}
	growth_touches_clear(&growth->touches);
	growth->losses = (struct growth_losses){
		.rows_missing = growth->rows_missing, .programs = growth->programs};
}

static struct error *losses_read(struct growth *growth)
{
	uint64_t counts[WATCH_COUNTS];
	struct error *error = watch_kernel_counts(&growth->kernel, counts);
	if (error)
		return error;
	growth->losses.pages = counts[WATCH_COUNT_BLOCKS_FULL];
	growth->losses.stacks = counts[WATCH_COUNT_SITES_FULL];
	growth->losses.threads = counts[WATCH_COUNT_THREADS_FULL];
	return NULL;
}

/* Touches before sites, which are there before them. */
static struct error *kernel_read(struct growth *growth)
{
	stacks_clear(growth);
	struct error *error =
		watch_kernel_each(&growth->kernel, WATCH_MAP_BLOCKS, touches_take, growth);
	if (!error)
		error = watch_kernel_each(&growth->kernel, WATCH_MAP_SITES, sites_take, growth);
	return error ? error : losses_read(growth);
}

/* Pages whose memory is gone leave room in the table if it is half full: `pages` are all that are
 * in memory. One that is touched at this moment loses its stack. */
static void stale_remove(struct growth *growth, const struct growth_ranges *pages)
{
	const struct growth_touches *touches = &growth->touches;
	size_t range = 0;
	if (touches->len < PAGES_MOST / 2)
		return;
	for (size_t i = 0; i < touches->len; i++) {
		uint64_t page = touches->data[i].page;
		while (range < pages->len && pages->data[range].end <= page)
			range++;
		if (range == pages->len || pages->data[range].start > page)
			watch_kernel_remove(&growth->kernel, WATCH_MAP_BLOCKS, &page);
	}
}

static struct error *pages_share(struct growth *growth, const struct growth_ranges *pages)
{
	_cleanup_(growth_ranges_deinit) struct growth_ranges fresh = {0};
	struct process_maps maps;
	struct error *error = process_maps_read(growth->pid, &maps);
	if (error)
		return error;
	if (growth_pages_subtract(pages, &growth->before, &fresh)) {
		growth_touches_sort(&growth->touches);
		stale_remove(growth, pages);
		growth_pages_share(
			&fresh, &maps, growth->large_folios, &growth->touches, share_take, growth);
		uint64_t stayed = growth->sums.pages - growth_pages_count(&fresh);
		growth->sums.gone = growth->start_pages - stayed;
	} else {
		error = error_no_memory();
	}
	process_maps_deinit(&maps);
	return error;
}

static bool page_was_there(const struct growth *growth, uint64_t page)
{
	size_t first = 0, end = growth->before.len;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (growth->before.data[middle].end <= page)
			first = middle + 1;
		else
			end = middle;
	}
	return first < growth->before.len && growth->before.data[first].start <= page;
}

/* Of a process that has ended all that it touched counts. */
static struct error *end_look(struct growth *growth)
{
	struct error *error = kernel_read(growth);
	if (error)
		return error;
	growth->sums = (struct growth_sums){.has_ended = true};
	for (size_t i = 0; i < growth->touches.len; i++) {
		const struct growth_touch *touch = &growth->touches.data[i];
		const struct growth_share share = {&touch->site, 1, false, false};
		if (!page_was_there(growth, touch->page))
			share_take(growth, &share);
	}
	return NULL;
}

/* Pages before touches: each new page has its touch. */
static struct error *process_look(struct growth *growth)
{
	_cleanup_(growth_ranges_deinit) struct growth_ranges pages = {0};
	uint64_t swapped, counted;
	struct error *error = pages_read(growth, &pages, &swapped);
	if (!error)
		error = counted_read(growth->pid, &counted);
	/* That of a process that is ending has none. */
	if (!error && !pages.len)
		error = error_create(ERROR_INPUT, "process %d has ended", (int)growth->pid);
	if (!error)
		error = kernel_read(growth);
	if (error)
		return error;
	growth->sums = (struct growth_sums){.pages = growth_pages_count(&pages),
		.start_pages = growth->start_pages,
		.counted = counted,
		.start_counted = growth->start_counted,
		.swapped = swapped};
	return pages_share(growth, &pages);
}

struct error *growth_look(struct growth *growth)
{
	struct error *error = process_look(growth);
	if (!error || !has_ended(growth))
		return error;
	error_destroy(error);
	return end_look(growth);
}

const struct growth_stacks *growth_stacks_get(const struct growth *growth)
{
	return &growth->stacks;
}

const struct growth_sums *growth_sums_get(const struct growth *growth)
{
	return &growth->sums;
}

const struct growth_losses *growth_losses_get(const struct growth *growth)
{
	return &growth->losses;
}

const struct watch_modules *growth_modules_get(const struct growth *growth)
{
	return &growth->modules.modules;
}

size_t growth_module_of(const struct growth *growth, uint64_t address)
{
	return module_table_find(&growth->modules, address);
}
