/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks the collector of a recorded process what lives in it, for queries. */
#ifndef CLI_HEAP_COLLECTOR_H
#define CLI_HEAP_COLLECTOR_H

#include "query/context.h"

extern const struct query_collector heap_collector;

#endif
