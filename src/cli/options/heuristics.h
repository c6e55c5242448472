/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --leak-check-heuristics, as memcheck has it. */
#ifndef CLI_HEURISTICS_H
#define CLI_HEURISTICS_H

#include "base/error.h"

/* *ret: enum search_heuristic. ERROR_USAGE: it is something else than `all`, `none` or a list. */
struct error *heuristics_parse(const char *text, unsigned *ret) must_check_;

#endif
