/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be asked of the heap of a core or a process: verbs, of the command line and the prompt.
 */
#ifndef CLI_HEAP_VERBS_H
#define CLI_HEAP_VERBS_H

#include "base/text.h"
#include "cli/heap/heap_look.h"

struct heap_verb {
	const char *name;
	const char *synopsis; /* what follows the name; "" */
	const char *what;     /* one line */
	int least, most;      /* words that follow */
	/* words[0] is the name. Returns the exit code, after saying what is wrong. */
	int (*run)(struct heap_look *look, int count, char **words);
	unsigned options;    /* HEAP_SELECTION_BIT() of those that it takes */
	const char *more;    /* sentences of its help, with line ends; NULL: none */
	const char *example; /* of its help, behind the verb; NULL: none */
	bool has_csv;        /* what it answers has a main table, in all that it may say */
};

/* All verbs, ended by one without a name. */
extern const struct heap_verb heap_verbs[];
/* NULL: there is none. */
const struct heap_verb *heap_verb_find(const char *name);
/* Adds a line for each, for help. */
void heap_verbs_describe(struct text *text);

/* Adds what a verb is for, its options and an example. */
void heap_verb_describe(const struct heap_verb *verb, struct text *text);

/* The exit code of an answer about blocks: `status`, or that of an empty answer since nothing could
 * be read, after saying so. */
int heap_verbs_check_found(struct heap_look *look, int status);

/* Does what the words say; without any: the summary. Returns the exit code. */
int heap_verbs_run(struct heap_look *look, int count, char **words);

#endif
