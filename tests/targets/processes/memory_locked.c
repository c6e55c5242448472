/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks its memory in each way, under the limit that argument 1 gives in KiB ("-": as it is), and
 * says what came of it: the result, whether anything is locked, what that is in MiB, whether a
 * block that is asked for later is locked, and whether the heap, the stack and a block of its own
 * are in memory. A process that may not pass the limit is one without CAP_IPC_LOCK.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK = 3 << 20 };

/* In units of 4 MiB: a preloaded library counts too, and it is small. */
static long locked(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;
	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "VmLck: %ld kB", &kib);
	if (status)
		fclose(status);
	return (kib + 2048) / 4096;
}

static int is_resident(void *at)
{
	unsigned char there = 0;
	void *page = (void *)((uintptr_t)at & ~4095ul);
	return mincore(page, 4096, &there) == 0 && there & 1;
}

static void try_flags(const char *name, int flags)
{
	char *untouched =
		mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int failed = mlockall(flags), why = errno;
	long now = locked();
	char *later = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int got_later = later != MAP_FAILED;
	printf("%s: %s, %ld units locked, untouched block %d, later block %d %d\n", name,
		failed ? strerror(why) : "done", now, is_resident(untouched + BLOCK / 2), got_later,
		got_later && is_resident(later + BLOCK / 2));
	munlockall();
	munmap(untouched, BLOCK);
	if (got_later)
		munmap(later, BLOCK);
	printf("%s: then %ld\n", name, locked());
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2];
	memset(none, 0, sizeof(none));
	syscall(SYS_capset, &header, none);
}

int main(int count, char **arguments)
{
	if (count == 2 && strcmp(arguments[1], "-") != 0) {
		rlim_t bytes = (rlim_t)atol(arguments[1]) * 1024;
		setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){bytes, bytes});
		drop_capabilities();
	}
	try_flags("current", MCL_CURRENT);
	try_flags("future", MCL_FUTURE);
	try_flags("both", MCL_CURRENT | MCL_FUTURE);
	try_flags("both, on fault", MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
	try_flags("nothing", 0);
	try_flags("on fault", MCL_ONFAULT);
	return 0;
}
