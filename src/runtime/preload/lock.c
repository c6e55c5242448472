/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program locks its memory. May touch: raw system calls, /proc/self/maps.
 *
 * mlockall(MCL_CURRENT) would fetch all of our mappings, hundreds of MiB that are hardly ever used,
 * and count them against RLIMIT_MEMLOCK. So all mappings but ours are locked one by one, which
 * comes to the same: as mlockall does it, what can't be fetched (guard pages) is passed over.
 * Mappings yet to come are the kernel's affair; none of them will be ours.
 */
#include "runtime/preload/hooks.h"
#include "runtime/preload/memory.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define WINDOW 512
#define USER_END (1ull << 47)

/* The mappings of this process, one after another. */
struct maps {
	long fd;
	uint64_t start, end; /* of the one found last */
	size_t at, held;
	char window[WINDOW];
};

static int maps_byte(struct maps *m)
{
	if (m->at == m->held) {
		long n = sys_call(__NR_read, m->fd, m->window, WINDOW);
		if (n <= 0)
			return -1;
		m->at = 0;
		m->held = (size_t)n;
	}
	return (unsigned char)m->window[m->at++];
}

/* Reads a number in hexadecimal and the byte after it. */
static uint64_t maps_number(struct maps *m, int *ret_after)
{
	uint64_t number = 0;
	int c;
	while ((c = maps_byte(m)) >= 0) {
		int low = c | 0x20;
		if (c >= '0' && c <= '9')
			number = number << 4 | (uint64_t)(c - '0');
		else if (low >= 'a' && low <= 'f')
			number = number << 4 | (uint64_t)(low - 'a' + 10);
		else
			break;
	}
	*ret_after = c;
	return number;
}

static bool maps_next(struct maps *m)
{
	int c;
	m->start = maps_number(m, &c);
	if (c != '-')
		return false;
	m->end = maps_number(m, &c);
	while (c >= 0 && c != '\n')
		c = maps_byte(m);
	return m->end > m->start && m->end <= USER_END;
}

/* Locks all mappings but the runtime's, or only counts their bytes. Returns 0 if that is unknown.
 */
static uint64_t lock_other_mappings(bool lock, unsigned how)
{
	struct maps m;
	m.at = m.held = 0;
	m.fd = sys_call4(__NR_openat, -100 /* AT_FDCWD */, "/proc/self/maps", 0x80000, 0);
	uint64_t bytes = 0;
	if (sys_failed(m.fd))
		return 0;
	while (maps_next(&m)) {
		if (rt_memory_is_ours(m.start, m.end))
			continue;
		bytes += m.end - m.start;
		if (lock)
			sys_call(__NR_mlock2, m.start, m.end - m.start, how);
	}
	sys_call(__NR_close, m.fd, 0, 0);
	return bytes;
}

static bool limit_allows(uint64_t bytes)
{
	struct rlimit limit = {0, 0};
	sys_call4(__NR_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &limit);
	return bytes && bytes <= limit.rlim_cur;
}

static bool has_ours(void)
{
	return rt_process && !sys_no_calls() &&
	       __atomic_load_n(&rt_process->state, __ATOMIC_ACQUIRE) == RT_RECORDING;
}

HOOK int mlockall(int flags);
HOOK int mlockall(int flags)
{
	if (!(flags & MCL_CURRENT) || flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) ||
		!has_ours())
		return rt_real.mlockall(flags);
	/* More than the limit: nothing comes of it, or the limit does not hold for this process. */
	if (!limit_allows(lock_other_mappings(false, 0))) {
		int failed = rt_real.mlockall(flags | MCL_ONFAULT);
		if (failed)
			return failed;
		rt_memory_unlock();
	}
	lock_other_mappings(true, flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0);
	return flags & MCL_FUTURE ? rt_real.mlockall(flags & ~MCL_CURRENT) : 0;
}
