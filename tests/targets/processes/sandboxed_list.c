/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker's seccomp filter, of the kind that names what is allowed: what libc's malloc and threads
 * need, and nothing that only a recorder would want. Anything else kills.
 */
#include "truth.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

TRUTH_SITE(site_after)
TRUTH_SITE(site_in_thread)

#define ALLOW(name)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void confine(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(write),
		ALLOW(exit),
		ALLOW(exit_group),
		ALLOW(brk),
		ALLOW(mmap),
		ALLOW(mprotect),
		ALLOW(munmap),
		ALLOW(madvise),
		ALLOW(futex),
		ALLOW(getrandom),
		ALLOW(rt_sigaction),
		ALLOW(clone),
		ALLOW(clone3),
		ALLOW(set_robust_list),
		ALLOW(rseq),
		ALLOW(rt_sigprocmask),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = {sizeof program / sizeof *program, program};
	truth_need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
	truth_need(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter), "seccomp");
}

static void *work(void *argument)
{
	for (size_t i = 0; i < 200000; i++)
		truth_free(site_in_thread(917));
	return argument;
}

int main(void)
{
	pthread_t threads[2];
	confine();
	for (size_t i = 0; i < 200000; i++)
		truth_free(site_after(915));
	for (size_t i = 0; i < 2; i++)
		truth_need(!pthread_create(&threads[i], NULL, work, NULL), "thread");
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	truth_threads(3);
	truth_say("# expect: path site=site_after chain=site_after<main");
	truth_say("# expect: path site=site_in_thread chain=site_in_thread<work");
	truth_end(TRUTH_PLAIN);
	return 0;
}
