/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/lsan_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/terminal/message.h"

/* LeakSanitizer's own default (compiler-rt, lsan/lsan.cpp). */
/* As sanitizer_common/sanitizer_flag_parser.cpp. */
#define BLANKS " ,:\n\t\r"

void lsan_options_init(struct lsan_options *options)
{
	*options = (struct lsan_options){.exitcode = LSAN_EXITCODE, .detect_leaks = true};
	text_init(&options->passed);
}

void lsan_options_deinit(struct lsan_options *options)
{
	free(options->suppressions);
	free(options->log_path);
	text_deinit(&options->passed);
}

static bool is_yes(const char *value)
{
	return !strcmp(value, "1") || !strcmp(value, "yes") || !strcmp(value, "true");
}

static void lsan_options_keep(char **at, const char *value)
{
	free(*at);
	*at = *value ? strdup(value) : NULL;
}

static void lsan_options_take_take(
	struct lsan_options *options, const char *name, const char *value)
{
	/* Of each place one object is always shown. */
	static const char *const same[] = {"report_objects", "print_suppressions"};
	if (!strcmp(name, "exitcode"))
		options->exitcode = atoi(value) & 0xff;
	else if (!strcmp(name, "max_leaks"))
		options->max_leaks = strtoul(value, NULL, 10);
	else if (!strcmp(name, "detect_leaks"))
		options->detect_leaks = is_yes(value);
	else if (!strcmp(name, "suppressions"))
		lsan_options_keep(&options->suppressions, value);
	else if (!strcmp(name, "log_path"))
		lsan_options_keep(&options->log_path, value);
	else if (strcmp(name, same[0]) && strcmp(name, same[1]))
		text_printf(&options->passed, "%s%s", options->passed.len ? ", " : "", name);
}

/* name=value, the value perhaps in quotes. */
void lsan_options_take(struct lsan_options *options, const char *text)
{
	for (const char *at = text ? text + strspn(text, BLANKS) : ""; *at;
		at += strspn(at, BLANKS)) {
		size_t len = strcspn(at, "=" BLANKS);
		_cleanup_free_ char *name = strndup(at, len);
		at += len + (at[len] == '=');
		char quote = *at;
		if (quote != '\'' && quote != '"')
			quote = 0;
		const char ends[] = {quote, 0};
		at += quote != 0;
		len = strcspn(at, quote ? ends : BLANKS);
		_cleanup_free_ char *value = strndup(at, len);
		at += len + (quote && at[len]);
		if (name && value)
			lsan_options_take_take(options, name, value);
	}
}

void lsan_options_warn(void)
{
	struct lsan_options options;
	lsan_options_init(&options);
	lsan_options_take(&options, getenv("LSAN_OPTIONS"));
	if (options.passed.len)
		message("LSAN_OPTIONS: %s: unknown option, ignored", options.passed.data);
	lsan_options_deinit(&options);
}
