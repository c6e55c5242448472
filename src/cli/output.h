/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results on stdout. A reader that left (head, a pager) is no error: the rest is dropped quietly
 * and the exit code is 0. A disk that is full, or a stdout that is closed, is one.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/text.h"
#include "views/views.h"

struct output {
	int fd;
	int error;  /* errno of the write that failed; 0: none */
	bool paged; /* the first write starts the pager */
};

/* A sink that writes to stdout. Ignores SIGPIPE from here on. */
struct sink output_sink(struct output *output);
/* The same through a pager, if that is wanted and stdout is a terminal: see pager.h. */
struct sink output_sink_paged(struct output *output, bool wanted);
/* The same to another descriptor, which stays the caller's. */
struct sink output_sink_to(struct output *output, int fd);

/* The name that stands for stdout. */
#define OUTPUT_STDOUT "-"

/*
 * A sink that writes to a file, made anew; NULL or OUTPUT_STDOUT: to stdout. *ret_fd is the
 * caller's to close if it is not -1. Returns 0, or the exit code after saying why.
 */
int output_open(struct output *output, struct sink *ret_sink, const char *path, int *ret_fd);

/* The exit code for how writing went, after saying so if it failed, and once a pager is left. */
int output_end(const struct output *output);

/* Writes a text, frees it, and returns the exit code. */
int output_text(struct text *text);

#endif
