/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HEAP_SYSTEM_POOL_H
#define HEAP_SYSTEM_POOL_H

#include "heap/survey.h"

/* Says which block is the memory that libstdc++ keeps for exceptions, unless that is known. */
struct error *system_pool_say(struct survey *survey) must_check_;

#endif
