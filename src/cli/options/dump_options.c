/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/dump_options.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/util.h"
#include "cli/options/dump_convert.h"
#include "cli/options/options.h"
#include "cli/terminal/message.h"

#define NS_A_SECOND 1e9
#define SECONDS_MAX 31536000.0

/* So that a process can turn off what it has. */
static bool is_off(const char *text)
{
	return !*text || !strcmp(text, "0");
}

static struct error *take_size(const char *name, const char *text, uint64_t *ret)
{
	if (!text || (options_size(text, ret) && *ret))
		return NULL;
	return error_create(
		ERROR_USAGE, "invalid --%s '%s': expected a size (K, M, G), 1 or more", name, text);
}

/* A size, or a part of what the process may have at most. */
static struct error *take_resident(const char *text, struct dump_plan *ret)
{
	size_t length = text ? strlen(text) : 0;
	char digits[8] = "";
	uint64_t percent;
	if (!length || text[length - 1] != '%') {
		struct error *error = take_size("dump-rss", text, &ret->resident_bytes);
		if (text)
			ret->resident_percent = 0;
		return error;
	}
	snprintf(digits, sizeof(digits), "%.*s", (int)min(length - 1, sizeof(digits)), text);
	if (!number_whole(digits, &percent) || !percent || percent > 100)
		return error_create(ERROR_USAGE,
			"invalid --dump-rss '%s': expected a size (K, M, G), or a part from 1%% to "
			"100%% of the limit of the process's memory",
			text);
	ret->resident_percent = (uint32_t)percent;
	ret->resident_bytes = 0;
	return NULL;
}

static struct error *take_period(const char *text, uint64_t *ret)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"min", 60}, {"h", 3600}};
	char *end = NULL;
	double value = text ? strtod(text, &end) : 0;
	for (size_t i = 0; text && i < ARRAY_SIZE(units); i++) {
		double seconds = value * units[i].seconds;
		if (strcmp(end, units[i].unit) || end == text || !(seconds >= 1e-3) ||
			seconds > SECONDS_MAX)
			continue;
		*ret = (uint64_t)(seconds * NS_A_SECOND);
		return NULL;
	}
	return text ? error_create(ERROR_USAGE,
			      "invalid --dump-every '%s': expected a time from 1ms on (500ms, 10s, "
			      "5min, 1h)",
			      text)
		    : NULL;
}

static struct error *take_signal(const char *text, int *ret)
{
	if (!text)
		return NULL;
	uint64_t number = 0;
	const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
	for (int i = 1; i < SIGRTMIN && !number; i++) {
		const char *one = sigabbrev_np(i);
		if (one && !strcmp(one, name))
			number = (uint64_t)i;
	}
	if (!number)
		(void)!number_whole(text, &number);
	static const int unfit[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
	for (size_t i = 0; i < ARRAY_SIZE(unfit); i++) {
		if (number == (uint64_t)unfit[i])
			number = 0;
	}
	/* Between those with names and the first real-time one are libc's own. */
	bool is_of_libc = number > SIGSYS && number < (uint64_t)SIGRTMIN;
	*ret = number <= (uint64_t)SIGRTMAX && !is_of_libc ? (int)number : 0;
	return *ret ? NULL
		    : error_create(ERROR_USAGE,
			      "invalid --dump-signal '%s': expected a signal that a program can "
			      "be sent for it, such as USR2 or 12",
			      text);
}

static struct error *take_files(const struct dump_options *options, struct dump_plan *ret)
{
	const char *problem =
		options->files && *options->files ? dump_files_problem(options->files) : NULL;
	if (problem)
		return error_create(
			ERROR_USAGE, "invalid --dump-file '%s': %s", options->files, problem);
	if (options->files)
		ret->files = *options->files ? options->files : NULL;
	return NULL;
}

static struct error *take_format(const struct dump_options *options, struct dump_plan *ret)
{
	if (!options->format ||
		dump_convert_find(options->format, &ret->convert, &ret->convert_context))
		return NULL;
	return error_create(ERROR_USAGE,
		"invalid --dump-format '%s': expected hpw or a format of 'heapwise export'",
		options->format);
}

static struct error *take_keep(const struct dump_options *options, struct dump_plan *ret)
{
	uint64_t keep = 0;
	if (!options->keep)
		return NULL;
	if (!number_whole(options->keep, &keep) || keep > UINT32_MAX)
		return error_create(ERROR_USAGE,
			"invalid --keep '%s': expected a number of dumps, 1 or more",
			options->keep);
	ret->keep = (uint32_t)keep;
	return NULL;
}

struct error *dump_options_check(const struct dump_options *options, struct dump_plan *ret)
{
	const struct {
		const char *name, *text;
		uint64_t *ret;
	} sizes[] = {
		{"dump-allocated", options->allocated, &ret->allocated_bytes},
		{"dump-freed", options->freed, &ret->freed_bytes},
		{"dump-growth", options->growth, &ret->growth_bytes},
		{"dump-peak", options->peak, &ret->peak_bytes},
	};
	struct error *error = NULL;
	for (size_t i = 0; !error && i < ARRAY_SIZE(sizes); i++)
		error = take_size(sizes[i].name, sizes[i].text, sizes[i].ret);
	if (!error)
		error = take_period(options->every, &ret->period_ns);
	if (!error)
		error = take_signal(options->signal, &ret->signal);
	if (!error)
		error = take_resident(options->rss, ret);
	if (!error)
		error = take_files(options, ret);
	if (!error)
		error = take_format(options, ret);
	if (!error)
		error = take_keep(options, ret);
	ret->pressure |= options->pressure;
	ret->at_exit |= options->at_exit;
	ret->configure = dump_options_configure;
	return error;
}

/* A line's key and value, and where the value goes. */
struct line {
	const char *key, *value;
};

/* Takes what is no text of an option. Returns false if it is none of these. */
static bool take_flag(struct dump_plan *plan, const struct line *line)
{
	bool on = !is_off(line->value);
	bool *flag = !strcmp(line->key, "pressure")      ? &plan->pressure
		     : !strcmp(line->key, "pages")       ? &plan->pages
		     : !strcmp(line->key, "at-exit")     ? &plan->at_exit
		     : !strcmp(line->key, "announce")    ? &plan->announce
		     : !strcmp(line->key, "restart-all") ? &plan->restart_all
							 : NULL;
	if (flag)
		*flag = on;
	return flag;
}

/* Turns off a trigger. Returns false if it has no such key. */
static bool trigger_end(struct dump_plan *plan, const char *key)
{
	const struct {
		const char *key;
		uint64_t *at;
	} distances[] = {{"allocated", &plan->allocated_bytes}, {"freed", &plan->freed_bytes},
		{"growth", &plan->growth_bytes}, {"peak", &plan->peak_bytes},
		{"every", &plan->period_ns}, {"rss", &plan->resident_bytes}};
	if (!strcmp(key, "rss"))
		plan->resident_percent = 0;
	if (!strcmp(key, "signal"))
		plan->signal = 0;
	for (size_t i = 0; i < ARRAY_SIZE(distances); i++) {
		if (!strcmp(distances[i].key, key)) {
			*distances[i].at = 0;
			return true;
		}
	}
	return !strcmp(key, "signal");
}

static struct error *take_line(struct dump_plan *plan, const struct line *line)
{
	struct dump_options options = {.allocated = NULL};
	const struct {
		const char *key;
		const char **to;
	} texts[] = {{"allocated", &options.allocated}, {"freed", &options.freed},
		{"growth", &options.growth}, {"peak", &options.peak}, {"every", &options.every},
		{"rss", &options.rss}, {"signal", &options.signal}, {"file", &options.files},
		{"format", &options.format}, {"keep", &options.keep}};
	if (take_flag(plan, line) || (is_off(line->value) && trigger_end(plan, line->key)))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!strcmp(texts[i].key, line->key)) {
			*texts[i].to = line->value;
			return dump_options_check(&options, plan);
		}
	}
	return error_create(ERROR_USAGE, "unknown setting of dumps '%s'", line->key);
}

void dump_options_warn(const struct dump_options *options)
{
	const char *end = options->files ? strrchr(options->files, '/') : NULL;
	if (!end || end == options->files)
		return;
	_cleanup_free_ char *folder = strndup(options->files, (size_t)(end - options->files));
	if (folder && !strchr(folder, '%') && access(folder, W_OK | X_OK))
		message("--dump-file: %s: %s; until that changes, no dumps are written there",
			folder, strerror(errno));
}

struct error *dump_options_configure(struct dump_plan *plan, char *lines)
{
	struct error *error = NULL;
	char *rest = lines;
	for (char *text; !error && (text = strsep(&rest, "\n"));) {
		char *value = strchr(text, '=');
		if (!*text)
			continue;
		if (value)
			*value++ = 0;
		error = take_line(plan, &(struct line){text, value ? value : ""});
	}
	return error;
}
