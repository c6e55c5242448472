/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ends of processes, and of the collector's work. */
#include "capture/collector/collector_impl.h"

#include "base/cleanup.h"
#include "capture/collector/unseen_children.h"

#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* The launcher tells how its program ended; if it does not within this time it has died too. */
#define ENDED_NS 2000000000u

static bool are_leaks_wanted(const struct collector *c)
{
	const struct leak_check *leaks = &c->start->leak_check;
	return leaks->at_exit || leaks->at_main_end || leaks->on_death;
}

static enum recording_rank rank_of(
	const struct recorder_end *end, const struct recorder_totals *t, bool leaks)
{
	uint32_t unseen = HPW_NOTE_OWN_MALLOC | HPW_NOTE_NOT_ATTACHED;
	bool all_held =
		t->went_on || (t->found.is_whole && t->found.kinds == 1u << HPW_LEAK_REACHABLE);
	if (t->wrong_frees || t->program_errors || t->unguarded ||
		(leaks && t->live_blocks && !all_held) || t->lost || t->write_error ||
		t->notes & unseen)
		return RECORDING_HAS_FINDINGS;
	return small_ended_well(end) || end->kind == HPW_EXIT_MODE || end->kind == HPW_EXIT_DETACHED
		       ? RECORDING_PLAIN
		       : RECORDING_ENDED_BADLY;
}

static void conclude_recording(
	struct collector *c, struct tracked_process *s, const struct recorder_end *end)
{
	struct recorder_totals totals;
	recorder_finish(s->recorder, end, &totals);
	collector_announce_errors(c, s);
	bool leaks = are_leaks_wanted(c), first = s->is_root && s->images == 1;
	bool small = !c->start->all_processes && !first && !s->recorder->goes_on &&
		     small_is(s, end, &totals, leaks);
	session_summary_add(
		&c->summary, s, &totals, small ? RECORDING_SMALL : rank_of(end, &totals, leaks));
	if (small)
		small_note(&c->small, s, &totals);
}

/* What is in a row of root's recording, which is still open, needs no file any more. */
static void move_small(struct collector *c, const struct tracked_process *root)
{
	size_t gone = small_move(&c->small, &c->lineage, root->recorder);
	for (size_t i = 0; i < gone; i++)
		session_summary_forget_file(&c->summary, c->small.data[i].file);
	small_deinit(&c->small);
}

static void on_recording_closed(struct collector *c, struct closing *one)
{
	session_summary_add(&c->summary, &one->about, &one->totals,
		rank_of(&one->end, &one->totals, are_leaks_wanted(c)));
	closing_destroy(one);
}

void collector_finish(
	struct collector *c, struct tracked_process *s, enum hpw_exit_kind kind, uint32_t value)
{
	collector_unwatch_jobs(c, s);
	leak_job_cancel(steal_ptr(s->leaks));
	leak_verdict_cancel(steal_ptr(s->verdict_child));
	if (!s->recorder) { /* the image before may have been recorded */
		if (kind != HPW_EXIT_EXEC)
			collector_await_dumps(c, s);
		return;
	}
	collector_listen_meanwhile(c);
	struct recorder_end end = {.kind = kind, .value = value};
	collector_end_dumps(c, s, &end);
	if (!closings_wants(&c->closings, s) || !closings_start(&c->closings, s, &end)) {
		conclude_recording(c, s, &end);
		recorder_destroy(steal_ptr(s->recorder));
	}
	s->completed++;
}

void collector_finish_part(struct collector *c, struct tracked_process *s, struct recorder *next)
{
	const struct recorder_end end = {.kind = HPW_EXIT_MODE};
	if (!closings_wants(&c->closings, s) || !closings_start(&c->closings, s, &end)) {
		conclude_recording(c, s, &end);
		recorder_destroy(s->recorder);
	}
	s->recorder = next;
	s->completed++;
}

static void on_survivor(void *context, pid_t pid)
{
	struct collector *c = context;
	if (pid != getpid() && !collector_find(c, pid))
		collector_add(c, pid);
}

/* All but the first process began after the collector, if a launcher held that one back. */
static void find_survivors(struct collector *c)
{
	bool held_back = c->start->control >= 0;
	uint64_t age_ns = held_back ? clock_pair_now().ns - c->start->began.ns : UINT64_MAX;
	unseen_children_each(c->start->session.path, age_ns, on_survivor, c);
}

void collector_finish_exiting(
	struct collector *c, struct tracked_process *s, struct recorder_end end)
{
	bool first = s->recorder->target_pid == 1;
	conclude_recording(c, s, &end);
	for (uint32_t i = 0; first && i < c->process_count; i++) {
		struct tracked_process *other = c->processes[i];
		if (other == s || !other->recorder)
			continue;
		conclude_recording(c, other, &(struct recorder_end){HPW_EXIT_SIGNAL, SIGKILL});
		recorder_release(other->recorder);
		recorder_destroy(steal_ptr(other->recorder));
		other->completed++;
	}
	for (struct closing *one; first && (one = closings_next(&c->closings, true));)
		on_recording_closed(c, one);
	if (!first)
		find_survivors(c);
	if (first || c->process_count == 1) /* there may be no time for it later */
		session_remove(&c->start->session);
	recorder_release(s->recorder);
	recorder_destroy(steal_ptr(s->recorder));
	s->completed++;
}

void collector_on_closed(struct collector *c)
{
	for (struct closing *one; (one = closings_next(&c->closings, false));)
		on_recording_closed(c, one);
}

static struct collector_ended root_ending(const struct tracked_process *s)
{
	uint32_t value;
	enum hpw_exit_kind kind = tracked_process_ending(s, &value);
	return (struct collector_ended){kind, value};
}

/* The kernel gives it to processes that may trace the process, and to all others once its parent
 * has waited for it. */
static bool is_put_off(
	struct collector *c, struct tracked_process *s, const struct collector_ended *ended)
{
	if (ended->kind != HPW_EXIT_UNKNOWN || !tracked_process_ending_is_to_come(s))
		return false;
	uint64_t now = clock_pair_now().ns;
	if (!s->ended_ns) {
		s->ended_ns = now;
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, s->pidfd, NULL);
	}
	return now - s->ended_ns < ENDED_NS;
}

void collector_end_now(struct collector *c, struct tracked_process *s)
{
	const struct collector_ended ended = root_ending(s);
	collector_finish(c, s, ended.kind, ended.value);
	collector_drop(c, s);
}

void collector_look_at_ended(struct collector *c)
{
	for (uint32_t i = c->process_count; i-- > 0;) {
		if (c->processes[i]->ended_ns)
			collector_on_end(c, c->processes[i]);
	}
}

void collector_on_end(struct collector *c, struct tracked_process *s)
{
	const struct collector_ended ended = root_ending(s);
	if (s->is_root) { /* how, is the launcher's to say: see root_finish() */
		if (!c->root_gone_ns)
			c->root_gone_ns = clock_pair_now().ns;
		if (c->start->control < 0 || c->start->attached_ns) { /* no launcher can do it */
			c->ended = ended;
			c->have_ended = true;
		}
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, s->pidfd, NULL);
		return;
	}
	if (is_put_off(c, s, &ended))
		return;
	collector_finish(c, s, ended.kind, ended.value);
	collector_drop(c, s);
}

/* Concludes the processes that ended before the root, so that its recording can have their rows.
 * False: how one of them ended is not known yet. */
static bool end_others(struct collector *c)
{
	bool all = true;
	for (uint32_t i = c->process_count; i-- > 0;) {
		struct tracked_process *s = c->processes[i];
		uint32_t before = c->process_count;
		if (s->is_root || !(s->ended_ns || tracked_process_has_ended(s)))
			continue;
		collector_on_end(c, s);
		all &= c->process_count < before;
	}
	return all;
}

bool collector_make_room(struct collector *c)
{
	uint32_t before = c->process_count;
	for (int forced = 0; forced < 2 && c->process_count == before; forced++) {
		for (uint32_t i = c->process_count; i-- > 0;) {
			struct tracked_process *s = c->processes[i];
			if (s->is_root || !(s->ended_ns || tracked_process_has_ended(s)) ||
				(forced && c->process_count < before))
				continue;
			if (forced)
				collector_end_now(c, s);
			else
				collector_on_end(c, s);
		}
	}
	return c->process_count < before;
}

/* Those that go on and may still be recorded. */
static uint32_t count_silent(const struct collector *c)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < c->process_count; i++) {
		const struct tracked_process *s = c->processes[i];
		count += !s->recorder && !session_summary_has_turned_away(&c->summary, s->pid);
	}
	return count;
}

static void report_recordings(const struct collector *c)
{
	for (uint32_t i = 0; i < c->summary.named_count; i++)
		c->start->on_recording(c->start->on_recording_context, &c->summary.named[i].about);
}

void collector_root_finish(struct collector *c)
{
	if (c->has_reported)
		return;
	if (!c->have_ended && !c->launcher_gone && clock_pair_now().ns - c->root_gone_ns < ENDED_NS)
		return;
	/* Messages from before the end that still wait. Unrecorded programs follow below. */
	if (!collector_answer_callers(c) && clock_pair_now().ns - c->root_gone_ns < ENDED_NS)
		return;
	if (!end_others(c) && clock_pair_now().ns - c->root_gone_ns < ENDED_NS)
		return;
	struct tracked_process *root = collector_find(c, c->start->root);
	if (root) {
		if (root->recorder)
			move_small(c, root);
		collector_finish(
			c, root, c->have_ended ? c->ended.kind : HPW_EXIT_UNKNOWN, c->ended.value);
		collector_drop(c, root);
	}
	if (c->closings.count) /* these also have something to report */
		return;
	c->summary.end.stays = collector_has_work(c);
	c->summary.end.living = collector_living(c);
	c->summary.end.silent = count_silent(c);
	if (!c->summary.end.stays)
		session_remove(&c->start->session);
	if (c->start->control >= 0)
		session_summary_send(&c->summary, c->start->control);
	else if (c->start->on_recording)
		report_recordings(c);
	c->has_reported = true;
}

bool collector_has_work(struct collector *c)
{
	if (c->closings.count || c->queue.count)
		return true;
	if (!c->process_count && strcmp(c->start->children, COLLECTOR_CHILDREN_NO))
		find_survivors(c);
	return c->process_count;
}
