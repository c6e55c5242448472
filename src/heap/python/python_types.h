/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which blocks are objects of Python's, and which are what such objects have beside them. */
#ifndef HEAP_PYTHON_TYPES_H
#define HEAP_PYTHON_TYPES_H

#include "heap/survey.h"

/* Says so. Blocks are read for it if there are objects with parts. */
struct error *python_types_say(struct survey *survey) must_check_;

#endif
