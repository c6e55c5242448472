/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch/watch_words.h"

#include <stdlib.h>
#include <string.h>

/* Takes a word from `in` to `out`, which may be the same memory. Returns what follows it; NULL: a
 * quote has no end. */
static const char *word_take(const char *in, char **out)
{
	char quote = 0;
	for (; *in && (quote || !strchr(" \t\n", *in)); in++) {
		if (quote && *in == quote)
			quote = 0;
		else if (!quote && (*in == '"' || *in == '\''))
			quote = *in;
		else if (*in == '\\' && quote != '\'' && in[1])
			*(*out)++ = *++in;
		else
			*(*out)++ = *in;
	}
	return quote ? NULL : in;
}

struct error *watch_words_split(const char *command, struct watch_words *ret)
{
	*ret = (struct watch_words){.text = malloc(2 * strlen(command) + 2)};
	if (!ret->text)
		return error_no_memory();
	char *out = ret->text;
	for (const char *in = command; *(in += strspn(in, " \t\n"));) {
		if (!watch_word_vec_push(&ret->words, out))
			return error_no_memory();
		in = word_take(in, &out);
		if (!in)
			return error_create(
				ERROR_USAGE, "invalid -c '%s': a quote has no end", command);
		*out++ = 0;
	}
	if (!ret->words.len)
		return error_create(ERROR_USAGE, "invalid -c '%s': expected a command", command);
	if (!watch_word_vec_push(&ret->words, NULL))
		return error_no_memory();
	ret->data = ret->words.data;
	return NULL;
}

void watch_words_deinit(struct watch_words *words)
{
	free(words->text);
	watch_word_vec_deinit(&words->words);
}
