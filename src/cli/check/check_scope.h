/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which options of `heapwise check` have no effect with others: that is said, not passed over. */
#ifndef CLI_CHECK_SCOPE_H
#define CLI_CHECK_SCOPE_H

#include "base/text.h"
#include "cli/check/check_options.h"

/* Adds sentences, each with its line end, on the options that were given (options->given) and have
 * no effect; nothing if all have. */
void check_scope_add(const struct check_options *options, struct text *text);

#endif
