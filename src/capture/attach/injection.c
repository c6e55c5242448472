/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/injection.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/attach/filters.h"
#include "process/proc_info.h"

/* posix_spawn's child runs the other program after about a millisecond. */
#define VFORK_NS 2000000000u
#define VFORK_STEP_NS 2000000

bool injection_write(const struct injection *in, uint64_t address, const void *data, size_t bytes)
{
	return pwrite(in->memory, data, bytes, (off_t)address) == (ssize_t)bytes;
}

bool injection_read(const struct injection *in, uint64_t address, void *ret, size_t bytes)
{
	return pread(in->memory, ret, bytes, (off_t)address) == (ssize_t)bytes;
}

/* Of a process whose first thread has ended (pthread_exit) its other threads' files say what its
 * own do not. */
static int memory_open(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)process_first_live_thread(pid));
	return open(path, O_RDWR | O_CLOEXEC);
}

struct error *injection_read_filters(struct injection *in)
{
	seccomp_filters_deinit(&in->filters);
	in->filters = (struct seccomp_filters){.all = {.data = NULL}};
	in->stopped.calls_allowed = false;
	if (!in->is_filtered)
		return NULL;
	struct error *error = seccomp_filters_read(&in->stopped, &in->filters);
	in->stopped.calls_allowed = !error;
	return error;
}

static bool may_call(
	const struct injection *in, uint64_t number, const uint64_t arguments[static 6])
{
	return !in->is_filtered ||
	       seccomp_filters_allow(&in->filters, number, arguments, remote_calls_at(&in->calls));
}

uint64_t injection_call(
	struct injection *in, const char *what, uint64_t number, const uint64_t arguments[static 6])
{
	long result = 0;
	if (in->error)
		return 0;
	if (!may_call(in, number, arguments)) {
		in->error = attach_filters_refuse(in->pid, number);
		return 0;
	}
	if (!remote_calls_do(&in->calls, number, arguments, &result)) {
		in->error = error_create(ERROR_ENVIRONMENT,
			"process %d could not be made to do a system call (%s)", (int)in->pid,
			what);
		return 0;
	}
	if (result < 0 && result > -4096) {
		in->error = error_errno(ERROR_ENVIRONMENT, (int)-result,
			"process %d can't be attached: the kernel refuses it %s", (int)in->pid,
			what);
		return 0;
	}
	return (uint64_t)result;
}

void injection_call_anyway(
	struct injection *in, uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t arguments[6] = {a, b, c, 0, 0, 0};
	long result;
	if (may_call(in, number, arguments))
		(void)!remote_calls_do(&in->calls, number, arguments, &result);
}

void injection_fail(struct injection *in, const char *what, int why)
{
	if (!in->error)
		in->error = error_errno(ERROR_ENVIRONMENT, why, "process %d can't be attached: %s",
			(int)in->pid, what);
}

struct error *injection_begin(pid_t pid, struct injection *ret)
{
	*ret = (struct injection){.pid = pid, .memory = memory_open(pid)};
	stop_init(&ret->stopped, pid);
	if (ret->memory < 0 && (errno == ESRCH || errno == ENOENT))
		return error_create(ERROR_INPUT,
			"process %d has no memory: it has ended, or executes another "
			"program just now",
			(int)pid);
	if (ret->memory < 0)
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't write to the memory of process %d; run as root or its user, look at "
			"/proc/sys/kernel/yama/ptrace_scope",
			(int)pid);
	ret->settings = calloc(1, sizeof(*ret->settings));
	return ret->settings ? NULL : error_no_memory();
}

struct error *injection_end(struct injection *in, struct attach_pause *ret_pause)
{
	uint64_t paused = stop_end(&in->stopped);
	if (ret_pause) {
		ret_pause->all_ns = paused;
		ret_pause->late_threads = in->stopped.late.len;
		ret_pause->late_tid = in->stopped.late.len ? in->stopped.late.data[0] : 0;
	}
	seccomp_filters_deinit(&in->filters);
	stop_deinit(&in->stopped); /* injection_run() says what becomes of late ones */
	if (in->memory >= 0)
		close(in->memory);
	free(in->settings);
	return in->error;
}

uint32_t injection_inner_tid(pid_t pid, pid_t tid, bool is_other)
{
	char name[64];
	char *status;
	size_t bytes;
	if (!is_other)
		return (uint32_t)tid;
	snprintf(name, sizeof(name), "task/%d/status", (int)tid);
	struct error *error = process_read(pid, name, 16384, &status, &bytes);
	if (error) {
		error_destroy(error);
		return 0;
	}
	const char *line = strstr(status, "\nNSpid:"), *end = line ? strchr(line + 1, '\n') : NULL;
	while (end && end > line && end[-1] != '\t' && end[-1] != ' ')
		end--;
	uint32_t number = end ? (uint32_t)strtoul(end, NULL, 10) : 0;
	free(status);
	return number;
}

struct run {
	struct error *(*work)(void *context);
	void *context;
	struct error *error;
};

static void *run_main(void *run)
{
	struct run *r = run;
	r->error = r->work(r->context);
	return NULL;
}

void injection_reap_time(struct timespec *ret)
{
	clock_gettime(CLOCK_MONOTONIC, ret);
	ret->tv_nsec += INJECTION_REAP_NS;
	ret->tv_sec += ret->tv_nsec / 1000000000;
	ret->tv_nsec %= 1000000000;
}

struct error *injection_run(pid_t pid, struct error *(*work)(void *context), void *context)
{
	struct timespec next;
	struct run run = {work, context, NULL};
	pthread_t thread;
	int why = pthread_create(&thread, NULL, run_main, &run);
	if (why)
		return error_errno(
			ERROR_ENVIRONMENT, why, "can't start the thread that stops the process");
	for (injection_reap_time(&next);
		pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &next) == ETIMEDOUT;
		injection_reap_time(&next))
		stop_reap_ended(pid);
	return run.error;
}

/* Whether the system call that a thread is in makes it wait for a child in its own memory. */
static bool is_vfork(const struct injection *in, const char *call)
{
	unsigned long number, first;
	uint64_t flags;
	if (sscanf(call, "%lu %lx", &number, &first) != 2)
		return false; /* it runs */
	if (number == SYS_vfork)
		return true;
	if (number == SYS_clone3 && injection_read(in, first, &flags, sizeof(flags)))
		return flags & CLONE_VFORK;
	return number == SYS_clone && first & CLONE_VFORK;
}

static bool is_vfork_thread(const struct injection *in, pid_t tid)
{
	char path[64], call[256];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)in->pid, (int)tid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	return file && fgets(call, sizeof(call), file) && is_vfork(in, call);
}

/* Of a process that runs: a thread that waits for a vfork child; 0: none. */
static pid_t find_vfork(const struct injection *in)
{
	char path[64];
	pid_t found = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)in->pid);
	DIR *folder = opendir(path);
	for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
		pid_t tid = (pid_t)atoi(entry->d_name);
		if (tid && is_vfork_thread(in, tid))
			found = tid;
	}
	if (folder)
		closedir(folder);
	return found;
}

pid_t injection_vfork(const struct injection *in)
{
	for (size_t i = 0; i < in->stopped.threads.len; i++) {
		const struct stopped_thread *thread = &in->stopped.threads.data[i];
		if (!thread->stopped && is_vfork_thread(in, thread->tid))
			return thread->tid;
	}
	return 0;
}

pid_t injection_wait_for_vfork(const struct injection *in)
{
	uint64_t until = stop_now_ns() + VFORK_NS;
	pid_t tid;
	while ((tid = find_vfork(in)) && stop_now_ns() <= until)
		nanosleep(&(struct timespec){0, VFORK_STEP_NS}, NULL);
	return tid;
}
