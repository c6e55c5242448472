/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches for leaks: at the ends of processes, and when a command asks for one. */
#include "capture/collector_impl.h"

#include "base/cleanup.h"

/* Whether the process that says that it ends is to be searched for leaks first. */
static bool is_to_be_searched(const struct collector *c, const struct subject *s)
{
	const struct leak_check *check = &c->start->leak_check;
	if (recorder_is_at_main_end(s->recorder))
		return check->at_main_end;
	return check->at_exit || (check->at_main_end && !s->searched);
}

void collector_look_for_leaving(struct collector *c, struct subject *s)
{
	struct recorder_end end;
	if (!s->recorder || s->leaks || !recorder_is_leaving(s->recorder, &end))
		return;
	if (is_to_be_searched(c, s)) {
		bool main_end = recorder_is_at_main_end(s->recorder);
		recorder_hold_on(s->recorder);
		s->leaks = leak_job_start(s->recorder, &c->start->leak_check,
			main_end ? HPW_LEAK_AT_MAIN_END : HPW_LEAK_AT_EXIT);
		if (s->leaks)
			collector_watch(c, s->leaks->pidfd, s->leaks);
		s->searched = true;
	}
	if (s->leaks)
		return;
	if (s->takes_along && !recorder_is_at_main_end(s->recorder))
		collector_take_leave(c, s, end);
	else
		recorder_go_on(s->recorder);
}

bool collector_on_searched(struct collector *c, const void *tag)
{
	for (uint32_t i = 0; i < c->subject_count; i++) {
		struct subject *s = c->subjects[i];
		if (!s->leaks || s->leaks != tag)
			continue;
		struct recorder_end end;
		bool asked = s->leaks->moment == HPW_LEAK_ON_DEMAND;
		leak_job_finish(steal_ptr(s->leaks), s->recorder, s->file);
		if (asked)
			return true;
		bool leaves = s->takes_along && !recorder_is_at_main_end(s->recorder) &&
			      recorder_is_leaving(s->recorder, &end);
		if (leaves)
			collector_take_leave(c, s, end);
		else
			recorder_go_on(s->recorder);
		return true;
	}
	return false;
}

void collector_on_request(struct collector *c, const struct session_caller *caller)
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
	collector_watch(c, s->leaks->pidfd, s->leaks);
}
