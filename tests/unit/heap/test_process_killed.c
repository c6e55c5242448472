/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who stops and copies a process is killed at each of its steps: it is traced itself, and gets
 * SIGKILL at its first system call, at its second, and so on; or a signal that it handles comes at
 * all of them. Processes that would notice look whether they were harmed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "process/snapshot.h"
#include "process/stop.h"

#include "lib/tap.h"

/* What the target and the test both see. */
static struct shared {
	volatile uint64_t count; /* grows while it does something */
	volatile uint32_t told, ready, signals, children, wants_signal, early;
	volatile uint32_t failures; /* to copy it */
	char broken[128];
} * shared;
static int told[2]; /* readable in the target when it is to end */

static void on_signal(int number)
{
	if (number == SIGCHLD)
		shared->children++;
	else
		shared->signals++;
}

/* Says what is wrong, once. */
static void need(bool condition, const char *what)
{
	if (!condition && !shared->broken[0])
		snprintf(shared->broken, sizeof(shared->broken), "%s (%s)", what, strerror(errno));
}

/* --- what targets do until they are told ------------------------------------------------------ */

/* Registers of all kinds, and flags. */
static double mix(uint64_t *ret)
{
	double sum = 1, wave[4] = {1, 2, 3, 4};
	uint64_t a = 1, b = 2, c = 3, d = 4, carries = 0;
	for (unsigned i = 1; i < 2000; i++) {
		carries += __builtin_add_overflow(a, b << 60, &a);
		b = b * 6364136223846793005u + c;
		c ^= (c << 13) + d;
		d = d < a ? d + b : d - c;
		for (unsigned k = 0; k < 4; k++)
			wave[k] = wave[k] * 0.99 + sum / i;
		sum += wave[i % 4];
	}
	*ret = a ^ b ^ c ^ d ^ carries;
	return sum;
}

static void compute(void)
{
	uint64_t first, again;
	double sum = mix(&first);
	shared->ready = 1;
	while (!shared->told && !shared->broken[0]) {
		need(mix(&again) == sum && again == first, "it computes something else");
		shared->count++;
	}
}

static void wait_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(0);
	need(!epoll_ctl(fd, EPOLL_CTL_ADD, told[0], &event), "epoll_ctl");
	shared->ready = 1;
	while (epoll_wait(fd, &event, 1, -1) != 1) {
		need(errno == EINTR, "epoll_wait failed");
		shared->early++;
	}
}

static void sleep_often(void)
{
	shared->ready = 1;
	while (!shared->told && !shared->broken[0]) {
		struct timespec time = {0, 3000000};
		need(!nanosleep(&time, NULL), "nanosleep ended early");
		shared->count++;
	}
}

static void wait_pause(void)
{
	shared->wants_signal = 1;
	shared->ready = 1;
	errno = 0;
	pause();
	need(errno == EINTR && shared->signals == 1, "pause ended without a signal");
}

static void wait_suspended(void)
{
	sigset_t all, own, none;
	sigemptyset(&none);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &own);
	shared->wants_signal = 1;
	shared->ready = 1;
	errno = 0;
	sigsuspend(&none);
	need(errno == EINTR && shared->signals == 1, "sigsuspend ended without a signal");
	sigprocmask(SIG_SETMASK, &own, NULL);
}

static void wait_child(void)
{
	char any;
	pid_t child = fork();
	if (!child) {
		(void)!read(told[0], &any, 1);
		_exit(5);
	}
	shared->ready = 1;
	int status = 0;
	need(waitpid(-1, &status, 0) == child, "waitpid told of another child, or ended early");
	need(WIFEXITED(status) && WEXITSTATUS(status) == 5, "the child did not end by itself");
	need(shared->children == 1, "SIGCHLD did not come once");
	shared->children = 0;
}

/* Large enough that to copy it takes longer than to give who waits for that a signal. */
static void compute_in_much(void)
{
	const size_t size = 128 << 20;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(memory != MAP_FAILED && !madvise(memory, size, MADV_NOHUGEPAGE), "mmap");
	memset(memory, 1, size);
	compute();
}

static void *wait_on(void *unused)
{
	(void)unused;
	__atomic_fetch_add(&shared->ready, 1, __ATOMIC_RELAXED);
	for (;;)
		pause();
	return NULL;
}

static void compute_beside(void)
{
	pthread_t thread;
	for (unsigned i = 0; i < 3; i++)
		(void)!pthread_create(&thread, NULL, wait_on, NULL);
	while (shared->ready < 3)
		sched_yield();
	compute();
}

/* --- one that is killed ----------------------------------------------------------------------- */

static _Noreturn void live(void (*what)(void))
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	sigset_t mask, now;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(told[1]);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	what();
	sigprocmask(SIG_SETMASK, NULL, &now);
	for (int i = 1; i < SIGRTMIN; i++)
		need(sigismember(&now, i) == sigismember(&mask, i), "other signals are blocked");
	need(!shared->children, "SIGCHLD came");
	need(waitpid(-1, NULL, 0) < 0 && errno == ECHILD, "it has a child that its waits see");
	_exit(shared->broken[0] ? 9 : 7);
}

static pid_t start(void (*what)(void))
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED && !pipe(told));
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		live(what);
	while (!shared->ready)
		sched_yield();
	return pid;
}

static void end(pid_t pid)
{
	int status;
	shared->told = 1;
	if (shared->wants_signal)
		kill(pid, SIGUSR1);
	close(told[1]);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		tap_fail("status %#x: %s", (unsigned)status, shared->broken);
	close(told[0]);
}

static void on_interrupt(int number)
{
	(void)number;
}

/* As `heapwise heap` does it. */
static _Noreturn void copy(pid_t pid)
{
	struct sigaction interrupts = {.sa_handler = on_interrupt}; /* what it waits in, too */
	struct stopped stopped;
	struct snapshot snapshot;
	int reason;
	sigaction(SIGTERM, &interrupts, NULL);
	stop_init(&stopped, pid);
	raise(SIGSTOP);
	struct error *error = stop_process(&stopped);
	if (error && error->code == ERROR_ENVIRONMENT)
		_exit(TAP_EXIT_SKIPPED);
	CHECK_OK(error);
	/* It may be on its way home from the one before. */
	for (int tries = 0; (error = snapshot_take(&stopped, &snapshot, &reason)); tries++) {
		if (tries == 100)
			CHECK_OK(error);
		error_destroy(error);
		shared->failures++;
		stop_end(&stopped);
		sched_yield();
		CHECK_OK(stop_process(&stopped));
	}
	stop_end(&stopped);
	snapshot_close_files(&snapshot);
	snapshot_end(&stopped, &snapshot);
	_exit(0);
}

static pid_t start_copy(pid_t pid)
{
	int status;
	fflush(NULL);
	pid_t tool = fork();
	CHECK(tool >= 0);
	if (!tool)
		copy(pid);
	CHECK(waitpid(tool, &status, WUNTRACED) == tool);
	if (ptrace(PTRACE_SEIZE, tool, NULL, (void *)PTRACE_O_TRACESYSGOOD)) {
		kill(tool, SIGKILL);
		SKIP("nothing may be traced here");
	}
	kill(tool, SIGCONT);
	return tool;
}

/* Whether it is in a call by which it waits for threads to stop: how many of those there are
 * depends on how busy the machine is. */
static void update_waiting(pid_t tool, bool *waiting)
{
	struct __ptrace_syscall_info info;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, tool, (void *)sizeof(info), &info) > 0 &&
		info.op == PTRACE_SYSCALL_INFO_ENTRY)
		*waiting = info.entry.nr == SYS_waitid || info.entry.nr == SYS_clock_nanosleep;
}

/* Lets it do so many steps, then kills it. True: it was done before. */
static bool kill_after(pid_t tool, unsigned steps, int *ret_status)
{
	bool waiting = false;
	for (unsigned i = 0; i < steps;) {
		CHECK(waitpid(tool, ret_status, __WALL) == tool);
		if (!WIFSTOPPED(*ret_status))
			return true;
		if (WSTOPSIG(*ret_status) == (SIGTRAP | 0x80)) {
			update_waiting(tool, &waiting);
			i += !waiting;
		}
		if (i < steps)
			ptrace(PTRACE_SYSCALL, tool, NULL, NULL);
	}
	kill(tool, SIGKILL);
	CHECK(waitpid(tool, ret_status, __WALL) == tool);
	return false;
}

static bool field_is(pid_t pid, const char *file, const char *name, const char *value)
{
	char path[64], line[256];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	FILE *stream = fopen(path, "re");
	bool is = !stream; /* it has gone */
	while (stream && fgets(line, sizeof(line), stream)) {
		if (!strncmp(line, name, strlen(name)) && strstr(line, value))
			is = true;
	}
	if (stream)
		fclose(stream);
	return is;
}

/* Its waits don't see a child without a signal at its end. */
static bool is_copy(int child)
{
	char path[64];
	unsigned long signal = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", child);
	FILE *stat = fopen(path, "re");
	if (stat && fscanf(stat,
			    "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d "
			    "%*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d "
			    "%*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %lu",
			    &signal) != 1)
		signal = SIGCHLD;
	if (stat)
		fclose(stat);
	return stat && !signal;
}

/* Whether one of its threads has a copy (proc(5): each has children of its own); `alive`: one that
 * has not ended. */
static bool has_copy(pid_t pid, bool alive)
{
	char path[300];
	int child;
	bool found = false;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	for (struct dirent *task; tasks && (task = readdir(tasks));) {
		snprintf(
			path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, task->d_name);
		FILE *stream = fopen(path, "re");
		while (stream && fscanf(stream, "%d", &child) == 1)
			found |= is_copy(child) &&
				 !(alive && field_is(child, "status", "State:", "Z"));
		if (stream)
			fclose(stream);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

static bool is_traced(pid_t pid)
{
	char path[300];
	bool traced = false;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	for (struct dirent *task; tasks && (task = readdir(tasks));) {
		snprintf(path, sizeof(path), "task/%.20s/status", task->d_name);
		traced |= task->d_name[0] != '.' && !field_is(pid, path, "TracerPid:", "\t0\n");
	}
	if (tasks)
		closedir(tasks);
	return traced;
}

/* Until nothing that was begun goes on any more. */
static void settle(pid_t pid)
{
	while (is_traced(pid) || has_copy(pid, true))
		sched_yield();
	uint64_t before = shared->count;
	for (int i = 0; i < 120000 && before && shared->count < before + 2; i++)
		usleep(500);
	if (before && shared->count < before + 2)
		tap_fail("it does not go on");
}

static void kill_at_each_step(void (*what)(void), unsigned stride)
{
	stride *= TAP_SANITIZED ? 3 : 1;
	pid_t pid = start(what);
	bool done = false;
	unsigned steps = 1;
	for (; !done; steps += stride) {
		int status;
		done = kill_after(start_copy(pid), steps, &status);
		if (done && WIFEXITED(status) && WEXITSTATUS(status) == TAP_EXIT_SKIPPED) {
			kill(pid, SIGKILL);
			SKIP("nothing may be traced here");
		}
		if (done && (!WIFEXITED(status) || WEXITSTATUS(status)))
			tap_fail("after %u steps it ended with %#x", steps, (unsigned)status);
		settle(pid);
		if (shared->broken[0])
			tap_fail("killed at step %u: %s", steps, shared->broken);
	}
	CHECK(steps > 100 && steps < 5000);
	end(pid);
}

static bool begins_call(pid_t tool)
{
	struct __ptrace_syscall_info info;
	return ptrace(PTRACE_GET_SYSCALL_INFO, tool, (void *)sizeof(info), &info) > 0 &&
	       info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr != SYS_rt_sigreturn;
}

/* A call that would wait finds that the signal has come. */
static int interrupt_each_call(pid_t tool)
{
	int status;
	for (;;) {
		CHECK(waitpid(tool, &status, __WALL) == tool);
		if (!WIFSTOPPED(status))
			return status;
		if (begins_call(tool))
			kill(tool, SIGTERM);
		int64_t signal = WSTOPSIG(status) == SIGTERM ? SIGTERM : 0;
		ptrace(PTRACE_SYSCALL, tool, NULL, (void *)signal);
	}
}

CASE(interrupted, "signals that are handled, at all steps, stop none of them")
{
	pid_t pid = start(compute_in_much);
	for (unsigned i = 0; i < TAP_SOME(20u); i++) {
		int status = interrupt_each_call(start_copy(pid));
		if (WIFEXITED(status) && WEXITSTATUS(status) == TAP_EXIT_SKIPPED) {
			kill(pid, SIGKILL);
			SKIP("nothing may be traced here");
		}
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			tap_fail("it ended with %#x", (unsigned)status);
		settle(pid);
		CHECK(!has_copy(pid, false) && !shared->failures);
	}
	end(pid);
}

CASE(computes, "a program that computes goes on as if nothing had been")
{
	kill_at_each_step(compute, 3);
}

CASE(threads, "so does one of whose threads another one is made to fork")
{
	kill_at_each_step(compute_beside, 7);
}

/* The kernel ends such calls with EINTR as soon as their thread is stopped: to see that, and to
 * give it other registers, takes some ten steps, and it is stopped twice. */
#define EARLY_MAX 8

CASE(epoll, "a call that the kernel does not begin again is begun again")
{
	kill_at_each_step(wait_epoll, 7);
	CHECK(shared->early <= EARLY_MAX);
}

CASE(sleeps, "sleeps end in time, and without an error")
{
	kill_at_each_step(sleep_often, 7);
}

CASE(pauses, "nothing but a signal ends a pause")
{
	kill_at_each_step(wait_pause, 7);
}

CASE(suspended, "nor a wait with another mask of signals")
{
	kill_at_each_step(wait_suspended, 7);
}

CASE(waits, "a wait for children tells of the program's own alone")
{
	kill_at_each_step(wait_child, 7);
}

TAP_MAIN
