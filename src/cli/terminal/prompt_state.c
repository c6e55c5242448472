/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/prompt_state.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metric.h"
#include "base/cleanup.h"
#include "base/util.h"

static const char *const sample_words[] = {"inuse_space", "inuse_objects", "alloc_space",
	"alloc_objects", "peak_space", "peak_objects", "live_bytes", "live_blocks",
	"allocated_bytes", "allocations", "peak_bytes", "peak_blocks", "kept_bytes", "kept_blocks",
	"temporary", "failed", NULL};
static const char *const grain_words[] = {
	"functions", "lines", "files", "addresses", "modules", NULL};
static const char *const sort_words[] = {"flat", "cum", NULL};

const struct prompt_option_info prompt_options[PROMPT_OPTIONS] = {
	[PROMPT_SAMPLE_INDEX] = {"sample_index",
		"what to show: inuse_space, alloc_space, inuse_objects, alloc_objects, peak_space, "
		"…",
		sample_words},
	[PROMPT_GRANULARITY] = {"granularity", "functions, lines, files, addresses or modules",
		grain_words},
	[PROMPT_FOCUS] = {"focus", "only stacks with a frame that matches this regular expression",
		NULL},
	[PROMPT_IGNORE] = {"ignore", "leave out stacks with a matching frame", NULL},
	[PROMPT_HIDE] = {"hide", "remove matching frames from stacks", NULL},
	[PROMPT_SHOW] = {"show", "keep only matching frames in stacks", NULL},
	[PROMPT_SHOW_FROM] = {"show_from", "cut off the callers of the outermost matching frame",
		NULL},
	[PROMPT_TAGFOCUS] = {"tagfocus",
		"only blocks with this tag: 64b:1kb, bytes=64, kind=malloc", NULL},
	[PROMPT_BASE] = {"base", "show the difference from this file", NULL},
	[PROMPT_AT] = {"at", "show the state at a point in time: peak, end, 3.2s, mark:NAME", NULL},
	[PROMPT_FROM] = {"from", "leave out what happened before", NULL},
	[PROMPT_TO] = {"to", "leave out what happened after", NULL},
	[PROMPT_NODE_COUNT] = {"nodecount", "maximum number of functions", NULL},
	[PROMPT_NODE_FRACTION] = {"nodefraction",
		"leave out functions with less than this fraction of the whole", NULL},
	[PROMPT_EDGE_FRACTION] = {"edgefraction", "leave out calls with less than this fraction",
		NULL},
	[PROMPT_SORT] = {"sort", "top by flat or cum", sort_words},
};

const struct prompt_verb prompt_verbs[] = {
	{"top", "[N] [REGEX] [-REGEX]", "the functions that allocate most", "report"},
	{"peek", "REGEX", "functions with their callers and callees", "peek"},
	{"tree", "[REGEX] [-REGEX]", "the same for all functions that matter", "peek"},
	{"list", "FUNC", "source lines with what they allocate", "list"},
	{"calls", "[REGEX] [-REGEX]", "call paths, as a tree from main", "tree"},
	{"flame", "[REGEX] [-REGEX]", "a flame graph", "flame"},
	{"report", NULL, "the verdict, totals and top lists", "report"},
	{"web", "[REGEX] [-REGEX]", "the call graph, in a browser", "graph"},
	{"svg", "[REGEX] [-REGEX] [> FILE]", "the call graph as a picture", "graph"},
	{"png", "[REGEX] [-REGEX] [> FILE]", "the call graph as PNG", "graph"},
	{"pdf", "[REGEX] [-REGEX] [> FILE]", "the call graph as PDF", "graph"},
	{"dot", "[REGEX] [-REGEX] [> FILE]", "the call graph in Graphviz's language", "graph"},
	{"o", NULL, "the options and their values", NULL},
	{"options", NULL, "the same", NULL},
	{"help", NULL, "this list", NULL},
	{"quit", NULL, "leave", NULL},
	{"exit", NULL, "leave", NULL},
	{NULL, NULL, NULL, NULL},
};

void prompt_state_deinit(struct prompt_state *state)
{
	for (int i = 0; i < PROMPT_OPTIONS; i++)
		free(state->values[i]);
}

const struct prompt_verb *prompt_verb_find(const char *word, const char **ret_number)
{
	size_t len = strcspn(word, "0123456789");
	*ret_number = word[len] ? word + len : NULL;
	for (const struct prompt_verb *verb = prompt_verbs; verb->name; verb++)
		if (strlen(verb->name) == len && strncmp(verb->name, word, len) == 0)
			return verb;
	return NULL;
}

__attribute__((format(printf, 2, 3))) static bool wrong(char **ret_why, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (vasprintf(ret_why, format, args) < 0)
		*ret_why = NULL;
	va_end(args);
	return false;
}

static bool prompt_state_is_word(const char *value, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(*words, value) == 0)
			return true;
	return false;
}

bool prompt_set(struct prompt_state *state, const char *text, size_t name_len, char **ret_why)
{
	const char *value = text + name_len + 1;
	for (int i = 0; i < PROMPT_OPTIONS; i++) {
		const struct prompt_option_info *info = &prompt_options[i];
		if (strlen(info->name) != name_len || strncmp(info->name, text, name_len) != 0)
			continue;
		if (*value && info->words && !prompt_state_is_word(value, info->words))
			return wrong(ret_why, "invalid value for %s '%s': %s", info->name, value,
				info->help);
		char *copy = *value ? strdup(value) : NULL;
		if (*value && !copy)
			return wrong(ret_why, "out of memory");
		free(state->values[i]);
		state->values[i] = copy;
		return true;
	}
	return wrong(ret_why, "unknown option '%.*s'; 'o' lists all options", (int)name_len, text);
}

/* A command line that is being made. */
struct making {
	struct prompt_words *words;
	bool failed;
};

static void prompt_state_add(struct making *making, const char *word)
{
	char *copy = strdup(word);
	if (copy && prompt_words_push(making->words, copy))
		return;
	free(copy);
	making->failed = true;
}

static void add_option(struct making *making, const char *name, const char *value)
{
	if (!value)
		return;
	prompt_state_add(making, name);
	prompt_state_add(making, value);
}

/* Our name of what pprof calls a sample type. */
static const char *metric_of(const char *sample)
{
	static const char *const pprof[][2] = {{"inuse_space", "live_bytes"},
		{"inuse_objects", "live_blocks"}, {"alloc_space", "allocated_bytes"},
		{"alloc_objects", "allocations"}, {"peak_space", "peak_bytes"},
		{"peak_objects", "peak_blocks"}};
	for (size_t i = 0; sample && i < ARRAY_SIZE(pprof); i++)
		if (strcmp(pprof[i][0], sample) == 0)
			return pprof[i][1];
	return sample;
}

static void add_common(struct making *making, const struct prompt_state *state)
{
	static const struct {
		enum prompt_option option;
		const char *name;
	} common[] = {
		{PROMPT_FOCUS, "--focus"},
		{PROMPT_IGNORE, "--ignore"},
		{PROMPT_HIDE, "--hide"},
		{PROMPT_SHOW, "--show"},
		{PROMPT_SHOW_FROM, "--show-from"},
		{PROMPT_TAGFOCUS, "--tagfocus"},
		{PROMPT_BASE, "--base"},
		{PROMPT_AT, "--at"},
		{PROMPT_FROM, "--from"},
		{PROMPT_TO, "--to"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		add_option(making, common[i].name, state->values[common[i].option]);
}

static void add_grain(struct making *making, const struct prompt_state *state)
{
	if (!state->values[PROMPT_GRANULARITY])
		return;
	char option[32];
	snprintf(option, sizeof(option), "--%s", state->values[PROMPT_GRANULARITY]);
	prompt_state_add(making, option);
}

/* pprof's defaults where something is left out. */
static void add_limits(struct making *making, const struct prompt_state *state)
{
	const char *nodes = state->values[PROMPT_NODE_FRACTION];
	const char *edges = state->values[PROMPT_EDGE_FRACTION];
	const char *count = state->values[PROMPT_NODE_COUNT];
	add_option(making, "--nodefraction", nodes ? nodes : "0.005");
	add_option(making, "--edgefraction", edges ? edges : "0.001");
	add_option(making, "--nodecount", count ? count : "80");
}

static void add_top(
	struct making *making, const struct prompt_state *state, const char *limit, bool by_cum)
{
	const char *grain = state->values[PROMPT_GRANULARITY];
	const char *sort = state->values[PROMPT_SORT];
	if (!limit)
		limit = state->values[PROMPT_NODE_COUNT];
	add_option(making, "--view", grain ? grain : "functions");
	add_option(making, "--sort", metric_of(state->values[PROMPT_SAMPLE_INDEX]));
	add_option(making, "--limit", limit ? limit : "10");
	if (by_cum || (sort && strcmp(sort, "cum") == 0))
		prompt_state_add(making, "--cum");
}

/* What the words behind a verb say. */
struct choice {
	const char *number, *focus, *ignore;
	bool by_cum;
};

static bool prompt_state_take_word(const char *word, struct choice *choice, char **ret_why)
{
	if (strcmp(word, "-cum") == 0) {
		choice->by_cum = true;
		return true;
	}
	if (word[0] && word[strspn(word, "0123456789")] == '\0' && !choice->number) {
		choice->number = word;
		return true;
	}
	const char **pattern = word[0] == '-' ? &choice->ignore : &choice->focus;
	if (*pattern)
		return wrong(ret_why,
			"only one regular expression is allowed: '%s' and '%s'; a|b is either",
			*pattern, word);
	*pattern = word + (word[0] == '-');
	return true;
}

static bool prompt_state_is(const struct prompt_verb *verb, const char *name)
{
	return strcmp(verb->name, name) == 0;
}

static void add_figure(struct making *making, const struct prompt_state *state)
{
	add_option(making, "--metric", metric_of(state->values[PROMPT_SAMPLE_INDEX]));
	add_grain(making, state);
}

static void add_verb(struct making *making, const struct prompt_state *state,
	const struct prompt_verb *verb, const struct choice *choice)
{
	if (prompt_state_is(verb, "top")) {
		add_top(making, state, choice->number, choice->by_cum);
	} else if (prompt_state_is(verb, "peek")) {
		add_figure(making, state);
		prompt_state_add(making, "--");
		prompt_state_add(making, choice->focus);
	} else if (prompt_state_is(verb, "list")) {
		prompt_state_add(making, "--");
		prompt_state_add(making, choice->focus);
	} else if (prompt_state_is(verb, "tree")) {
		add_figure(making, state);
		add_limits(making, state);
		prompt_state_add(making, ".");
	} else if (strcmp(verb->command, "graph") == 0) {
		add_figure(making, state);
		add_limits(making, state);
	} else if (!prompt_state_is(verb, "report")) {
		add_figure(making, state);
	}
}

bool prompt_command(const struct prompt_state *state, const struct prompt_verb *verb,
	char *const *words, size_t count, struct prompt_words *ret, char **ret_why)
{
	struct choice choice = {.number = NULL};
	struct making making = {.words = ret};
	for (size_t i = 0; i < count; i++)
		if (!prompt_state_take_word(words[i], &choice, ret_why))
			return false;
	bool seeks = prompt_state_is(verb, "peek") || prompt_state_is(verb, "list");
	if (seeks && !choice.focus)
		return wrong(ret_why, "%s: missing %s", verb->name, verb->argument);
	if (prompt_state_is(verb, "report") && (choice.focus || choice.ignore))
		return wrong(ret_why, "report can't be filtered; use 'top %s'",
			choice.focus ? choice.focus : choice.ignore);
	prompt_state_add(&making, verb->command);
	if (!prompt_state_is(verb, "report"))
		add_common(&making, state);
	if (!seeks)
		add_option(&making, "--focus", choice.focus);
	add_option(&making, "--ignore", choice.ignore);
	add_verb(&making, state, verb, &choice);
	prompt_state_add(&making, state->file);
	return making.failed ? wrong(ret_why, "out of memory") : true;
}

void prompt_words_free(struct prompt_words *words)
{
	for (size_t i = 0; i < words->len; i++)
		free(words->data[i]);
	prompt_words_deinit(words);
}

bool prompt_split(const char *line, struct prompt_words *ret)
{
	while (*(line += strspn(line, " \t"))) {
		_cleanup_(text_deinit) struct text word;
		text_init(&word);
		char quote = 0;
		for (; *line && (quote || !isblank((unsigned char)*line)); line++) {
			if (*line == quote)
				quote = 0;
			else if (!quote && (*line == '"' || *line == '\''))
				quote = *line;
			else
				text_add_char(&word, *line);
		}
		char *copy = text_steal(&word);
		if (quote || !copy || !prompt_words_push(ret, copy)) {
			free(copy);
			return false;
		}
	}
	return true;
}
