/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether Valgrind's memcheck runs programs here: it is tried. */
#ifndef CLI_CHECK_ENGINE_TRY_H
#define CLI_CHECK_ENGINE_TRY_H

#include "base/error.h"
#include "base/text.h"

enum check_engine_state {
	CHECK_ENGINE_WORKS,
	CHECK_ENGINE_MISSING,    /* it is not in $PATH */
	CHECK_ENGINE_NO_SYMBOLS, /* it does not find the dynamic linker's symbols (libc6-dbg) */
	CHECK_ENGINE_FAILS,
};

/*
 * Runs /bin/true under memcheck. Unless that works, adds to `why` a sentence without a full stop.
 * Errors: it can't be tried, as memory or descriptors are used up; *ret is untouched then.
 */
struct error *check_engine_try(enum check_engine_state *ret, struct text *why) must_check_;

#endif
