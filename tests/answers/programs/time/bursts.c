/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps 1,000,000 bytes, takes 50,000,000 more now and then for a short while, and idles at the
 * end. Says, by its own clock, how many bytes it had on average from its first allocation until it
 * ends, in ms how long that was, and how long of it was the end's idling.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define KEPT 1000000
#define BURST 50000000

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void sleep_ms(int ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

__attribute__((noinline)) static void *take(size_t bytes)
{
	void *block = malloc(bytes);
	__asm__ volatile("" ::"r"(block) : "memory");
	return block;
}

int main(void)
{
	char text[128];
	double began = now_ms(), bursts = 0;
	take(KEPT);
	for (int i = 0; i < 6; i++) {
		void *block = take(BURST);
		double from = now_ms();
		sleep_ms(60);
		bursts += now_ms() - from;
		free(block);
		sleep_ms(180);
	}
	double idle = now_ms();
	sleep_ms(400);
	double end = now_ms();
	int bytes = snprintf(text, sizeof(text), "# expect: mean %.0f span %.0f idle %.0f\n",
		KEPT + BURST * bursts / (end - began), end - began, end - idle);
	return write(STDOUT_FILENO, text, (size_t)bytes) == bytes ? 0 : 1;
}
