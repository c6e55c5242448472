/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that only memory holds which a core may leave out: shared mappings without a file, of a
 * file without a name, of a file. */
#include "account.h"

ACCOUNT_DEFINE;

static void **map(int fd)
{
	void **memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
		MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (memory == MAP_FAILED)
		abort();
	return memory;
}

static __attribute__((noinline)) void hold(int fd, size_t size, const char *type)
{
	void *block = malloc(size);
	memset(block, 0, size);
	map(fd)[77] = block;
	account(block, size, 'r', type);
}

static __attribute__((noinline)) void forget(void)
{
	volatile char stack[32 << 10];
	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	int nameless = memfd_create("nameless", MFD_CLOEXEC);
	int named = open("named", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (nameless < 0 || named < 0 || ftruncate(nameless, 65536) || ftruncate(named, 65536))
		abort();
	hold(-1, 1011, "by no file");
	hold(nameless, 2011, "by a nameless file");
	hold(named, 3011, "by a file");
	forget();
	account_end();
	return 0;
}
