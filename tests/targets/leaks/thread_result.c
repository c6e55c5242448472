/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread returned that nobody has joined yet is reachable: pthread_join would give it out.
 */
#include "parked.h"
#include <signal.h>

LEAK_ROLE(result)
LEAK_ROLE(behind_result)

static pthread_t thread_id;
static pid_t kernel_id;

static void *thread(void *unused)
{
	(void)unused;
	void *block = result(328);
	leak_put(block, 11, behind_result(88));
	__atomic_store_n(&kernel_id, gettid(), __ATOMIC_RELEASE);
	return block;
}

/* Returns when the thread is gone; it is not joined. */
TRUTH_FRAME static void story(void)
{
	thread_id = parked_start(thread, NULL);
	pid_t id;
	while (!(id = __atomic_load_n(&kernel_id, __ATOMIC_ACQUIRE)) || !tgkill(getpid(), id, 0))
		sched_yield();
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, result);
	LEAKS_ARE(LEAK_REACHABLE, behind_result);
	leaks_end();
	return 0;
}
