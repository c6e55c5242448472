/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * golang/go#15994, DataDog/dd-trace-dotnet#3661: handlers that allocate interrupt allocation calls
 * anywhere (the allocator here is one that can bear it). Shows a hook that is not re-entrant.
 */
#include "stress.h"
#include <signal.h>
#include <sys/time.h>

TRUTH_SITE(site_plain)
TRUTH_SITE(site_in_handler)

static volatile unsigned signals;

static void handler(int number)
{
	(void)number;
	truth_free(site_in_handler(111 + signals % 9));
	signals = signals + 1;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 150}, {0, 150}}, never = {{0, 0}, {0, 0}};
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (signals < 400)
		truth_free(site_plain(21 + signals % 30));
	setitimer(ITIMER_REAL, &never, NULL);
	sigset_t alarm;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	truth_end(TRUTH_PLAIN);
	return 0;
}
