/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/suggest.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

#define NAMED_MOST 4u
#define WORD_BYTES_MOST 40u
/* Shorter words stand in too many helps. */
#define WORD_BYTES_LEAST 4u

/* "--name=value" without the dashes and the value. */
struct word {
	char text[WORD_BYTES_MOST + 1];
	size_t len;
};

static struct word word_of(const char *given)
{
	struct word word = {.len = 0};
	given += strspn(given, "-");
	word.len = min(strcspn(given, "="), (size_t)WORD_BYTES_MOST);
	memcpy(word.text, given, word.len);
	return word;
}

static bool suggest_begins(const struct option_spec *spec, const struct word *word)
{
	return !strncmp(spec->name, word->text, word->len);
}

/* Levenshtein's distance; neighbours that changed places count as two. */
static size_t suggest_distance(const char *name, const struct word *word)
{
	size_t row[WORD_BYTES_MOST + 1], len = min(strlen(name), (size_t)WORD_BYTES_MOST);
	for (size_t i = 0; i <= len; i++)
		row[i] = i;
	for (size_t k = 0; k < word->len; k++) {
		size_t diagonal = row[0];
		row[0] = k + 1;
		for (size_t i = 0; i < len; i++) {
			size_t changed = diagonal + (name[i] != word->text[k]);
			diagonal = row[i + 1];
			row[i + 1] = min(changed, min(row[i], row[i + 1]) + 1);
		}
	}
	return row[len];
}

static bool is_near(const struct option_spec *spec, const struct word *word)
{
	return word->len > 1 && suggest_distance(spec->name, word) <= max(word->len / 3, (size_t)1);
}

static bool is_part(const struct option_spec *spec, const struct word *word)
{
	return word->len >= WORD_BYTES_LEAST &&
	       (strstr(spec->name, word->text) || strstr(word->text, spec->name));
}

/* As a whole word of what the option's help says. */
static bool is_in_help(const struct option_spec *spec, const struct word *word)
{
	const char *at = word->len >= WORD_BYTES_LEAST ? spec->help : NULL;
	while (at && (at = strstr(at, word->text))) {
		bool starts = at == spec->help || !isalnum((unsigned char)at[-1]);
		if (starts && !isalnum((unsigned char)at[word->len]))
			return true;
		at++;
	}
	return false;
}

/* Adds those that fit: "--min-size, --max-size"; returns how many there are. */
static size_t add_fitting(const struct command *command, const struct word *word,
	bool (*fits)(const struct option_spec *spec, const struct word *word), const char *before,
	struct text *text)
{
	size_t count = 0;
	for (const struct option_spec *spec = command->options; spec && spec->name; spec++) {
		if (!fits(spec, word) || count++ >= NAMED_MOST)
			continue;
		text_printf(text, "%s--%s", count == 1 ? before : ", ", spec->name);
	}
	if (count > NAMED_MOST)
		text_add(text, "…");
	return count;
}

static bool suggest_has_name(const struct command *command, const struct word *word)
{
	for (const struct option_spec *spec = command->options; spec && spec->name; spec++)
		if (!strcmp(spec->name, word->text))
			return true;
	return false;
}

/* Adds which others have it: "; heapwise run has it". */
static bool add_others(const struct word *word, struct text *text)
{
	size_t count = 0;
	for (size_t i = 0; commands[i]; i++) {
		if (commands[i]->hidden || !suggest_has_name(commands[i], word) ||
			count++ >= NAMED_MOST)
			continue;
		text_printf(text, "%s%s", count == 1 ? "; heapwise commands that have it: " : ", ",
			commands[i]->name);
	}
	return count;
}

void suggest_option(const struct command *command, const char *given, struct text *text)
{
	static const struct {
		bool (*fits)(const struct option_spec *spec, const struct word *word);
		const char *before;
	} ways[] = {
		{is_near, "; did you mean "}, {is_part, "; did you mean "}, {is_in_help, "; see "}};
	const struct word word = word_of(given);
	_cleanup_(text_deinit) struct text fitting;
	text_init(&fitting);
	if (strchr(given, '=') && suggest_has_name(command, &word)) {
		text_printf(text, "option '--%s' takes no value: '%s'", word.text, given);
		return;
	}
	if (word.len && add_fitting(command, &word, suggest_begins, ": it may be ", &fitting) > 1) {
		text_printf(
			text, "ambiguous option '%s'%s", given, fitting.data ? fitting.data : "");
		return;
	}
	text_printf(text, "unknown option '%s'", given);
	bool found = word.len && !suggest_has_name(command, &word) && add_others(&word, text);
	for (size_t i = 0; i < ARRAY_SIZE(ways) && !found && word.len; i++)
		found = add_fitting(command, &word, ways[i].fits, ways[i].before, text);
}
