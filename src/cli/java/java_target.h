/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JVM that a word of the command line means. */
#ifndef CLI_JAVA_TARGET_H
#define CLI_JAVA_TARGET_H

#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"

/*
 * A PID; `jps`: the only JVM that runs; else a main class (with or without its package) or the file
 * of -jar (with or without ".jar"). ERROR_INPUT: none is it, or several are, which the error lists.
 */
struct error *java_target_find(const char *word, pid_t *ret) must_check_;

/* Adds a line "PID NAME" for each JVM that the caller can see. */
struct error *java_targets_add(struct text *out) must_check_;

#endif
