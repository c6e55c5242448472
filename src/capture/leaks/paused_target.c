/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/paused_target.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/ranges.h"
#include "format/hpw.h"
#include "process/fork_exclusions.h"
#include "process/snapshot.h"
#include "process/stop.h"
#include "process/watch.h"

/* What the mappings of rings are called: session.h. */
#define RINGS "/memfd:heapwise-rings."

#define ANSWER_MS 10000
#define END_MS 10000
/* A thread that is in the middle of an event is let out of it, so often, and for so long. */
#define BUSY_TRIES 200
#define BUSY_NS 1000000000u
#define BUSY_PAUSE_NS 50000
/* How often is looked for threads that stop only when the process goes on already. */
#define LATE_MS 5

/* What the keeper says, followed by the threads. */
struct target_reply {
	uint32_t failed; /* enum error_code; 0: it is held */
	uint32_t threads;
	pid_t process;
	uint32_t is_snapshot, uncopied; /* enum hpw_leak_uncopied */
	uint64_t pause_ns;
	uint64_t heads[HW_RINGS];
	char message[512];
};

static const struct hw_ring *rings_of(const struct hw_shm *shm)
{
	return (const struct hw_ring *)((const char *)shm + HW_SHM_RINGS);
}

/* Whether a stopped thread is in the middle of an event. */
bool target_is_busy(const struct hw_shm *shm)
{
	const struct hw_ring *rings = rings_of(shm);
	for (uint32_t i = 0; i < HW_RINGS; i++) {
		/* The shared ring belongs to no thread, so it has no state. */
		bool used = i == HW_RING_SHARED ||
			    __atomic_load_n(&rings[i].state, __ATOMIC_RELAXED) == HW_RING_ACTIVE;
		if (used && __atomic_load_n(&rings[i].busy, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

/* Stops the process where no thread is in an event; a thread that never comes out of one (it was
 * left by siglongjmp, or is in the kernel) is used as it is. */
static struct error *stop_outside_events(const struct hw_shm *shm, struct stopped *stopped)
{
	uint64_t until = stop_now_ns() + BUSY_NS;
	for (int tries = 0;; tries++) {
		struct error *error = stop_process(stopped);
		if (error || tries == BUSY_TRIES || !target_is_busy(shm) || stop_now_ns() > until)
			return error;
		stop_end(stopped);
		nanosleep(&(struct timespec){0, BUSY_PAUSE_NS}, NULL);
	}
}

static void send_threads(int channel, const struct stopped_threads *threads)
{
	for (size_t i = 0; i < threads->len; i++) {
		const struct stopped_thread *t = &threads->data[i];
		struct paused_thread thread = {
			.tid = t->tid, .stopped = t->stopped, .regs = t->regs};
		(void)!send(channel, &thread, sizeof(thread), MSG_NOSIGNAL);
	}
}

static void send_error(int channel, struct error *error)
{
	struct target_reply target_reply = {.failed = error->code};
	snprintf(target_reply.message, sizeof(target_reply.message), "%s", error->message);
	(void)!send(channel, &target_reply, sizeof(target_reply), MSG_NOSIGNAL);
	error_destroy(error);
}

/* Until the other side is done, or has died. */
static void wait_for_end(int channel, struct stopped *stopped)
{
	struct pollfd fd = {.fd = channel, .events = POLLIN};
	for (;;) {
		int n = poll(&fd, 1, stopped->late.len ? LATE_MS : -1);
		if (n > 0 || (n < 0 && errno != EINTR))
			return;
		stop_release_late(stopped);
	}
}

static void keep_stopped(const struct hw_shm *shm, enum pause_way way, int channel,
	struct stopped *stopped, struct target_reply *target_reply)
{
	struct stopped_threads threads = {NULL, 0, 0};
	struct snapshot snapshot;
	for (uint32_t i = 0; i < HW_RINGS; i++)
		target_reply->heads[i] = __atomic_load_n(&rings_of(shm)[i].head, __ATOMIC_ACQUIRE);
	for (size_t i = 0; i < stopped->threads.len; i++)
		(void)!stopped_threads_push(&threads, stopped->threads.data[i]);
	target_reply->threads = (uint32_t)threads.len;
	if (way != PAUSE_STOPPED) {
		int reason;
		struct error *error = snapshot_take(stopped, &snapshot, &reason);
		target_reply->is_snapshot = !error;
		if (error)
			target_reply->uncopied =
				reason ? (uint32_t)reason : HPW_LEAK_UNCOPIED_CONFINED;
		error_destroy(error);
	}
	if (target_reply->is_snapshot) {
		target_reply->process = snapshot.pid;
		target_reply->pause_ns = stop_end(stopped);
		snapshot_close_files(&snapshot);
	}
	(void)!send(channel, target_reply, sizeof(*target_reply), MSG_NOSIGNAL);
	send_threads(channel, &threads);
	wait_for_end(channel, stopped);
	if (target_reply->is_snapshot)
		snapshot_end(stopped, &snapshot);
	stopped_threads_deinit(&threads);
}

bool paused_target_own_memory(struct address_ranges *ranges, const struct hw_shm *shm)
{
	bool ok = true;
	for (uint32_t i = 0; ok && i < HW_OWN; i++)
		ok = address_ranges_add(ranges, shm->own[i].start, shm->own[i].end);
	for (uint32_t i = 0; ok && i < HW_RINGS; i++) {
		const struct hw_ring *ring =
			(const struct hw_ring *)((const char *)shm + HW_SHM_RINGS) + i;
		if (ring->own)
			ok = address_ranges_add(ranges, ring->own, ring->own + shm->own_ring_bytes);
	}
	return ok;
}

/* In a program that confines itself the runtime maps more than it uses. The kernel joins that with
 * none of the program's: no other memory is wiped on fork, and neither dumped, huge nor reserved.
 */
static bool is_own(const void *context, uint64_t start, uint64_t end, const char *path)
{
	const struct address_range *own = address_ranges_from(context, start);
	return !strncmp(path, RINGS, sizeof(RINGS) - 1) || (own && own->start < end);
}

/* Whether a copy would lack something of the program's: what is the runtime's own it does lack. */
static bool lacks_in_copy(pid_t pid, const struct hw_shm *shm)
{
	struct address_ranges own = {NULL, 0, 0};
	const struct fork_exclusions_known known = {is_own, &own};
	bool lacks = !paused_target_own_memory(&own, shm);
	address_ranges_join(&own);
	lacks = lacks || process_has_fork_exclusions(pid, &known);
	address_ranges_deinit(&own);
	return lacks;
}

/*
 * The keeper's life. It is not killed with the collector, because a process must not be left alone
 * in the middle of being copied; but then sees the end of the channel.
 */
static void run_keeper(pid_t pid, const struct hw_shm *shm, enum pause_way way, int channel)
{
	struct target_reply target_reply = {.process = pid};
	struct stopped stopped;
	if (way != PAUSE_STOPPED && lacks_in_copy(pid, shm)) {
		way = PAUSE_STOPPED; /* whether it may be stopped is the other side's to know */
		target_reply.uncopied = HPW_LEAK_UNCOPIED_LACKS;
	}
	stop_init(&stopped, pid);
	struct error *error = stop_outside_events(shm, &stopped);
	if (error)
		send_error(channel, error);
	else
		keep_stopped(shm, way, channel, &stopped, &target_reply);
	stop_deinit(&stopped);
}

/* The last number of "NSpid:" in its status: as it sees itself. */
static pid_t target_tid(pid_t pid, pid_t tid)
{
	char path[64], line[256];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		const char *last = strncmp(line, "NSpid:", 6) ? NULL : strrchr(line, '\t');
		if (last)
			return (pid_t)atoi(last + 1);
	}
	return tid;
}

static struct error *receive_target(struct paused_target *target)
{
	struct target_reply target_reply;
	struct pollfd answer = {.fd = target->channel, .events = POLLIN};
	if (poll(&answer, 1, ANSWER_MS) <= 0 ||
		recv(target->channel, &target_reply, sizeof(target_reply), 0) !=
			(ssize_t)sizeof(target_reply))
		return error_create(ERROR_ENVIRONMENT,
			"process %d could not be stopped within %d s", (int)target->process,
			ANSWER_MS / 1000);
	if (target_reply.failed)
		return error_create(
			(enum error_code)target_reply.failed, "%s", target_reply.message);
	target->process = target_reply.process;
	target->is_snapshot = target_reply.is_snapshot;
	target->uncopied = target_reply.uncopied;
	target->pause_ns = target_reply.pause_ns;
	memcpy(target->heads, target_reply.heads, sizeof(target->heads));
	for (uint32_t i = 0; i < target_reply.threads; i++) {
		struct paused_thread thread;
		if (recv(target->channel, &thread, sizeof(thread), 0) != (ssize_t)sizeof(thread))
			return error_create(ERROR_ENVIRONMENT, "the tracer has died");
		if (!paused_threads_push(&target->threads, thread))
			return error_no_memory();
	}
	return NULL;
}

/* What has memory is the process's first thread, or, when that has left by pthread_exit, another.
 */
static pid_t with_memory(const struct paused_target *target)
{
	pid_t other = target->pid;
	for (size_t i = 0; i < target->threads.len; i++) {
		if (target->threads.data[i].tid == target->pid)
			return target->pid;
		other = target->threads.data[i].tid;
	}
	return other;
}

/* Stack pointer of a thread that is in a system call: /proc/PID/task/TID/syscall. */
static uint64_t stack_pointer(pid_t pid, pid_t tid)
{
	char path[64];
	uint64_t sp = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	if (file && fscanf(file, "%*d %*x %*x %*x %*x %*x %*x %" SCNx64, &sp) != 1)
		sp = 0;
	return sp;
}

/* It may not be stopped: then its threads are taken as they are. */
static struct error *look_without_stopping(
	pid_t pid, const struct hw_shm *shm, struct paused_target *target)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *folder = opendir(path);
	if (!folder)
		return error_errno(ERROR_INPUT, errno, "process %d has ended", (int)pid);
	bool ok = true;
	for (struct dirent *entry; ok && (entry = readdir(folder));) {
		struct paused_thread thread = {.tid = (pid_t)atoi(entry->d_name)};
		if (entry->d_name[0] == '.' || thread_is_dead(pid, thread.tid))
			continue;
		thread.regs.rsp = stack_pointer(pid, thread.tid);
		ok = paused_threads_push(&target->threads, thread);
	}
	closedir(folder);
	for (uint32_t i = 0; i < HW_RINGS; i++)
		target->heads[i] = __atomic_load_n(&rings_of(shm)[i].head, __ATOMIC_ACQUIRE);
	target->is_unstopped = true;
	return ok ? NULL : error_no_memory();
}

/*
 * Forks a process that traces, and leaves it in *ret_pid, 0 in itself, with its end of the channel.
 * It is sent `signal` when we die; 0: it sees the end of the channel itself.
 */
static struct error *fork_tracer(int signal, pid_t *ret_pid, int *ret_channel)
{
	int ends[2];
	*ret_pid = *ret_channel = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't make a socket pair");
	pid_t self = getpid();
	*ret_pid = fork();
	bool child = !*ret_pid;
	close(ends[!child]);
	*ret_channel = ends[child];
	if (child) {
		prctl(PR_SET_PDEATHSIG, signal);
		if (getppid() != self)
			_exit(0);
		/* Other tracers know by the ends of their channels that all is over. */
		*ret_channel = dup2(*ret_channel, STDERR_FILENO + 1);
		close_range(STDERR_FILENO + 2, ~0u, 0);
	}
	if (*ret_pid < 0)
		return error_errno(ERROR_ENVIRONMENT, errno, "can't start a process that traces");
	return NULL;
}

static struct error *keeper_start(
	pid_t pid, const struct hw_shm *shm, enum pause_way way, struct paused_target *target)
{
	struct error *error = fork_tracer(0, &target->keeper, &target->channel);
	if (target->keeper)
		return error;
	run_keeper(pid, shm, way, target->channel);
	_exit(0);
}

/* It ends at once, unless the process that it traces hangs in what it was made to do. */
static void reap_tracer(pid_t keeper)
{
	for (unsigned ms = 0; ms < END_MS; ms++) {
		if (waitpid(keeper, NULL, WNOHANG))
			return;
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	kill(keeper, SIGKILL);
	child_wait(keeper, NULL, 0);
}

static void end_tracer(pid_t *keeper, int *channel)
{
	/* The searcher may have the channel too: it is not enough to close it. */
	if (*channel >= 0) {
		shutdown(*channel, SHUT_RDWR);
		close(*channel);
	}
	*channel = -1;
	if (*keeper > 0)
		reap_tracer(*keeper);
	*keeper = -1;
}

static void release_target(struct paused_target *target)
{
	end_tracer(&target->keeper, &target->channel);
}

static void send_ready(void *context)
{
	struct target_reply target_reply = {.failed = 0};
	(void)!send(*(int *)context, &target_reply, sizeof(target_reply), MSG_NOSIGNAL);
}

static void hold_dying(void *context, const struct stopped *stopped)
{
	int channel = *(int *)context;
	struct target_reply target_reply = {
		.threads = (uint32_t)stopped->threads.len, .process = stopped->pid};
	(void)!send(channel, &target_reply, sizeof(target_reply), MSG_NOSIGNAL);
	send_threads(channel, &stopped->threads);
	char any;
	(void)!recv(channel, &any, 1, 0); /* until the other side is done, or has died */
}

struct error *death_watch_start(pid_t pid, struct death_watch *ret)
{
	*ret = NO_DEATH_WATCH;
	struct error *error = fork_tracer(SIGKILL, &ret->keeper, &ret->channel);
	if (!error && !ret->keeper) {
		const struct watch_calls calls = {&ret->channel, send_ready, hold_dying};
		error = watch_process(pid, &calls);
		if (error)
			send_error(ret->channel, error);
		_exit(0);
	}
	struct paused_target ready = {.keeper = -1, .channel = ret->channel, .process = pid};
	if (!error)
		error = receive_target(&ready);
	if (error)
		death_watch_end(ret);
	return error;
}

void death_watch_end(struct death_watch *watch)
{
	if (watch->keeper > 0)
		kill(watch->keeper, SIGKILL);
	end_tracer(&watch->keeper, &watch->channel);
}

/* What the tracer has not reported. */
static struct error *read_target_state(struct paused_target *target)
{
	for (size_t i = 0; i < target->threads.len; i++)
		target->threads.data[i].target_tid =
			target_tid(target->pid, target->threads.data[i].tid);
	target->owner = with_memory(target);
	if (!target->is_snapshot)
		target->process = target->owner;
	return process_maps_read(target->process, &target->maps);
}

bool pause_dying_target(
	pid_t pid, const struct hw_shm *shm, struct death_watch *watch, struct paused_target *ret)
{
	*ret = (struct paused_target){.keeper = watch->keeper,
		.channel = watch->channel,
		.pid = pid,
		.process = pid,
		.owner = pid};
	*watch = NO_DEATH_WATCH;
	struct error *error = receive_target(ret);
	for (uint32_t i = 0; i < HW_RINGS; i++)
		ret->heads[i] = __atomic_load_n(&rings_of(shm)[i].head, __ATOMIC_ACQUIRE);
	if (!error)
		error = read_target_state(ret);
	if (error)
		paused_target_resume(ret);
	bool ok = !error;
	error_destroy(error);
	return ok;
}

struct error *pause_target(
	pid_t pid, const struct hw_shm *shm, enum pause_way way, struct paused_target *ret)
{
	*ret = (struct paused_target){
		.keeper = -1, .channel = -1, .pid = pid, .process = pid, .owner = pid};
	struct error *error = keeper_start(pid, shm, way, ret);
	if (!error)
		error = receive_target(ret);
	if (error && error->code == ERROR_ENVIRONMENT && way == PAUSE_STOPPED) {
		error_destroy(error);
		release_target(ret);
		error = look_without_stopping(pid, shm, ret);
	}
	if (!error)
		error = read_target_state(ret);
	if (error)
		paused_target_resume(ret);
	return error;
}

/* It has one thread, the first. */
static bool is_single_threaded(pid_t pid)
{
	char path[64];
	unsigned threads = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *folder = opendir(path);
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		threads += entry->d_name[0] == '.' ? 0 : (pid_t)atoi(entry->d_name) == pid ? 1 : 2;
	if (folder)
		closedir(folder);
	return threads == 1;
}

/* The number of the wait in which no code of the program runs; 0: it is in none. */
static uint32_t quiet_wait(const struct hw_shm *shm)
{
	uint32_t quiet = __atomic_load_n(&shm->leaving_quiet, __ATOMIC_ACQUIRE);
	uint32_t state = __atomic_load_n(&shm->leaving, __ATOMIC_ACQUIRE);
	bool asked = state == HW_LEAVING_ASKS || state == HW_LEAVING_HELD;
	return asked && quiet & 1 ? quiet : 0;
}

bool pause_waiting_target(pid_t pid, const struct hw_shm *shm, struct paused_target *ret)
{
	*ret = (struct paused_target){.keeper = -1,
		.channel = -1,
		.pid = pid,
		.process = pid,
		.owner = pid,
		.is_waiting = true,
		.quiet = quiet_wait(shm)};
	if (!ret->quiet || target_is_busy(shm) || !is_single_threaded(pid))
		return false;
	const struct paused_thread thread = {
		.tid = pid, .stopped = true, .regs = {.fs_base = shm->leaving_thread}};
	for (uint32_t i = 0; i < HW_RINGS; i++)
		ret->heads[i] = __atomic_load_n(&rings_of(shm)[i].head, __ATOMIC_ACQUIRE);
	struct error *error = paused_threads_push(&ret->threads, thread) ? read_target_state(ret)
									 : error_no_memory();
	bool ok = !error && (uint32_t)ret->threads.data[0].target_tid == shm->leaving_tid &&
		  paused_target_still_waits(ret, shm);
	error_destroy(error);
	if (!ok)
		paused_target_resume(ret);
	return ok;
}

bool paused_target_still_waits(const struct paused_target *target, const struct hw_shm *shm)
{
	return quiet_wait(shm) == target->quiet && !thread_is_dead(target->pid, target->pid);
}

void paused_target_resume(struct paused_target *target)
{
	release_target(target);
	paused_threads_deinit(&target->threads);
	process_maps_deinit(&target->maps);
}
