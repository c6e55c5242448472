/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that were looked at for a module's names, and what became of each. */
#ifndef SYMBOLS_LOOKUP_LOG_H
#define SYMBOLS_LOOKUP_LOG_H

#include "base/vec.h"

enum symbols_trial {
	TRIAL_ABSENT,
	TRIAL_UNREADABLE, /* no right to read it, no plain file, no ELF file */
	TRIAL_CUT_SHORT,  /* it ends before its sections do */
	TRIAL_OTHER,      /* another build-id, or another CRC than the link has */
	TRIAL_UNSURE,     /* nothing tells whether it is the one */
	TRIAL_EMPTY,      /* neither names nor debug information in it */
	TRIAL_USED,
	TRIALS
};

struct symbols_lookups {
	char *path;
	enum symbols_trial trial;
};

DEFINE_VEC(lookup_attempt_vec, struct symbols_lookups)

#endif
