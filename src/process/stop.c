/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/stop.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/maps.h"

/* A thread that does not stop within this time is in the kernel for long. */
#define PATIENCE_NS 20000000u
#define PAUSE_NS 20000
#define ROUNDS_MAX 100

uint64_t stop_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct stopped_thread *stop_find(struct stopped *stopped, pid_t tid)
{
	for (size_t i = 0; i < stopped->threads.len; i++) {
		if (stopped->threads.data[i].tid == tid)
			return &stopped->threads.data[i];
	}
	return NULL;
}

/* The character behind the name in /proc/PID/task/TID/stat; 0: it has gone. */
static char thread_state(pid_t pid, pid_t tid)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[n] = 0;
	const char *after = strrchr(text, ')');
	if (!after || !after[1])
		return 0;
	return after[2];
}

bool thread_is_dead(pid_t pid, pid_t tid)
{
	char state = thread_state(pid, tid);
	return !state || state == 'Z' || state == 'X';
}

/* 0: nobody. */
static pid_t tracer_of(pid_t pid)
{
	char path[64], text[4096];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[n] = 0;
	const char *tracer = strstr(text, "TracerPid:");
	return tracer ? (pid_t)atoi(tracer + strlen("TracerPid:")) : 0;
}

bool stop_is_tracer(pid_t tid)
{
	return tracer_of(tid) == (pid_t)syscall(SYS_gettid);
}

struct error *stop_refused(pid_t pid, pid_t tid, int reason)
{
	pid_t by = tracer_of(pid);
	if (by)
		return error_create(ERROR_ENVIRONMENT,
			"can't stop process %d: process %d (a debugger, strace?) traces it already",
			(int)pid, (int)by);
	return error_errno(ERROR_ENVIRONMENT, reason,
		"can't stop process %d (thread %d): the system does not let us trace it; run as "
		"root or its user, look at /proc/sys/kernel/yama/ptrace_scope, in a container "
		"allow ptrace (docker run --cap-add SYS_PTRACE)",
		(int)pid, (int)tid);
}

/* Begins to stop a thread. True: it is new, or has gone at once; *ret_error if it is refused. */
static bool seize(struct stopped *stopped, pid_t tid, struct error **ret_error)
{
	if (stop_find(stopped, tid))
		return false;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		int reason = errno;
		if (reason != ESRCH && !thread_is_dead(stopped->pid, tid))
			*ret_error = stop_refused(stopped->pid, tid, reason);
		return false;
	}
	struct stopped_thread thread = {.tid = tid};
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	if (!stopped_threads_push(&stopped->threads, thread)) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		*ret_error = error_no_memory();
	}
	return true;
}

static struct error *seize_all(struct stopped *stopped, bool *ret_found)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)stopped->pid);
	DIR *folder = opendir(path);
	if (!folder)
		return error_errno(ERROR_INPUT, errno, "process %d has ended", (int)stopped->pid);
	struct error *error = NULL;
	for (struct dirent *entry; !error && (entry = readdir(folder));) {
		if (entry->d_name[0] != '.')
			*ret_found |= seize(stopped, (pid_t)atoi(entry->d_name), &error);
	}
	closedir(folder);
	return error;
}

/* Has a thread stopped? False: not yet. A thread that has ended is taken off the list. */
static bool has_stopped(struct stopped *stopped, struct stopped_thread *thread)
{
	int status;
	pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);
	if (!got)
		return false;
	if (got < 0 || !WIFSTOPPED(status) ||
		ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->regs)) {
		*thread = stopped->threads.data[--stopped->threads.len];
		return true;
	}
	thread->stopped = true;
	if (status >> 16 != PTRACE_EVENT_STOP)
		thread->signal = WSTOPSIG(status); /* it comes when the thread goes on */
	return true;
}

void stop_wait_all(struct stopped *stopped)
{
	uint64_t until = stop_now_ns() + PATIENCE_NS;
	for (size_t i = 0; i < stopped->threads.len;) {
		struct stopped_thread *thread = &stopped->threads.data[i];
		if (thread->stopped || stop_now_ns() > until) {
			i++;
		} else if (!has_stopped(stopped, thread)) {
			struct timespec pause = {0, PAUSE_NS};
			nanosleep(&pause, NULL);
		}
	}
}

/* While a thousand threads are stopped on few processors, we want our turn soon. */
static int priority_raise(void)
{
	int before = getpriority(PRIO_PROCESS, 0);
	setpriority(PRIO_PROCESS, 0, -20);
	return before;
}

struct error *stop_process(pid_t pid, struct stopped *ret)
{
	*ret = (struct stopped){.pid = pid, .since_ns = stop_now_ns()};
	int priority = priority_raise();
	struct error *error = NULL;
	bool found = true;
	for (int round = 0; found && !error && round < ROUNDS_MAX; round++) {
		found = false;
		error = seize_all(ret, &found);
		if (!error)
			stop_wait_all(ret);
	}
	setpriority(PRIO_PROCESS, 0, priority);
	if (!error && !ret->threads.len)
		error = error_create(ERROR_INPUT, "process %d has ended", (int)pid);
	if (error)
		stop_end(ret);
	return error;
}

void stop_repair(pid_t tid, const struct user_regs_struct *regs)
{
	struct user_regs_struct again = *regs;
	if ((int64_t)again.orig_rax < 0 || (int64_t)again.rax != -EINTR)
		return;
	errno = 0;
	long code = ptrace(PTRACE_PEEKTEXT, tid, (void *)(again.rip - 2), NULL);
	if (errno || (code & 0xffff) != 0x050f)
		return;
	again.rip -= 2;
	again.rax = again.orig_rax;
	again.orig_rax = (unsigned long)-1;
	ptrace(PTRACE_SETREGS, tid, NULL, &again);
}

static void let_go(const struct stopped_thread *thread)
{
	if (thread->stopped) {
		if (!thread->signal)
			stop_repair(thread->tid, &thread->regs);
		ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(long)thread->signal);
		return;
	}
	/* Only a stopped thread can be let go: it does that as soon as it comes out. */
	int status;
	if (waitpid(thread->tid, &status, __WALL | WNOHANG) == thread->tid && WIFSTOPPED(status)) {
		int signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
		ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(long)signal);
	}
}

uint64_t stop_end(struct stopped *stopped)
{
	for (size_t i = 0; i < stopped->threads.len; i++)
		let_go(&stopped->threads.data[i]);
	stopped_threads_deinit(&stopped->threads);
	return stop_now_ns() - stopped->since_ns;
}

/* Where in the process there is a system call instruction: the kernel's own code has some. */
static uint64_t find_instruction(pid_t tid)
{
	struct process_maps maps;
	char path[64];
	struct error *error = process_maps_read(tid, &maps);
	if (error) {
		error_destroy(error);
		return 0;
	}
	uint64_t found = 0;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)tid);
	_cleanup_fclose_ FILE *memory = fopen(path, "re");
	for (size_t i = 0; memory && !found && i < maps.maps.len; i++) {
		const struct process_map *map = &maps.maps.data[i];
		if (strcmp(map->path, "[vdso]"))
			continue;
		uint64_t bytes = map->end - map->start;
		_cleanup_free_ uint8_t *code = malloc(bytes);
		if (!code || fseeko(memory, (off_t)map->start, SEEK_SET) ||
			fread(code, 1, bytes, memory) != bytes)
			break;
		const uint8_t *at = memmem(code, bytes, "\x0f\x05", 2);
		found = at ? map->start + (uint64_t)(at - code) : 0;
	}
	process_maps_deinit(&maps);
	return found;
}

static bool step(pid_t tid, int *ret_status)
{
	return !ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL) &&
	       waitpid(tid, ret_status, __WALL) == tid && WIFSTOPPED(*ret_status);
}

/* Steps over the system call; a signal that comes between is kept for later. */
static bool step_call(struct stopped_thread *thread, unsigned long *ret_event)
{
	int status;
	for (int tries = 0; tries < 64 && step(thread->tid, &status); tries++) {
		if (status >> 16 == PTRACE_EVENT_CLONE || status >> 16 == PTRACE_EVENT_FORK)
			ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, ret_event);
		else if (WSTOPSIG(status) == SIGTRAP && !(status >> 16))
			return true;
		else if (!(status >> 16))
			thread->signal = WSTOPSIG(status);
	}
	return false;
}

long stop_remote_call(struct stopped *stopped, unsigned long options, const uint64_t call[7],
	unsigned long *ret_event)
{
	struct stopped_thread *thread = NULL;
	for (size_t i = 0; !thread && i < stopped->threads.len; i++) {
		if (stopped->threads.data[i].stopped)
			thread = &stopped->threads.data[i];
	}
	*ret_event = 0;
	uint64_t at = thread ? find_instruction(thread->tid) : 0;
	if (!at)
		return -EINTR;
	struct user_regs_struct regs = thread->regs;
	regs.rip = at;
	regs.rax = call[0];
	regs.rdi = call[1];
	regs.rsi = call[2];
	regs.rdx = call[3];
	regs.r10 = call[4];
	regs.r8 = call[5];
	regs.r9 = call[6];
	regs.orig_rax = (unsigned long)-1;
	long answer = -EINTR;
	if (!ptrace(PTRACE_SETOPTIONS, thread->tid, NULL, (void *)options) &&
		!ptrace(PTRACE_SETREGS, thread->tid, NULL, &regs) && step_call(thread, ret_event) &&
		!ptrace(PTRACE_GETREGS, thread->tid, NULL, &regs))
		answer = (long)regs.rax;
	ptrace(PTRACE_SETREGS, thread->tid, NULL, &thread->regs);
	ptrace(PTRACE_SETOPTIONS, thread->tid, NULL, NULL);
	return answer;
}
