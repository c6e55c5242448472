/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data that a thread has under a key is reachable: the first keys stand in libc's description of
 * the thread, the others in a block that libc allocates. */
#include "parked.h"

LEAK_ROLE(first_keys)
LEAK_ROLE(later_keys)
LEAK_ROLE(behind_key)

enum { DIRECT = 32, KEYS = 70, BOOK = 512 };

static pthread_key_t keys[KEYS];

TRUTH_FRAME static void story(void)
{
	for (size_t i = 0; i < KEYS; i++) {
		void *block = i < DIRECT ? first_keys(216) : later_keys(232);
		leak_put(block, 3, behind_key(56));
		truth_need((keys[i] < DIRECT) == (i < DIRECT), "keys are not as numbered");
		truth_need(!pthread_setspecific(keys[i], block), "pthread_setspecific");
	}
}

static void *thread(void *unused)
{
	(void)unused;
	story();
	park();
}

int main(void)
{
	for (size_t i = 0; i < KEYS; i++)
		truth_need(!pthread_key_create(&keys[i], NULL), "pthread_key_create");
	story();
	parked_start(thread, NULL);
	parked_wait(1);
	LEAKS_ARE(LEAK_REACHABLE, first_keys);
	LEAKS_ARE(LEAK_REACHABLE, later_keys);
	LEAKS_ARE(LEAK_REACHABLE, behind_key);
	leak_tell_kept(LEAK_REACHABLE, "pthread_setspecific|__pthread_setspecific", 4, 4 * BOOK);
	leaks_end();
	return 0;
}
