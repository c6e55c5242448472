/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/stop.h"

#include <dirent.h>
#include <errno.h>
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
#include "base/util.h"
#include "process/proc_info.h"

/* A thread that is in the kernel, and can't be interrupted there, for longer is left alone. */
#define PATIENCE_NS 20000000u
/* The others stop as soon as they are given a processor. */
#define PATIENCE_RUNNING_NS 2000000000u
#define PAUSE_NS 20000
#define ROUNDS_MAX 100
/* __USER32_CS of the kernel's asm/segment.h. */
#define CODE_32 0x23u
/* Another tool that copies a process or writes its core is done with it by then. */
#define TURN_NS 3000000000u
#define TURNS_MOST 10
#define TURN_PAUSE_NS 2000000
/* When an attempt was refused and then no tracer is found, that may just have let go. */
#define SOLE_TRIES 10

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

/* The character after the name in /proc/PID/task/TID/stat; 0: it has gone. */
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

bool process_is_ending(pid_t pid)
{
	char path[64], program[1];
	pid_t thread = process_first_live_thread(pid); /* its first may have ended before */
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)thread);
	return thread_is_dead(pid, thread) ||
	       (readlink(path, program, sizeof(program)) < 0 && errno == ENOENT);
}

/* Returns 0 if there is none. */
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

/* PF_KTHREAD of include/linux/sched.h, in the ninth field of /proc/PID/stat, which anybody may
 * read. */
#define KERNEL_THREAD 0x00200000u

static bool is_kernel(pid_t pid)
{
	char path[64], line[512];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	/* The name is in parentheses, and may have some. */
	const char *bracket = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	unsigned flags;
	return bracket && sscanf(bracket, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & KERNEL_THREAD;
}

static const char *process_name(pid_t pid, char *ret, size_t room)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	if (!file || !fgets(ret, (int)room, file))
		return "of another namespace?";
	ret[strcspn(ret, "\n")] = 0;
	return ret;
}

struct error *stop_refused(pid_t pid, pid_t tid, int reason)
{
	pid_t by = tracer_of(tid);
	char name[32];
	if (by)
		return error_create(ERROR_ENVIRONMENT,
			"can't stop process %d: process %d (%s) is already tracing it; stop that, "
			"or let it detach",
			(int)pid, (int)by, process_name(by, name, sizeof(name)));
	if (is_kernel(pid))
		return error_create(ERROR_INPUT,
			"process %d is a kernel thread: it has no memory of its own", (int)pid);
	return error_errno(ERROR_ENVIRONMENT, reason,
		"can't stop process %d (thread %d): tracing is not permitted; run as root or as "
		"its user, check /proc/sys/kernel/yama/ptrace_scope, in a container allow ptrace "
		"(docker run --cap-add SYS_PTRACE)",
		(int)pid, (int)tid);
}

/* Whether it is seized since an earlier stop. Takes it off the list of those. */
static bool take_late(struct stopped *stopped, pid_t tid)
{
	for (size_t i = 0; i < stopped->late.len; i++) {
		if (stopped->late.data[i] == tid) {
			stopped->late.data[i] = stopped->late.data[--stopped->late.len];
			return true;
		}
	}
	return false;
}

/* Begins to stop a thread. True: it is new, or has gone at once; *ret_error if it is refused. */
static bool seize_thread(struct stopped *stopped, pid_t tid, struct error **ret_error)
{
	if (stop_find(stopped, tid))
		return false;
	bool late = take_late(stopped, tid);
	if (!late && ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		int reason = errno;
		if (reason != ESRCH && !thread_is_dead(stopped->pid, tid)) {
			stopped->rival = tracer_of(tid);
			*ret_error = stop_refused(stopped->pid, tid, reason);
		}
		return false;
	}
	struct stopped_thread thread = {.tid = tid, .late = late};
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	if (!stopped_threads_push(&stopped->threads, thread)) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		*ret_error = error_no_memory();
	}
	return true;
}

static struct error *seize_threads(struct stopped *stopped, bool *ret_found)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)stopped->pid);
	DIR *folder = opendir(path);
	if (!folder)
		return error_create(ERROR_INPUT, "no such process: %d", (int)stopped->pid);
	struct error *error = NULL;
	for (struct dirent *entry; !error && (entry = readdir(folder));) {
		if (entry->d_name[0] != '.')
			*ret_found |= seize_thread(stopped, (pid_t)atoi(entry->d_name), &error);
	}
	closedir(folder);
	return error;
}

/*
 * Waits no longer than now. A stop before a signal is left to be seen again: once it is seen, the
 * signal is the tracer's to deliver, and lost if he is killed.
 */
static pid_t poll_thread(pid_t tid, int *ret_status)
{
	siginfo_t info = {.si_pid = 0};
	if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL))
		return -1;
	bool stopped = info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
	if (!info.si_pid)
		return 0;
	if (stopped && !(info.si_status >> 8)) {
		*ret_status = info.si_status << 8 | 0x7f; /* as waitpid(2) has it */
		return tid;
	}
	return waitpid(tid, ret_status, __WALL | WNOHANG);
}

/* Has a thread stopped? False: not yet. A thread that has ended is taken off the list. */
static bool has_stopped(struct stopped *stopped, struct stopped_thread *thread)
{
	int status;
	pid_t got = poll_thread(thread->tid, &status);
	if (!got)
		return false;
	if (got < 0 || !WIFSTOPPED(status) ||
		ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->regs)) {
		*thread = stopped->threads.data[--stopped->threads.len];
		return true;
	}
	thread->stopped = true;
	thread->again = thread->regs;
	if (status >> 16 != PTRACE_EVENT_STOP)
		thread->signal = WSTOPSIG(status); /* it comes when the thread goes on */
	if (!thread->signal)                       /* at once: it may go on without us */
		restart_call(0, thread->tid, &thread->again);
	thread->since_ns = restart_since(&stopped->waits, stopped->pid, thread->tid, &thread->regs);
	return true;
}

/* Whether a thread that does not stop may be expected to. */
static bool is_coming(
	const struct stopped *stopped, const struct stopped_thread *thread, uint64_t waited_ns)
{
	if (waited_ns > PATIENCE_RUNNING_NS)
		return false;
	return (waited_ns < PATIENCE_NS && !thread->late) ||
	       thread_state(stopped->pid, thread->tid) != 'D';
}

void stop_wait_all(struct stopped *stopped)
{
	uint64_t since = stop_now_ns();
	for (size_t i = 0; i < stopped->threads.len;) {
		struct stopped_thread *thread = &stopped->threads.data[i];
		if (thread->stopped) {
			i++;
		} else if (!has_stopped(stopped, thread)) {
			struct timespec pause = {0, PAUSE_NS};
			if (is_coming(stopped, thread, stop_now_ns() - since))
				nanosleep(&pause, NULL);
			else
				i++;
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

void stop_init(struct stopped *stopped, pid_t pid)
{
	*stopped = (struct stopped){.pid = pid};
}

void stop_deinit(struct stopped *stopped)
{
	stop_end(stopped);
	stopped_threads_deinit(&stopped->threads);
	stopped_tids_deinit(&stopped->late);
	restart_waits_deinit(&stopped->waits);
}

struct error *stop_process(struct stopped *stopped)
{
	restart_find_waits(stopped->pid, &stopped->waits);
	reaper_begin(&stopped->reaper, stopped->pid);
	stopped->since_ns = stop_now_ns();
	int priority = priority_raise();
	struct error *error = NULL;
	bool found = true;
	for (int round = 0; found && !error && round < ROUNDS_MAX; round++) {
		found = false;
		error = seize_threads(stopped, &found);
		if (!error)
			stop_wait_all(stopped);
	}
	setpriority(PRIO_PROCESS, 0, priority);
	reaper_dismiss(&stopped->reaper);
	if (!error && !stopped->threads.len)
		error = error_create(ERROR_INPUT, "process %d has ended", (int)stopped->pid);
	if (error)
		stop_end(stopped);
	return error;
}

struct error *stop_process_retry(struct stopped *stopped)
{
	uint64_t until = stop_now_ns() + TURN_NS, last = until + TURNS_MOST * (uint64_t)TURN_NS;
	pid_t rival = 0;
	for (unsigned tries = 0;;) {
		stopped->rival = 0;
		struct error *error = stop_process(stopped);
		tries = stopped->rival ? 0 : tries + 1;
		if (stopped->rival && stopped->rival != rival) { /* turns are being taken */
			rival = stopped->rival;
			until = min(stop_now_ns() + TURN_NS, last);
		}
		if (!error || error->code != ERROR_ENVIRONMENT || tries > SOLE_TRIES ||
			stop_now_ns() > until)
			return error;
		error_destroy(error);
		nanosleep(&(struct timespec){0, TURN_PAUSE_NS}, NULL);
	}
}

bool stop_is_32bit(const struct stopped *stopped)
{
	size_t narrow = 0, known = 0;
	for (size_t i = 0; i < stopped->threads.len; i++) {
		known += stopped->threads.data[i].stopped;
		narrow += stopped->threads.data[i].stopped &&
			  stopped->threads.data[i].regs.cs == CODE_32;
	}
	return known && narrow == known;
}

void stop_repair(pid_t tid, const struct user_regs_struct *regs)
{
	struct user_regs_struct again = *regs;
	restart_call(0, tid, &again);
}

/* Lets a stopped thread go; a system call that returned EINTR because of us alone is done again. */
static void release_thread(const struct stopped_thread *thread)
{
	struct user_regs_struct again = thread->regs;
	if (!thread->signal)
		restart_call(thread->since_ns, thread->tid, &again);
	ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(long)thread->signal);
}

uint64_t stop_end(struct stopped *stopped)
{
	for (size_t i = 0; i < stopped->threads.len; i++) {
		const struct stopped_thread *thread = &stopped->threads.data[i];
		if (thread->stopped)
			release_thread(thread);
		else
			(void)!stopped_tids_push(&stopped->late, thread->tid);
	}
	stopped_threads_clear(&stopped->threads);
	uint64_t ret = stop_now_ns() - stopped->since_ns;
	reaper_end(&stopped->reaper);
	return ret;
}

bool stop_release_late(struct stopped *stopped)
{
	for (size_t i = 0; i < stopped->late.len;) {
		pid_t tid = stopped->late.data[i];
		struct stopped_thread thread = {.tid = tid};
		int status;
		pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
		if (!got) {
			i++;
			continue;
		}
		stopped->late.data[i] = stopped->late.data[--stopped->late.len];
		if (got < 0 || !WIFSTOPPED(status) ||
			ptrace(PTRACE_GETREGS, tid, NULL, &thread.regs))
			continue;
		thread.signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
		release_thread(&thread);
	}
	return stopped->late.len;
}
