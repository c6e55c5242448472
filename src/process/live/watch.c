/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/watch.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"

#define ROUNDS_MAX 100

/* Calls back with each thread of the process. False: it has gone, or the callback says so. */
static bool each_thread(
	struct stopped *watched, bool (*callback)(struct stopped *watched, pid_t tid))
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)watched->pid);
	DIR *folder = opendir(path);
	bool ok = folder;
	for (struct dirent *entry; ok && (entry = readdir(folder));) {
		if (entry->d_name[0] != '.')
			ok = callback(watched, (pid_t)atoi(entry->d_name));
	}
	if (folder)
		closedir(folder);
	return ok;
}

static bool is_thread_of(pid_t pid, pid_t tid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return access(path, F_OK) == 0;
}

/* New threads of threads that are watched are so from their start on. */
static bool watch_thread(struct stopped *watched, pid_t tid)
{
	if (stop_find(watched, tid))
		return true;
	if (ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACECLONE) && errno == EPERM &&
		!stop_is_tracer(tid))
		return false;
	return stopped_threads_push(&watched->threads, (struct stopped_thread){.tid = tid});
}

static struct error *watch_all(struct stopped *watched)
{
	for (size_t before = SIZE_MAX; before != watched->threads.len;) {
		before = watched->threads.len;
		if (!each_thread(watched, watch_thread))
			return stop_refused(watched->pid, watched->pid, EPERM);
	}
	return NULL;
}

/* Whether the bit of a signal is set in a mask of /proc/PID/status, as it is now. */
static bool is_in_mask(pid_t pid, const char *mask, int signal)
{
	char path[64], line[256];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	size_t len = strlen(mask);
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, mask, len))
			return strtoull(line + len, NULL, 16) >> (signal - 1) & 1;
	}
	return true; /* nothing is known: no reason to stop anybody */
}

/* signal(7): what else does by itself end a process. */
static bool is_harmless(int signal)
{
	static const int harmless[] = {
		SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++) {
		if (signal == harmless[i])
			return true;
	}
	return false;
}

static bool is_ignored(pid_t pid, int signal)
{
	return is_in_mask(pid, "SigIgn:", signal);
}

static bool is_fatal(pid_t pid, int signal)
{
	return !is_harmless(signal) && !is_in_mask(pid, "SigCgt:", signal) &&
	       !is_ignored(pid, signal);
}

static bool interrupt_thread(struct stopped *watched, pid_t tid)
{
	struct stopped_thread *thread = stop_find(watched, tid);
	if (thread && thread->stopped)
		return true;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return thread ||
	       stopped_threads_push(&watched->threads, (struct stopped_thread){.tid = tid});
}

/* One thread is stopped by a signal that ends the process: so are the others, then all die. */
static void report_death(struct stopped *watched, const struct watch_calls *calls)
{
	watched->since_ns = stop_now_ns();
	for (size_t before = 0; before != watched->threads.len;) {
		before = watched->threads.len;
		each_thread(watched, interrupt_thread);
		stop_wait_all(watched);
	}
	calls->on_dying(calls->context, watched);
	stop_end(watched);
}

/* A thread is stopped by a signal that is about to be delivered. */
static void deliver_signal(struct stopped *watched, pid_t tid, int signal)
{
	struct user_regs_struct regs;
	if (is_ignored(watched->pid, signal) && !ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		stop_repair(tid, &regs); /* unwatched, it would not even have been woken */
	ptrace(PTRACE_CONT, tid, NULL, (void *)(long)signal);
}

static bool is_group_stop(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* True: it is about to die, and its thread is marked as stopped. */
static bool on_stop(struct stopped *watched, struct stopped_thread *thread, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;
	pid_t tid = thread->tid;
	if (event == PTRACE_EVENT_STOP && is_group_stop(signal)) {
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
	} else if (event) {
		ptrace(PTRACE_CONT, tid, NULL, NULL);
	} else if (is_fatal(watched->pid, signal) &&
		   !ptrace(PTRACE_GETREGS, tid, NULL, &thread->regs)) {
		thread->stopped = true;
		thread->signal = signal;
		return true;
	} else {
		deliver_signal(watched, tid, signal);
	}
	return false;
}

static void forget_thread(struct stopped *watched, pid_t tid)
{
	struct stopped_thread *thread = stop_find(watched, tid);
	if (thread)
		*thread = watched->threads.data[--watched->threads.len];
}

/* The thread that has stopped; NULL: it is none of the process, and has been let go. */
static struct stopped_thread *find_watched(struct stopped *watched, pid_t tid)
{
	struct stopped_thread *thread = stop_find(watched, tid);
	if (thread)
		return thread;
	if (is_thread_of(watched->pid, tid) &&
		stopped_threads_push(&watched->threads, (struct stopped_thread){.tid = tid}))
		return stop_find(watched, tid);
	ptrace(PTRACE_DETACH, tid, NULL, NULL); /* a child by clone() with a signal of its own */
	return NULL;
}

struct error *watch_process(pid_t pid, const struct watch_calls *calls)
{
	struct stopped watched;
	stop_init(&watched, pid);
	struct error *error = watch_all(&watched);
	if (error) {
		stop_deinit(&watched);
		return error;
	}
	calls->on_ready(calls->context);
	int status;
	for (pid_t tid; (tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;) {
		if (tid < 0)
			continue;
		if (!WIFSTOPPED(status)) {
			forget_thread(&watched, tid);
			continue;
		}
		struct stopped_thread *thread = find_watched(&watched, tid);
		if (thread && on_stop(&watched, thread, status)) {
			report_death(&watched, calls);
			break;
		}
	}
	stop_deinit(&watched);
	return NULL;
}
