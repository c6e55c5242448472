/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/before.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "capture/attach/injection.h"
#include "process/fork_exclusions.h"
#include "process/maps.h"
#include "process/memory.h"
#include "process/proc_info.h"

/* To copy the page tables of a GiB in small pages: 11 to 16 ms on a fast machine, 39 to 53 on a
 * virtual one. The larger, as a process stands still for it. */
#define COPY_NS_A_GIB 45000000ull
#define STATUS_BYTES 16384u
#define STACK_WORDS 64u

/* A line "NAME: N kB" of /proc/PID/status, in bytes; 0: it is not there. */
static uint64_t status_bytes(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

static uint64_t copy_ns(pid_t pid)
{
	char *text;
	size_t len;
	struct error *error = process_read(pid, "status", STATUS_BYTES, &text, &len);
	if (error) {
		error_destroy(error);
		return 0;
	}
	uint64_t bytes = status_bytes(text, "\nRssAnon:");
	free(text);
	error = process_read(pid, "smaps_rollup", STATUS_BYTES, &text, &len);
	uint64_t huge = error ? 0 : status_bytes(text, "\nAnonHugePages:");
	if (!error)
		free(text);
	error_destroy(error);
	bytes -= min(huge, bytes);
	return (uint64_t)((double)bytes / (1 << 30) * (double)COPY_NS_A_GIB);
}

static bool is_of_recorder(const void *context, uint64_t start, uint64_t end, const char *path)
{
	(void)context, (void)start, (void)end;
	return strstr(path, "/memfd:heapwise-") != NULL;
}

enum hpw_older before_look(
	const struct attach_options *options, const struct attach_plan *plan, uint64_t *ret_ns)
{
	const struct fork_exclusions_known known = {is_of_recorder, NULL};
	*ret_ns = 0;
	if (options->before == ATTACH_BEFORE_NONE || !options->list_blocks)
		return HPW_OLDER_UNWANTED;
	if (options->launch->mode.kind == MODE_SAMPLE)
		return HPW_OLDER_SAMPLED;
	/* Its filters may not let it be forked, nor the copy close its files. */
	if (plan->is_filtered)
		return HPW_OLDER_REFUSED;
	*ret_ns = copy_ns(options->pid);
	if (process_has_fork_exclusions(options->pid, &known))
		return HPW_OLDER_LACKS;
	if (options->before == ATTACH_BEFORE_AUTO && options->budget_ns &&
		*ret_ns > options->budget_ns)
		return HPW_OLDER_PAUSE;
	return HPW_OLDER_UNKNOWN;
}

void before_prepare(
	struct before *before, const struct attach_options *options, const struct attach_plan *plan)
{
	uint64_t ns;
	*before = (struct before){.options = options, .plan = plan, .guard = GUARD_NONE};
	if (!older_list_open(&before->list))
		return; /* the collector says so */
	enum hpw_older why = before_look(options, plan, &ns);
	stop_init(&before->stopped, options->pid);
	before->wanted = !why;
	if (why)
		older_list_give_up(&before->list, why);
	else
		before->guard = guard_start();
}

void before_take(struct before *before, struct stopped *stopped)
{
	int reason;
	if (!before->wanted)
		return;
	struct error *error = snapshot_take(stopped, &before->snapshot, &reason);
	before->has_snapshot = !error;
	error_destroy(error);
	for (size_t i = 0; i < stopped->threads.len && before->has_snapshot; i++) {
		if (!stopped_threads_push(&before->stopped.threads, stopped->threads.data[i]))
			break;
	}
	if (before->has_snapshot)
		guard_set_snapshot(&before->guard, stopped->pid, &before->snapshot);
	else
		older_list_give_up(&before->list, HPW_OLDER_REFUSED);
}

/* mmap, mprotect, munmap, brk, mremap, madvise, futex: what an allocator may wait in. */
static bool is_call_of_allocator(uint64_t number)
{
	static const uint64_t calls[] = {9, 10, 11, 12, 25, 28, 202};
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (calls[i] == number)
			return true;
	}
	return false;
}

/* The code of the allocator, as the copy has it mapped. */
struct allocator_code {
	struct process_maps maps;
	struct process_memory memory;
	const struct process_map *map; /* where its malloc is; NULL: that is not known */
	bool is_libc;
};

static bool is_in_code(const struct allocator_code *code, uint64_t address)
{
	const struct process_map *map = process_maps_find(&code->maps, address);
	return map && map->executable && map->inode == code->map->inode &&
	       !strcmp(map->path, code->map->path);
}

/* Whether a thread may be inside a function of the allocator: it is in its file, or was called from
 * there; a thread that waits in the kernel for something else is not. */
static bool may_be_inside(const struct allocator_code *code, const struct stopped_thread *thread)
{
	uint64_t words[STACK_WORDS];
	if (!thread->stopped || !code->map)
		return true;
	if ((int64_t)thread->regs.orig_rax >= 0 && !is_call_of_allocator(thread->regs.orig_rax))
		return false;
	if (is_in_code(code, thread->regs.rip))
		return true;
	if (code->is_libc)
		return false;
	size_t n = process_memory_read(&code->memory, thread->regs.rsp, words, sizeof(words)) / 8;
	for (size_t i = 0; i < n; i++) {
		if (is_in_code(code, words[i]))
			return true;
	}
	return false;
}

static void count_inside(struct before *before)
{
	struct allocator_code code = {
		.maps.text = NULL, .memory = {-1, -1, -1, NULL, NULL, NULL}, .map = NULL};
	pid_t pid = before->snapshot.pid;
	struct error *error = process_maps_read(pid, &code.maps);
	if (!error)
		error = process_memory_open(pid, pid, NULL, &code.memory);
	if (!error)
		code.map = process_maps_find(&code.maps, before->plan->real[HW_ATTACH_MALLOC]);
	code.is_libc = process_map_is_libc(code.map);
	for (size_t i = 0; i < before->stopped.threads.len; i++)
		before->list.head->threads +=
			may_be_inside(&code, &before->stopped.threads.data[i]);
	error_destroy(error);
	process_memory_close(&code.memory);
	process_maps_deinit(&code.maps);
}

static void make_list(struct before *before)
{
	const struct attach_copy copy = {.stopped = &before->stopped,
		.pid = before->snapshot.pid,
		.allocator = before->plan->allocator,
		.stop = &before->stop};
	snapshot_close_files(&before->snapshot);
	count_inside(before);
	struct error *error = before->options->list_blocks(
		before->options->list_blocks_context, &copy, &before->list);
	error_destroy(error);
	if (older_list_state(&before->list) == OLDER_BLOCKS)
		older_list_set_types(&before->list); /* without types */
	older_list_give_up(&before->list, HPW_OLDER_FAILED);
}

/* Of the thread that stops the process; gone for it as soon as `is_attached` is posted. */
struct run {
	struct before *before;
	struct error *(*work)(void *context);
	void *context;
	struct error *error;
	sem_t is_attached;
};

static void *run_main(void *argument)
{
	struct run *run = argument;
	struct before *before = run->before;
	struct error *error = run->work(run->context);
	bool failed = error;
	run->error = error;
	sem_post(&run->is_attached);
	if (!before->has_snapshot)
		return NULL;
	if (!failed)
		make_list(before);
	/* These are copies: nothing is to be let go by their numbers. */
	stopped_threads_clear(&before->stopped.threads);
	snapshot_end(&before->stopped, &before->snapshot);
	__atomic_store_n(&before->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

struct error *before_run(struct before *before, struct error *(*work)(void *context), void *context)
{
	struct run run = {before, work, context, NULL, {{0}}};
	sem_init(&run.is_attached, 0, 0);
	int why = pthread_create(&before->thread, NULL, run_main, &run);
	if (why)
		return error_errno(
			ERROR_ENVIRONMENT, why, "can't start the thread that stops the process");
	struct timespec next;
	for (injection_reap_time(&next);
		sem_clockwait(&run.is_attached, CLOCK_MONOTONIC, &next) < 0 &&
		(errno == EINTR || errno == ETIMEDOUT);
		injection_reap_time(&next))
		stop_reap_ended(before->options->pid);
	before->has_thread = true;
	/* It is the tracer, of threads that have not stopped too: until it has ended nobody else
	 * can be. */
	if (!before->has_snapshot) {
		pthread_join(before->thread, NULL);
		before->has_thread = false;
	}
	return run.error;
}

void before_service(struct before *before)
{
	if (before->has_thread && __atomic_load_n(&before->done, __ATOMIC_ACQUIRE))
		before_end(before);
}

void before_end(struct before *before)
{
	if (!before->options)
		return;
	before->stop = SIGTERM;
	if (before->has_thread)
		pthread_join(before->thread, NULL);
	before->has_thread = false;
	older_list_give_up(&before->list, HPW_OLDER_FAILED);
	before->has_snapshot = false;
	guard_end(&before->guard);
	before->guard = GUARD_NONE;
	stop_deinit(&before->stopped);
	older_list_close(&before->list);
	before->options = NULL;
}
