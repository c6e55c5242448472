/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has suppressions of as many bytes as the second argument says, and registers as many root regions
 * as the first one says, each a word of memory that nobody searches otherwise; the last one
 * references the only block. */
#include <sanitizer/lsan_interface.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#pragma weak __lsan_register_root_region

static char suppressions[4 << 20];

const char *__lsan_default_suppressions(void)
{
	return suppressions;
}

__attribute__((noinline)) static void **make_regions(size_t count)
{
	void **words = mmap(NULL, count * sizeof(*words), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	words[count - 1] = calloc(1, 1001);
	mprotect(words, count * sizeof(*words), PROT_READ);
	for (size_t i = 0; i < count; i++)
		__lsan_register_root_region(words + i, sizeof(*words));
	return words;
}

__attribute__((noinline)) static void clear_stack(void)
{
	char below[8192];
	memset(below, 0, sizeof(below));
	__asm__ volatile("" : : "r"(below) : "memory");
}

int main(int argc, char **argv)
{
	if (argc != 3 || !__lsan_register_root_region)
		return 2;
	memset(suppressions, '\n', strtoul(argv[2], NULL, 10));
	make_regions(strtoul(argv[1], NULL, 10));
	clear_stack();
	return 0;
}
