/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * KDE bug 378494 (a timer of the recorder's own beside the program's): threads that libc starts for
 * timers (SIGEV_THREAD) come and go, and each allocates.
 */
#include "stress.h"
#include <signal.h>
#include <time.h>

TRUTH_SITE(site_in_timer)

static unsigned done;

static void expired(union sigval value)
{
	(void)value;
	truth_free(site_in_timer(37));
	TRUTH_ADD(done, 1);
}

int main(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = expired};
	struct itimerspec once = {{0, 0}, {0, 200000}};
	timer_t timers[40];
	for (int i = 0; i < 40; i++) {
		truth_need(!timer_create(CLOCK_MONOTONIC, &event, &timers[i]), "timer_create");
		timer_settime(timers[i], 0, &once, NULL);
	}
	while (TRUTH_GET(done) < 40)
		usleep(500);
	truth_end(TRUTH_PLAIN);
	return 0;
}
