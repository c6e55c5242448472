/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/tracemalloc_options.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "base/util.h"

static const char *const option_names[] = {
	[TRACEMALLOC_OPT_INCLUDE - TRACEMALLOC_OPT_FIRST] = "--include",
	[TRACEMALLOC_OPT_EXCLUDE - TRACEMALLOC_OPT_FIRST] = "--exclude",
	[TRACEMALLOC_OPT_ANY_FRAME - TRACEMALLOC_OPT_FIRST] = "--any-frame",
	[TRACEMALLOC_OPT_NFRAME - TRACEMALLOC_OPT_FIRST] = "--nframe",
	[TRACEMALLOC_OPT_RECENT_FIRST - TRACEMALLOC_OPT_FIRST] = "--most-recent-first",
};
static_assert(ARRAY_SIZE(option_names) == TRACEMALLOC_OPT_LAST - TRACEMALLOC_OPT_FIRST,
	"each option has a name");

void tracemalloc_options_init(struct tracemalloc_options *options)
{
	*options = (struct tracemalloc_options){.chosen = false};
	python_filters_init(&options->grouping.filters);
}

void tracemalloc_options_deinit(struct tracemalloc_options *options)
{
	python_filters_deinit(&options->grouping.filters);
}

/* A line's number; 0 is one, too: of code whose line is not known. */
static bool parse_line(const char *text, uint64_t *ret)
{
	*ret = 0;
	return strcmp(text, "0") == 0 || number_whole(text, ret);
}

/* "lib/app.py:41"; what follows a colon and is no number belongs to the name. */
static struct error *add_filter(
	struct tracemalloc_options *options, const char *text, bool exclusive)
{
	const char *colon = strrchr(text, ':');
	uint64_t line = 0;
	bool has_line = colon && parse_line(colon + 1, &line);
	struct python_filter filter = {.pattern = text,
		.len = has_line ? (size_t)(colon - text) : strlen(text),
		.exclusive = exclusive,
		.has_line = has_line,
		.line = (uint32_t)line};
	if (!filter.len)
		return error_create(ERROR_USAGE,
			"invalid --%s '%s': expected a pattern of file names, '*/app.py', or with "
			"a "
			"line '*/app.py:41'",
			exclusive ? "exclude" : "include", text);
	if (line > UINT32_MAX)
		return error_create(ERROR_USAGE, "invalid --%s '%s': there is no such line",
			exclusive ? "exclude" : "include", text);
	return python_filters_push(&options->grouping.filters, filter) ? NULL : error_no_memory();
}

static struct error *take_nframe(struct tracemalloc_options *options, const char *text)
{
	uint64_t frames;
	if (!number_whole(text, &frames) || !frames)
		return error_create(ERROR_USAGE,
			"invalid --nframe '%s': expected a whole number from 1 on", text);
	options->grouping.depth = frames;
	return NULL;
}

struct error *tracemalloc_options_take(
	struct tracemalloc_options *options, int id, const char *argument, bool *ret_taken)
{
	*ret_taken = id > TRACEMALLOC_OPT_FIRST && id < TRACEMALLOC_OPT_LAST;
	if (*ret_taken && !options->given)
		options->given = option_names[id - TRACEMALLOC_OPT_FIRST];
	switch (id) {
	case TRACEMALLOC_OPT_INCLUDE:
	case TRACEMALLOC_OPT_EXCLUDE:
		return add_filter(options, argument, id == TRACEMALLOC_OPT_EXCLUDE);
	case TRACEMALLOC_OPT_ANY_FRAME:
		options->grouping.any_frame = true;
		return NULL;
	case TRACEMALLOC_OPT_NFRAME:
		return take_nframe(options, argument);
	case TRACEMALLOC_OPT_RECENT_FIRST:
		options->most_recent_first = true;
		return NULL;
	default:
		return NULL;
	}
}

bool tracemalloc_key_parse(const char *text, enum python_key *ret)
{
	static const struct {
		const char *name;
		enum python_key key;
	} keys[] = {{"line", PYTHON_BY_LINE}, {"lineno", PYTHON_BY_LINE}, {"file", PYTHON_BY_FILE},
		{"filename", PYTHON_BY_FILE}, {"traceback", PYTHON_BY_TRACEBACK}};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].name, text) == 0) {
			*ret = keys[i].key;
			return true;
		}
	return false;
}
