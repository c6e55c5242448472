/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that forbids itself nearly every system call (seccomp): recording needs none of those,
 * in threads that start later neither; the forbidden ones would kill it.
 */
#include "truth.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

TRUTH_SITE(site_before)
TRUTH_SITE(site_after)
TRUTH_SITE(site_in_thread)

#define FORBID(name)                                                                               \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static void forbid(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		FORBID(openat),
		FORBID(memfd_create),
		FORBID(ftruncate),
		FORBID(socket),
		FORBID(sendmsg),
		FORBID(kill),
		FORBID(execve),
		FORBID(pipe2),
		FORBID(eventfd2),
		FORBID(process_vm_readv),
		FORBID(ptrace),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof program / sizeof *program, program};
	truth_need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
	truth_need(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), "seccomp");
}

static void *work(void *argument)
{
	for (size_t i = 0; i < 1000; i++)
		truth_free(site_in_thread(917));
	return argument;
}

int main(void)
{
	site_before(913);
	forbid();
	for (size_t i = 0; i < 1000; i++)
		truth_free(site_after(915));
	pthread_t thread;
	truth_need(!pthread_create(&thread, NULL, work, NULL), "thread");
	pthread_join(thread, NULL);
	truth_threads(2);
	truth_end(TRUTH_PLAIN);
	return 0;
}
