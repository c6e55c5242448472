/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks whose lives are known: at_once() frees what it has just allocated, later() after a pause,
 * stays() never; add_one() grows a block by as much each time, doubles() by a factor, trims() makes
 * blocks smaller. Prints figures as NAME NUMBER, and allocates nothing for that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define AT_ONCE 1000
#define LATER 10
#define STAYS 50
#define STEP 24
#define STEPS 500
#define DOUBLINGS 15
#define TRIMS 20
#define PAUSE_MS 200

static void *volatile later_blocks[LATER], *volatile kept[STAYS];

static __attribute__((noinline)) void at_once(void)
{
	void *volatile block = malloc(100);
	free(block);
}

static __attribute__((noinline)) void *later(void)
{
	return malloc(300);
}

static __attribute__((noinline)) void *stays(void)
{
	return malloc(2000);
}

static __attribute__((noinline)) void *add_one(void *block, size_t bytes)
{
	return realloc(block, bytes);
}

static __attribute__((noinline)) void *doubles(void *block, size_t bytes)
{
	return realloc(block, bytes);
}

static __attribute__((noinline)) void *trims(void *block)
{
	return realloc(block, 64);
}

static void reallocs(void)
{
	void *block = malloc(STEP);
	for (size_t i = 2; i <= STEPS + 1; i++)
		block = add_one(block, i * STEP);
	free(block);
	block = malloc(8);
	for (size_t i = 1; i <= DOUBLINGS; i++)
		block = doubles(block, (size_t)8 << i);
	free(block);
	for (int i = 0; i < TRIMS; i++)
		free(trims(malloc(1000)));
}

int main(void)
{
	const struct timespec pause = {0, PAUSE_MS * 1000000L};
	for (int i = 0; i < STAYS; i++)
		kept[i] = stays();
	for (int i = 0; i < LATER; i++)
		later_blocks[i] = later();
	for (int i = 0; i < AT_ONCE; i++)
		at_once();
	nanosleep(&pause, NULL);
	for (int i = 0; i < LATER; i++)
		free(later_blocks[i]);
	reallocs();
	/* What add_one() had to copy: 1 + 2 + … + STEPS steps. */
	dprintf(1,
		"at_once %d\nlater %d\nlater_bytes %d\nstays %d\nstays_bytes %d\nstep %d\nsteps "
		"%d\n"
		"copied %d\ndoublings %d\ntrims %d\npause_ns %ld\n",
		AT_ONCE, LATER, LATER * 300, STAYS, STAYS * 2000, STEP, STEPS,
		STEP * STEPS * (STEPS + 1) / 2, DOUBLINGS, TRIMS, pause.tv_nsec);
	return 0;
}
