/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles hellos of processes, and notices of processes that will not send one. */
#include "capture/collector/collector_impl.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "process/proc_info.h"
#include "process/program.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

/* Processes between one that is not recorded and the one above it that is. */
#define ANCESTORS_MAX 32
/* So long two clocks are compared before the rate of one is known. */
#define CLOCKS_MAX_NS 200000u

static uint64_t estimate_hz(struct clock_pair began)
{
	struct clock_pair now = clock_pair_now();
	while (now.ns - began.ns < CLOCKS_MAX_NS)
		now = clock_pair_now();
	return (uint64_t)((double)(now.tsc - began.tsc) * 1e9 / (double)(now.ns - began.ns));
}

/* Root's first image has said hello: its file gets its name. */
static int root_file(struct collector *c, struct tracked_process *s)
{
	const char *now = c->start->file_now;
	c->recorded = true;
	snprintf(s->file, sizeof(s->file), "%s", c->start->file_name);
	if (strcmp(now, s->file) && rename(now, s->file)) {
		session_summary_complain(
			&c->summary, error_errno(ERROR_ENVIRONMENT, errno,
					     "the old recording could not be replaced"));
		snprintf(s->file, sizeof(s->file), "%s", now);
	}
	int file = c->start->file;
	c->start->file = -1;
	return file;
}

void collector_describe_first(struct collector *c)
{
	if (!c->is_first_named && c->start->on_first)
		c->start->on_first(c->summary.end.message);
	else if (!c->is_first_named && c->start->first_message)
		memcpy(c->start->first_message, c->summary.end.message,
			sizeof(c->summary.end.message));
	c->is_first_named = true;
}

void collector_name_root(const struct collector *c, const struct tracked_process *s)
{
	struct root_file *shared = c->start->root_file;
	if (!s->is_root || !shared)
		return;
	uint32_t next = shared->current == 1;
	memcpy(shared->names[next], s->file, sizeof(shared->names[next]));
	__atomic_store_n(&shared->current, next + 1, __ATOMIC_RELEASE);
}

/* The recording that a program's start belongs to: of the process itself, of the nearest one above
 * it, or else root's. NULL: there is none any more. */
static struct recorder *recorder_near(const struct collector *c, pid_t pid, pid_t reported_parent)
{
	const struct tracked_process *s;
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		s = collector_find(c, pid);
		if (s && s->recorder)
			return s->recorder;
		pid_t parent = process_parent(pid);
		pid = parent || i ? parent : reported_parent; /* it may have ended */
	}
	s = collector_find(c, c->start->root);
	return s ? s->recorder : NULL;
}

bool collector_knows(void *collector, pid_t pid)
{
	const struct collector *c = collector;
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		if (collector_find(c, pid))
			return true;
		pid = process_parent(pid);
	}
	return false;
}

/* `process` is where it came from, as this side sees it; again: it is counted already, as what the
 * process was before. */
static void note_unrecorded(struct collector *c, struct unrecorded *one, pid_t process,
	pid_t reported_parent, bool again)
{
	one->noted_ns = clock_pair_now().ns;
	struct recorder *near = recorder_near(c, process, reported_parent);
	struct unrecorded before;
	if (again && near && unrecorded_replace(&near->unrecorded, one, &before)) {
		session_summary_uncount_unrecorded(&c->summary, &before);
		session_summary_count_unrecorded(&c->summary, one);
	} else if (!again) {
		session_summary_count_unrecorded(&c->summary, one);
		if (near)
			unrecorded_add(&near->unrecorded, one);
	}
}

static void turn_away(struct collector *c, struct session_caller *caller, enum hw_unrecorded why)
{
	if (caller == c->start->first) /* it may end, and take us along, as soon as it may go on */
		collector_describe_first(c);
	struct unrecorded one = {
		.stamp = caller->hello.tsc, .pid = caller->hello.pid, .reason = why};
	tracked_process_program(caller->pid, one.path, sizeof(one.path));
	session_answer(caller, -1);
	bool again = !session_summary_turn_away(&c->summary, caller->pid);
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
	char command[TRACKED_COMMAND_MAX];
	tracked_process_command(pid, command);
	return pid == c->start->root || is_wanted_by_name(c, command);
}

/* The image that a caller was forked by, if that is recorded and known; else NULL. */
static struct lineage_image *forked_by(
	const struct collector *c, const struct session_caller *caller)
{
	const struct hw_hello *hello = &caller->hello;
	return hello->forked_at ? lineage_find(&c->lineage, hello->forked_from, caller->ppid,
					  hello->forked_at)
				: NULL;
}

/* What a forked child is, too, as long as its parent is what it was: a path; "" if that is not
 * known. */
static void program_of_parent(
	const struct collector *c, const struct lineage_image *image, char *ret, size_t bytes)
{
	const struct tracked_process *parent = image ? collector_find(c, image->outer_pid) : NULL;
	*ret = 0;
	if (parent && parent->recorder && lineage_at(&c->lineage, parent->image_number) == image)
		snprintf(ret, bytes, "%s", parent->program);
}

/* A caller that has ended without an answer. Its number may be another process's by now. */
static void count_ended(struct collector *c, struct session_caller *caller)
{
	const struct hw_hello *hello = &caller->hello;
	struct unrecorded one = {
		.stamp = hello->tsc, .pid = hello->pid, .reason = HW_UNRECORDED_LATE};
	const struct lineage_image *parent = forked_by(c, caller);
	program_of_parent(c, parent, one.path, sizeof(one.path));
	const char *children = c->start->children;
	if (caller->pid != c->start->root &&
		(!strcmp(children, COLLECTOR_CHILDREN_NO) ||
			(*one.path && !is_wanted_by_name(c, path_last_part(one.path)))))
		one.reason = HW_UNRECORDED_UNWANTED;
	session_answer(caller, -1);
	session_summary_turn_away_ended(&c->summary, caller->pid);
	note_unrecorded(c, &one, parent ? parent->outer_pid : caller->ppid, 0, false);
}

/* A caller that has stopped waiting. `is_first`: it is root's first image. */
static void count_late(struct collector *c, struct session_caller *caller, bool is_first)
{
	if (is_first)
		session_summary_complain(&c->summary,
			error_create(ERROR_ENVIRONMENT,
				"the program did not wait for the collector's answer"));
	if (session_has_ended(caller))
		count_ended(c, caller);
	else
		turn_away(c, caller, HW_UNRECORDED_LATE);
}

/* A program that will say nothing itself. */
void collector_on_notice(struct collector *c, const struct session_caller *caller)
{
	const struct hw_notice *n = &caller->notice;
	bool itself = n->pid == n->by;
	if (n->reason == HW_UNRECORDED_NOT) {
		struct recorder *near = recorder_near(c, caller->pid, caller->ppid);
		struct unrecorded withdrawn;
		if (near && unrecorded_take_back(&near->unrecorded, n->pid, &withdrawn))
			session_summary_uncount_unrecorded(&c->summary, &withdrawn);
		return;
	}
	if (n->reason >= HW_UNRECORDED_REASONS)
		return;
	struct unrecorded one = {.stamp = n->tsc, .pid = n->pid, .reason = n->reason};
	memcpy(one.path, n->path, sizeof(one.path));
	if (!(itself && caller->pid == c->start->root) &&
		!is_wanted_by_name(c, path_last_part(one.path)))
		one.reason = HW_UNRECORDED_UNWANTED;
	note_unrecorded(c, &one, caller->pid, caller->ppid,
		itself && session_summary_has_turned_away(&c->summary, caller->pid));
}

struct mode collector_next_mode(struct collector *c, const struct changed_mode *changed)
{
	struct mode mode = c->start->mode;
	if (changed->is_set) {
		mode.kind = changed->kind;
		mode.sample_bytes = changed->sample_bytes;
	}
	if (mode.sample_bytes && !mode.seed &&
		getrandom(&mode.seed, sizeof(mode.seed), 0) != (ssize_t)sizeof(mode.seed))
		mode.seed = clock_pair_now().tsc;
	mode.seed += c->images++ << 32;
	return mode;
}

/* Returns whether the allocator of the process can not be recorded. One that was attached has its
 * functions changed, or it would have been refused. */
static bool has_own_malloc(struct collector *c, pid_t pid)
{
	char path[64];
	struct stat about;
	if (c->start->attached_ns)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (stat(path, &about))
		return false;
	if (about.st_dev != c->program.device || about.st_ino != c->program.inode) {
		c->program.device = about.st_dev;
		c->program.inode = about.st_ino;
		c->program.own_malloc = program_has_own_malloc(path);
	}
	return c->program.own_malloc;
}

/* The process that a caller was forked by, if that is still recorded; else NULL. */
static const struct tracked_process *forked_from(
	const struct collector *c, const struct session_caller *caller)
{
	const struct tracked_process *parent =
		caller->hello.reason == HW_HELLO_FORK ? collector_find(c, caller->ppid) : NULL;
	return parent && parent->recorder ? parent : NULL;
}

/* Of what it has said before the fork. */
static void inherit_pools(struct tracked_process *s, const struct tracked_process *from)
{
	recorder_drain(from->recorder);
	recorder_inherit_pools(s->recorder, from->recorder);
}

static void record_image(
	struct collector *c, struct tracked_process *s, struct session_caller *caller)
{
	if (!c->tsc_hz)
		c->tsc_hz = estimate_hz(c->start->began);
	bool is_first = s->is_root && !c->recorded;
	int file = is_first ? root_file(c, s) : tracked_process_file_create(s, c->start->file_name);
	collector_watch_for_death(c, s);
	const struct tracked_process *from = forked_from(c, caller);
	const struct dump_plan *plan = from ? &from->dumps.plan : &c->start->dumps;
	if (from)
		s->mode = from->mode;
	const struct recording_settings settings = {collector_next_mode(c, &s->mode),
		c->start->leak_check, plan->signal, plan->at_exit, c->tsc_hz, c->write_queue,
		c->start->attached_ns, c->start->older};
	const struct hw_hello *hello = &caller->hello;
	struct lineage_image *parent = forked_by(c, caller);
	if (parent) { /* it may have ended, and the child be another's by now */
		caller->ppid = parent->outer_pid;
		caller->hello.ppid = parent->pid;
		parent->announced++;
		parent->named++;
	}
	s->parent_number = parent ? lineage_number(&c->lineage, parent) : 0;
	struct error *error =
		file < 0 ? error_errno(ERROR_ENVIRONMENT, errno, "can't create %s", s->file)
			 : tracked_process_record(
				   s, caller, &settings, parent ? parent->file : NULL, file);
	bool failed = error;
	if (error)
		session_summary_complain(&c->summary, error);
	if (s->recorder) {
		collector_name_root(c, s);
		collector_begin_dumps(c, s, from);
		if (from)
			inherit_pools(s, from);
		if (from && !strcmp(from->command, s->command))
			memcpy(s->started_as, from->started_as, sizeof(s->started_as));
		if (from && from->recorder->stopped)
			recorder_stop(s->recorder);
		s->recorder->own_malloc = has_own_malloc(c, caller->pid);
		s->image_number = lineage_add(&c->lineage, hello->pid, caller->pid,
			s->recorder->began.tsc, path_last_part(s->file));
	} else if (failed) {
		turn_away(c, caller, HW_UNRECORDED_FAILED);
	} else {
		count_late(c, caller, is_first);
	}
}

void collector_on_hello(struct collector *c, struct session_caller *caller)
{
	/* While it lives its number is its own, whether it waits or not. */
	bool is_late = caller != c->start->first && !session_is_awaited(caller);
	bool is_first = caller->pid == c->start->root && !c->recorded;
	if (is_late && session_has_ended(caller)) {
		count_late(c, caller, is_first);
		return;
	}
	struct tracked_process *s = collector_find(c, caller->pid);
	if (s && !s->is_root && tracked_process_has_ended(s)) {
		collector_end_now(c, s); /* and this is another with its number */
		s = collector_find(c, caller->pid);
	}
	if (s && tracked_process_is_same_image(s)) {
		session_answer(caller, -1); /* its recording goes on */
		return;
	}
	if (s)
		collector_finish(c, s, HPW_EXIT_EXEC, 0);
	if (!is_wanted(c, caller->pid)) {
		if (s && s->images)
			session_answer(caller, -1); /* it has recordings, of what it was before */
		else
			turn_away(c, caller, HW_UNRECORDED_UNWANTED);
		return;
	}
	if (is_late) {
		count_late(c, caller, is_first);
		return;
	}
	if (!s)
		s = collector_add(c, caller->pid);
	if (!s && c->process_count == c->process_max && collector_make_room(c))
		s = collector_add(c, caller->pid);
	if (s) {
		record_image(c, s, caller);
		return;
	}
	if (c->process_count == c->process_max)
		session_summary_complain(
			&c->summary, error_create(ERROR_ENVIRONMENT,
					     "more than %u processes at a time: some were not "
					     "recorded",
					     c->process_max));
	turn_away(c, caller, HW_UNRECORDED_MANY);
}
