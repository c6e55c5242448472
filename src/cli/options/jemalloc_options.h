/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What follows from jemalloc's own options (MALLOC_CONF and others) for --as=jemalloc. */
#ifndef CLI_JEMALLOC_OPTIONS_H
#define CLI_JEMALLOC_OPTIONS_H

#include "capture/launch.h"

/* If the profiler is on, and the user has chosen no mode: sampling, as often as jemalloc would. */
struct error *jemalloc_options_prepare(struct launch_options *launch);

/* The same, with the options that the program has in its variable malloc_conf, too. `image`: the
 * program's file. */
struct error *jemalloc_options_examine(const char *image, struct launch_options *launch);

#endif
