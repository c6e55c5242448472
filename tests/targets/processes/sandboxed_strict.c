/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strict seccomp: read, write and exit are all that is left, and the TSC is off. What libc's malloc
 * can do with the memory it has is recorded, deep in the stack too.
 */
#include "truth.h"
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

TRUTH_SITE(site_before)
TRUTH_SITE(site_after)
TRUTH_SITE(site_deep)

TRUTH_FRAME static void deep(int levels)
{
	volatile char frame[8000];
	frame[0] = (char)levels;
	if (levels)
		deep(levels - 1);
	else
		truth_free(site_deep(919));
	frame[1] = frame[0];
}

int main(void)
{
	truth_free(site_before(100000));
	truth_need(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), "strict mode");
	for (size_t i = 0; i < 1000; i++)
		truth_free(site_after(915));
	deep(4);
	truth_say("# expect: path site=site_deep chain=site_deep<deep<deep<deep<main");
	truth_end(TRUTH_PLAIN);
	syscall(SYS_exit, 0);
	return 1;
}
