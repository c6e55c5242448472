/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * KDE bug 378494: a recorder's own thread takes signals meant for the program's, which waits for
 * them by sigwait.
 */
#include "stress.h"
#include <signal.h>

enum { SIGNALS = 300 };

static void *wait_for_them(void *argument)
{
	sigset_t *wanted = argument;
	for (int i = 0; i < SIGNALS; i++) {
		siginfo_t info;
		truth_need(sigwaitinfo(wanted, &info) > 0 && info.si_value.sival_int == i, "order");
		free(malloc(31));
	}
	return NULL;
}

int main(void)
{
	sigset_t wanted;
	pthread_t thread;
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGRTMIN + 3);
	pthread_sigmask(SIG_BLOCK, &wanted, NULL);
	truth_need(!pthread_create(&thread, NULL, wait_for_them, &wanted), "pthread_create");
	for (int i = 0; i < SIGNALS; i++) {
		union sigval value = {.sival_int = i};
		free(malloc(29));
		while (sigqueue(getpid(), SIGRTMIN + 3, value))
			sched_yield();
	}
	pthread_join(thread, NULL);
	truth_say("%d in order", SIGNALS);
	truth_say("# end");
	return 0;
}
