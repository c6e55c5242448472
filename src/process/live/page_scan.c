/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/page_scan.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The kernel's interface, include/uapi/linux/fs.h of 6.7, which older headers lack. */
struct page_scan_region {
	uint64_t start, end, categories;
};

struct page_scan_ask {
	uint64_t size, flags, start, end, walk_end, regions, region_count, most_pages;
	uint64_t inverted, all_of, any_of, wanted;
};
static_assert(sizeof(struct page_scan_ask) == 96, "as the kernel has it");

#define PAGE_SCAN_CALL _IOWR('f', 16, struct page_scan_ask)
#define IS_PRESENT (1u << 3)
#define IS_SWAPPED (1u << 4)
#define IS_ZERO (1u << 5)
#define IS_HUGE (1u << 6)

#define REGIONS 8192u
#define PAGE_SCAN_BYTES 4096u

/* The end of what can be asked for: the kernel refuses what is beyond its user memory. */
#if defined(__aarch64__)
#define MEMORY_END 0x0000fffffffff000ull
#else
#define MEMORY_END 0x00007ffffffff000ull
#endif

/* Asks for the pages from `at` on; returns how many regions there are, or -1 with errno. */
static int regions_ask(const struct page_scan *scan, uint64_t at, uint64_t end, uint64_t *ret_end)
{
	struct page_scan_ask ask = {.size = sizeof(ask),
		.start = at,
		.end = end,
		.regions = (uintptr_t)scan->regions,
		.region_count = REGIONS,
		.any_of = IS_PRESENT | IS_SWAPPED,
		.wanted = IS_PRESENT | IS_SWAPPED | IS_ZERO | IS_HUGE};
	int count;
	do
		count = ioctl(scan->pages, PAGE_SCAN_CALL, &ask);
	while (count < 0 && errno == EINTR);
	*ret_end = ask.walk_end;
	return count;
}

struct error *page_scan_open(pid_t pid, struct page_scan *ret, bool *ret_supported)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	*ret_supported = false;
	*ret = (struct page_scan){.pages = open(path, O_RDONLY | O_CLOEXEC)};
	if (ret->pages < 0)
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't see the pages of process %d (%s)", (int)pid, path);
	ret->regions = malloc(REGIONS * sizeof(struct page_scan_region));
	if (!ret->regions)
		return error_no_memory();
	uint64_t end;
	*ret_supported = regions_ask(ret, MEMORY_END - PAGE_SCAN_BYTES, MEMORY_END, &end) >= 0;
	return NULL;
}

void page_scan_close(struct page_scan *scan)
{
	if (scan->pages >= 0)
		close(scan->pages);
	free(scan->regions);
	*scan = (struct page_scan){.pages = -1};
}

/* Hands over regions from `at` on; returns where the next ones begin. Of the end of the walk the
 * kernel's word (6.18) may be of a part of it, before regions that it has given: those are not
 * asked for again. */
static uint64_t regions_take(const struct page_scan *scan, int count, uint64_t at,
	uint64_t walk_end, void (*take)(void *ctx, const struct page_run *run), void *ctx)
{
	const struct page_scan_region *regions = scan->regions;
	for (int i = 0; i < count; i++) {
		const struct page_run run = {regions[i].start, regions[i].end,
			regions[i].categories & IS_PRESENT, regions[i].categories & IS_SWAPPED,
			regions[i].categories & IS_ZERO, regions[i].categories & IS_HUGE};
		if (run.start < at)
			continue;
		take(ctx, &run);
		at = run.end;
	}
	return walk_end > at ? walk_end : at;
}

struct error *page_scan_walk(const struct page_scan *scan,
	void (*take)(void *ctx, const struct page_run *run), void *ctx)
{
	for (uint64_t at = 0, until; at < MEMORY_END;) {
		int count = regions_ask(scan, at, MEMORY_END, &until);
		if (count < 0)
			return error_errno(errno == ESRCH ? ERROR_INPUT : ERROR_ENVIRONMENT, errno,
				"can't see the pages of the process (PAGEMAP_SCAN from 0x%llx)",
				(unsigned long long)at);
		uint64_t next = regions_take(scan, count, at, until, take, ctx);
		if (!count || next <= at)
			return NULL;
		at = next;
	}
	return NULL;
}
