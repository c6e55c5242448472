/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Graphviz' dot, which draws graphs: a program of its own, found in PATH. */
#ifndef CLI_GRAPHVIZ_H
#define CLI_GRAPHVIZ_H

#include "base/error.h"
#include "base/text.h"

/* The format that a file's name ends with, as dot -T takes it ("svg"…); "dot": no drawing is
 * needed. NULL: none that is known. */
const char *graphviz_format(const char *path);

/*
 * Has dot draw `graph` into the file at `path`. ERROR_ENVIRONMENT: there is no dot, it failed, or
 * the file cannot be written.
 */
struct error *graphviz_draw(
	const char *format, const char *path, const struct text *graph) must_check_;

#endif
