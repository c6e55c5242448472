/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One loop: wait for the session's socket, the launcher and the processes' pidfds with a timeout
 * that follows the load, then drain all rings. Producers never wake the collector (that would cost
 * them a system call and a descriptor); it comes by often enough for the rings' sizes. To a process
 * that does nothing it comes seldom, and meanwhile only glances at its doorbell.
 *
 * Life: the launcher is told as soon as root's recording is complete. After that the collector
 * stays for the other processes of the session. Those that have said hello are known; when the last
 * of them has ended the environments of all processes are searched for others, so that a child that
 * has only been forked yet is not left alone.
 */
#include "capture/collector.h"

#include "base/cleanup.h"
#include "capture/closing.h"
#include "capture/lineage.h"
#include "capture/roll.h"
#include "capture/subject.h"
#include "capture/survivors.h"
#include "process/living.h"

#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SLEEP_MIN_NS 300000
#define SLEEP_MAX_NS 5000000
/* A process that does nothing is left alone for so long, unless it calls (hw_shm.doorbell). */
#define PAUSE_MAX_NS 160000000
#define IDLE_NS 500000000 /* while nobody is recorded */
/* A pass that brought more than this many words is followed by the next at once. */
#define BUSY_WORDS (1u << 16)
#define TEND_NS 50000000
/* The launcher tells how its program ended; if it does not within this time it has died too. */
#define ENDED_NS 2000000000u
/* Processes at a time: each takes two descriptors and some hundred KiB. */
#define SUBJECTS_MAX 1024u
#define DESCRIPTORS_OWN 32u
#define EVENTS_MAX 64
/* As many callers can wait. */
#define ENDS_PUT_OFF_MAX (SOMAXCONN / EVENTS_MAX)
/* Processes between one that is not recorded and the one above it that is. */
#define ANCESTORS_MAX 32

struct collector {
	struct collector_start *start;
	int epoll;
	struct subject **subjects;
	uint32_t subject_count, subject_max;
	uint64_t tsc_hz;
	uint64_t images; /* recorded so far */
	uint64_t tended_ns, sleep_ns;
	uint32_t ends_put_off; /* times in a row */
	uint64_t root_gone_ns; /* when root was seen to have ended; 0: it lives */
	struct collector_ended ended;
	bool launcher_gone, launcher_stops, have_ended, told, first_said;
	bool recorded; /* the file of root's first image is in use */
	struct roll roll;
	struct closings closings;
	struct lineage lineage;
};

static uint64_t estimate_hz(struct clock_pair began)
{
	struct clock_pair now = clock_pair_now();
	while (now.ns - began.ns < 200000)
		now = clock_pair_now();
	return (uint64_t)((double)(now.tsc - began.tsc) * 1e9 / (double)(now.ns - began.ns));
}

static void watch(struct collector *c, int fd, void *tag)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = tag};
	epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event);
}

static struct subject *find(const struct collector *c, pid_t pid)
{
	for (uint32_t i = 0; i < c->subject_count; i++) {
		if (c->subjects[i]->pid == pid)
			return c->subjects[i];
	}
	return NULL;
}

/* NULL: too many, no memory, or it has gone. */
static struct subject *add(struct collector *c, pid_t pid)
{
	struct subject *s = c->subject_count < c->subject_max ? subject_create(pid) : NULL;
	if (!s)
		return NULL;
	s->is_root = pid == c->start->root;
	s->has_launcher = c->start->control >= 0;
	c->subjects[c->subject_count++] = s;
	watch(c, s->pidfd, s);
	return s;
}

static void drop(struct collector *c, struct subject *s)
{
	for (uint32_t i = 0; i < c->subject_count; i++) {
		if (c->subjects[i] == s)
			c->subjects[i] = c->subjects[--c->subject_count];
	}
	subject_destroy(s);
}

static void conclude(struct collector *c, struct subject *s, const struct recorder_end *end)
{
	struct recorder_totals totals;
	recorder_finish(s->recorder, end, &totals);
	roll_add(&c->roll, s, &totals);
}

static void closed(struct collector *c, struct closing *one)
{
	roll_add(&c->roll, &one->about, &one->totals);
	closing_destroy(one);
}

/* Completes the recording of the present image, if there is one; a large one meanwhile. */
static void finish(struct collector *c, struct subject *s, enum hpw_exit_kind kind, uint32_t value)
{
	leak_job_cancel(steal_ptr(s->leaks));
	judge_cancel(steal_ptr(s->judge));
	if (!s->recorder)
		return;
	struct recorder_end end = {.kind = kind, .value = value};
	if (!closings_wants(&c->closings, s) || !closings_start(&c->closings, s, &end)) {
		conclude(c, s, &end);
		recorder_destroy(steal_ptr(s->recorder));
	}
	s->completed++;
}

static void on_survivor(void *context, pid_t pid)
{
	struct collector *c = context;
	if (pid != getpid() && !find(c, pid))
		add(c, pid);
}

/*
 * A process is about to take the collector along, and waits until its recording is complete. If it
 * is the first of the namespace, the kernel kills the others too.
 */
static void on_leaving(struct collector *c, struct subject *s, struct recorder_end end)
{
	bool first = s->recorder->target_pid == 1;
	conclude(c, s, &end);
	for (uint32_t i = 0; first && i < c->subject_count; i++) {
		struct subject *other = c->subjects[i];
		if (other == s || !other->recorder)
			continue;
		conclude(c, other, &(struct recorder_end){HPW_EXIT_SIGNAL, SIGKILL});
		recorder_release(other->recorder);
		recorder_destroy(steal_ptr(other->recorder));
		other->completed++;
	}
	for (struct closing *one; first && (one = closings_next(&c->closings, true));)
		closed(c, one);
	if (!first)
		survivors_each(c->start->session.path, on_survivor, c);
	if (first || c->subject_count == 1) /* there may be no time for it later */
		session_remove(&c->start->session);
	recorder_release(s->recorder);
	recorder_destroy(steal_ptr(s->recorder));
	s->completed++;
}

/* Whether the process that says that it ends, or asks for it, is to be searched for leaks first. */
static bool is_to_be_searched(
	const struct collector *c, const struct subject *s, enum hpw_leak_moment *ret)
{
	const struct leak_check *check = &c->start->leak_check;
	switch (recorder_leaving_what(s->recorder)) {
	case HW_LEAVES_NOT:
		*ret = HPW_LEAK_BY_PROGRAM;
		return c->start->judge;
	case HW_LEAVES_MAIN:
		*ret = HPW_LEAK_AT_MAIN_END;
		return check->at_main_end && !recorder_is_unsearched(s->recorder);
	case HW_LEAVES:
		break;
	}
	*ret = HPW_LEAK_AT_EXIT;
	return (check->at_exit || (check->at_main_end && !s->searched)) &&
	       !recorder_is_unsearched(s->recorder);
}

/* Its question is answered: it goes on, or takes us along. */
static void let_go(struct collector *c, struct subject *s)
{
	struct recorder_end end;
	if (s->takes_along && recorder_leaving_what(s->recorder) == HW_LEAVES &&
		recorder_is_leaving(s->recorder, &end))
		on_leaving(c, s, end);
	else
		recorder_go_on(s->recorder);
}

/* A process says that it ends, or asks for a search. */
static void look_for_leaving(struct collector *c, struct subject *s)
{
	struct recorder_end end;
	enum hpw_leak_moment moment;
	if (s->judge)
		recorder_beat(s->recorder);
	if (!s->recorder || s->leaks || s->judge || !recorder_is_leaving(s->recorder, &end))
		return;
	if (is_to_be_searched(c, s, &moment)) {
		recorder_hold_on(s->recorder);
		s->leaks = leak_job_start(s->recorder, &c->start->leak_check, moment);
		if (s->leaks)
			watch(c, s->leaks->pidfd, s->leaks);
		s->searched |= moment != HPW_LEAK_BY_PROGRAM;
	}
	if (!s->leaks)
		let_go(c, s);
}

/* The program waits for what its search has come to. */
static void judge(struct collector *c, struct subject *s)
{
	recorder_tell_found(s->recorder, HW_FOUND_UNKNOWN, 0);
	s->judge = judge_start(c->start->judge, c->start->judge_context, s->file, s->pidfd, s->pid);
	if (s->judge)
		watch(c, s->judge->pidfd, s->judge);
	else
		recorder_go_on(s->recorder);
}

/* The search is over. Whether the tag was of one. */
static bool on_searched(struct collector *c, const void *tag)
{
	for (uint32_t i = 0; i < c->subject_count; i++) {
		struct subject *s = c->subjects[i];
		if (s->judge && s->judge == tag) {
			struct judge_verdict verdict = judge_finish(steal_ptr(s->judge));
			recorder_tell_found(s->recorder, verdict.found, verdict.status);
			recorder_go_on(s->recorder);
			return true;
		}
		if (!s->leaks || s->leaks != tag)
			continue;
		enum hpw_leak_moment moment = s->leaks->moment;
		leak_job_finish(steal_ptr(s->leaks), s->recorder, s->file);
		if (moment == HPW_LEAK_BY_PROGRAM)
			judge(c, s);
		else if (moment != HPW_LEAK_ON_DEMAND)
			let_go(c, s);
		return true;
	}
	return false;
}

static void on_closed(struct collector *c)
{
	for (struct closing *one; (one = closings_next(&c->closings, false));)
		closed(c, one);
}

static struct collector_ended ending(const struct subject *s)
{
	uint32_t value;
	enum hpw_exit_kind kind = subject_ending(s, &value);
	return (struct collector_ended){kind, value};
}

static void on_end(struct collector *c, struct subject *s)
{
	const struct collector_ended ended = ending(s);
	if (s->is_root) { /* how, is the launcher's to say: see root_finish() */
		if (!c->root_gone_ns)
			c->root_gone_ns = clock_pair_now().ns;
		if (c->start->control < 0) { /* nobody else will */
			c->ended = ended;
			c->have_ended = true;
		}
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, s->pidfd, NULL);
		return;
	}
	finish(c, s, ended.kind, ended.value);
	drop(c, s);
}

/* Root's first image has said hello: its file gets its name. */
static int root_file(struct collector *c, struct subject *s)
{
	const char *now = c->start->file_now;
	c->recorded = true;
	snprintf(s->file, sizeof(s->file), "%s", c->start->file_name);
	if (strcmp(now, s->file) && rename(now, s->file)) {
		roll_complain(&c->roll, error_errno(ERROR_ENVIRONMENT, errno,
						"the old recording could not be replaced"));
		snprintf(s->file, sizeof(s->file), "%s", now);
	}
	int file = c->start->file;
	c->start->file = -1;
	return file;
}

static void say_first(struct collector *c)
{
	if (!c->first_said)
		c->start->on_first(c->roll.end.message);
	c->first_said = true;
}

/* The recording that a program's start belongs to: of the process itself, of the nearest one above
 * it, or else root's. NULL: there is none any more. */
static struct recorder *recorder_near(const struct collector *c, pid_t pid, pid_t told_parent)
{
	const struct subject *s;
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		s = find(c, pid);
		if (s && s->recorder)
			return s->recorder;
		pid_t parent = process_parent(pid);
		pid = parent || i ? parent : told_parent; /* it may have ended */
	}
	s = find(c, c->start->root);
	return s ? s->recorder : NULL;
}

/* `process` is where it came from, as this side sees it; again: it is counted already, as what the
 * process was before. */
static void note_unrecorded(struct collector *c, const struct unrecorded *one, pid_t process,
	pid_t told_parent, bool again)
{
	struct recorder *near = recorder_near(c, process, told_parent);
	struct unrecorded before;
	if (again && near && unrecorded_replace(&near->unrecorded, one, &before)) {
		roll_take_back(&c->roll, &before);
		roll_unrecorded(&c->roll, one);
	} else if (!again) {
		roll_unrecorded(&c->roll, one);
		if (near)
			unrecorded_add(&near->unrecorded, one);
	}
}

static void turn_away(struct collector *c, struct session_caller *caller, enum hw_unrecorded why)
{
	if (caller == c->start->first) /* it may end, and take us along, as soon as it may go on */
		say_first(c);
	struct unrecorded one = {
		.stamp = caller->hello.tsc, .pid = caller->hello.pid, .reason = why};
	subject_program(caller->pid, one.path, sizeof(one.path));
	session_answer(caller, -1);
	bool again = !roll_turn_away(&c->roll, caller->pid);
	note_unrecorded(c, &one, caller->pid, caller->ppid, again);
}

static bool is_wanted_by_name(const struct collector *c, const char *command)
{
	const char *children = c->start->children;
	return !strcmp(children, COLLECTOR_CHILDREN_ALL) ||
	       (strcmp(children, COLLECTOR_CHILDREN_NO) && !fnmatch(children, command, 0));
}

/* Whether the image that `pid` is now is to be recorded. */
static bool is_wanted(const struct collector *c, pid_t pid)
{
	char command[SUBJECT_COMMAND_MAX];
	subject_command(pid, command);
	return pid == c->start->root || is_wanted_by_name(c, command);
}

/* A program that will say nothing itself. */
static void on_notice(struct collector *c, const struct session_caller *caller)
{
	const struct hw_notice *n = &caller->notice;
	bool itself = n->pid == n->by;
	if (n->reason == HW_UNRECORDED_NOT) {
		struct recorder *near = recorder_near(c, caller->pid, caller->ppid);
		struct unrecorded untrue;
		if (near && unrecorded_take_back(&near->unrecorded, n->pid, &untrue))
			roll_take_back(&c->roll, &untrue);
		return;
	}
	if (n->reason >= HW_UNRECORDED_REASONS)
		return;
	struct unrecorded one = {.stamp = n->tsc, .pid = n->pid, .reason = n->reason};
	memcpy(one.path, n->path, sizeof(one.path));
	if (!(itself && caller->pid == c->start->root) &&
		!is_wanted_by_name(c, subject_base_name(one.path)))
		one.reason = HW_UNRECORDED_UNWANTED;
	note_unrecorded(c, &one, caller->pid, caller->ppid,
		itself && roll_has_turned_away(&c->roll, caller->pid));
}

/* As the user wants it, with a seed of its own for each image. */
static struct mode next_mode(struct collector *c)
{
	struct mode mode = c->start->mode;
	if (mode.sample_bytes && !mode.seed &&
		getrandom(&mode.seed, sizeof(mode.seed), 0) != (ssize_t)sizeof(mode.seed))
		mode.seed = clock_pair_now().tsc;
	mode.seed += c->images++ << 32;
	return mode;
}

static void record(struct collector *c, struct subject *s, struct session_caller *caller)
{
	if (!c->tsc_hz)
		c->tsc_hz = estimate_hz(c->start->began);
	int file = s->is_root && !c->recorded ? root_file(c, s)
					      : subject_file_create(s, c->start->file_name);
	const struct subject_wishes wishes = {next_mode(c), c->start->leak_check, c->tsc_hz};
	const struct hw_hello *hello = &caller->hello;
	const char *parent = hello->forked_at ? lineage_find(&c->lineage, hello->forked_from,
							caller->ppid, hello->forked_at)
					      : NULL;
	struct error *error =
		file < 0 ? error_errno(ERROR_ENVIRONMENT, errno, "can't create %s", s->file)
			 : subject_record(s, caller, &wishes, parent, file);
	if (error)
		roll_complain(&c->roll, error);
	if (s->recorder)
		lineage_add(&c->lineage, hello->pid, caller->pid, s->recorder->began.tsc,
			subject_base_name(s->file));
	else
		turn_away(c, caller, HW_UNRECORDED_FAILED);
}

static void on_hello(struct collector *c, struct session_caller *caller)
{
	struct subject *s = find(c, caller->pid);
	if (s && !s->is_root && subject_has_ended(s)) {
		on_end(c, s); /* and this is another with its number */
		s = NULL;
	}
	if (s)
		finish(c, s, HPW_EXIT_EXEC, 0);
	if (!is_wanted(c, caller->pid)) {
		if (s && s->images)
			session_answer(caller, -1); /* it has recordings, of what it was before */
		else
			turn_away(c, caller, HW_UNRECORDED_UNWANTED);
		return;
	}
	if (!s)
		s = add(c, caller->pid);
	if (s) {
		record(c, s, caller);
		return;
	}
	if (c->subject_count == c->subject_max)
		roll_complain(&c->roll, error_create(ERROR_ENVIRONMENT,
						"more than %u processes at a time: some were not "
						"recorded",
						c->subject_max));
	turn_away(c, caller, HW_UNRECORDED_MANY);
}

static void on_control(struct collector *c)
{
	struct collector_ended told;
	ssize_t n = recv(c->start->control, &told, sizeof(told), MSG_DONTWAIT);
	if (n == (ssize_t)sizeof(told) && told.kind >= COLLECTOR_ROOT_STOPS) {
		c->launcher_stops = told.kind == COLLECTOR_ROOT_STOPS;
	} else if (n == (ssize_t)sizeof(told)) {
		c->ended = told;
		c->have_ended = true;
	} else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		c->launcher_gone = true;
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->start->control, NULL);
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

static uint32_t living(const struct collector *c)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < c->subject_count; i++)
		count += c->subjects[i]->recorder != NULL;
	return count;
}

/* A command wants a running process searched. */
static void on_request(struct collector *c, const struct session_caller *caller)
{
	struct subject *s = NULL;
	for (uint32_t i = 0; i < c->subject_count; i++) {
		struct subject *one = c->subjects[i];
		if (one->recorder &&
			(one->pid == caller->request.pid ||
				(!s && one->recorder->target_pid == caller->request.pid)))
			s = one;
	}
	const char *problem = !s         ? "that process is not recorded by this collector"
			      : s->leaks ? "another search goes on in that process"
					 : NULL;
	if (!problem) {
		s->leaks = leak_job_start(s->recorder, &caller->request.check, HPW_LEAK_ON_DEMAND);
		problem = s->leaks ? NULL : "no memory, or no process to search with";
	}
	if (problem) {
		leak_job_reply(caller->connection, "", problem);
		return;
	}
	s->leaks->asker = caller->connection;
	watch(c, s->leaks->pidfd, s->leaks);
}

/* False: there may be more callers. */
static bool answer_callers(struct collector *c)
{
	struct session_caller caller;
	for (int i = 0; i < EVENTS_MAX; i++) {
		switch (session_accept(&c->start->session, &caller)) {
		case SESSION_HELLO:
			on_hello(c, &caller);
			break;
		case SESSION_NOTICE:
			on_notice(c, &caller);
			break;
		case SESSION_REQUEST:
			on_request(c, &caller);
			break;
		case SESSION_NOBODY:
			return true;
		case SESSION_STRANGER:
			break;
		}
	}
	return false;
}

/*
 * Sleeps until something happens or the rings are due. Hellos first: the callers wait. And what a
 * process told before it ended is heard before its recording is completed.
 */
static void nap(struct collector *c)
{
	struct pollfd any = {.fd = c->epoll, .events = POLLIN};
	struct timespec timeout = {0, (long)c->sleep_ns};
	if (!living(c))
		timeout = (struct timespec){0, IDLE_NS};
	if (ppoll(&any, 1, &timeout, NULL) <= 0)
		return;
	bool all = answer_callers(c);
	c->ends_put_off = all || c->ends_put_off == ENDS_PUT_OFF_MAX ? 0 : c->ends_put_off + 1;
	struct epoll_event events[EVENTS_MAX];
	int count = epoll_wait(c->epoll, events, EVENTS_MAX, 0);
	for (int i = 0; i < count; i++) {
		void *tag = events[i].data.ptr;
		if (tag == &c->start->control)
			on_control(c);
		else if (tag == &c->closings)
			on_closed(c);
		else if (tag != &c->start->session && !on_searched(c, tag) && !c->ends_put_off)
			on_end(c, tag);
	}
}

/* Takes what is in a subject's rings, if it is their turn; the less there is, the later is the
 * next.
 */
static uint64_t drain_one(struct subject *s, uint64_t now)
{
	if (!s->recorder || (now < s->due_ns && !recorder_is_called(s->recorder)))
		return 0;
	uint64_t moved = recorder_drain(s->recorder);
	if (moved)
		s->pause_ns = 0;
	else if (s->pause_ns < PAUSE_MAX_NS)
		s->pause_ns = s->pause_ns ? s->pause_ns * 2 : SLEEP_MIN_NS;
	s->due_ns = s->pause_ns > SLEEP_MAX_NS ? now + s->pause_ns : 0;
	if (now - s->tended_ns > TEND_NS) {
		s->tended_ns = now;
		recorder_tend(s->recorder);
	}
	return moved;
}

static void drain(struct collector *c)
{
	uint64_t now = clock_pair_now().ns, most = 0;
	if (now - c->tended_ns > TEND_NS) {
		c->tended_ns = now;
		wake_launcher(c);
	}
	for (uint32_t i = 0; i < c->subject_count; i++) {
		struct subject *s = c->subjects[i];
		look_for_leaving(c, s);
		uint64_t moved = drain_one(s, now);
		most = moved > most ? moved : most;
	}
	if (most > BUSY_WORDS)
		c->sleep_ns = 0;
	else if (most)
		c->sleep_ns = SLEEP_MIN_NS;
	else if (c->sleep_ns < SLEEP_MAX_NS)
		c->sleep_ns = c->sleep_ns ? c->sleep_ns * 2 : SLEEP_MIN_NS;
}

/* False: nothing is left to be recorded. */
static bool has_work(struct collector *c)
{
	if (c->closings.count)
		return true;
	if (!c->subject_count && strcmp(c->start->children, COLLECTOR_CHILDREN_NO))
		survivors_each(c->start->session.path, on_survivor, c);
	return c->subject_count;
}

/* Root has ended and somebody has said how, or nobody will: the launcher's part is over. */
static void root_finish(struct collector *c)
{
	if (!c->have_ended && !c->launcher_gone && clock_pair_now().ns - c->root_gone_ns < ENDED_NS)
		return;
	struct subject *root = find(c, c->start->root);
	if (root) {
		finish(c, root, c->have_ended ? c->ended.kind : HPW_EXIT_UNKNOWN, c->ended.value);
		drop(c, root);
	}
	if (c->closings.count) /* of these something is to be told too */
		return;
	c->roll.end.stays = has_work(c);
	c->roll.end.living = living(c);
	if (!c->roll.end.stays)
		session_remove(&c->start->session);
	if (c->start->control >= 0)
		roll_tell(&c->roll, c->start->control);
	c->told = true;
}

static bool collector_init(struct collector *c, struct collector_start *start)
{
	struct rlimit files = {256, 256};
	getrlimit(RLIMIT_NOFILE, &files);
	uint64_t most =
		files.rlim_cur > DESCRIPTORS_OWN ? (files.rlim_cur - DESCRIPTORS_OWN) / 2 : 1;
	c->start = start;
	c->sleep_ns = SLEEP_MIN_NS;
	c->subject_max = most < SUBJECTS_MAX ? (uint32_t)most : SUBJECTS_MAX;
	c->subjects = calloc(c->subject_max, sizeof(struct subject *));
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!closings_init(&c->closings) || !c->subjects || c->epoll < 0)
		return false;
	watch(c, start->session.socket, &start->session);
	watch(c, c->closings.wake, &c->closings);
	if (start->control >= 0)
		watch(c, start->control, &start->control);
	else
		c->launcher_gone = true;
	if (!add(c, start->root)) /* it has ended already */
		c->root_gone_ns = clock_pair_now().ns;
	return true;
}

static void collector_deinit(struct collector *c)
{
	closings_deinit(&c->closings);
	while (c->subject_count)
		drop(c, c->subjects[0]);
	free(c->subjects);
	roll_deinit(&c->roll);
	lineage_deinit(&c->lineage);
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
		on_hello(c, start->first);
		say_first(c);
	}
	while (ok && !c->told) {
		nap(c);
		drain(c);
		if (c->root_gone_ns)
			root_finish(c);
	}
	while (ok && has_work(c)) {
		nap(c);
		drain(c);
	}
	session_remove(&start->session);
	collector_deinit(c);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
