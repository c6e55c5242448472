/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/graph_limits.h"

#include "base/number.h"
#include "cli/options/stack_view.h"

static bool take_fraction(const struct options *options, const char *name, double *ret)
{
	if (stack_view_number(options->argument, 1, ret))
		return true;
	options_wrong(options->command, "invalid --%s '%s': expected a fraction from 0 to 1", name,
		options->argument);
	return false;
}

static bool take_count(const struct options *options, size_t *ret)
{
	uint64_t number = 0;
	bool none = options->argument[0] == '0' && !options->argument[1];
	if (!none && !number_whole(options->argument, &number)) {
		options_wrong(options->command,
			"invalid --nodecount '%s': expected a whole number (0: all)",
			options->argument);
		return false;
	}
	*ret = number;
	return true;
}

bool graph_limits_take(const struct options *options, int id, struct callgraph_limits *limits)
{
	switch ((enum graph_limit_option)id) {
	case GRAPH_OPT_NODE_FRACTION:
		return take_fraction(options, "nodefraction", &limits->node_fraction);
	case GRAPH_OPT_EDGE_FRACTION:
		return take_fraction(options, "edgefraction", &limits->edge_fraction);
	case GRAPH_OPT_NODE_COUNT:
		return take_count(options, &limits->node_count);
	case GRAPH_OPT_END:
		break;
	}
	return true;
}
