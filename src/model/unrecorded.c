/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/unrecorded.h"

#include <assert.h>

static const struct {
	const char *key, *text;
} reasons[] = {
	[UNRECORDED_UNKNOWN] = {"unknown", "reason unknown"},
	[UNRECORDED_STATIC] = {"static", "static"},
	[UNRECORDED_SETUID] = {"setuid", "set-user-ID"},
	[UNRECORDED_CLASS] = {"32-bit", "32-bit"},
	[UNRECORDED_MACHINE] = {"machine", "for another machine"},
	[UNRECORDED_SANITIZER] = {"sanitizer", "built with a sanitizer"},
	[UNRECORDED_MUSL] = {"musl", "musl"},
	[UNRECORDED_UNWANTED] = {"unwanted", "left out by --children"},
	[UNRECORDED_MANY] = {"many", "too many processes at a time"},
	[UNRECORDED_FAILED] = {"failed", "recording could not be started"},
	[UNRECORDED_LATE] = {"late", "the collector's answer came too late"},
};
static_assert(sizeof(reasons) / sizeof(reasons[0]) == UNRECORDED_REASONS, "each has its words");

const char *unrecorded_reason_text(enum unrecorded_reason reason)
{
	assert((unsigned)reason < UNRECORDED_REASONS);
	return reasons[reason].text;
}

const char *unrecorded_reason_key(enum unrecorded_reason reason)
{
	assert((unsigned)reason < UNRECORDED_REASONS);
	return reasons[reason].key;
}
