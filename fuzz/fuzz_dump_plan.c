/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recorded process asks of its plan of dumps (HW_ASK_CONFIGURE): the input are the lines. A
 * plan that was taken is one that a command could have set, and what it points to is in the lines.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/dump_convert.h"
#include "cli/options/dump_options.h"
#include "cli/terminal/message.h"
#include "format/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition)
{
	if (!condition)
		abort();
}

/* In place of those of the command. */
static int convert_nothing(
	const struct dump_conversion *conversion, char *message_text, size_t bytes)
{
	(void)conversion;
	(void)message_text;
	(void)bytes;
	return 1;
}

bool dump_convert_find(
	const char *text, dump_convert_function **ret_function, const void **ret_context)
{
	static const char known[] = "gperftools";
	if (strcmp(text, known) != 0 && strcmp(text, "hpw") != 0 && *text)
		return false;
	*ret_function = strcmp(text, known) ? NULL : convert_nothing;
	*ret_context = strcmp(text, known) ? NULL : known;
	return true;
}

void message(const char *format, ...)
{
	(void)format;
}

/* The same lines give the same plan, whatever was set before. */
static void check_again(const struct dump_plan *plan, char *lines)
{
	struct dump_plan again = *plan;
	struct error *error = dump_options_configure(&again, lines);
	need(!error);
	need(again.allocated_bytes == plan->allocated_bytes &&
		again.freed_bytes == plan->freed_bytes);
	need(again.growth_bytes == plan->growth_bytes && again.peak_bytes == plan->peak_bytes);
	need(again.period_ns == plan->period_ns && again.signal == plan->signal);
	need(again.keep == plan->keep && again.at_exit == plan->at_exit);
	need(!again.files == !plan->files && again.convert == plan->convert);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t bytes = size < HW_REQUEST_TEXT ? size : HW_REQUEST_TEXT - 1;
	char *lines = malloc(bytes + 1), *copy = malloc(bytes + 1);
	struct dump_plan plan = {.configure = dump_options_configure};
	if (lines && copy) {
		memcpy(lines, data, bytes);
		lines[bytes] = 0;
		memcpy(copy, lines, bytes + 1);
		struct error *error = dump_options_configure(&plan, lines);
		need(!error || *error->message);
		need(plan.resident_percent <= 100 && plan.signal >= 0 && plan.signal <= SIGRTMAX);
		need(!plan.files || (plan.files >= lines && plan.files <= lines + bytes));
		need(!plan.files || error || !dump_files_problem(plan.files));
		need(plan.configure == dump_options_configure);
		if (!error)
			check_again(&plan, copy);
		error_destroy(error);
	}
	free(lines);
	free(copy);
	return 0;
}
