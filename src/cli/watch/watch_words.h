/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command line in one argument, as memleak's -c has it. */
#ifndef CLI_WATCH_WORDS_H
#define CLI_WATCH_WORDS_H

#include "base/error.h"
#include "base/vec.h"

DEFINE_VEC(watch_word_vec, char *)

struct watch_words {
	char *text;  /* that the words are in */
	char **data; /* ended by NULL */
	struct watch_word_vec words;
};

/*
 * Splits a command into words, as a shell does at blanks, with quotes ('…', "…") and backslashes,
 * and nothing else: no variables, no patterns. ERROR_USAGE: there is no word, or a quote has no
 * end. Call watch_words_deinit() in any case.
 */
struct error *watch_words_split(const char *command, struct watch_words *ret) must_check_;
void watch_words_deinit(struct watch_words *words);

#endif
