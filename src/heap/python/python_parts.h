/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HEAP_PYTHON_PARTS_H
#define HEAP_PYTHON_PARTS_H

#include "heap/survey.h"

/* Says what blocks are in which objects of Python's libraries keep what they hold, unless that is
 * known: bytearray, array.array, io.StringIO, collections.deque and OrderedDict, and what derives
 * from these. */
struct error *python_parts_say(struct survey *survey) must_check_;

#endif
