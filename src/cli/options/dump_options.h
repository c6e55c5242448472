/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that say when dumps of a recorded process are written, and where: see dump_plan.h. */
#ifndef CLI_DUMP_OPTIONS_H
#define CLI_DUMP_OPTIONS_H

#include "base/error.h"
#include "capture/dump_plan.h"

/* As they were given; NULL: not. */
struct dump_options {
	const char *allocated, *freed, *growth, *peak, *every, *rss, *signal, *files, *keep,
		*format;
	bool pressure, at_exit;
};

/* Whether the values make sense; the error is one sentence. Sets in *ret what they say, and leaves
 * the rest; ret->files is borrowed from `options`. */
struct error *dump_options_check(
	const struct dump_options *options, struct dump_plan *ret) must_check_;

/* Says so if this process can't write to the folder of --dump-file now: it may be made later. */
void dump_options_warn(const struct dump_options *options);

/* The dump_configure_function of all plans. */
struct error *dump_options_configure(struct dump_plan *plan, char *lines) must_check_;

#endif
