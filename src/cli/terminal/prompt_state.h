/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the prompt remembers from one line to the next, in pprof's words, and the command lines that
 * its lines stand for.
 */
#ifndef CLI_PROMPT_STATE_H
#define CLI_PROMPT_STATE_H

#include "base/text.h"
#include "base/vec.h"

DEFINE_VEC(prompt_words, char *)

/* Options with a value, as pprof has them and as ours are called. */
enum prompt_option {
	PROMPT_SAMPLE_INDEX,
	PROMPT_GRANULARITY,
	PROMPT_FOCUS,
	PROMPT_IGNORE,
	PROMPT_HIDE,
	PROMPT_SHOW,
	PROMPT_SHOW_FROM,
	PROMPT_TAGFOCUS,
	PROMPT_BASE,
	PROMPT_AT,
	PROMPT_FROM,
	PROMPT_TO,
	PROMPT_NODE_COUNT,
	PROMPT_NODE_FRACTION,
	PROMPT_EDGE_FRACTION,
	PROMPT_SORT,
	PROMPT_OPTIONS,
};

struct prompt_state {
	const char *file;
	char *values[PROMPT_OPTIONS]; /* NULL: the default */
};

struct prompt_option_info {
	const char *name;
	const char *help;
	const char *const *words; /* the values there are, ended by NULL; NULL: any */
};
extern const struct prompt_option_info prompt_options[PROMPT_OPTIONS];

void prompt_state_deinit(struct prompt_state *state);

/* One command of the prompt. */
struct prompt_verb {
	const char *name;
	const char *argument; /* for the help; NULL: takes none */
	const char *help;
	const char *command; /* of ours that answers; NULL: the prompt itself */
};
/* Ended by an empty row. */
extern const struct prompt_verb prompt_verbs[];

/* NULL: there is none. "top10" is "top", with 10 as the first word behind it. */
const struct prompt_verb *prompt_verb_find(const char *word, const char **ret_number);

/*
 * Sets an option: "sample_index=alloc_space", "focus=" (the default again). False: *ret_why, a
 * sentence that the caller frees (NULL: no memory), says why not.
 */
bool prompt_set(struct prompt_state *state, const char *text, size_t name_len, char **ret_why);

/*
 * The words of the command line that a verb stands for, with the line's own: numbers limit, words
 * are regular expressions that focus, or ignore with '-' before them; the caller frees them. False:
 * as above.
 */
bool prompt_command(const struct prompt_state *state, const struct prompt_verb *verb,
	char *const *words, size_t count, struct prompt_words *ret, char **ret_why);
void prompt_words_free(struct prompt_words *words);

/* The words of a line; quotes keep blanks together. False: one is not closed, or no memory. */
bool prompt_split(const char *line, struct prompt_words *ret);

#endif
