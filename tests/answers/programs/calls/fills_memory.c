/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fills its memory in known parts, and ends: maps 64 MiB and touches 10, maps a file and reads all
 * of it, leaves holes between blocks, uses its stack, has memory right above a file that no
 * function of libc has mapped.
 *
 *     # expect: PART BYTES
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MIB (1024ul * 1024)
#define PAGE 4096ul
#define NOINLINE __attribute__((noinline, noclone))

static volatile char sink;

static NOINLINE void maps_much(void)
{
	char *at = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		exit(1);
	madvise(at, 64 * MIB, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < 10 * MIB; i += PAGE)
		at[i] = 1;
	printf("# expect: maps_much %lu\n", 10 * MIB);
}

static NOINLINE void maps_file(const char *path)
{
	FILE *file = fopen(path, "w+");
	if (!file || ftruncate(fileno(file), 20 * MIB))
		exit(1);
	char *at = mmap(NULL, 20 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	if (at == MAP_FAILED)
		exit(1);
	for (size_t i = 0; i < 20 * MIB; i += PAGE)
		at[i] = 1;
	fclose(file);
	printf("# expect: maps_file %lu\n", 20 * MIB);
}

static NOINLINE void maps_unseen(void)
{
	FILE *file = fopen("/proc/self/exe", "r");
	char *at = (char *)syscall(SYS_mmap, NULL, 6 * MIB, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED || !file ||
		mmap(at, MIB, PROT_READ, MAP_PRIVATE | MAP_FIXED, fileno(file), 0) == MAP_FAILED)
		exit(1);
	madvise(at + MIB, 5 * MIB, MADV_NOHUGEPAGE);
	for (size_t i = MIB; i < 6 * MIB; i += PAGE)
		at[i] = 1;
	fclose(file);
	printf("# expect: unseen %lu\n", 5 * MIB);
}

enum { BLOCKS = 4000, BLOCK = 4000 };

static NOINLINE void leaves_holes(void)
{
	static char *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BLOCK);
		memset(blocks[i], 1, BLOCK);
	}
	for (int i = 0; i < BLOCKS; i += 2)
		free(blocks[i]);
	printf("# expect: holes %d\n# expect: blocks %d\n", BLOCKS / 2 * BLOCK, BLOCKS / 2 * BLOCK);
}

static NOINLINE void uses_stack(void)
{
	volatile char *deep = alloca(3 * MIB);
	for (size_t i = 0; i < 3 * MIB; i += PAGE)
		deep[i] = 1;
	printf("# expect: stack %lu\n", 3 * MIB);
}

int main(int argc, char **argv)
{
	static char buffer[1000];
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	maps_much();
	maps_file(argv[1]);
	maps_unseen();
	leaves_holes();
	uses_stack();
	(void)argc;
	return 0;
}
