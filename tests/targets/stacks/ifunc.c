/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver of an indirect function allocates. It runs inside the dynamic linker, below its
 * entry for functions that are bound on their first call. The frame of that is found from rbx,
 * which the recorder does not follow: the stack is right as far as it goes, and marked as cut.
 */
#include "ifunc_library.h"
#include "truth.h"

TRUTH_SITE(site_in_resolver)

static void *kept;

static void *allocate(void)
{
	if (!kept)
		kept = site_in_resolver(901);
	return kept;
}

TRUTH_FRAME static uint64_t first_call(uint64_t n)
{
	uint64_t result = triple(n);
	TRUTH_STAY();
	return result;
}

int main(void)
{
	allocate_while_choosing = allocate;
	truth_need(first_call(7) == 22, "result");
	truth_need(kept != NULL, "bound at the first call");
	truth_say("# expect: cycle site=site_in_resolver chain=allocate<choose depth=2");
	truth_say("# expect: cut site=site_in_resolver reason=no-unwind-info");
	truth_end(TRUTH_PLAIN);
	return 0;
}
