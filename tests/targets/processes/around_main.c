/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Before main and after it: constructors and destructors of the program, and of a shared library
 * whose constructor runs before everything of the program.
 */
#include "truth.h"

TRUTH_SITE(site_constructor)
TRUTH_SITE(site_main)
TRUTH_SITE(site_destructor)

/* In around_main_library.c. */
uint64_t library_bytes(void);

static void *early;

__attribute__((constructor)) static void before(void)
{
	early = site_constructor(441);
	site_constructor(443);
}

__attribute__((destructor)) static void after(void)
{
	truth_free(early);
	site_destructor(447);
	truth_free(site_destructor(449));
	uint64_t bytes = library_bytes();
	truth_say("# expect: site=library_constructor_site allocations=2 allocated_bytes=%lu "
		  "live_blocks=1",
		(unsigned long)bytes);
	truth_end(TRUTH_TEMPORARY);
}

int main(void)
{
	truth_free(site_main(445));
	return 0;
}
