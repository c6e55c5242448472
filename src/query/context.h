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

#include <stdbool.h>

#include "base/error.h"

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
};

/* What goes on; a variable of the function that does it. */
struct query_task {
	char what[64];
	struct query_task *outer; /* what it is a part of; NULL: nothing */
};

struct spooled_file;
struct unpacked_bundle;
struct input_file;

/* Its members are of src/query alone, but that a variable that lives as long as the program may
 * have its listener set and all else 0, instead of query_context_init(). */
struct query_context {
	struct query_listener listener;
	struct query_task *task; /* the innermost; NULL: none */
	struct spooled_file *spooled;
	struct unpacked_bundle *unpacked;
	struct input_file *inputs;
};

/* Prepares it; `listener` NULL: nobody is told. Functions and their ctx must outlive it. */
void query_context_init(struct query_context *context, const struct query_listener *listener);
/* Removes what was unpacked, and gives copies of pipes back. Paths that it gave are invalid. */
void query_context_deinit(struct query_context *context);

/* Calls `each` with the folders of all bundles that are unpacked. May be called in a signal
 * handler.
 */
void query_context_each_folder(const struct query_context *context,
	void (*each)(void *ctx, const char *folder), void *ctx);

/* Tells the listener. */
void query_note(struct query_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Tells the listener that something begins. query_task_end() in the same function. */
void query_task_begin(struct query_context *context, struct query_task *task, const char *format,
	...) __attribute__((format(printf, 3, 4)));
/* That it has ended; what it is a part of goes on. */
void query_task_end(struct query_context *context, struct query_task *task);

#endif
