/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One loop: wait for the session's socket, the launcher and the processes' pidfds with a timeout
 * that follows the load, then drain all rings. Producers never wake the collector (that would cost
 * them a system call and a descriptor); it polls often enough for the rings' sizes. Idle processes
 * are polled seldom; in between only their doorbells are read.
 *
 * Life: the launcher is notified as soon as root's recording is complete. After that the collector
 * stays for the other processes of the session. Those that have said hello are known; when the last
 * of them has ended the environments of all processes are searched for others, so that a child that
 * has only been forked yet is not left alone.
 */
#include "capture/collector/collector_impl.h"

#include "base/cleanup.h"
#include "base/util.h"
#include "capture/collector/pace.h"
#include "capture/shared_memory.h"
#include "capture/writer/write_queue.h"
#include "process/proc_info.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Processes whose pause is longer have a time when they are due. */
#define PAUSE_NS 5000000
/* The longest pause between polls of an idle process, unless it rings (hw_shm.doorbell). Its next
 * event may have happened at any time since the last poll, so with few processes the pause is
 * shorter: about one idle process is polled in PAUSE_NS. */
#define PAUSE_MAX_NS 320000000
#define IDLE_NS 500000000 /* while no process is recorded */
#define SERVICE_NS 50000000
/* Processes at a time: each takes two descriptors and some hundred KiB. */
#define SUBJECTS_MAX 1024u
#define DESCRIPTORS_OWN 32u
#define EVENTS_MAX 64
#define HEARD_MAX 256      /* callers at a time */
#define CALLERS_NS 5000000 /* for callers, between two looks at the rings */
/* The pause between two times that work is interrupted for callers. */
#define LISTENED_NS 50000000
/* As many callers can wait. */
#define ENDS_PUT_OFF_MAX (SOMAXCONN / EVENTS_MAX)

void collector_watch(struct collector *c, int fd, void *tag)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = tag};
	epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event);
}

void collector_unwatch(struct collector *c, int fd)
{
	if (fd >= 0)
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, fd, NULL);
}

struct tracked_process *collector_find(const struct collector *c, pid_t pid)
{
	for (uint32_t i = 0; i < c->process_count; i++) {
		if (c->processes[i]->pid == pid)
			return c->processes[i];
	}
	return NULL;
}

struct tracked_process *collector_add(struct collector *c, pid_t pid)
{
	struct tracked_process *s =
		c->process_count < c->process_max ? tracked_process_create(pid) : NULL;
	if (!s)
		return NULL;
	s->is_root = pid == c->start->root;
	s->has_launcher = c->start->control >= 0;
	c->processes[c->process_count++] = s;
	collector_watch(c, s->pidfd, s);
	return s;
}

void collector_drop(struct collector *c, struct tracked_process *s)
{
	for (uint32_t i = 0; i < c->process_count; i++) {
		if (c->processes[i] == s)
			c->processes[i] = c->processes[--c->process_count];
	}
	collector_unwatch_jobs(c, s);
	collector_unwatch(c, s->watch.channel);
	collector_unwatch(c, s->pidfd);
	tracked_process_destroy(s);
}

/* Who made the list of what root had allocated before is gone. */
static void hurry_older(const struct collector *c)
{
	struct tracked_process *root = collector_find(c, c->start->root);
	if (root && root->recorder)
		recorder_hurry_older(root->recorder);
}

static void on_control(struct collector *c)
{
	struct collector_ended message;
	ssize_t n = recv(c->start->control, &message, sizeof(message), MSG_DONTWAIT);
	if (n == (ssize_t)sizeof(message) && message.kind == COLLECTOR_DETACH) {
		collector_detach(c, NULL);
	} else if (n == (ssize_t)sizeof(message) && message.kind >= COLLECTOR_ROOT_STOPS) {
		c->launcher_stops = message.kind == COLLECTOR_ROOT_STOPS;
	} else if (n == (ssize_t)sizeof(message)) {
		c->ended = message;
		c->have_ended = true;
		if (c->start->attached_ns && !c->root_gone_ns)
			c->root_gone_ns = clock_pair_now().ns;
	} else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		c->launcher_gone = true;
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->start->control, NULL);
		hurry_older(c);
	}
}

/* The launcher stops when its program does, and can't see from there that this goes on. */
static void wake_launcher(const struct collector *c)
{
	pid_t launcher = c->start->launcher;
	if (c->launcher_stops && !process_is_stopped(c->start->root) &&
		process_is_stopped(launcher) && getppid() == launcher)
		kill(launcher, SIGCONT);
}

uint32_t collector_living(const struct collector *c)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < c->process_count; i++)
		count += c->processes[i]->recorder != NULL;
	return count;
}

/* Queues those who have said something. Returns false if there may be more of them. */
static bool listen_to_callers(struct collector *c, uint64_t began)
{
	const struct session_gate gate = {collector_knows, c};
	uint64_t now = began;
	if (c->start->session.socket < 0)
		return true;
	for (int i = 0;
		i < HEARD_MAX && now - began < CALLERS_NS && !caller_queue_is_full(&c->queue);
		i++, now = clock_pair_now().ns) {
		struct session_caller caller;
		enum session_call call =
			session_accept(&c->start->session, &c->callers, &gate, now, &caller);
		if (call == SESSION_UNKNOWN)
			return true;
		if (call != SESSION_REFUSED && call != SESSION_SILENT)
			caller_queue_add(&c->queue, &caller, call);
	}
	return false;
}

static void ask_callers(struct collector *c)
{
	c->listened_ns = clock_pair_now().ns;
	caller_queue_ask(&c->queue, c->listened_ns);
}

void collector_listen_meanwhile(struct collector *c)
{
	uint64_t now = clock_pair_now().ns;
	if (now - c->listened_ns < LISTENED_NS)
		return;
	listen_to_callers(c, now);
	ask_callers(c);
}

void collector_go_on_meanwhile(struct collector *c, const struct tracked_process *but)
{
	for (uint32_t i = 0; i < c->process_count; i++) {
		if (c->processes[i] != but && c->processes[i]->recorder)
			recorder_drain(c->processes[i]->recorder);
	}
	collector_listen_meanwhile(c);
}

/* Some of them take long (those that say that they are others'
 * children, or have a large map of memory), and meanwhile no ring is looked at. */
bool collector_answer_callers(struct collector *c)
{
	struct session_caller caller;
	enum session_call call = SESSION_SILENT;
	bool all = listen_to_callers(c, clock_pair_now().ns);
	uint64_t began = clock_pair_now().ns;
	while (call != SESSION_UNKNOWN && clock_pair_now().ns - began < CALLERS_NS) {
		call = caller_queue_take(&c->queue, &caller);
		if (call == SESSION_HELLO)
			collector_on_hello(c, &caller);
		else if (call == SESSION_NOTICE)
			collector_on_notice(c, &caller);
		else if (call == SESSION_REQUEST)
			collector_on_request(c, &caller);
	}
	ask_callers(c);
	return all && !c->queue.count;
}

/* What the tag of an event is of may have gone with an event before it. */
static bool is_subject(const struct collector *c, const void *tag)
{
	for (uint32_t i = 0; i < c->process_count; i++) {
		if (c->processes[i] == tag)
			return true;
	}
	return false;
}

/*
 * Sleeps until something happens or the rings are due. Hellos first: the callers wait. Messages
 * that a process sent before it ended are read before its recording is completed.
 */
static void wait_for_events(struct collector *c)
{
	struct pollfd any = {.fd = c->epoll, .events = POLLIN};
	struct timespec timeout = {0, (long)c->sleep_ns};
	if (!collector_living(c))
		timeout = (struct timespec){0, IDLE_NS};
	if (c->queue.count)
		timeout = (struct timespec){0, 0};
	if (ppoll(&any, 1, &timeout, NULL) <= 0 && !c->queue.count)
		return;
	bool all = collector_answer_callers(c);
	c->ends_put_off = all || c->ends_put_off == ENDS_PUT_OFF_MAX ? 0 : c->ends_put_off + 1;
	struct epoll_event events[EVENTS_MAX];
	int count = epoll_wait(c->epoll, events, EVENTS_MAX, 0);
	for (int i = 0; i < count; i++) {
		void *tag = events[i].data.ptr;
		if (tag == &c->start->control)
			on_control(c);
		else if (tag == &c->closings)
			collector_on_closed(c);
		else if (!collector_on_searched(c, tag) && !collector_on_dying(c, tag) &&
			 !collector_on_dumped(c, tag) && is_subject(c, tag) && !c->ends_put_off &&
			 tracked_process_has_ended(tag))
			collector_on_end(c, tag);
	}
}

static uint64_t pause_max_ns(const struct collector *c)
{
	return min((uint64_t)PAUSE_NS * c->process_count, (uint64_t)PAUSE_MAX_NS);
}

/* Drains the rings of a process; the less there is, the later is the next time. */
static uint64_t drain_rings(const struct collector *c, struct tracked_process *s, uint64_t now)
{
	uint64_t moved = recorder_drain(s->recorder);
	if (moved)
		s->pause_ns = 0;
	else
		s->pause_ns = s->pause_ns ? min(s->pause_ns * 2, pause_max_ns(c)) : PACE_MIN_NS;
	s->due_ns = s->pause_ns > PAUSE_NS ? now + s->pause_ns : 0;
	return moved;
}

/* Who reads the pipe too slowly looks at all recordings in the end. */
void collector_announce_errors(const struct collector *c, const struct tracked_process *s)
{
	char line[TRACKED_FILE_MAX + 2];
	if (!recorder_take_errors(s->recorder))
		return;
	int n = snprintf(line, sizeof(line), "%s\n", s->file);
	if (c->start->errors >= 0 && n > 0 && (size_t)n < PIPE_BUF)
		(void)!write(c->start->errors, line, (size_t)n);
}

/* Has the launcher say what of an interpreter in its program is recorded, once that is known. One
 * that has stopped with its program must not be woken. */
static void announce_python(const struct collector *c, const struct tracked_process *s)
{
	const uint32_t settled = HPW_NOTE_PYTHON_FRAMES | HPW_NOTE_PYTHON_UNKNOWN |
				 HPW_NOTE_PYTHON_DIFFERS | HPW_NOTE_PYTHON_NO_ROOM;
	struct root_file *shared = c->start->root_file;
	const struct hw_shm *shm = s->recorder->shm;
	if (!shared || !shm || !s->is_root || !s->has_launcher || c->launcher_stops)
		return;
	uint32_t notes = __atomic_load_n(&shm->notes, __ATOMIC_RELAXED) & HPW_NOTES_PYTHON;
	if (!(notes & settled) || notes == shared->python || getppid() != c->start->launcher)
		return;
	__atomic_store_n(&shared->python, notes, __ATOMIC_RELEASE);
	kill(c->start->launcher, SIGCONT);
}

/* Drains a process if it is due. Does its housekeeping then, and as long as it has unwritten
 * records. */
static uint64_t drain_one(struct collector *c, struct tracked_process *s, uint64_t now)
{
	if (!s->recorder)
		return 0;
	bool due = now >= s->due_ns || recorder_is_called(s->recorder);
	uint64_t moved = due ? drain_rings(c, s, now) : 0;
	collector_announce_errors(c, s);
	announce_python(c, s);
	collector_dump_if_due(c, s, now);
	if (now - s->serviced_ns > SERVICE_NS && (due || recorder_has_unwritten(s->recorder))) {
		s->serviced_ns = now;
		recorder_service(s->recorder);
	}
	return moved;
}

/* Returns whether it makes no difference if what a process has done is read some milliseconds
 * later. */
static bool can_wait(const struct tracked_process *s)
{
	return !s->recorder ||
	       (recorder_is_slow(s->recorder) && !dump_plan_follows_counts(&s->dumps.plan));
}

static void drain_all(struct collector *c)
{
	uint64_t now = clock_pair_now().ns, most = 0;
	bool all_wait = true;
	if (now - c->serviced_ns > SERVICE_NS) {
		c->serviced_ns = now;
		wake_launcher(c);
		callers_expire(&c->callers, now);
		collector_look_at_ended(c);
	}
	for (uint32_t i = 0; i < c->process_count; i++) {
		struct tracked_process *s = c->processes[i];
		collector_look_for_leaving(c, s);
		uint64_t moved = drain_one(c, s, now);
		most = moved > most ? moved : most;
		all_wait &= can_wait(s);
	}
	c->sleep_ns = pace_sleep_ns(c->sleep_ns, most, all_wait);
}

static bool collector_init(struct collector *c, struct collector_start *start)
{
	struct rlimit files = {256, 256};
	getrlimit(RLIMIT_NOFILE, &files);
	uint64_t callers = min(files.rlim_cur / 8, (uint64_t)CALLERS_MAX + CALLER_QUEUE_MAX);
	uint64_t silent = min(callers / 2, (uint64_t)CALLERS_MAX);
	uint64_t own = DESCRIPTORS_OWN + callers;
	uint64_t most = files.rlim_cur > own ? (files.rlim_cur - own) / 2 : 1;
	c->start = start;
	c->summary.named_most =
		start->errors < 0 ? COLLECTOR_NAMED_MAX : COLLECTOR_NAMED_WITH_ERRORS_MAX;
	dump_files_init(&c->shared_dumps);
	c->sleep_ns = PACE_MIN_NS;
	c->process_max = most < SUBJECTS_MAX ? (uint32_t)most : SUBJECTS_MAX;
	c->processes = calloc(c->process_max, sizeof(struct tracked_process *));
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!callers_init(&c->callers, (uint32_t)silent) ||
		!caller_queue_init(&c->queue, callers - silent) || !closings_init(&c->closings) ||
		!c->processes || c->epoll < 0)
		return false;
	if (write_queue_is_useful())
		c->write_queue = write_queue_create(WRITE_QUEUE_CHUNK_BYTES);
	shared_memory_survive();
	session_take_over(&start->session);
	collector_watch(c, c->callers.epoll, &c->callers);
	collector_watch(c, start->session.socket, &start->session);
	if (start->session.abstract >= 0)
		collector_watch(c, start->session.abstract, &start->session);
	collector_watch(c, c->closings.wake, &c->closings);
	if (start->control >= 0)
		collector_watch(c, start->control, &start->control);
	else
		c->launcher_gone = true;
	if (!collector_add(c, start->root)) /* it has ended already */
		c->root_gone_ns = clock_pair_now().ns;
	return true;
}

static void collector_deinit(struct collector *c)
{
	callers_deinit(&c->callers);
	caller_queue_deinit(&c->queue);
	closings_deinit(&c->closings);
	while (c->process_count)
		collector_drop(c, c->processes[0]);
	write_queue_destroy(c->write_queue);
	free(c->processes);
	session_summary_deinit(&c->summary);
	lineage_deinit(&c->lineage);
	small_deinit(&c->small);
	dump_files_deinit(&c->shared_dumps);
	if (c->start->file >= 0)
		close(c->start->file);
	if (!c->recorded)
		unlink(c->start->file_now);
	if (c->epoll >= 0)
		close(c->epoll);
	if (c->start->control >= 0)
		close(c->start->control);
}

int collector_run(struct collector_start *start)
{
	_cleanup_free_ struct collector *c = calloc(1, sizeof(*c));
	if (!c)
		return EXIT_FAILURE;
	bool ok = collector_init(c, start);
	if (ok && start->first) {
		collector_on_hello(c, start->first);
		collector_describe_first(c);
	}
	while (ok && !c->has_reported) {
		wait_for_events(c);
		drain_all(c);
		if (c->root_gone_ns)
			collector_root_finish(c);
	}
	/* If nothing was left, nobody can connect any more, and the launcher waits for our end. */
	while (ok && c->summary.end.stays && collector_has_work(c)) {
		wait_for_events(c);
		drain_all(c);
	}
	session_remove(&start->session);
	collector_deinit(c);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
