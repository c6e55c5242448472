/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/pattern.h"

#include <assert.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/library.h"
#include "base/util.h"

/* Steps of one match: some milliseconds. Names are short, so only wild patterns get there. */
#define STEPS_MAX 100000u

#define PCRE2_FUNCTIONS(X)                                                                         \
	X(pcre2_code_free_8)                                                                       \
	X(pcre2_compile_8)                                                                         \
	X(pcre2_get_error_message_8)                                                               \
	X(pcre2_match_8)                                                                           \
	X(pcre2_match_context_create_8)                                                            \
	X(pcre2_match_context_free_8)                                                              \
	X(pcre2_match_data_create_from_pattern_8)                                                  \
	X(pcre2_match_data_free_8)                                                                 \
	X(pcre2_set_match_limit_8)

/* Loaded for the first pattern: recording needs none. */
struct pcre2_library {
	PCRE2_FUNCTIONS(LIBRARY_MEMBER)
};

static const char *const pcre2_names[] = {PCRE2_FUNCTIONS(LIBRARY_NAME)};

static_assert(sizeof(struct pcre2_library) == sizeof(pcre2_names), "one pointer a name");

struct pattern {
	struct pcre2_library library;
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

static struct error *pcre2_library_load(struct pcre2_library *ret)
{
	const struct library library = {.file = "libpcre2-8.so.0",
		.package = "libpcre2-8-0",
		.names = pcre2_names,
		.len = ARRAY_SIZE(pcre2_names)};
	return library_load(&library, ret);
}

static struct error *not_compiled(
	const struct pattern *pattern, const char *text, int number, size_t offset)
{
	PCRE2_UCHAR why[128];
	if (pattern->library.pcre2_get_error_message(number, why, sizeof(why)) < 0)
		why[0] = '\0';
	return error_create(ERROR_USAGE, "invalid regular expression '%s': %s, at byte %zu", text,
		(const char *)why, offset + 1);
}

struct error *pattern_create(const char *text, struct pattern **ret)
{
	_cleanup_(pattern_cleanup) struct pattern *pattern = calloc(1, sizeof(*pattern));
	if (!pattern)
		return error_no_memory();
	struct error *error = pcre2_library_load(&pattern->library);
	if (error)
		return error;
	int number;
	size_t offset;
	pattern->code = pattern->library.pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
		PCRE2_NEVER_BACKSLASH_C, &number, &offset, NULL);
	if (!pattern->code)
		return not_compiled(pattern, text, number, offset);
	pattern->text = strdup(text);
	pattern->data = pattern->library.pcre2_match_data_create_from_pattern(pattern->code, NULL);
	pattern->context = pattern->library.pcre2_match_context_create(NULL);
	pattern->gave_up = calloc(1, sizeof(*pattern->gave_up));
	if (!pattern->text || !pattern->data || !pattern->context || !pattern->gave_up)
		return error_no_memory();
	pattern->library.pcre2_set_match_limit(pattern->context, STEPS_MAX);
	*ret = steal_ptr(pattern);
	return NULL;
}

/* What there is only if the library was loaded. */
static void pcre2_parts_free(struct pattern *pattern)
{
	pattern->library.pcre2_match_data_free(pattern->data);
	pattern->library.pcre2_match_context_free(pattern->context);
	pattern->library.pcre2_code_free(pattern->code);
}

void pattern_destroy(struct pattern *pattern)
{
	if (!pattern)
		return;
	free(pattern->text);
	free(pattern->gave_up);
	if (pattern->code)
		pcre2_parts_free(pattern);
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
	int found = pattern->library.pcre2_match(pattern->code, (PCRE2_SPTR)string, strlen(string),
		0, 0, pattern->data, pattern->context);
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
