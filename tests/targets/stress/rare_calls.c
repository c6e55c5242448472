/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Valgrind panics on pvalloc, bytehound aborts on valloc and refuses aligned_alloc of sizes that
 * libc accepts, heaptrack does not see memalign: the rare forms and their failures, results and
 * errno as natively.
 */
#include "stress.h"
#include <malloc.h>
#include <stdint.h>

static void tell(const char *what, void *block, int error)
{
	truth_say("%s: %s, errno %d", what, block ? "block" : "NULL", error);
	free(block);
}

int main(void)
{
	volatile size_t huge = PTRDIFF_MAX, most = SIZE_MAX;
	void *volatile block = NULL;
#define TELL(call) (errno = 0, block = (call), tell(#call, block, errno))
	TELL(pvalloc(1));
	TELL(pvalloc(huge));
	TELL(valloc(5001));
	TELL(valloc(most));
	TELL(memalign(64, 100));
	TELL(memalign(3, 100));
	TELL(memalign((size_t)1 << 62, 100));
	TELL(memalign(4096, huge - 4096));
	TELL(aligned_alloc(64, 100));
	TELL(aligned_alloc(24, 100));
	TELL(calloc(most / 2, 3));
	TELL(calloc(0, 0));
	TELL(reallocarray(NULL, most / 2, 3));
	TELL(realloc(NULL, 0));
	TELL(malloc(huge + 1));
	void *out = NULL;
	truth_say("posix_memalign: %d", posix_memalign(&out, 24, 100));
	truth_say("posix_memalign: %d", posix_memalign(&out, 4, 100));
	truth_say("posix_memalign: %d", posix_memalign(&out, 64, huge));
	block = malloc(100);
	block = realloc(block, 0);
	truth_say("realloc to nothing: %s", block ? "block" : "NULL");
	block = malloc(100);
	truth_say("realloc to too much: %s", realloc(block, huge) ? "block" : "NULL");
	free(block);
	free(NULL);
	truth_say("# end");
	return 0;
}
