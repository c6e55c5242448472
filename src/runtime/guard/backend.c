/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see backend.h. May touch: the same. */
#include "runtime/guard/backend.h"

#include "runtime/guard/limit.h"

#include <errno.h>
#include <linux/ioctl.h>
#include <linux/userfaultfd.h>
#include <sys/mman.h>

/* Of newer kernels' headers (include/uapi/asm-generic/mman-common.h). */
#define ADVISE_GUARD_INSTALL 102
#define ADVISE_GUARD_REMOVE 103
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

static enum hw_check_backend chosen;
static uint64_t pool_base, pool_pages; /* of the whole reservation */
static int fault_fd = -1;
static int64_t mappings_left; /* HW_BACKEND_MPROTECT: relaxed */

static bool advise_pages(uint64_t at, uint64_t pages, int advice)
{
	return !sys_failed(sys_call(__NR_madvise, at, pages << GUARD_PAGE_SHIFT, advice));
}

static bool protect_pages(uint64_t at, uint64_t pages, int protection)
{
	return !sys_failed(sys_call(__NR_mprotect, at, pages << GUARD_PAGE_SHIFT, protection));
}

/* --- userfaultfd --- */

/* A page of zeros to copy from: one system call, and no fault at the first write. */
static const char zeros[GUARD_PAGE] __attribute__((aligned(4096)));
#define COPIED_PAGES 4u /* of more pages zero pages are enough: they get memory when written to */

static bool uffd_fill(uint64_t at, uint64_t pages)
{
	if (pages > COPIED_PAGES) {
		struct uffdio_zeropage fill = {
			.range = {.start = at, .len = pages << GUARD_PAGE_SHIFT}};
		return !sys_failed(sys_call(__NR_ioctl, fault_fd, UFFDIO_ZEROPAGE, &fill));
	}
	for (uint64_t i = 0; i < pages; i++) {
		struct uffdio_copy copy = {.dst = at + (i << GUARD_PAGE_SHIFT),
			.src = (uint64_t)zeros,
			.len = GUARD_PAGE};
		if (sys_failed(sys_call(__NR_ioctl, fault_fd, UFFDIO_COPY, &copy)))
			return false;
	}
	return true;
}

static void uffd_close(void)
{
	if (fault_fd >= 0)
		sys_call(__NR_close, fault_fd, 0, 0);
	fault_fd = -1;
}

/* Far from the numbers that a program gives out and expects. */
static int move_descriptor(int fd)
{
	long high = sys_call(__NR_fcntl, fd, 1030 /* F_DUPFD_CLOEXEC */, 900);
	if (sys_failed(high))
		return fd;
	sys_call(__NR_close, fd, 0, 0);
	return (int)high;
}

static bool uffd_open(void)
{
	long fd = sys_call(__NR_userfaultfd, 02000000 /* O_CLOEXEC */ | UFFD_USER_MODE_ONLY, 0, 0);
	if (sys_failed(fd))
		return false;
	fault_fd = move_descriptor((int)fd);
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_SIGBUS};
	struct uffdio_register all = {
		.range = {.start = pool_base, .len = pool_pages << GUARD_PAGE_SHIFT},
		.mode = UFFDIO_REGISTER_MODE_MISSING};
	if (!sys_failed(sys_call(__NR_ioctl, fault_fd, UFFDIO_API, &api)) &&
		!sys_failed(sys_call(__NR_ioctl, fault_fd, UFFDIO_REGISTER, &all)))
		return true;
	uffd_close();
	return false;
}

/* --- choice --- */

static bool try_madvise(void)
{
	return advise_pages(pool_base, 1, ADVISE_GUARD_INSTALL);
}

/* Leaves most of what the system allows to the program. */
static bool try_mprotect(void)
{
	uint64_t most = guard_max_mappings();
	mappings_left = (int64_t)(most / 4);
	return most > 256;
}

enum hw_check_backend backend_start(uint64_t base, uint64_t pages)
{
	int wanted = guard_settings.backend;
	pool_base = base;
	pool_pages = pages;
	if ((wanted < 0 || wanted == HW_BACKEND_MADVISE) && try_madvise())
		chosen = HW_BACKEND_MADVISE;
	else if ((wanted < 0 || wanted == HW_BACKEND_UFFD) && uffd_open())
		chosen = HW_BACKEND_UFFD;
	else if ((wanted < 0 || wanted == HW_BACKEND_MPROTECT) && try_mprotect())
		chosen = HW_BACKEND_MPROTECT;
	return chosen;
}

bool backend_open_pool(uint64_t at, uint64_t pages)
{
	if (chosen == HW_BACKEND_MPROTECT)
		return true; /* page by page */
	return protect_pages(at, pages, PROT_READ | PROT_WRITE) &&
	       advise_pages(at, pages, MADV_DODUMP);
}

/* --- pages --- */

static bool take_mappings(int64_t n)
{
	if (__atomic_sub_fetch(&mappings_left, n, __ATOMIC_RELAXED) >= 0)
		return true;
	__atomic_add_fetch(&mappings_left, n, __ATOMIC_RELAXED);
	guard_limit_set(HW_CHECK_LIMIT_MAPS);
	return false;
}

bool backend_give(uint64_t at, uint64_t pages)
{
	switch (chosen) {
	case HW_BACKEND_MADVISE:
		return advise_pages(at + (pages << GUARD_PAGE_SHIFT), 1, ADVISE_GUARD_INSTALL);
	case HW_BACKEND_UFFD:
		return uffd_fill(at, pages);
	case HW_BACKEND_MPROTECT:
		if (!take_mappings(2))
			return false;
		if (protect_pages(at, pages, PROT_READ | PROT_WRITE))
			return true;
		__atomic_add_fetch(&mappings_left, 2, __ATOMIC_RELAXED);
		guard_limit_set(HW_CHECK_LIMIT_MAPS);
		return false;
	default:
		return false;
	}
}

bool backend_take(uint64_t at, uint64_t pages)
{
	switch (chosen) {
	case HW_BACKEND_MADVISE:
		return advise_pages(at, pages, ADVISE_GUARD_INSTALL);
	case HW_BACKEND_UFFD:
		return advise_pages(at, pages, MADV_DONTNEED);
	case HW_BACKEND_MPROTECT:
		/* Its mapping may stay one of its own for ever: pages that were written to are not
		 * merged with others that were. */
		if (!protect_pages(at, pages, PROT_NONE))
			return false;
		advise_pages(at, pages, MADV_DONTNEED);
		return true;
	default:
		return false;
	}
}

bool backend_pass(uint64_t page)
{
	bool passed = false;
	if (chosen == HW_BACKEND_MADVISE)
		passed = advise_pages(page, 1, ADVISE_GUARD_REMOVE);
	else if (chosen == HW_BACKEND_UFFD)
		passed = uffd_fill(page, 1);
	return protect_pages(page, 1, PROT_READ | PROT_WRITE) || passed;
}

void backend_shut(uint64_t page)
{
	protect_pages(page, 1, PROT_NONE);
}

bool backend_needs_refill(void)
{
	return chosen == HW_BACKEND_UFFD;
}

bool backend_refill(uint64_t page)
{
	if (!backend_needs_refill())
		return true;
	struct uffdio_copy copy = {.dst = page, .src = (uint64_t)zeros, .len = GUARD_PAGE};
	long failed = sys_no_calls() ? -EPERM : sys_call(__NR_ioctl, fault_fd, UFFDIO_COPY, &copy);
	return !sys_failed(failed) || failed == -EEXIST; /* another thread was faster */
}

bool backend_fork_child(uint64_t pages)
{
	pool_pages = pages;
	if (chosen != HW_BACKEND_UFFD)
		return true;
	uffd_close();
	if (uffd_open())
		return true;
	chosen = HW_BACKEND_NONE;
	return false;
}
