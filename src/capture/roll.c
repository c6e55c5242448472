/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/roll.h"

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

/* By allocations; before all others those that have none because they could not be seen. */
static uint64_t rank(const struct recorder_totals *totals)
{
	return totals->notes & (HPW_NOTE_OWN_MALLOC | HPW_NOTE_NOT_ATTACHED) ? UINT64_MAX
									     : totals->allocations;
}

static struct collector_recording *place_find(
	struct roll *roll, const struct recorder_totals *totals)
{
	if (roll->named_count < COLLECTOR_NAMED_MAX)
		return &roll->named[roll->named_count++];
	uint32_t least = 0;
	for (uint32_t i = 1; i < roll->named_count; i++) {
		if (rank(&roll->named[i].totals) < rank(&roll->named[least].totals))
			least = i;
	}
	if (rank(totals) <= rank(&roll->named[least].totals))
		return NULL;
	memmove(&roll->named[least], &roll->named[least + 1],
		(roll->named_count - least - 1) * sizeof(roll->named[0]));
	return &roll->named[roll->named_count - 1];
}

void roll_add(
	struct roll *roll, const struct subject *subject, const struct recorder_totals *totals)
{
	roll->end.recordings++;
	roll->end.processes += !subject->completed;
	struct collector_recording *place = place_find(roll, totals);
	if (!place)
		return;
	*place = (struct collector_recording){
		.pid = subject->pid, .image = subject->images - 1, .totals = *totals};
	memcpy(place->command, subject->command, sizeof(place->command));
	memcpy(place->file, subject->file, sizeof(place->file));
}

bool roll_turn_away(struct roll *roll, pid_t pid)
{
	size_t at = (size_t)pid / 8;
	uint8_t bit = (uint8_t)(1 << pid % 8);
	if (at >= roll->turned_away_bytes) {
		uint8_t *moved = realloc(roll->turned_away, at + 4096);
		if (!moved)
			return false;
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
		if (send(control, &roll->named[i], sizeof(roll->named[i]), MSG_NOSIGNAL) < 0)
			return;
	}
	roll->end.is_end = 1;
	(void)!send(control, &roll->end, sizeof(roll->end), MSG_NOSIGNAL);
}
