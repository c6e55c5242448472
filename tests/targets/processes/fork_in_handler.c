/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A handler that interrupts the program anywhere, allocation calls above all, and forks. The child
 * returns from the handler, ends the interrupted call, goes on to allocate and ends well.
 */
#include "truth.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

TRUTH_SITE(site_interrupted)

enum { FORKS = 150 };

static volatile int forks, in_child;

static void handler(int number)
{
	if (in_child || forks >= FORKS)
		return;
	forks = forks + 1;
	if (!fork())
		in_child = number;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (forks < FORKS) {
		void *blocks[20];
		for (size_t i = 0; i < 20; i++)
			blocks[i] = site_interrupted(10 + i);
		for (size_t i = 0; i < 20; i++)
			truth_free(blocks[i]);
		if (in_child) {
			for (size_t i = 0; i < 100; i++)
				free(malloc(100 + i));
			_exit(41);
		}
	}
	setitimer(ITIMER_REAL, &never, NULL);
	int status;
	for (size_t i = 0; i < FORKS; i++) {
		truth_need(wait(&status) > 0, "wait");
		truth_need(WIFEXITED(status) && WEXITSTATUS(status) == 41, "status of a child");
	}
	/* A child that ends a call counts it too: the page of the preload is shared. */
	truth_say("# expect: beside allocations<=%d allocated_bytes<=%d live_blocks<=%d", FORKS,
		30 * FORKS, FORKS);
	truth_say("# expect: beside frees<=%d live_blocks>=%d", FORKS, FORKS);
	truth_end(TRUTH_PLAIN);
	return 0;
}
