/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/prompt_complete.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/grain.h"
#include "analysis/profile.h"
#include "base/cleanup.h"
#include "cli/setup/context.h"
#include "query/bundles.h"
#include "sources/source.h"

static bool keep_names(struct prompt_complete *c, const struct profile *profile)
{
	struct spots *spots = NULL;
	struct error *error = spots_create(GRAIN_FUNCTIONS, &spots);
	const struct rows *rows = profile_rows(profile);
	for (size_t i = 0; !error && i < rows->rows.len; i++)
		for (size_t k = 0; !error && k < rows->rows.data[i].depth; k++) {
			const struct spot *spot;
			error = spots_find(spots, rows->rows.data[i].frames[k], &spot);
		}
	bool ok = !error;
	for (size_t i = 0; ok && i < spots_count(spots); i++) {
		char *name = strdup(spots_at(spots, i)->name);
		ok = name && prompt_words_push(&c->names, name);
	}
	error_destroy(error);
	spots_destroy(spots);
	return ok;
}

/* Names are read when they are first asked for; without them less is completed. */
static void need_names(struct prompt_complete *c)
{
	if (c->has_names)
		return;
	c->has_names = true;
	_cleanup_(model_cleanup) struct model *model = NULL;
	struct profile profile;
	profile_init(&profile);
	struct error *error = recording_open(cli_context(), c->state->file, 0, NULL, &model);
	if (!error)
		error = profile_build(model, false, NULL, &profile);
	if (!error)
		keep_names(c, &profile);
	error_destroy(error);
	profile_deinit(&profile);
}

/* The n-th word that could stand first in a line; NULL: there are no more. */
static const char *first_word(size_t n)
{
	size_t verbs = 0;
	while (prompt_verbs[verbs].name)
		verbs++;
	if (n < verbs)
		return prompt_verbs[n].name;
	return n - verbs < PROMPT_OPTIONS ? prompt_options[n - verbs].name : NULL;
}

/* The n-th value that the option may have that the line begins with. */
static const char *value_word(const char *line, size_t n)
{
	size_t len = strcspn(line, "=");
	for (int i = 0; i < PROMPT_OPTIONS; i++) {
		const struct prompt_option_info *info = &prompt_options[i];
		if (strlen(info->name) != len || strncmp(info->name, line, len) != 0)
			continue;
		for (size_t k = 0; info->words && info->words[k]; k++)
			if (k == n)
				return info->words[k];
	}
	return NULL;
}

static const char *prompt_complete_candidate(
	void *context, const char *line, size_t start, size_t n)
{
	struct prompt_complete *c = context;
	if (start == 0)
		return first_word(n);
	if (line[start - 1] == '=')
		return value_word(line, n);
	need_names(c);
	return n < c->names.len ? c->names.data[n] : NULL;
}

struct line_completion prompt_completion(struct prompt_complete *complete)
{
	return (struct line_completion){complete, prompt_complete_candidate};
}

void prompt_complete_deinit(struct prompt_complete *complete)
{
	prompt_words_free(&complete->names);
}
