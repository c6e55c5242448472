/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "process/proc_info.h"

/* Each takes some seconds while the process has another tracer. */
#define REAP_ROUNDS 20

struct charge {
	pid_t pid; /* that was copied; 0: nothing is to be given back */
	struct snapshot snapshot;
};

/* The kernel kills it, which takes a while if it is large. */
static void await_end(pid_t copy)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, copy, 0);
	struct pollfd ended = {.fd = fd, .events = POLLIN};
	while (fd >= 0 && poll(&ended, 1, -1) < 0 && errno == EINTR)
		;
}

static void reap_charge(const struct charge *charge)
{
	struct stopped stopped;
	for (unsigned i = 0; i < REAP_ROUNDS; i++) {
		if (process_parent(charge->snapshot.pid) != charge->pid)
			return;
		await_end(charge->snapshot.pid);
		stop_init(&stopped, charge->pid);
		snapshot_reap(&stopped, &charge->snapshot);
		stop_deinit(&stopped);
	}
}

static _Noreturn void keep_watch(int channel)
{
	struct charge charge = {.pid = 0}, received;
	setsid();
	for (int number = 1; number < SIGRTMIN; number++)
		signal(number, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	channel = dup2(channel, 0);
	close_range(1, ~0u, 0);
	while (recv(channel, &received, sizeof(received), 0) == (ssize_t)sizeof(received))
		charge = received;
	if (charge.pid)
		reap_charge(&charge);
	_exit(0);
}

struct guard guard_start(void)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return GUARD_NONE;
	pid_t pid = fork();
	if (!pid) {
		close(ends[0]);
		keep_watch(ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return GUARD_NONE;
	}
	return (struct guard){pid, ends[0]};
}

static void send_charge(const struct guard *guard, const struct charge *charge)
{
	if (guard->pid)
		(void)!send(guard->channel, charge, sizeof(*charge), MSG_NOSIGNAL);
}

void guard_set_snapshot(const struct guard *guard, pid_t pid, const struct snapshot *snapshot)
{
	struct charge charge = {pid, *snapshot};
	send_charge(guard, &charge);
}

void guard_end(struct guard *guard)
{
	struct charge nothing = {.pid = 0};
	if (!guard->pid)
		return;
	send_charge(guard, &nothing);
	/* Who else has the channel (an answer that goes on) must not keep it. */
	shutdown(guard->channel, SHUT_RDWR);
	close(guard->channel);
	child_wait(guard->pid, NULL, 0);
	*guard = GUARD_NONE;
}
