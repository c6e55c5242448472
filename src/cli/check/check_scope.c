/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/check_scope.h"

#include "base/util.h"

/* How a program is run. */
enum check_way {
	NATIVE = 1,
	UNINIT = 2,   /* again and again, and a last time */
	VALGRIND = 4, /* under memcheck alone */
	AGAIN = 8,    /* the second run of --escalate */
};

/* Options that not all ways have, and the ways that have them. Others have an effect in all. */
static const struct scope {
	int id;
	unsigned ways;
} scopes[] = {
	{OPT_CHECK_FULL, NATIVE},
	{OPT_CHECK_ALIGN, NATIVE},
	{OPT_CHECK_BEFORE, NATIVE},
	{OPT_CHECK_BUDGET, NATIVE},
	{OPT_CHECK_SEED, NATIVE},
	{OPT_CHECK_BACKEND, NATIVE},
	{OPT_CHECK_ERRORS, NATIVE | VALGRIND | AGAIN},
	{OPT_CHECK_KILL, NATIVE},
	{OPT_CHECK_GDB, NATIVE},
	{OPT_CHECK_UNINIT_RUNS, UNINIT},
	{OPT_CHECK_ESCALATE, NATIVE | UNINIT},
	{OPT_CHECK_ORIGINS, VALGRIND | AGAIN},
	{OPT_MODE, NATIVE | UNINIT},
	{OPT_LEAK_CHECK, NATIVE | UNINIT | VALGRIND},
	{OPT_LEAK_ALL_FRAMES, NATIVE | UNINIT},
	{OPT_LEAK_JSON, NATIVE | UNINIT | VALGRIND},
	{SYMBOL_OPT_SYSROOT, NATIVE | UNINIT},
	{SYMBOL_OPT_PATH, NATIVE | UNINIT},
	{SYMBOL_OPT_DEBUG_FOLDERS, NATIVE | UNINIT},
	{SYMBOL_OPT_DEBUGINFOD, NATIVE | UNINIT},
	{SYMBOL_OPT_NAMES, NATIVE | UNINIT},
	{SYMBOL_OPT_NO_CACHE, NATIVE | UNINIT},
};

static unsigned ways_of(int id)
{
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		if (scopes[i].id == id)
			return scopes[i].ways;
	return ~0u;
}

/* Adds "--full, --seed"; returns how many. */
static unsigned add_ineffective(
	const struct check_options *options, unsigned ways, struct text *text)
{
	unsigned count = 0;
	for (size_t i = 0; check_option_specs[i].name; i++) {
		const struct option_spec *spec = &check_option_specs[i];
		if (!(options->given >> i & 1) || ways_of(spec->id) & ways)
			continue;
		text_printf(text, "%s--%s", count++ ? ", " : "", spec->name);
	}
	return count;
}

static void add_sentence(
	const struct check_options *options, unsigned ways, const char *where, struct text *text)
{
	struct text names;
	text_init(&names);
	unsigned count = add_ineffective(options, ways, &names);
	if (names.failed)
		text->failed = true;
	else if (count)
		text_printf(text, "%s %s no effect %s\n", names.data, count == 1 ? "has" : "have",
			where);
	text_deinit(&names);
}

void check_scope_add(const struct check_options *options, struct text *text)
{
	if (options->valgrind)
		add_sentence(options, VALGRIND, "with --engine=valgrind", text);
	else if (options->uninit && options->escalate)
		add_sentence(options, UNINIT | AGAIN, "with --uninit and --escalate", text);
	else if (options->uninit)
		add_sentence(options, UNINIT, "with --uninit", text);
	else if (options->escalate)
		add_sentence(options, NATIVE | AGAIN, "with --escalate", text);
	else
		add_sentence(options, NATIVE,
			"without what they belong to (--uninit-runs: --uninit; --track-origins: "
			"--engine=valgrind or --escalate)",
			text);
	if (!options->valgrind && options->escalate && options->json)
		text_add(text, "--json is for the first run alone: the second one's errors are "
			       "text\n");
}
