/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results on stdout. A reader that left (head, a pager) is no error: the rest is dropped quietly
 * and the exit code is 0. A disk that is full, or a stdout that is closed, is one.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/output_file.h"
#include "base/text.h"
#include "views/views.h"

struct output {
	int fd;
	int error;               /* errno of the write that failed; 0: none */
	bool paged;              /* the first write starts the pager */
	struct output_file file; /* none: `fd` is somebody else's */
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
 * A sink that writes beside a file, which output_end() puts there; NULL or OUTPUT_STDOUT: to
 * stdout. `mode` as of output_file_open(). A file that was read (inputs.h) is refused. Returns 0,
 * or the exit code after saying why.
 */
int output_open(struct output *output, struct sink *ret_sink, const char *path, mode_t mode);

/* The mode of results that anybody may read whom the umask lets. */
#define OUTPUT_MODE 0666u

/* Gives up what was written to a file; what was there before stays. */
void output_drop(struct output *output);

/* Puts a file in its place, and returns 0; or the exit code, after saying why. */
int output_file_end(struct output_file *file);

/* The exit code for how writing went, after saying so if it failed, and once a pager is left. */
int output_end(struct output *output);

/* Writes a text, frees it, and returns the exit code. */
int output_text(struct text *text);

#endif
