/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Phases with pauses between them: 1,000 blocks of 100 bytes come; 600 of them go; 500 blocks of 50
 * bytes come; all go. In each pause it says when that is:
 *
 *	phase NAME NANOSECONDS
 *
 * by CLOCK_REALTIME, NAME being the phase that comes next. What happens is told by the phases
 *alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *first[1000], *second[500];
static char output[4096];

static void sleep_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&time, NULL);
}

/* Long enough that the recorder looks, at least once, before it and after it. */
static void pause_before(const char *phase)
{
	struct timespec now;
	sleep_ms(100);
	clock_gettime(CLOCK_REALTIME, &now);
	printf("phase %s %lld\n", phase, (long long)now.tv_sec * 1000000000 + now.tv_nsec);
	sleep_ms(500);
}

int main(void)
{
	setvbuf(stdout, output, _IOFBF, sizeof(output));
	pause_before("first");
	for (int i = 0; i < 1000; i++)
		first[i] = malloc(100);
	pause_before("freed");
	for (int i = 0; i < 600; i++)
		free(first[i]);
	pause_before("second");
	for (int i = 0; i < 500; i++)
		second[i] = malloc(50);
	pause_before("end");
	for (int i = 600; i < 1000; i++)
		free(first[i]);
	for (int i = 0; i < 500; i++)
		free(second[i]);
	return 0;
}
