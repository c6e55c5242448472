/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A signal's handler that runs on a stack of its own, in a waiting thread and in the one that ends
 * the process: what its frames hold is reachable, and what the frames that it interrupted hold. */
#include "parked.h"
#include <signal.h>

LEAK_ROLE(held_by_handler)
LEAK_ROLE(held_by_interrupted)
LEAK_ROLE(lost)

enum { STACK = 1 << 16 };

static char stacks[2][STACK] __attribute__((aligned(16)));

TRUTH_FRAME static void finish(void)
{
	LEAKS_ARE(LEAK_REACHABLE, held_by_handler);
	LEAKS_ARE(LEAK_REACHABLE, held_by_interrupted);
	LEAKS_ARE(LEAK_DEFINITE, lost);
	leaks_end();
	exit(0);
}

static void handler(int number)
{
	void *volatile mine = held_by_handler(216);
	if (number == SIGUSR1)
		park();
	parked_wait(1);
	finish();
	(void)mine;
}

TRUTH_FRAME static void lose(void)
{
	leak_opaque(lost(248));
}

TRUTH_FRAME static void interrupted(char *stack, int number)
{
	void *volatile mine[5];
	stack_t alternate = {.ss_sp = stack, .ss_size = STACK};
	truth_need(!sigaltstack(&alternate, NULL), "sigaltstack");
	for (size_t i = 0; i < 5; i++)
		mine[i] = held_by_interrupted(232);
	lose();
	leak_scrub();
	raise(number);
	(void)mine[0];
}

static void *thread(void *unused)
{
	interrupted(stacks[0], SIGUSR1);
	return unused;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	truth_need(!sigaction(SIGUSR1, &action, NULL), "sigaction");
	truth_need(!sigaction(SIGUSR2, &action, NULL), "sigaction");
	parked_start(thread, NULL);
	interrupted(stacks[1], SIGUSR2);
	return 1;
}
