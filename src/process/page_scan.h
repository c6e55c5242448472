/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pages of a process are in memory or swapped out: the system call PAGEMAP_SCAN, which Linux
 * has from 6.7 on (admin-guide/mm/pagemap). It takes a tenth of the time of smaps, because it
 * writes no text, and it changes nothing.
 */
#ifndef PROCESS_PAGE_SCAN_H
#define PROCESS_PAGE_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct page_scan {
	int pages;     /* descriptor of /proc/PID/pagemap */
	void *regions; /* room for the kernel's answers */
};

/* Pages that are alike. */
struct page_run {
	uint64_t start, end;
	bool is_present, is_swapped;
	bool is_zero; /* the kernel's page of zeros, which no figure counts */
	bool is_huge; /* of 2 MiB or more */
};

/*
 * Opens a process. *ret_supported becomes false, without an error, where the kernel has no such
 * call; it is tried. ERROR_ENVIRONMENT: the pages may not be seen. Call page_scan_close() in any
 * case.
 */
struct error *page_scan_open(pid_t pid, struct page_scan *ret, bool *ret_supported) must_check_;
void page_scan_close(struct page_scan *scan);

/* Hands over all runs of pages that are present or swapped out, ascending. ERROR_INPUT: the process
 * has ended. */
struct error *page_scan_walk(const struct page_scan *scan,
	void (*take)(void *ctx, const struct page_run *run), void *ctx) must_check_;

#endif
