/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits that figures must keep, as users write them: "200M", "1000", "5%". */
#ifndef CLI_LIMITS_H
#define CLI_LIMITS_H

#include "analysis/limit.h"
#include "cli/options/options.h"

enum limit_kind {
	LIMIT_PLAIN, /* a size or a number */
	LIMIT_SHARE, /* or percents of another figure */
};

/* Takes an option's argument. False, after saying so: it is no limit. */
bool limit_take(
	const struct options *options, const char *name, enum limit_kind kind, struct limit *ret);

#endif
