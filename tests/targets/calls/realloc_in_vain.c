/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A realloc that fails ends nothing: the block lives on under its old size and site, can be resized
 * and freed later, and each attempt counts as failed. By another thread too.
 */
#include "truth.h"

#include <pthread.h>

TRUTH_SITE(site_kept)
TRUTH_SITE_REALLOC(site_in_vain)
TRUTH_SITE_REALLOC(site_after)

#define BLOCKS 60

static void *blocks[BLOCKS];

static void *try_in_vain(void *unused)
{
	(void)unused;
	volatile size_t too_much = SIZE_MAX / 2;
	for (size_t i = 0; i < BLOCKS; i++) {
		errno = 0;
		truth_need(!site_in_vain(blocks[i], too_much - i), "half the address space");
		truth_need(errno == ENOMEM, "errno after a realloc in vain");
	}
	return NULL;
}

int main(void)
{
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = site_kept(101 + i);
	try_in_vain(NULL);
	pthread_t thread;
	truth_need(!pthread_create(&thread, NULL, try_in_vain, NULL), "pthread_create");
	pthread_join(thread, NULL);
	for (size_t i = 0; i < BLOCKS; i += 3) {
		truth_free(blocks[i]);
		blocks[i + 1] = site_after(blocks[i + 1], 5001 + i);
	}
	truth_end(TRUTH_PLAIN);
	return 0;
}
