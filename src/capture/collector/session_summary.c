/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/collector/session_summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/path.h"
#include "process/proc_info.h"

void session_summary_deinit(struct session_summary *summary)
{
	turned_away_map_deinit(&summary->turned_away);
}

static bool ranks_below(const struct recorder_totals *a, enum recording_rank rank_a,
	const struct recorder_totals *b, enum recording_rank rank_b)
{
	return rank_a != rank_b ? rank_a < rank_b : a->peak_bytes < b->peak_bytes;
}

/* What was not seen may be anything. */
static bool may_hide(const struct recorder_totals *t)
{
	return t->lost || t->write_error || t->notes & ~(HPW_NOTE_SANDBOXED | HPW_NOTES_PYTHON);
}

/* It has no place any more. Where every block was freed, and all were seen, there is no leak; and
 * none that counts in a program that the process went on from. */
static void count_unnamed(struct session_summary *summary, const struct recorder_totals *t)
{
	bool wrong_frees = t->wrong_frees || t->program_errors || t->unguarded || may_hide(t);
	bool leaks = t->live_blocks && !t->went_on;
	summary->end.unnamed_frees += wrong_frees;
	if (wrong_frees || (leaks && !t->found.is_whole))
		summary->end.unnamed++;
	else if (leaks)
		summary->end.unnamed_kinds[t->found.kinds % (1u << HPW_LEAK_KINDS)]++;
}

/* Takes a place away; the others move up. */
static void take_out(struct session_summary *summary, uint32_t which)
{
	summary->named_count--;
	memmove(&summary->named[which], &summary->named[which + 1],
		(summary->named_count - which) * sizeof(summary->named[0]));
}

/* NULL: others have more to tell. */
static struct ranked_recording *find_named_place(struct session_summary *summary,
	const struct recorder_totals *totals, enum recording_rank rank)
{
	const struct ranked_recording *named = summary->named;
	if (summary->named_count == summary->named_most) {
		uint32_t most = 0, least;
		for (uint32_t i = 1; i < summary->named_count; i++) {
			if (named[i].about.totals.peak_bytes > named[most].about.totals.peak_bytes)
				most = i;
		}
		bool has_most = totals->peak_bytes > named[most].about.totals.peak_bytes;
		if (has_most)
			most = UINT32_MAX;
		least = most == 0;
		for (uint32_t i = 0; i < summary->named_count; i++) {
			if (i != most && ranks_below(&named[i].about.totals, named[i].rank,
						 &named[least].about.totals, named[least].rank))
				least = i;
		}
		if (!has_most &&
			!ranks_below(&named[least].about.totals, named[least].rank, totals, rank)) {
			count_unnamed(summary, totals);
			return NULL;
		}
		count_unnamed(summary, &named[least].about.totals);
		take_out(summary, least);
	}
	return &summary->named[summary->named_count++];
}

void session_summary_add(struct session_summary *summary, const struct tracked_process *process,
	const struct recorder_totals *totals, enum recording_rank rank)
{
	summary->end.recordings++;
	summary->end.processes += !process->completed;
	summary->end.unrecorded += totals->lost_notices;
	struct ranked_recording *place = find_named_place(summary, totals, rank);
	if (!place)
		return;
	place->rank = rank;
	place->about = (struct collector_recording){
		.pid = process->pid, .image = process->images - 1, .totals = *totals};
	memcpy(place->about.command, process->command, sizeof(place->about.command));
	memcpy(place->about.file, process->file, sizeof(place->about.file));
}

void session_summary_forget_file(struct session_summary *summary, const char *file)
{
	summary->end.recordings--;
	summary->end.small++;
	for (uint32_t i = 0; i < summary->named_count; i++) {
		if (strcmp(summary->named[i].about.file, file))
			continue;
		take_out(summary, i);
		return;
	}
}

bool session_summary_turn_away(struct session_summary *summary, pid_t pid)
{
	uint64_t start = process_start_ticks(pid);
	bool is_new = false;
	uint64_t *known = turned_away_map_insert(&summary->turned_away, (uint64_t)pid, &is_new);
	if (known && !is_new && (!start || *known == start))
		return false;
	if (known)
		*known = start; /* if it is not new, the number is another process's now */
	return true;
}

void session_summary_turn_away_ended(struct session_summary *summary, pid_t pid)
{
	/* Without memory it may count once more. */
	(void)!turned_away_map_insert(&summary->turned_away, (uint64_t)pid, NULL);
}

bool session_summary_has_turned_away(const struct session_summary *summary, pid_t pid)
{
	const uint64_t *known = turned_away_map_find(&summary->turned_away, (uint64_t)pid);
	uint64_t start = process_start_ticks(pid);
	return known && (!start || *known == start);
}

/* Where programs of that name and reason are counted; NULL: nowhere. `add`: if there is room. */
static struct collector_unrecorded *unrecorded_row(
	struct session_summary *summary, const struct unrecorded *one, bool add)
{
	char program[TRACKED_COMMAND_MAX];
	snprintf(program, sizeof(program), "%.*s", TRACKED_COMMAND_MAX - 1,
		path_last_part(one->path));
	struct collector_unrecorded *room = NULL;
	for (unsigned i = COLLECTOR_UNRECORDED_MAX; i-- > 0;) {
		struct collector_unrecorded *place = &summary->end.unrecorded_named[i];
		if (!place->count)
			room = place;
		else if (place->reason == one->reason && !strcmp(place->program, program))
			return place;
	}
	if (!add || !room)
		return NULL;
	memcpy(room->program, program, sizeof(program));
	room->reason = one->reason;
	return room;
}

void session_summary_count_unrecorded(struct session_summary *summary, const struct unrecorded *one)
{
	struct collector_unrecorded *place = unrecorded_row(summary, one, true);
	summary->end.unrecorded++;
	if (place)
		place->count++;
}

void session_summary_uncount_unrecorded(
	struct session_summary *summary, const struct unrecorded *one)
{
	struct collector_unrecorded *place = unrecorded_row(summary, one, false);
	summary->end.unrecorded--;
	if (place)
		place->count--;
}

void session_summary_complain(struct session_summary *summary, struct error *error)
{
	if (!summary->end.message[0])
		snprintf(summary->end.message, sizeof(summary->end.message), "%s", error->message);
	error_destroy(error);
}

void session_summary_send(struct session_summary *summary, int control)
{
	const struct timeval limit = {2, 0};
	setsockopt(control, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	for (uint32_t i = 0; i < summary->named_count; i++) {
		if (send(control, &summary->named[i].about, sizeof(summary->named[i].about),
			    MSG_NOSIGNAL) < 0)
			return;
	}
	summary->end.is_end = 1;
	(void)!send(control, &summary->end, sizeof(summary->end), MSG_NOSIGNAL);
}
