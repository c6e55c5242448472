/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches for leaks: at the ends of processes, and when a command asks for one. */
#include "capture/collector/collector_impl.h"
#include "search/search.h"

#include "base/cleanup.h"

#include <poll.h>

static void end_watch(struct collector *c, struct tracked_process *s)
{
	collector_unwatch(c, s->watch.channel);
	death_watch_end(&s->watch);
}

void collector_unwatch_jobs(struct collector *c, const struct tracked_process *s)
{
	if (s->leaks)
		collector_unwatch(c, s->leaks->pidfd);
	if (s->verdict_child)
		collector_unwatch(c, s->verdict_child->pidfd);
}

void collector_watch_for_death(struct collector *c, struct tracked_process *s)
{
	if (!c->start->leak_check.on_death || s->watch.keeper > 0)
		return;
	struct error *error = death_watch_start(s->pid, &s->watch);
	if (error)
		session_summary_complain(&c->summary, error);
	else
		collector_watch(c, s->watch.channel, &s->watch);
}

/* NULL: there is none. */
static struct leak_job *adopt_leak_job(
	struct collector *c, struct tracked_process *s, struct leak_job *job)
{
	s->leaks = job;
	if (job)
		collector_watch(c, job->pidfd, job);
	return job;
}

static struct leak_job *start_leak_job(struct collector *c, struct tracked_process *s,
	const struct leak_check *check, enum hpw_leak_moment moment)
{
	end_watch(c, s); /* a thread has one tracer */
	return adopt_leak_job(c, s, leak_job_start(s->recorder, check, moment));
}

bool collector_on_dying(struct collector *c, const void *tag)
{
	for (uint32_t i = 0; i < c->process_count; i++) {
		struct tracked_process *s = c->processes[i];
		if (tag != &s->watch)
			continue;
		collector_unwatch(c, s->watch.channel);
		if (s->recorder && !s->leaks && !recorder_is_bypassed(s->recorder))
			adopt_leak_job(c, s,
				leak_job_start_dying(
					s->recorder, &c->start->leak_check, &s->watch));
		death_watch_end(&s->watch);
		return true;
	}
	return false;
}

/* Whether the process that says that it ends, or asks for it, is to be searched for leaks first. */
static bool is_to_be_searched(
	const struct collector *c, const struct tracked_process *s, enum hpw_leak_moment *ret)
{
	const struct leak_check *check = &c->start->leak_check;
	switch (recorder_leaving_what(s->recorder)) {
	case HW_LEAVES_NOT:
		*ret = HPW_LEAK_BY_PROGRAM;
		return c->start->verdict;
	case HW_LEAVES_AFTER_VERDICT:
		*ret = HPW_LEAK_AT_EXIT;
		return check->at_exit && c->start->verdict;
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

/*
 * A forked child that ends without blocks of its own: there is nothing to search for, and no leak
 * is possible. Its parent's blocks are searched with the parent. Programs that were executed are
 * always searched, since users expect it.
 */
static bool is_trivial(const struct tracked_process *s, enum hpw_leak_moment moment)
{
	return moment == HPW_LEAK_AT_EXIT && s->recorder->forked &&
	       recorder_leaving_what(s->recorder) == HW_LEAVES && recorder_ends_empty(s->recorder);
}

/* Its question is answered: it goes on, or takes us along. */
static void release_process(struct collector *c, struct tracked_process *s)
{
	struct recorder_end end;
	if (recorder_leaving_what(s->recorder) == HW_LEAVES)
		recorder_look_at_mappings(s->recorder, true);
	if (s->takes_along && recorder_leaving_what(s->recorder) == HW_LEAVES &&
		recorder_is_leaving(s->recorder, &end))
		collector_finish_exiting(c, s, end);
	else
		recorder_go_on(s->recorder);
}

/* Returns whether the process is to wait on, for the dump of its end. */
static bool wants_exit_dump(struct collector *c, struct tracked_process *s)
{
	struct recorder_end end;
	if (recorder_leaving_what(s->recorder) != HW_LEAVES ||
		!recorder_is_leaving(s->recorder, &end) || !collector_dump_at_exit(c, s, &end))
		return false;
	recorder_hold_on(s->recorder);
	return true;
}

void collector_look_for_leaving(struct collector *c, struct tracked_process *s)
{
	struct recorder_end end;
	enum hpw_leak_moment moment;
	bool ending = collector_dump_delays_exit(c, s);
	if (s->recorder && (s->verdict_child || s->leaks || ending))
		recorder_heartbeat(s->recorder);
	if (!s->recorder || s->leaks || s->verdict_child || ending ||
		!recorder_is_leaving(s->recorder, &end))
		return;
	if (is_to_be_searched(c, s, &moment) && !is_trivial(s, moment)) {
		recorder_hold_on(s->recorder);
		s->searched |= moment != HPW_LEAK_BY_PROGRAM;
		start_leak_job(c, s, &c->start->leak_check, moment);
	}
	if (!s->leaks && !wants_exit_dump(c, s))
		release_process(c, s);
}

/* The program waits for what its search has come to. */
static void start_verdict(struct collector *c, struct tracked_process *s)
{
	const struct leak_verdict unknown = {.found = HW_FOUND_UNKNOWN};
	const struct leak_question question = {
		s->file, recorder_leaving_asker(s->recorder), s->pidfd, s->pid};
	recorder_send_verdict(s->recorder, &unknown);
	s->verdict_child =
		leak_verdict_start(c->start->verdict, c->start->verdict_context, &question);
	if (s->verdict_child)
		collector_watch(c, s->verdict_child->pidfd, s->verdict_child);
	else
		recorder_go_on(s->recorder);
}

static void on_judged(struct collector *c, struct tracked_process *s)
{
	collector_unwatch_jobs(c, s);
	struct leak_verdict verdict = leak_verdict_finish(steal_ptr(s->verdict_child));
	recorder_send_verdict(s->recorder, &verdict);
	recorder_go_on(s->recorder);
}

static void on_found(struct collector *c, struct tracked_process *s)
{
	enum hpw_leak_moment moment = s->leaks->moment;
	collector_unwatch_jobs(c, s);
	leak_job_finish(steal_ptr(s->leaks), s->recorder, s->file);
	if (moment != HPW_LEAK_AT_EXIT && moment != HPW_LEAK_ON_DEATH)
		collector_watch_for_death(c, s);
	bool waits = recorder_leaving_what(s->recorder) == HW_LEAVES_AFTER_VERDICT;
	if (moment == HPW_LEAK_BY_PROGRAM || (moment == HPW_LEAK_AT_EXIT && waits))
		start_verdict(c, s);
	else if (moment == HPW_LEAK_AT_EXIT || moment == HPW_LEAK_AT_MAIN_END)
		release_process(c, s);
}

/* The tag of an event may be one that was there before. */
static bool is_over(int pidfd)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	return poll(&ended, 1, 0) == 1;
}

bool collector_on_searched(struct collector *c, const void *tag)
{
	for (uint32_t i = 0; i < c->process_count; i++) {
		struct tracked_process *s = c->processes[i];
		bool found = s->leaks && s->leaks == tag && is_over(s->leaks->pidfd);
		bool judged = s->verdict_child && s->verdict_child == tag &&
			      is_over(s->verdict_child->pidfd);
		if (found)
			on_found(c, s);
		else if (judged)
			on_judged(c, s);
		if (found || judged)
			return true;
	}
	return false;
}

/* It comes from outside. */
static bool is_valid(const struct hw_request *request)
{
	uint32_t bytes = request->alignment;
	return bytes <= 8 && !(bytes & (bytes - 1)) &&
	       !(request->heuristics & ~(uint32_t)SEARCH_HEURISTICS_ALL);
}

void collector_search(
	struct collector *c, struct tracked_process *s, const struct session_caller *caller)
{
	const struct hw_request *request = &caller->request;
	struct leak_check check = c->start->leak_check;
	check.alignment = request->alignment;
	check.heuristics = request->heuristics;
	check.rules = (struct leak_rules){.offset_limit = 0};
	const char *problem = NULL;
	recorder_take_older(s->recorder);
	if (s->leaks)
		problem = "another search is running in that process";
	else if (!is_valid(request))
		problem = "what it asks for makes no sense";
	else if (!start_leak_job(c, s, &check, HPW_LEAK_ON_DEMAND))
		problem = "no memory, or no process to search with";
	if (problem)
		ask_reply_send(caller->connection, &(struct hw_reply){.ok = 0}, problem);
	else
		s->leaks->asker = caller->connection;
}
