/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program moves the program break itself, so that its own memory lies amid malloc's; and malloc
 * goes on where the break can't be moved any more. */
#include <sys/resource.h>

#include "account.h"

ACCOUNT_DEFINE;

extern void *held[];
void *held[3000]; /* not static: it is never read */
static unsigned used;

static void allocate(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		size_t size = 100 + i % 500;
		held[used] = malloc(size);
		memset(held[used], 0, size);
		account(held[used++], size, 'r', "block");
	}
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	allocate(1000);
	char *own = sbrk(5000);
	memset(own, 0x11, 5000);
	allocate(1000);
	/* From here on the break can't move: what malloc gets now lies apart. */
	struct rlimit limit = {1, RLIM_INFINITY};
	if (setrlimit(RLIMIT_DATA, &limit))
		return 1;
	limit.rlim_cur = RLIM_INFINITY;
	void *wall = mmap((void *)(((uintptr_t)sbrk(0) + 4095) & ~4095ul), 4096, PROT_READ,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	(void)wall;
	setrlimit(RLIMIT_DATA, &limit);
	allocate(1000);
	account_end();
	return own == NULL;
}
