/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/collector/roll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/path.h"

void roll_deinit(struct roll *roll)
{
	free(roll->turned_away);
	roll->turned_away = NULL;
	roll->turned_away_bytes = 0;
}

static bool is_below(const struct recorder_totals *a, enum roll_rank rank_a,
	const struct recorder_totals *b, enum roll_rank rank_b)
{
	return rank_a != rank_b ? rank_a < rank_b : a->peak_bytes < b->peak_bytes;
}

/* What was not seen may be anything. */
static bool may_hide(const struct recorder_totals *t)
{
	return t->lost || t->write_error || t->notes & ~(uint32_t)HPW_NOTE_SANDBOXED;
}

/* It has no place any more. Where every block was freed, and all were seen, there is no leak; and
 * none that counts in a program that the process went on from. */
static void leave_untold(struct roll *roll, const struct recorder_totals *t)
{
	bool wrong_frees = t->wrong_frees || may_hide(t);
	bool leaks = t->live_blocks && !t->went_on;
	roll->end.untold_frees += wrong_frees;
	if (wrong_frees || (leaks && !t->found.is_whole))
		roll->end.untold++;
	else if (leaks)
		roll->end.untold_kinds[t->found.kinds % (1u << HPW_LEAK_KINDS)]++;
}

/* Takes a place away; the others move up. */
static void take_out(struct roll *roll, uint32_t which)
{
	roll->named_count--;
	memmove(&roll->named[which], &roll->named[which + 1],
		(roll->named_count - which) * sizeof(roll->named[0]));
}

/* NULL: others have more to tell. */
static struct roll_named *place_find(
	struct roll *roll, const struct recorder_totals *totals, enum roll_rank rank)
{
	const struct roll_named *named = roll->named;
	if (roll->named_count == COLLECTOR_NAMED_MAX) {
		uint32_t most = 0, least;
		for (uint32_t i = 1; i < roll->named_count; i++) {
			if (named[i].about.totals.peak_bytes > named[most].about.totals.peak_bytes)
				most = i;
		}
		bool has_most = totals->peak_bytes > named[most].about.totals.peak_bytes;
		if (has_most)
			most = UINT32_MAX;
		least = most == 0;
		for (uint32_t i = 0; i < roll->named_count; i++) {
			if (i != most && is_below(&named[i].about.totals, named[i].rank,
						 &named[least].about.totals, named[least].rank))
				least = i;
		}
		if (!has_most &&
			!is_below(&named[least].about.totals, named[least].rank, totals, rank)) {
			leave_untold(roll, totals);
			return NULL;
		}
		leave_untold(roll, &named[least].about.totals);
		take_out(roll, least);
	}
	return &roll->named[roll->named_count++];
}

void roll_add(struct roll *roll, const struct subject *subject,
	const struct recorder_totals *totals, enum roll_rank rank)
{
	roll->end.recordings++;
	roll->end.processes += !subject->completed;
	roll->end.unrecorded += totals->unheard;
	struct roll_named *place = place_find(roll, totals, rank);
	if (!place)
		return;
	place->rank = rank;
	place->about = (struct collector_recording){
		.pid = subject->pid, .image = subject->images - 1, .totals = *totals};
	memcpy(place->about.command, subject->command, sizeof(place->about.command));
	memcpy(place->about.file, subject->file, sizeof(place->about.file));
}

void roll_take_file(struct roll *roll, const char *file)
{
	roll->end.recordings--;
	roll->end.small++;
	for (uint32_t i = 0; i < roll->named_count; i++) {
		if (strcmp(roll->named[i].about.file, file))
			continue;
		take_out(roll, i);
		return;
	}
}

bool roll_turn_away(struct roll *roll, pid_t pid)
{
	size_t at = (size_t)pid / 8;
	uint8_t bit = (uint8_t)(1 << pid % 8);
	if (at >= roll->turned_away_bytes) {
		uint8_t *moved = realloc(roll->turned_away, at + 4096);
		if (!moved)
			return true;
		memset(moved + roll->turned_away_bytes, 0, at + 4096 - roll->turned_away_bytes);
		roll->turned_away = moved;
		roll->turned_away_bytes = at + 4096;
	}
	if (roll->turned_away[at] & bit)
		return false;
	roll->turned_away[at] |= bit;
	return true;
}

bool roll_has_turned_away(const struct roll *roll, pid_t pid)
{
	size_t at = (size_t)pid / 8;
	return at < roll->turned_away_bytes && roll->turned_away[at] >> pid % 8 & 1;
}

/* Where programs of that name and reason are counted; NULL: nowhere. `add`: if there is room. */
static struct collector_unrecorded *place_of(
	struct roll *roll, const struct unrecorded *one, bool add)
{
	char program[SUBJECT_COMMAND_MAX];
	snprintf(program, sizeof(program), "%.*s", SUBJECT_COMMAND_MAX - 1,
		path_last_part(one->path));
	struct collector_unrecorded *room = NULL;
	for (unsigned i = COLLECTOR_UNRECORDED_MAX; i-- > 0;) {
		struct collector_unrecorded *place = &roll->end.unrecorded_named[i];
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

void roll_unrecorded(struct roll *roll, const struct unrecorded *one)
{
	struct collector_unrecorded *place = place_of(roll, one, true);
	roll->end.unrecorded++;
	if (place)
		place->count++;
}

void roll_take_back(struct roll *roll, const struct unrecorded *one)
{
	struct collector_unrecorded *place = place_of(roll, one, false);
	roll->end.unrecorded--;
	if (place)
		place->count--;
}

void roll_complain(struct roll *roll, struct error *error)
{
	if (!roll->end.message[0])
		snprintf(roll->end.message, sizeof(roll->end.message), "%s", error->message);
	error_destroy(error);
}

void roll_tell(struct roll *roll, int control)
{
	const struct timeval limit = {2, 0};
	setsockopt(control, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	for (uint32_t i = 0; i < roll->named_count; i++) {
		if (send(control, &roll->named[i].about, sizeof(roll->named[i].about),
			    MSG_NOSIGNAL) < 0)
			return;
	}
	roll->end.is_end = 1;
	(void)!send(control, &roll->end, sizeof(roll->end), MSG_NOSIGNAL);
}
