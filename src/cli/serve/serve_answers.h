/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers by processes of their own: each runs the command that a user would, `heapwise html
 * --container …`, and what it writes is the answer. So an answer is the command's, byte by byte; a
 * damaged file or one that takes all memory ends a process, not the server; and what nobody waits
 * for any more is ended by a signal.
 *
 *	asked ──▶ kept? ──yes──▶ answered
 *	            │ no
 *	            ▼
 *	          queue ──▶ runs, one for each file ──▶ kept, answered
 */
#ifndef CLI_SERVE_ANSWERS_H
#define CLI_SERVE_ANSWERS_H

#include <poll.h>

#include "base/error.h"
#include "base/text.h"
#include "serve/serve.h"

/* Processes at a time. */
#define SERVE_RUNNING_MAX 2u
/* Questions that wait for one; more are refused. */
#define SERVE_WAITING_MAX 32u
/* Of one answer. */
#define SERVE_ANSWER_BYTES_MAX ((size_t)128 << 20)
/* Of all answers that are kept to be given again; the oldest go first. */
#define SERVE_KEPT_BYTES_MAX ((size_t)64 << 20)
/* Of what its process says of errors; the rest is dropped. */
#define SERVE_MESSAGE_BYTES_MAX ((size_t)16 << 10)
/* For one answer. */
#define SERVE_COMPUTE_SECONDS_MAX 600u

struct serve_answers;

/* How an answer is made. */
struct serve_work {
	const char *key;  /* equal ones have equal answers; copied */
	size_t file;      /* one runs at a time for each; SIZE_MAX: of none */
	bool is_kept;     /* the answer is given again */
	const char *type; /* of the answer; static */
	/* The command line of this program, until NULL; copied. With `run`, that is called instead,
	 * in a process of its own, with the command line, or if there is none (NULL) with `ctx`. It
	 * returns the exit code. */
	char *const *words;
	int (*run)(void *ctx);
	void *ctx;
};

/* What an answer may come to; for tests. */
struct serve_answer_bounds {
	size_t answer_bytes, message_bytes;
	unsigned compute_seconds, running;
};
#define SERVE_ANSWER_BOUNDS                                                                        \
	((struct serve_answer_bounds){                                                             \
		.answer_bytes = SERVE_ANSWER_BYTES_MAX,                                            \
		.message_bytes = SERVE_MESSAGE_BYTES_MAX,                                          \
		.compute_seconds = SERVE_COMPUTE_SECONDS_MAX,                                      \
		.running = SERVE_RUNNING_MAX,                                                      \
	})

struct serve_answers_settings {
	struct serve_answer_bounds bounds; /* SERVE_ANSWER_BOUNDS */
	/* Adds what a process said of errors, as pages may show it. NULL: as it is. */
	void (*show_message)(void *ctx, const char *message, struct text *ret);
	void *ctx;
	bool plain; /* errors are texts, not JSON */
	/* The status of HTTP for an exit code other than 0; NULL: as for pages. */
	unsigned (*status_of)(int code);
};

struct error *serve_answers_create(
	const struct serve_answers_settings *settings, struct serve_answers **ret) must_check_;
/* Ends what runs; NULL: does nothing. */
void serve_answers_destroy(struct serve_answers *answers);

/* Answers the exchange now or later. Errors are answers as well: JSON with `error`, a text, and
 * `exit_code`, a number or null. */
void serve_answers_ask(struct serve_answers *answers, const struct serve_work *work,
	struct serve_exchange *exchange);
/* Answers with an error, which is destroyed. */
void serve_answer_error(
	struct serve_answers *answers, struct serve_exchange *exchange, struct error *error);

/* As of struct serve_site. */
void serve_answers_gone(struct serve_answers *answers, struct serve_exchange *exchange);
size_t serve_answers_watch(
	struct serve_answers *answers, struct pollfd *ret, size_t most, int *timeout_ms);
void serve_answers_ready(struct serve_answers *answers);
/* Returns whether an answer is being made. */
bool serve_answers_are_pending(const struct serve_answers *answers);

#endif
