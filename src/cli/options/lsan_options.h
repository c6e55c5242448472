/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options in LeakSanitizer's form ("exitcode=0:suppressions=known.supp"), as LSAN_OPTIONS and a
 * program's __lsan_default_options() have them: those that mean the same here.
 */
#ifndef CLI_LSAN_OPTIONS_H
#define CLI_LSAN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* LeakSanitizer's exit status for leaks, unless its options say otherwise. */
#define LSAN_EXITCODE 23

struct lsan_options {
	int exitcode;     /* for leaks; 0: none */
	size_t max_leaks; /* places to list; 0: all */
	bool detect_leaks;
	char *suppressions; /* a file; NULL: none. Owned */
	char *log_path;     /* files are called so, with a dot and the PID; NULL: none. Owned */
	struct text passed; /* names of those that mean nothing here, ", " between them */
};

void lsan_options_init(struct lsan_options *options);
void lsan_options_deinit(struct lsan_options *options);

/* Takes what a text says; what comes later wins. NULL is fine. */
void lsan_options_take(struct lsan_options *options, const char *text);

/* Says once which of LSAN_OPTIONS mean nothing here. */
void lsan_options_warn(void);

#endif
