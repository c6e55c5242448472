/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Steps of one match: some milliseconds. Names are short, so only wild patterns get there. */
#define STEPS_MAX 100000u

struct pattern {
	char *text;
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	bool *gave_up; /* a match took more than STEPS_MAX */
};

static inline void pattern_cleanup(struct pattern **pattern)
{
	pattern_destroy(*pattern);
}

static struct error *not_compiled(const char *text, int number, size_t offset)
{
	PCRE2_UCHAR why[128];
	if (pcre2_get_error_message(number, why, sizeof(why)) < 0)
		why[0] = '\0';
	return error_create(ERROR_USAGE, "invalid regular expression '%s': %s, at byte %zu", text,
		(const char *)why, offset + 1);
}

struct error *pattern_create(const char *text, struct pattern **ret)
{
	_cleanup_(pattern_cleanup) struct pattern *pattern = calloc(1, sizeof(*pattern));
	if (!pattern)
		return error_no_memory();
	int number;
	size_t offset;
	pattern->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
		PCRE2_NEVER_BACKSLASH_C, &number, &offset, NULL);
	if (!pattern->code)
		return not_compiled(text, number, offset);
	pattern->text = strdup(text);
	pattern->data = pcre2_match_data_create_from_pattern(pattern->code, NULL);
	pattern->context = pcre2_match_context_create(NULL);
	pattern->gave_up = calloc(1, sizeof(*pattern->gave_up));
	if (!pattern->text || !pattern->data || !pattern->context || !pattern->gave_up)
		return error_no_memory();
	pcre2_set_match_limit(pattern->context, STEPS_MAX);
	*ret = steal_ptr(pattern);
	return NULL;
}

void pattern_destroy(struct pattern *pattern)
{
	if (!pattern)
		return;
	free(pattern->text);
	free(pattern->gave_up);
	pcre2_code_free(pattern->code);
	pcre2_match_data_free(pattern->data);
	pcre2_match_context_free(pattern->context);
	free(pattern);
}

const char *pattern_text(const struct pattern *pattern)
{
	return pattern->text;
}

bool pattern_match(const struct pattern *pattern, const char *string)
{
	/* Whatever else it fits, the answer is an error: pattern_check(). */
	if (!string || *pattern->gave_up)
		return false;
	int found = pcre2_match(pattern->code, (PCRE2_SPTR)string, strlen(string), 0, 0,
		pattern->data, pattern->context);
	*pattern->gave_up |= found == PCRE2_ERROR_MATCHLIMIT || found == PCRE2_ERROR_DEPTHLIMIT ||
			     found == PCRE2_ERROR_HEAPLIMIT;
	return found >= 0;
}

struct error *pattern_check(const struct pattern *pattern)
{
	if (!*pattern->gave_up)
		return NULL;
	return error_create(ERROR_USAGE,
		"matching '%s' takes more than %u steps, so its result is unknown; avoid nested "
		"repetitions such as (a+)+",
		pattern->text, STEPS_MAX);
}
