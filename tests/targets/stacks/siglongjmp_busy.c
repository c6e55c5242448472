/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A handler that interrupts allocation calls anywhere and leaves by siglongjmp. At most the
 * interrupted event is lost: what comes after is recorded, deeper in the stack, in another frame or
 * in the very same, and at full speed.
 */
#include "truth.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

TRUTH_SITE(site_deeper)
TRUTH_SITE(site_in_handler)
TRUTH_SITE(site_after)

enum { JUMPS = 100, DEEPER = 2000 };

static sigjmp_buf back;
static volatile int armed;

static void handler(int number)
{
	truth_free(site_in_handler(331));
	if (armed) {
		armed = 0;
		siglongjmp(back, number);
	}
}

TRUTH_FRAME static void deeper(int levels)
{
	if (levels) {
		deeper(levels - 1);
		TRUTH_STAY();
		return;
	}
	for (size_t i = 0; i < DEEPER; i++)
		truth_free(site_deeper(333));
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NODEFER};
	sigaction(SIGALRM, &action, NULL);
	for (volatile int i = 0; i < JUMPS; i++) {
		struct itimerval once = {.it_value = {0, 100 + 7 * i}};
		if (!sigsetjmp(back, 1)) {
			armed = 1;
			setitimer(ITIMER_REAL, &once, NULL);
			for (;;) {
				void *block = malloc(21);
				__asm__ volatile("" ::"r"(block) : "memory");
				free(block);
			}
		}
		site_after(335);
		deeper(10);
	}
	/* Between the recorder and the preload behind it a call can be interrupted too. */
	truth_say("# expect: beside allocations<=%d allocated_bytes<=%d live_blocks<=%d", JUMPS,
		21 * JUMPS, JUMPS);
	truth_say("# expect: beside frees>=%d", JUMPS);
	truth_end(TRUTH_PLAIN);
	return 0;
}
