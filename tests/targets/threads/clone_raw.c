/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child made by the bare system call, and one by _Fork: neither runs a handler of pthread_atfork,
 * yet what these children allocate is not the parent's.
 */
#include "truth.h"
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

TRUTH_SITE(site_parent)
TRUTH_SITE(site_shared)

static pid_t bare_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void family(pid_t (*make)(void))
{
	void *inherited = site_shared(5003);
	pid_t pid = make();
	truth_need(pid >= 0, "no child");
	if (!pid) {
		truth_free(inherited);
		for (size_t i = 0; i < 2000; i++)
			truth_free(site_shared(101 + i));
		site_shared(777);
		_exit(44);
	}
	for (size_t i = 0; i < 10; i++)
		site_parent(43);
	int status;
	truth_need(waitpid(pid, &status, 0) == pid, "waitpid");
	truth_need(WIFEXITED(status) && WEXITSTATUS(status) == 44, "status of the child");
	truth_free(inherited);
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		family(bare_clone);
		family(_Fork);
	}
	truth_threads(1);
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
