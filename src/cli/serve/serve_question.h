/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a page asks `heapwise serve` for, from the arguments of a URL to the command that answers
 * it: "file=0&from=1s&focus=^parse_" is `heapwise html --from=1s --focus=^parse_ -- app.hpw`. Files
 * are numbers of the list, and options those that choose what a page is of: neither a path nor an
 * output comes from outside.
 */
#ifndef CLI_SERVE_QUESTION_H
#define CLI_SERVE_QUESTION_H

#include "base/error.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/serve/serve_files.h"
#include "serve/serve.h"

/* Bytes of a value. */
#define SERVE_VALUE_MAX 4096u

DEFINE_VEC(word_vec, char *)

struct serve_question {
	bool is_of_process; /* an answer to it is never given again */
	size_t file;
	struct word_vec words; /* of a command line, without its end; owned */
	struct text key;       /* equal questions to equal files have equal ones */
};

/* What questions may be about. */
struct serve_questions {
	const struct serve_files *files;
	const struct option_spec *allowed; /* options that may be asked for */
	char *const *common;               /* words of all answers, after the command's name */
	size_t common_count;
	bool compares;  /* whether `base` may be asked for */
	uint64_t looks; /* at processes, so far: an answer of theirs is never given twice */
};

void serve_question_init(struct serve_question *question);
void serve_question_deinit(struct serve_question *question);

/* Takes the arguments; serve_question_deinit() in either case. ERROR_USAGE: one is wrong, or of no
 * file of the list. */
struct error *serve_question_take(struct serve_questions *questions,
	const struct serve_argument *arguments, size_t count,
	struct serve_question *ret) must_check_;

#endif
