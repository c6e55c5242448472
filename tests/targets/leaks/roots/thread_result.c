/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread returned that nobody has joined yet is reachable: pthread_join would give it out.
 * So is what it was started with, since libc keeps both beside each other. What its thread-local
 * memory held is lost.
 */
#include "parked.h"
#include <signal.h>

LEAK_ROLE(result)
LEAK_ROLE(behind_result)
LEAK_ROLE(kept_argument)
LEAK_ROLE(in_local)

static __thread void *volatile local;

static pthread_t thread_id;
static pid_t kernel_id;

static void *thread(void *unused)
{
	(void)unused;
	void *block = result(328);
	local = in_local(344);
	leak_put(block, 11, behind_result(88));
	__atomic_store_n(&kernel_id, gettid(), __ATOMIC_RELEASE);
	return block;
}

/* Returns when the thread is gone; it is not joined. */
TRUTH_FRAME static void story(void)
{
	thread_id = parked_start(thread, kept_argument(312));
	pid_t id;
	while (!(id = __atomic_load_n(&kernel_id, __ATOMIC_ACQUIRE)) || !tgkill(getpid(), id, 0))
		sched_yield();
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, result);
	LEAKS_ARE(LEAK_REACHABLE, behind_result);
	LEAKS_ARE(LEAK_REACHABLE, kept_argument);
	LEAKS_ARE(LEAK_DEFINITE, in_local);
	leaks_end();
	return 0;
}
