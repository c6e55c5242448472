/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who asks: the files that are kept for it, and whom it wants told. A program has one, a server one
 * for each of its clients. It is used by one thread at a time.
 *
 *	struct query_context context;
 *	query_context_init(&context, &(struct query_listener){.note = print_note});
 *	…
 *	query_context_deinit(&context);
 */
#ifndef QUERY_CONTEXT_H
#define QUERY_CONTEXT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "symbols/settings.h"

/* Whom queries tell what they notice and do. Each function may be NULL. */
struct query_listener {
	void *ctx;
	/* Something limits an answer, or is worth knowing beside it: text without a line end at its
	 * end, which is valid during the call. It may have names from outside in it. */
	void (*note)(void *ctx, const char *text);
	/* Something begins that may take long: "reading app.hpw"; NULL: nothing goes on any more.
	 * What is told next replaces it. */
	void (*progress)(void *ctx, const char *what);
	/* A bundle is about to be unpacked for the first time: who may be killed arranges that
	 * query_context_each_folder() names what is to be removed then. */
	void (*keeps_folders)(void *ctx);
	/* A process is about to be stopped and copied: who may be killed sets `stop` instead, until
	 * all is given back (`holds` false). */
	void (*holds_process)(void *ctx, bool holds);
	/* Not 0: a signal's number, for which what is going on ends early. May be NULL. */
	const volatile sig_atomic_t *stop;
	struct fetch_listener fetch;             /* told of debug files that are fetched */
	const struct query_collector *collector; /* NULL: collectors are not asked */
};

struct live_block;

/* What the collector of a recorded process has told of it. */
struct query_live_blocks {
	char *path;      /* of its recording; the caller frees it */
	int pipe;        /* live blocks come through it; -1: it could not be asked now */
	uint64_t blocks; /* how many */
};

/* How the collector of a process that is being recorded is asked what lives in it. */
struct query_collector {
	/* Asks, while the process stands still. ret->pipe -1 and no error: a thread was stopped in
	 * the middle of telling something, and the process is to go on for a moment; never if
	 * `anyhow`. */
	struct error *(*ask)(pid_t pid, bool anyhow, struct query_live_blocks *ret);
	/* Reads what was announced, ascending by address; the caller frees *ret. Closes the pipe.
	 * Fewer than announced: it has ended. */
	struct error *(*read)(
		struct query_live_blocks *live_blocks, struct live_block **ret, size_t *ret_count);
};

/* What goes on; a variable of the function that does it. */
struct query_task {
	char what[64];
	struct query_task *outer; /* what it is a part of; NULL: nothing */
};

struct spooled_file;
struct unpacked_bundle;
struct input_file;

/* Its members are of src/query alone. */
struct query_context {
	struct query_listener listener;
	struct query_task *task; /* the innermost; NULL: none */
	struct spooled_file *spooled;
	struct unpacked_bundle *unpacked;
	struct input_file *inputs;
	const char *program;
	bool program_unused_noted;
};

/* Prepares it; `listener` NULL: nobody is told. Functions and their ctx must outlive it. */
void query_context_init(struct query_context *context, const struct query_listener *listener);
/* Removes what was unpacked, and gives copies of pipes back. Paths that it gave are invalid. */
void query_context_deinit(struct query_context *context);

/*
 * Sets which program the logs are of that are opened from now on, for those that name it by a path
 * where it is not (mtrace's); NULL: it is there. The text must outlive the context. ERROR_USAGE: no
 * such file can be read.
 */
struct error *query_context_set_program(
	struct query_context *context, const char *program) must_check_;

/* Calls `each` with the folders of all bundles that are unpacked. May be called in a signal
 * handler.
 */
void query_context_each_folder(const struct query_context *context,
	void (*each)(void *ctx, const char *folder), void *ctx);

/* NULL, or that the listener wants an end. */
struct error *query_context_check(const struct query_context *context) must_check_;

/* Tells the listener. */
void query_note(struct query_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Tells the listener that something begins. query_task_end() in the same function. */
void query_task_begin(struct query_context *context, struct query_task *task, const char *format,
	...) __attribute__((format(printf, 3, 4)));
/* That it has ended; what it is a part of goes on. */
void query_task_end(struct query_context *context, struct query_task *task);

#endif
