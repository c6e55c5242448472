/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gets_memory clear [exact]: gets blocks of many sizes, by each function, where others have left
 * their bytes, and looks whether all that it got is zero, behind the requested size too (not with
 * `exact`, for allocators whose malloc_usable_size is of no use).
 *
 * gets_memory churn: gets the same large blocks again and again, and writes to all of their pages.
 *
 * Truth: status 0; 1 if something was not zero, or if the kernel had to give fresh pages for most
 * blocks though there were used ones.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { AT_ONCE = 3, WAYS = 8, ALIGNED = 4, LEFT = 0xa5, ROUNDS = 100 };
static const char *const names[WAYS] = {"malloc", "calloc", "realloc", "reallocarray",
	"posix_memalign", "aligned_alloc", "memalign", "valloc"};
static int is_exact;

static size_t room_of(void *block, size_t size)
{
	return is_exact ? size : malloc_usable_size(block);
}

static void *get(int way, size_t size)
{
	void *block = NULL;
	switch (way) {
	case 0:
		return malloc(size);
	case 1:
		return calloc(size, 1);
	case 2:
		return realloc(NULL, size);
	case 3:
		return reallocarray(NULL, size, 1);
	case 4:
		return posix_memalign(&block, 64, size) ? NULL : block;
	case 5:
		return aligned_alloc(16, size);
	case 6:
		return memalign(256, size);
	default:
		return valloc(size);
	}
}

/* Whether all of these bytes are the first one. */
static int is_even(const unsigned char *bytes, size_t count)
{
	return count < 2 || !memcmp(bytes, bytes + 1, count - 1);
}

static int is_clear(
	const char *name, const unsigned char *block, size_t size, size_t from, size_t to)
{
	if (from >= to || (!block[from] && is_even(block + from, to - from)))
		return 1;
	while (!block[from])
		from++;
	printf("%s(%zu) + %zu of %zu: %#x\n", name, size, from, to, block[from]);
	return 0;
}

static int grows_clear(unsigned char **block, size_t size)
{
	size_t before = room_of(*block, size), larger = before + 1 + size / 3;
	*block = realloc(*block, larger);
	if (size && ((*block)[0] != LEFT || !is_even(*block, size))) {
		printf("realloc(%zu) of %zu: not what was there\n", larger, size);
		return 0;
	}
	return is_clear("grown", *block, larger, before, room_of(*block, larger));
}

static int is_size_clear(int way, size_t size)
{
	unsigned char *blocks[AT_ONCE];
	int fine = 1;
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < AT_ONCE; i++) {
			blocks[i] = get(way, size);
			size_t room = room_of(blocks[i], size);
			fine &= is_clear(names[way], blocks[i], size, 0, room);
			memset(blocks[i], LEFT, room);
		}
		if (!is_exact || way < ALIGNED)
			fine &= grows_clear(&blocks[0], size);
		for (int i = 0; i < AT_ONCE; i++)
			free(blocks[i]);
	}
	return fine;
}

static int is_all_clear(void)
{
	static const size_t large[] = {
		8192, 14337, 16384, 20480, 32767, 32769, 65536, 131073, 300000, 1 << 20, 9000000};
	int fine = 1;
	for (int way = 0; fine && way < WAYS; way++) {
		for (size_t size = 0; size <= 1100; size += way ? 7 : 1)
			fine = fine && is_size_clear(way, size);
		for (size_t size = 1101; size <= 8000; size += size / 9)
			fine = fine && is_size_clear(way, size);
		for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
			fine = fine && is_size_clear(way, large[i]);
	}
	return fine;
}

static long faults(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

static void churn(size_t size, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		volatile char *block = malloc(size);
		for (size_t at = 0; at < size; at += 4096)
			block[at] = 1;
		free((void *)block);
	}
}

int main(int count, char **arguments)
{
	is_exact = count > 2;
	if (!strcmp(arguments[1], "clear"))
		return !is_all_clear();
	static const size_t sizes[] = {20480, 40960, 65536, 1 << 20};
	long most = 0;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		churn(sizes[i], 3);
		long before = faults();
		churn(sizes[i], ROUNDS);
		long pages = faults() - before;
		printf("%zu bytes: %ld pages\n", sizes[i], pages);
		most = pages > most ? pages : most;
	}
	return most >= ROUNDS;
}
