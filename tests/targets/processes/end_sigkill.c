/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end: SIGKILL, right after the last event. */
#include "truth.h"
#include <signal.h>

TRUTH_SITE(site_main)

int main(void)
{
	for (size_t i = 0; i < 20000; i++) {
		void *block = site_main(51 + i % 1000);
		if (i % 10)
			truth_free(block);
	}
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}
