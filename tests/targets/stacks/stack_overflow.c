/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread runs into the guard page of its stack; the handler, on a stack of its own, allocates and
 * jumps out. Its stack goes on through the frames that overflowed, to the thread's beginning.
 */
#include "truth.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

TRUTH_SITE(site_in_handler)
TRUTH_SITE(site_after)

static sigjmp_buf back;
static volatile unsigned never = ~0u;

static void handler(int number)
{
	site_in_handler(891);
	siglongjmp(back, number);
}

TRUTH_FRAME static unsigned descend(unsigned level)
{
	volatile char space[900];
	space[level % sizeof space] = 1;
	if (level == never)
		return 0; /* for the compiler, which sees that nobody comes back */
	unsigned deeper = descend(level + 1);
	return deeper + (unsigned)space[level % sizeof space];
}

static void *work(void *argument)
{
	static char own_stack[1 << 16];
	stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
	truth_need(!sigaltstack(&stack, NULL), "sigaltstack");
	for (volatile int i = 0; i < 10; i++) {
		if (!sigsetjmp(back, 1))
			truth_need(descend(0) == 0, "came back from the depth");
		truth_free(site_after(893));
	}
	return argument;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	sigaction(SIGSEGV, &action, NULL);
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	truth_need(!pthread_create(&thread, &attributes, work, NULL), "thread");
	pthread_join(thread, NULL);
	truth_say("# expect: cycle site=site_in_handler chain=handler depth=1");
	truth_say("# expect: path site=site_in_handler chain=site_in_handler<handler<(signal)<"
		  "descend<work");
	truth_say("# expect: frames site=site_in_handler depth>=200 depth<=300");
	truth_say("# expect: whole site=site_in_handler");
	truth_say("# expect: path site=site_after chain=site_after<work");
	truth_say("# expect: frames site=site_after depth<=5");
	truth_end(TRUTH_PLAIN);
	return 0;
}
