/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see parts.h. May touch: the same. */
#include "runtime/guard/calls/parts.h"

#include <errno.h>

/* PATH_MAX: the kernel reads no more of a name, and refuses it. */
#define NAME_MOST 4096u

static bool ends_in(const char *name, uint64_t room)
{
	for (uint64_t i = 0; i < room; i++)
		if (!name[i])
			return true;
	return room >= NAME_MOST;
}

static bool part_fits(const struct part *part, uint64_t room)
{
	if (part->use == PART_CODED)
		return true;
	if (part->bytes != PART_NAME)
		return part->bytes <= room;
	return room == CALLS_ANY || ends_in(part->at, room < NAME_MOST ? room : NAME_MOST);
}

bool parts_fit(const struct part *parts, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (parts[i].at && rt_unlikely(!part_fits(&parts[i], calls_room(parts[i].at))))
			return false;
	return true;
}

void parts_report(const struct part *parts, unsigned count, struct guard_caller caller)
{
	for (unsigned i = 0; i < count; i++) {
		const struct part *p = &parts[i];
		uint64_t room = p->at ? calls_room(p->at) : CALLS_ANY;
		if (!p->at || part_fits(p, room))
			continue;
		if (p->bytes == PART_NAME)
			calls_report_name(p->text, (const char *)p->at + room, caller);
		else
			calls_check_buffer(p->text, p->at, p->bytes, p->leaves, caller);
	}
}

void parts_look(const struct part *parts, unsigned count, struct guard_caller caller)
{
	for (unsigned i = 0; i < count; i++) {
		const struct part *p = &parts[i];
		if (p->at && p->leaves && p->bytes != PART_NAME && p->use != PART_MEMBERS)
			leaves_look(p->text, p->at, p->bytes, caller);
	}
}

long parts_missing(void)
{
	errno = ENOSYS;
	return -1;
}

uint32_t parts_length(const void *at)
{
	int32_t length;
	bool known = at && calls_room(at) >= sizeof(length) &&
		     guard_peek(&length, (uint64_t)at, sizeof(length));
	return known && length > 0 ? (uint32_t)length : 0;
}
