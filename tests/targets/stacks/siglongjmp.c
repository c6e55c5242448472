/* SPDX-License-Identifier: GPL-2.0-or-later */
/* siglongjmp out of a handler and longjmp across frames: the stacks after it are right again. */
#include "truth.h"
#include <setjmp.h>
#include <signal.h>

TRUTH_SITE(site_before_jump)
TRUTH_SITE(site_in_handler)
TRUTH_SITE(site_after_jump)
TRUTH_SITE(site_on_the_way)
TRUTH_SITE(site_deepest)

static sigjmp_buf back;
static jmp_buf shallow;
static volatile int never = -1;

static void handler(int number)
{
	site_in_handler(451);
	siglongjmp(back, number);
}

TRUTH_FRAME static void descend(int levels)
{
	truth_free(site_on_the_way(453));
	if (levels == never)
		return; /* for the compiler, which sees that nobody comes back */
	if (levels == 0) {
		truth_free(site_deepest(461));
		longjmp(shallow, 1);
	}
	descend(levels - 1);
	TRUTH_STAY();
}

TRUTH_FRAME static void after(void)
{
	truth_free(site_after_jump(457));
	TRUTH_STAY();
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler};
	sigaction(SIGUSR1, &action, NULL);
	for (volatile int i = 0; i < 60; i++) {
		site_before_jump(459);
		if (!sigsetjmp(back, 1)) {
			raise(SIGUSR1);
			truth_need(0, "came back from the handler");
		}
		after();
		if (!setjmp(shallow)) {
			descend(60 + i);
			truth_need(0, "came back from the depth");
		}
		after();
	}
	truth_say("# expect: path site=site_after_jump chain=site_after_jump<after<main");
	truth_say("# expect: frames site=site_after_jump depth<=10");
	truth_say("# expect: frames site=site_deepest depth>=61");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
