/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One answer of `run --http`, made by a process of its own: the hidden command `http-answer`. */
#ifndef CLI_HTTP_ANSWER_H
#define CLI_HTTP_ANSWER_H

#include <stdbool.h>
#include <sys/types.h>

#include "capture/ask.h"

/* The longest difference. */
#define HTTP_SECONDS_MAX 300u
/* The exit status of an answer that can't be made since nothing is being recorded now. */
#define HTTP_EXIT_STOPPED 43
#define HTTP_WORDS_MAX 12
#define HTTP_WORD_BYTES 64

enum http_kind {
	HTTP_HEAP,
	HTTP_ALLOCS,
	HTTP_INDEX,
	HTTP_PAGE,
	HTTP_COMMAND, /* the command line, with a NUL between its words */
	/* As gperftools' own server has them: addresses, and their names apart. */
	HTTP_ADDRESSES,
	HTTP_NAMES,
	HTTP_KINDS
};

struct http_question {
	enum http_kind kind;
	pid_t root;       /* the program that was started */
	pid_t pid;        /* that is asked for; 0: root, or if that has ended the largest */
	unsigned seconds; /* the difference over so long; 0: the state */
	bool debug;       /* as text */
	char session[HW_SESSION_BYTES]; /* the path of the collector's socket */
};

/* A command line. */
struct http_words {
	char texts[HTTP_WORDS_MAX][HTTP_WORD_BYTES + HW_SESSION_BYTES];
	char *data[HTTP_WORDS_MAX + 1];
};

/* Makes the command line that answers a question. */
void http_words_make(const struct http_question *question, struct http_words *ret);

#endif
