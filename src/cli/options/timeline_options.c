/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/timeline_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/options/stack_view.h"
#include "cli/terminal/message.h"

bool timeline_option_between(const struct options *options, const char *name, uint64_t least,
	uint64_t most, uint64_t *ret)
{
	char *end;
	unsigned long long number = strtoull(options->argument, &end, 10);
	if (*options->argument >= '0' && *options->argument <= '9' && !*end && number >= least &&
		number <= most) {
		*ret = number;
		return true;
	}
	options_wrong(options->command, "invalid --%s '%s': expected a number from %llu to %llu",
		name, options->argument, (unsigned long long)least, (unsigned long long)most);
	return false;
}

static bool take_unit(const struct options *options, struct timeline_options *timeline)
{
	const char *unit = options->argument;
	static const enum timeline_unit units[] = {
		TIMELINE_MS, TIMELINE_BYTES, TIMELINE_INSTRUCTIONS};
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(unit, timeline_unit_name(units[i])) == 0) {
			timeline->unit = units[i];
			return true;
		}
	options_wrong(options->command, "invalid --time-unit '%s': expected i, ms or B", unit);
	return false;
}

static bool take_stacks(const struct options *options, struct timeline_options *timeline)
{
	timeline->stacks = strcmp(options->argument, "yes") == 0;
	if (timeline->stacks || strcmp(options->argument, "no") == 0)
		return true;
	options_wrong(
		options->command, "invalid --stacks '%s': expected yes or no", options->argument);
	return false;
}

static bool take_alignment(const struct options *options, struct timeline_options *timeline)
{
	timeline->alignment = strcmp(options->argument, "1") == 0 ? 1 : TIMELINE_ALIGNMENT;
	if (timeline->alignment == 1 || strcmp(options->argument, "16") == 0)
		return true;
	options_wrong(
		options->command, "invalid --alignment '%s': expected 16 or 1", options->argument);
	return false;
}

static bool timeline_options_take_number(
	const struct options *options, int id, struct timeline_options *timeline)
{
	uint64_t number;
	bool taken = false;
	switch (id) {
	case TIMELINE_OPT_DETAILED_FREQ:
		taken = timeline_option_between(options, "detailed-freq", 1, 1000000, &number);
		timeline->detailed_freq = taken ? number : 1;
		break;
	case TIMELINE_OPT_DEPTH:
		taken = timeline_option_between(options, "depth", 1, TIMELINE_DEPTH_MOST, &number);
		timeline->depth = taken ? number : 1;
		break;
	case TIMELINE_OPT_MAX_SNAPSHOTS:
		taken = timeline_option_between(options, "max-snapshots", 10, 1000, &number);
		timeline->max_snapshots = taken ? number : 10;
		break;
	default:
		taken = timeline_option_between(
			options, "heap-admin", 0, 1024, &timeline->heap_admin);
	}
	return taken;
}

bool timeline_option_name(const struct options *options, struct name_vec *names)
{
	if (name_vec_push(names, options->argument))
		return true;
	message_error(error_no_memory());
	return false;
}

static bool take_alloc_fn(
	const struct options *options, struct timeline_options *timeline, struct name_vec *names)
{
	if (!timeline_option_name(options, names))
		return false;
	timeline->alloc_fns = names->data;
	timeline->alloc_fn_count = names->len;
	return true;
}

bool timeline_options_take(const struct options *options, int id, struct timeline_options *timeline,
	struct timeline_given *given)
{
	given->any = true;
	switch (id) {
	case TIMELINE_OPT_TIME_UNIT:
		given->unit = options->argument;
		return take_unit(options, timeline);
	case TIMELINE_OPT_THRESHOLD:
		return stack_view_percent(options, "threshold", &timeline->threshold);
	case TIMELINE_OPT_ALIGNMENT:
		return take_alignment(options, timeline);
	case TIMELINE_OPT_STACKS:
		given->stacks = options->argument;
		return take_stacks(options, timeline);
	case TIMELINE_OPT_ALLOC_FN:
		return take_alloc_fn(options, timeline, &given->alloc_fns);
	default:
		return timeline_options_take_number(options, id, timeline);
	}
}

bool timeline_has_unit(const struct timeline_options *timeline, const struct timeline_given *given,
	const char *path, const struct model *model)
{
	const char *only = model_recording(model)->time_unit;
	if (only && given->unit && strcmp(only, given->unit) != 0)
		message("%s: its snapshots only have times in %s, not in %s", path, only,
			given->unit);
	if (only)
		return !given->unit || strcmp(only, given->unit) == 0;
	const char *counted = model_recording(model)->instructions;
	if (timeline->unit != TIMELINE_INSTRUCTIONS || (counted && strcmp(counted, "counted") == 0))
		return true;
	message("%s: this recording has no instruction counts (%s); --time-unit=ms and B go "
		"without",
		path, counted ? counted : "nobody tried to count them");
	return false;
}
