/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process of the test's own, stopped, copied and let go. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#include "process/memory.h"
#include "process/snapshot.h"
#include "process/stop.h"

#include "lib/tap.h"

#define THREADS 3u

/* What the child and the test both see. */
static struct shared {
	volatile uint64_t count; /* grows while the child runs */
	volatile uint32_t told, ready;
} * shared;
static volatile uint64_t own = 1; /* of the child alone */

static void *wait_on(void *unused)
{
	(void)unused;
	__atomic_fetch_add(&shared->ready, 1, __ATOMIC_RELAXED);
	for (;;)
		pause();
	return NULL;
}

static bool is_childless;
static unsigned threads = THREADS;

/* Later children would be of a namespace whose first process has ended: fork(2) gives ENOMEM. */
static bool give_up_children(void)
{
	if (unshare(CLONE_NEWPID))
		return false;
	pid_t first = fork();
	if (!first)
		_exit(0);
	return first > 0 && waitpid(first, NULL, 0) == first;
}

/* Counts until it is told to end; then says whether it has a child that it did not make. */
static void live(void)
{
	pthread_t thread;
	if (is_childless && !give_up_children())
		_exit(TAP_EXIT_SKIPPED);
	for (unsigned i = 1; i < threads; i++)
		(void)!pthread_create(&thread, NULL, wait_on, NULL);
	while (!shared->told) {
		shared->count++;
		own = shared->count;
	}
	errno = 0;
	_exit(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD ? 7 : 9);
}

static pid_t start(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		live();
	while (shared->ready < threads - 1 || !shared->count) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			SKIP("no PID namespace can be made");
		sched_yield();
	}
	return pid;
}

static void end(pid_t pid)
{
	int status;
	shared->told = 1;
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* Sanitizers and containers may leave nothing to trace with. */
static void stop_or_skip(struct stopped *stopped)
{
	struct error *error = stop_process(stopped);
	if (error && error->code == ERROR_ENVIRONMENT) {
		kill(stopped->pid, SIGKILL);
		SKIP("%s", error->message);
	}
	CHECK_OK(error);
}

static bool goes_on(void)
{
	uint64_t before = shared->count;
	/* On a loaded machine that can take long; a hang takes longer. */
	for (int i = 0; i < 60000 && shared->count == before; i++)
		usleep(1000);
	return shared->count != before;
}

CASE(stops, "all threads stand still until they are let go, as often as one likes")
{
	pid_t pid = start();
	struct stopped stopped;
	stop_init(&stopped, pid);
	for (int i = 0; i < 20; i++) {
		stop_or_skip(&stopped);
		CHECK(stopped.threads.len >= THREADS); /* sanitizers have some of their own */
		for (size_t k = 0; k < stopped.threads.len; k++) {
			const struct stopped_thread *t = &stopped.threads.data[k];
			CHECK(t->stopped && t->regs.rsp && stop_find(&stopped, t->tid) == t);
		}
		CHECK(!stop_find(&stopped, 1));
		uint64_t before = shared->count;
		usleep(2000);
		CHECK_U64(shared->count, before);
		CHECK(stop_end(&stopped) >= 1000000);
		CHECK(!stop_release_late(&stopped));
		CHECK(goes_on());
	}
	stop_deinit(&stopped);
	end(pid);
}

CASE(let_go, "who gives up lets all go")
{
	pid_t pid = start();
	struct stopped stopped;
	stop_init(&stopped, pid);
	stop_or_skip(&stopped);
	stop_deinit(&stopped);
	CHECK(goes_on());
	end(pid);
}

CASE(refused,
	"a process that is not there, or that another one traces, is an error and stays as it was")
{
	struct stopped stopped;
	stop_init(&stopped, 0x3fffffff);
	CHECK_ERROR(stop_process(&stopped), ERROR_INPUT, "");
	CHECK_U64(stopped.threads.len, 0);
	stop_deinit(&stopped);
	pid_t pid = start();
	int ready[2];
	CHECK(!pipe(ready));
	pid_t tracer = fork();
	if (!tracer) {
		char how = ptrace(PTRACE_SEIZE, pid, NULL, NULL) ? 'n' : 'y';
		(void)!write(ready[1], &how, 1);
		for (;;)
			pause();
	}
	char how;
	CHECK(read(ready[0], &how, 1) == 1);
	stop_init(&stopped, pid);
	if (how == 'y')
		CHECK_ERROR(stop_process(&stopped), ERROR_ENVIRONMENT, "is already tracing it");
	CHECK(goes_on());
	stop_deinit(&stopped);
	kill(tracer, SIGKILL);
	CHECK(waitpid(tracer, NULL, 0) == tracer);
	end(pid);
}

static uint64_t own_of(pid_t pid)
{
	struct process_memory memory;
	uint64_t value = 0;
	CHECK_OK(process_memory_open(pid, pid, NULL, &memory));
	CHECK_U64(
		process_memory_read(&memory, (uint64_t)&own, &value, sizeof(value)), sizeof(value));
	process_memory_close(&memory);
	return value;
}

CASE(snapshot, "a copy stays as it was taken while the process goes on, and nothing of it is left")
{
	pid_t pid = start();
	struct stopped stopped;
	stop_init(&stopped, pid);
	for (int i = 0; i < 10; i++) {
		struct snapshot snapshot;
		int reason = -1;
		stop_or_skip(&stopped);
		uint64_t then = own_of(pid);
		CHECK_OK(snapshot_take(&stopped, &snapshot, &reason));
		CHECK(!reason && snapshot.pid != pid);
		stop_end(&stopped);
		snapshot_close_files(&snapshot);
		CHECK(goes_on());
		CHECK_U64(own_of(snapshot.pid), then);
		char path[64];
		snprintf(path, sizeof(path), "/proc/%d/fd/0", (int)snapshot.pid);
		CHECK(access(path, F_OK) && errno == ENOENT);
		snapshot_end(&stopped, &snapshot);
		CHECK(kill(snapshot.pid, 0) && errno == ESRCH);
		CHECK(goes_on());
	}
	stop_deinit(&stopped);
	end(pid);
}

CASE(no_copy, "where no process can be made there is no copy, but a reason")
{
	is_childless = true;
	threads = 1; /* it can't make any either */
	pid_t pid = start();
	struct stopped stopped;
	struct snapshot snapshot;
	int reason = 0;
	stop_init(&stopped, pid);
	stop_or_skip(&stopped);
	CHECK_ERROR(snapshot_take(&stopped, &snapshot, &reason), ERROR_ENVIRONMENT,
		"can't be forked: Cannot allocate memory");
	CHECK_U64(reason, ENOMEM);
	stop_deinit(&stopped);
	CHECK(goes_on());
	end(pid);
}

TAP_MAIN
