/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The library that serves programs under `heapwise check`: where it is, and what it can do here.
 * What it can do it says itself, in a short process that it serves.
 */
#ifndef CLI_CHECK_LIBRARY_H
#define CLI_CHECK_LIBRARY_H

#include "base/error.h"
#include "base/text.h"
#include "capture/check_settings.h"

/*
 * Adds the path of the library, which stands beside `runtime` (runtime_find()). ERROR_ENVIRONMENT:
 * it is not there; the message says what to do.
 */
struct error *check_library_find(const char *runtime, struct text *ret) must_check_;

/*
 * Runs /bin/sh, which does nothing, served by the library `path`. `backend` is a word of
 * --backend; *ret is what the library says then: the back-end that it chose (HW_BACKEND_NONE: the
 * one asked for does not work), and by what it is limited. ERROR_ENVIRONMENT: it can't be run, or
 * was not served.
 */
struct error *check_library_try(
	const char *path, const char *backend, struct hw_check_sums *ret) must_check_;

#endif
