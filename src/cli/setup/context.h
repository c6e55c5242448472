/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The context of all queries of this process: what they note is a message, what goes on is shown on
 * the terminal, and what they unpack is removed when the process ends, also by a signal. */
#ifndef CLI_CONTEXT_H
#define CLI_CONTEXT_H

#include "query/context.h"

struct query_context *cli_context(void);

#endif
