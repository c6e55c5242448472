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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/util.h"
#include "capture/watch/growth_pages.h"
#include "capture/watch/known_sites.h"
#include "capture/watch/watched_process.h"
#include "process/proc_info.h"

/* Pages that were touched: entries of the kernel's table (16 GiB of memory). */
#define PAGES_MOST (1u << 22)
#define RING_BYTES (1u << 16)
#define STATM_BYTES 256

DEFINE_VEC(growth_threads, pid_t)

struct growth {
	struct watched_process process;
	struct growth_threads threads; /* whose faults are followed */
	struct growth_ranges before;   /* in memory at the start */
	uint64_t start_pages, start_counted;
	struct growth_touches touches;
	struct known_sites sites;
	struct growth_stacks stacks; /* one of each site, with the same number */
	struct growth_sums sums;
	struct growth_losses losses;
	bool large_folios;
	uint64_t programs; /* that the process executed since the start */
};

static const char *const call_names[GROWTH_KINDS] = {[GROWTH_BRK] = "brk",
	[GROWTH_MMAP] = "mmap",
	[GROWTH_MUNMAP] = "munmap",
	[GROWTH_MREMAP] = "mremap",
	[GROWTH_MADVISE] = "madvise"};

static int event_take(void *context, void *data, size_t bytes)
{
	struct growth *growth = context;
	const struct watch_event *event = data;
	if (bytes >= sizeof(*event) && event->kind == WATCH_EVENT_MODULES)
		growth->process.modules_changed = true;
	return 0;
}

/* Beginning. */

static struct error *kernel_start(struct growth *growth, uint32_t rows_room)
{
	const struct watch_sizes sizes = {.blocks = PAGES_MOST,
		.sites = WATCHED_SITES_MOST,
		.threads = WATCHED_THREADS_MOST,
		.rows = rows_room,
		.ring_bytes = RING_BYTES};
	const struct watch_config config = {.sampling = WATCH_ALL,
		.process = process_is_in_first_namespace() ? (uint32_t)growth->process.pid : 0};
	return watch_kernel_open_growth(
		&sizes, &config, event_take, growth, &growth->process.kernel);
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
	return watch_kernel_follow_faults(&growth->process.kernel, thread, &is_gone);
}

/* Those that are there. *ret_new: some were not followed yet. */
static struct error *threads_follow_once(struct growth *growth, bool *ret_new)
{
	char path[64];
	struct error *error = NULL;
	const struct dirent *entry;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)growth->process.pid);
	*ret_new = false;
	DIR *folder = opendir(path);
	if (!folder)
		return error_errno(ERROR_INPUT, errno, "can't list the threads of process %d (%s)",
			(int)growth->process.pid, path);
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
	struct error *error = page_scan_open(growth->process.pid, &scan, &is_supported);
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
		error = counted_read(growth->process.pid, &growth->start_counted);
	growth->start_pages = growth_pages_count(&growth->before);
	return error;
}

/* What is in memory is noted last: what is touched before that is no growth. */
static struct error *growth_start(struct growth *growth)
{
	struct watched_process *process = &growth->process;
	_cleanup_(watch_row_vec_deinit) struct watch_row_vec rows = {0};
	uint32_t room;
	struct error *error = watched_process_read(process);
	if (!error)
		error = watched_process_rows(process, &rows, &room);
	if (!error)
		error = kernel_start(growth, room);
	if (!error)
		error = watched_process_put(process, &rows);
	if (!error)
		error = threads_follow(growth);
	if (!error)
		error = watch_kernel_follow_calls(&process->kernel, break_read(process->pid));
	return error ? error : start_note(growth);
}

struct error *growth_open(pid_t pid, struct growth **ret)
{
	struct growth *growth = calloc(1, sizeof(*growth));
	if (!growth)
		return error_no_memory();
	growth->large_folios = growth_large_folios();
	watched_process_init(&growth->process, pid);
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
	watched_process_deinit(&growth->process);
	known_sites_deinit(&growth->sites);
	growth_stacks_deinit(&growth->stacks);
	growth_threads_deinit(&growth->threads);
	growth_ranges_deinit(&growth->before);
	growth_touches_deinit(&growth->touches);
	free(growth);
}

/* Meanwhile. */

static struct error *modules_follow(struct growth *growth)
{
	bool changed, other;
	growth->process.modules_changed = false;
	struct error *error = module_table_refresh(&growth->process.modules, &changed, &other);
	if (error || !changed)
		return error;
	if (other) { /* a program that began with no page at all */
		growth->programs++;
		growth->start_pages = growth->start_counted = 0;
		growth_ranges_clear(&growth->before);
	}
	return watched_process_renew(&growth->process);
}

struct error *growth_poll(struct growth *growth, bool *ret_ended)
{
	*ret_ended = watched_process_poll_end(&growth->process);
	struct error *error = watch_kernel_events(&growth->process.kernel);
	if (!error && !*ret_ended && watched_process_is_due(&growth->process))
		error = modules_follow(growth);
	if (error && watched_process_has_ended(&growth->process)) {
		error_destroy(error);
		error = NULL;
		*ret_ended = true;
	}
	return error;
}

int growth_fd(const struct growth *growth)
{
	return watch_kernel_fd(&growth->process.kernel);
}

/* Looking. */

static bool site_add(struct growth *growth, uint64_t key, const struct watch_site *site)
{
	struct growth_stack *stack = growth_stacks_push_uninit(&growth->stacks);
	if (!stack)
		return false;
	*stack = (struct growth_stack){.frames = known_sites_add(&growth->sites, key, site),
		.frame_count = site_frames(site),
		.call = site->function < GROWTH_KINDS ? call_names[site->function] : NULL,
		.is_overflow = site->flags & WATCH_OVERFLOW,
		.is_incomplete = site->flags & (WATCH_INCOMPLETE | WATCH_CUT),
		.is_guessed = site->flags & WATCH_GUESSED};
	if (!stack->frames)
		growth->stacks.len--;
	return stack->frames;
}

static bool sites_take(void *context, const void *keys, const void *values, size_t count)
{
	struct growth *growth = context;
	const uint64_t *key = keys;
	const struct watch_site *site = values;
	for (size_t i = 0; i < count; i++, key++, site++) {
		size_t number = known_sites_find(&growth->sites, *key);
		if (number == SIZE_MAX && !site_add(growth, *key, site))
			return false;
		number = number == SIZE_MAX ? growth->stacks.len - 1 : number;
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
	size_t number = share->site ? known_sites_find(&growth->sites, *share->site) : SIZE_MAX;
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
		.rows_missing = growth->process.rows_missing, .programs = growth->programs};
}

static struct error *losses_read(struct growth *growth)
{
	uint64_t counts[WATCH_COUNTS];
	struct error *error = watch_kernel_counts(&growth->process.kernel, counts);
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
		watch_kernel_each(&growth->process.kernel, WATCH_MAP_BLOCKS, touches_take, growth);
	if (!error)
		error = watch_kernel_each(
			&growth->process.kernel, WATCH_MAP_SITES, sites_take, growth);
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
			watch_kernel_remove(&growth->process.kernel, WATCH_MAP_BLOCKS, &page);
	}
}

static struct error *pages_share(struct growth *growth, const struct growth_ranges *pages)
{
	_cleanup_(growth_ranges_deinit) struct growth_ranges fresh = {0};
	struct process_maps maps;
	struct error *error = process_maps_read(growth->process.pid, &maps);
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
		error = counted_read(growth->process.pid, &counted);
	/* That of a process that is ending has none. */
	if (!error && !pages.len)
		error = error_create(ERROR_INPUT, "process %d has ended", (int)growth->process.pid);
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
	if (!error || !watched_process_has_ended(&growth->process))
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
	return &growth->process.modules.modules;
}
