/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dumps of recorded processes: when they are due, and when somebody asks for one. */
#include "capture/collector/collector_impl.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "base/util.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The pause between two looks at what a process has allocated. */
#define LOOK_NS 1000000u
#define LOOK_MS (LOOK_NS / 1000000)
#define NO_MEMORY "there is no memory"
#define TOO_MANY "too many dumps of that process are being written"
#define TOO_LONG "writing it took too long"

static void plan_set(struct process_dumps *d, const struct dump_plan *plan, char *own_files)
{
	free(d->own_files);
	d->plan = *plan;
	d->own_files = own_files;
}

/* A forked child goes on with what its parent has set. */
static void inherit_plan(struct process_dumps *d, const struct process_dumps *parent)
{
	char *files = parent->own_files ? strdup(parent->own_files) : NULL;
	plan_set(d, &parent->plan, files);
	if (parent->own_files)
		d->plan.files = files;
	d->owner = parent->owner;
	d->inherited = true;
}

/* Looks where the program is now. Of one that has ended that can't be seen any more, and its number
 * may be another process's. Another user's may be where that one can't write, but we can. */
static void note_folder(struct tracked_process *s)
{
	char path[64], folder[PATH_MAX];
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)s->pid);
	ssize_t n = readlink(path, folder, sizeof(folder) - 1);
	if (n <= 0 || tracked_process_has_ended(s))
		return;
	char *noted = strndup(folder, (size_t)n);
	char **to = tracked_process_is_of_other(s) ? &s->dumps.folder_of_other : &s->dumps.folder;
	if (!noted)
		return;
	free(*to);
	*to = noted;
}

void collector_begin_dumps(
	const struct collector *c, struct tracked_process *s, const struct tracked_process *parent)
{
	struct process_dumps *d = &s->dumps, before = *d;
	*d = (struct process_dumps){.folder = before.folder,
		.folder_of_other = before.folder_of_other,
		.end = {.kind = HPW_EXIT_RUNNING}};
	memcpy(d->jobs, before.jobs, sizeof(d->jobs));
	dump_trigger_init(&d->trigger, clock_pair_now().ns);
	if (parent)
		inherit_plan(d, &parent->dumps);
	else
		d->plan = c->start->dumps;
	/* Names that are made of the recording's begin anew with that, as those that a program
	 * sets. */
	if (d->plan.files && !d->own_files && !before.own_files) {
		d->files = before.files;
	} else {
		dump_files_deinit(&before.files);
		dump_files_init(&d->files);
	}
	free(before.own_files);
	note_folder(s);
	if (!d->folder && parent && parent->dumps.folder)
		d->folder = strdup(parent->dumps.folder);
}

static struct dump_job *free_job(struct tracked_process *s)
{
	for (unsigned i = 0; i < DUMP_JOBS_MAX; i++) {
		if (!s->dumps.jobs[i].writer)
			return &s->dumps.jobs[i];
	}
	return NULL;
}

bool collector_dumps_run(const struct tracked_process *s)
{
	for (unsigned i = 0; i < DUMP_JOBS_MAX; i++) {
		if (s->dumps.jobs[i].writer)
			return true;
	}
	return false;
}

static char *recording_folder(const struct tracked_process *s)
{
	return strndup(s->file, (size_t)(path_last_part(s->file) - s->file));
}

/* What relative names of dumps are relative to that `owner` writes. NULL: there is no memory. */
static const char *folder_of(struct tracked_process *s, const struct dump_owner *owner)
{
	note_folder(s);
	if (owner->is_other && s->dumps.folder_of_other)
		return s->dumps.folder_of_other;
	if (!s->dumps.folder)
		s->dumps.folder = recording_folder(s);
	return s->dumps.folder;
}

static bool has_shared_numbers(const struct process_dumps *d)
{
	return d->plan.files && !d->own_files && !dump_files_name_process(d->plan.files);
}

/* NULL: there is no memory. */
static char *next_name(struct collector *c, struct tracked_process *s, enum dump_reason reason)
{
	struct process_dumps *d = &s->dumps;
	const struct dump_naming naming = {.plan = &d->plan,
		.recording = s->file,
		.program = s->command,
		.folder = folder_of(s, &d->owner),
		.pid = s->recorder->target_pid,
		.inherited = d->inherited};
	if (!naming.folder)
		return NULL;
	if (!has_shared_numbers(d))
		return dump_files_next(&d->files, &naming, reason);
	return dump_files_next(&c->shared_dumps, &naming, reason);
}

static void add_amount(struct text *t, uint64_t bytes, const char *what)
{
	text_add_bytes(t, bytes);
	text_printf(t, " %s", what);
}

/* "1.2 GB were allocated in all": what recorder_dump() writes into the file. */
static char *describe_reason(
	const struct tracked_process *s, enum dump_reason reason, const struct recorder_end *end)
{
	const struct dump_figures now = recorder_figures(s->recorder);
	struct text t;
	text_init(&t);
	switch (reason) {
	case DUMP_ALLOCATED:
		add_amount(&t, now.allocated_bytes, "had been allocated");
		break;
	case DUMP_FREED:
		add_amount(&t, now.freed_bytes, "had been freed");
		break;
	case DUMP_GROWTH:
		add_amount(&t, now.live_bytes, "were live, more than at the dump before");
		break;
	case DUMP_PEAK:
		add_amount(&t, now.peak_bytes, "had been live, more than ever before");
		break;
	case DUMP_PAGES:
		add_amount(&t, now.peak_pages * HEAP_PAGE_BYTES,
			"in pages would have been needed by jemalloc, more than ever before");
		break;
	case DUMP_TIME:
		text_add(&t, "its time had come");
		break;
	case DUMP_RESIDENT:
		text_add(&t, "the process's resident memory had reached the threshold");
		break;
	case DUMP_PRESSURE:
		text_add(&t, "its cgroup was short of memory");
		break;
	case DUMP_SIGNAL:
		text_add(&t, "the process got the signal for it");
		break;
	case DUMP_EXIT:
		text_add(&t, end->kind == HPW_EXIT_EXEC ? "the process executed another program"
							: "the process ended");
		break;
	case DUMP_ASKED:
	case DUMP_REASONS:
		text_add(&t, "it was requested");
		break;
	}
	return text_steal(&t);
}

/* Starts a dump. `named_by` (NULL: the process's plan) has chosen the name. Returns NULL, or why it
 * can't be done; `asker` stays the caller's then. */
static const char *start_dump(struct collector *c, struct tracked_process *s,
	enum dump_reason reason, char *name, int asker, const struct dump_owner *named_by)
{
	struct dump_job *job = free_job(s);
	_cleanup_free_ char *why = describe_reason(s, reason, &s->dumps.end);
	const struct dump_order order = {.plan = &s->dumps.plan,
		.process = s->pidfd,
		.reason = reason,
		.why = why ? why : "",
		.end = s->dumps.end,
		.owner = named_by ? *named_by : s->dumps.owner,
		.name = name,
		.number = named_by ? 0 : ++c->dumps_begun,
		.asker = asker};
	const char *problem = job ? dump_job_start(job, s->recorder, &order) : TOO_MANY;
	if (problem)
		free(name);
	else
		collector_watch(c, job->pidfd, job);
	return problem;
}

static void dump_failed(struct collector *c, struct tracked_process *s, const char *problem)
{
	if (!s->dumps.failed++)
		session_summary_complain(&c->summary,
			error_create(ERROR_ENVIRONMENT, "a dump was not written: %s", problem));
}

static void start_due(struct collector *c, struct tracked_process *s, enum dump_reason reason)
{
	char *name = next_name(c, s, reason);
	const char *problem = name ? start_dump(c, s, reason, name, -1, NULL) : NO_MEMORY;
	if (problem)
		dump_failed(c, s, problem);
}

/*
 * Starts what is due: one at a time, what was asked for by a signal first and that of the end last,
 * or at_once as many as there are places for. What is due for the same reason again meanwhile is
 * one dump.
 */
static void start_all_due(struct collector *c, struct tracked_process *s, bool at_once)
{
	struct process_dumps *d = &s->dumps;
	for (unsigned k = DUMP_REASONS; k-- > 0 && d->due;) {
		unsigned i = k ? k - 1 : DUMP_EXIT;
		if (!(d->due >> i & 1))
			continue;
		if (at_once ? !free_job(s) : collector_dumps_run(s))
			return;
		d->due &= ~(1u << i);
		start_due(c, s, (enum dump_reason)i);
	}
}

/* What is due can't be written. */
static void drop_all_due(struct collector *c, struct tracked_process *s, const char *problem)
{
	for (; s->dumps.due; s->dumps.due &= s->dumps.due - 1)
		dump_failed(c, s, problem);
}

/* What the recorder does not count. */
static void look_around(struct tracked_process *s, struct dump_figures *now)
{
	struct process_dumps *d = &s->dumps;
	const struct dump_plan *plan = &d->plan;
	now->signals = recorder_dump_signals(s->recorder);
	bool watches = plan->resident_bytes || plan->resident_percent || plan->pressure;
	if (!watches || !memory_watch_is_due(&d->memory, now->now_ns))
		return;
	struct memory_state memory = memory_watch_look(&d->memory, plan, s->pid, now->now_ns);
	now->resident_bytes = memory.resident_bytes;
	now->used_percent = memory.used_percent;
	now->is_short = memory.is_short;
}

/* Heights are counted from when a plan wants them. */
static void follow_pages(struct collector *c, struct tracked_process *s)
{
	struct process_dumps *d = &s->dumps;
	if (d->plan.pages == s->recorder->heap_pages.is_on)
		return;
	if (!d->plan.pages) {
		recorder_end_pages(s->recorder);
	} else if (recorder_count_pages(s->recorder)) {
		d->trigger.last.peak_pages = recorder_figures(s->recorder).peak_pages;
	} else {
		d->plan.pages = false;
		dump_failed(c, s, NO_MEMORY);
	}
}

void collector_dump_if_due(struct collector *c, struct tracked_process *s, uint64_t now_ns)
{
	struct process_dumps *d = &s->dumps;
	const struct dump_plan *plan = &d->plan;
	if (!dump_plan_has_triggers(plan) || !s->recorder || now_ns - d->looked_ns < LOOK_NS)
		return;
	d->looked_ns = now_ns;
	follow_pages(c, s);
	struct dump_figures now = recorder_figures(s->recorder);
	now.now_ns = now_ns;
	look_around(s, &now);
	enum dump_reason reason;
	while (dump_trigger_is_due(&d->trigger, plan, &now, &reason))
		d->due |= 1u << reason;
	start_all_due(c, s, false);
}

void collector_restart_distances(struct tracked_process *s)
{
	struct dump_figures now = recorder_figures(s->recorder);
	now.now_ns = clock_pair_now().ns;
	look_around(s, &now);
	dump_trigger_restart(&s->dumps.trigger, &now);
}

void collector_renew_distances(struct tracked_process *s)
{
	const struct dump_trigger before = s->dumps.trigger;
	struct dump_trigger *now = &s->dumps.trigger;
	dump_trigger_init(now, before.last.now_ns);
	now->last.signals = before.last.signals;
	now->resident_passed = before.resident_passed;
	now->percent_passed = before.percent_passed;
	now->pressed_ns = before.pressed_ns;
}

void collector_dump_due(struct collector *c, struct tracked_process *s)
{
	if (!dump_plan_has_triggers(&s->dumps.plan))
		return;
	recorder_drain(s->recorder);
	s->dumps.looked_ns = 0;
	collector_dump_if_due(c, s, clock_pair_now().ns);
	/* By the plan as it is now, so that they can't wait for others. */
	start_all_due(c, s, true);
	drop_all_due(c, s, TOO_MANY);
}

static void count_dump(struct collector *c, const char *name)
{
	c->summary.end.dumps++;
	snprintf(c->summary.end.last_dump, sizeof(c->summary.end.last_dump), "%s", name);
}

static void finish_job(struct collector *c, struct tracked_process *s, struct dump_job *job)
{
	char problem[HW_REPLY_MESSAGE];
	bool named = job->name, was_asked = job->asker >= 0;
	const struct dump_owner owner = job->owner;
	uint64_t order = job->order;
	collector_unwatch(c, job->pidfd);
	char *name = dump_job_finish(job, problem);
	s->dumps.done += !*problem;
	if (name && !*problem)
		count_dump(c, name);
	if (name && order)
		dump_files_note(&s->dumps.files,
			(struct dump_file){.name = name, .order = order, .owner = owner},
			s->dumps.plan.keep);
	else if (name)
		free(name);
	else if (named && *problem && !was_asked)
		dump_failed(c, s, problem);
}

bool collector_on_dumped(struct collector *c, const void *tag)
{
	for (uint32_t i = 0; i < c->process_count; i++) {
		struct tracked_process *s = c->processes[i];
		for (unsigned k = 0; k < DUMP_JOBS_MAX; k++) {
			if (tag == &s->dumps.jobs[k] && s->dumps.jobs[k].writer) {
				finish_job(c, s, &s->dumps.jobs[k]);
				if (s->recorder)
					start_all_due(c, s, false);
				return true;
			}
		}
	}
	return false;
}

/* The file that a request names; NULL: there is no memory. */
static char *named_file(struct tracked_process *s, const char *name, const struct dump_owner *owner)
{
	char *ret = NULL;
	if (*name == '/')
		return strdup(name);
	const char *folder = folder_of(s, owner);
	return !folder || asprintf(&ret, "%s/%s", folder, name) < 0 ? NULL : ret;
}

void collector_dump_for(
	struct collector *c, struct tracked_process *s, const struct session_caller *caller)
{
	const struct hw_request *request = &caller->request;
	const struct dump_owner asker = {caller->is_other, caller->uid, caller->gid};
	bool is_next = !*request->text && request->by_plan;
	struct hw_reply refused = {.error = EIO};
	char *name = NULL;
	const char *problem = NULL;
	if (is_next)
		name = next_name(c, s, DUMP_ASKED);
	else if (*request->text)
		name = named_file(s, request->text, &asker);
	if (!name && (is_next || *request->text)) {
		problem = NO_MEMORY;
		refused.error = ENOMEM;
	}
	if (!problem && !free_job(s))
		refused.error = EAGAIN;
	if (!problem)
		problem = start_dump(
			c, s, DUMP_ASKED, name, caller->connection, is_next ? NULL : &asker);
	if (problem)
		ask_reply_send(caller->connection, &refused, problem);
}

void collector_configure(
	struct collector *c, struct tracked_process *s, const struct session_caller *caller)
{
	struct process_dumps *d = &s->dumps;
	struct hw_reply reply = {.error = EINVAL};
	struct dump_plan plan = d->plan;
	_cleanup_free_ char *lines = strdup(caller->request.text);
	struct error *error = !lines           ? error_no_memory()
			      : plan.configure ? plan.configure(&plan, lines)
					       : error_create(ERROR_INPUT, "plans are fixed here");
	char *files = NULL;
	bool files_are_new = plan.files != d->plan.files;
	if (!error && files_are_new && plan.files) {
		plan.files = files = strdup(plan.files);
		if (!files)
			error = error_no_memory();
	} else if (!error && plan.files) {
		files = steal_ptr(d->own_files);
	}
	if (error) {
		ask_reply_send(caller->connection, &reply, error->message);
		error_destroy(error);
		return;
	}
	if (files && caller->is_other)
		d->owner = (struct dump_owner){true, caller->uid, caller->gid};
	if (files && !d->own_files && files_are_new) {
		dump_files_deinit(&d->files);
		dump_files_init(&d->files);
	}
	d->inherited &= !files_are_new;
	plan_set(d, &plan, files);
	follow_pages(c, s);
	if (plan.at_exit)
		recorder_await_end(s->recorder);
	recorder_want_signal(s->recorder, plan.signal);
	ask_reply_send(caller->connection, &reply, NULL);
}

bool collector_dump_at_exit(
	struct collector *c, struct tracked_process *s, const struct recorder_end *end)
{
	if (!s->dumps.plan.at_exit || s->dumps.exit_begun || !s->recorder)
		return false;
	s->dumps.exit_begun = true;
	s->dumps.exit_began_ns = clock_pair_now().ns;
	s->dumps.end = *end;
	s->dumps.due |= 1u << DUMP_EXIT;
	start_all_due(c, s, true);
	return collector_dumps_run(s);
}

static void cancel_job(struct collector *c, struct tracked_process *s, struct dump_job *job)
{
	collector_unwatch(c, job->pidfd);
	dump_job_cancel(job);
	dump_failed(c, s, TOO_LONG);
}

static bool waited_too_long(uint64_t since_ns)
{
	return clock_pair_now().ns - since_ns >= DUMP_WAIT_MS * 1000000ull;
}

bool collector_dump_delays_exit(struct collector *c, struct tracked_process *s)
{
	if (!s->dumps.exit_begun || !collector_dumps_run(s))
		return false;
	if (!waited_too_long(s->dumps.exit_began_ns))
		return true;
	for (unsigned i = 0; i < DUMP_JOBS_MAX; i++) {
		if (s->dumps.jobs[i].writer)
			cancel_job(c, s, &s->dumps.jobs[i]);
	}
	drop_all_due(c, s, TOO_LONG);
	return false;
}

/* Returns whether it was written in time. */
static bool await_job(struct collector *c, struct tracked_process *s, struct dump_job *job)
{
	uint64_t began = clock_pair_now().ns;
	while (!dump_job_is_done(job, LOOK_MS)) {
		if (waited_too_long(began)) {
			cancel_job(c, s, job);
			return false;
		}
		collector_go_on_meanwhile(c, s);
	}
	finish_job(c, s, job);
	return true;
}

/* Waits for all dumps that are being written. Returns whether all were in time. */
static bool await_jobs(struct collector *c, struct tracked_process *s)
{
	bool all = true;
	for (unsigned i = 0; i < DUMP_JOBS_MAX; i++) {
		if (s->dumps.jobs[i].writer)
			all &= await_job(c, s, &s->dumps.jobs[i]);
	}
	return all;
}

/* A signal that came since the last look. */
static void note_signal(struct process_dumps *d, struct recorder *recorder)
{
	if (d->plan.signal && recorder_dump_signals(recorder) != d->trigger.last.signals)
		d->due |= 1u << DUMP_SIGNAL;
	d->trigger.last.signals = recorder_dump_signals(recorder);
}

void collector_await_dumps(struct collector *c, struct tracked_process *s)
{
	await_jobs(c, s);
}

void collector_end_dumps(
	struct collector *c, struct tracked_process *s, const struct recorder_end *end)
{
	s->dumps.end = *end;
	collector_dump_at_exit(c, s, end);
	note_signal(&s->dumps, s->recorder);
	if (end->kind == HPW_EXIT_EXEC) { /* it waits, and dumps go on without it */
		start_all_due(c, s, true);
		drop_all_due(c, s, TOO_MANY);
		if (collector_dumps_run(s))
			recorder_keep_shared(s->recorder);
		return;
	}
	while (await_jobs(c, s) && s->dumps.due)
		start_all_due(c, s, false);
	drop_all_due(c, s, TOO_LONG);
}
