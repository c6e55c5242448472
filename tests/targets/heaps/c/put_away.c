/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a program takes away from itself (mprotect) still holds blocks: plain memory, data of a
 * module, and pages in the middle of the heap, whose blocks are told all the same. */
#include <malloc.h>

#include "account.h"

ACCOUNT_DEFINE;

#define PAGE 4096u
#define AREA_BYTES (16u * PAGE)

static char data[3 * PAGE] __attribute__((aligned(4096))) = {1};
static void *kept;

/* What was on the stack before is gone. */
static __attribute__((noinline)) void scrub(void)
{
	volatile char bytes[16384];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0;
}

static __attribute__((noinline)) void make(void *where, size_t size, char leak)
{
	void *block = malloc(size);
	memset(block, 0, size);
	account(block, size, leak, "block");
	if (where)
		memcpy(where, &block, sizeof(block));
}

static char *map(size_t bytes, int protection, int flags)
{
	void *area = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	if (area == MAP_FAILED && !flags)
		exit(2);
	return area;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	char *hidden = map(AREA_BYTES, PROT_READ | PROT_WRITE, 0);
	char *fixed = map(AREA_BYTES, PROT_READ | PROT_WRITE, 0);
	/* Nothing is in it, and nobody should look for that. */
	map(1ul << 40, PROT_NONE, MAP_NORESERVE);
	make(hidden + 800, 1001, 'r');
	make(fixed + 5000, 1021, 'r');
	make(data + PAGE + 800, 1041, 'r');
	make(NULL, 1061, 'd');
	char *pages = memalign(PAGE, 3 * PAGE);
	memset(pages, 0, 3 * PAGE);
	kept = pages;
	account(pages, 3 * PAGE, 'r', "pages");
	make(pages + PAGE + 800, 1081, 'r');
	make(NULL, 1101, 'd');
	if (mprotect(hidden, AREA_BYTES, PROT_NONE) || mprotect(fixed, AREA_BYTES, PROT_READ) ||
		mprotect(data + PAGE, PAGE, PROT_NONE) || mprotect(pages + PAGE, PAGE, PROT_NONE))
		return 2;
	scrub();
	account_end();
	return kept == NULL;
}
