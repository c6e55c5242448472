/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is in the pages of regions that grew: read from the running process, which is not stopped.
 */
#ifndef CLI_MAPS_MAPS_EXPLAIN_H
#define CLI_MAPS_MAPS_EXPLAIN_H

#include "cli/maps/maps_watch.h"

/* Of so many regions, those that grew most; of each so many bytes are read. */
#define MAPS_EXPLAINED_MAX 5u
#define MAPS_EXPLAIN_BYTES_MAX ((uint64_t)64 << 20)

/* Fills in target->pages. That memory can't be read is said there and is no error. */
struct error *maps_explain(struct maps_target *target) must_check_;

#endif
