/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that choose what a page is of: those of `html`, and what a page of `serve` may ask for.
 */
#ifndef CLI_PAGE_OPTIONS_H
#define CLI_PAGE_OPTIONS_H

#include "cli/options/view_options.h"

enum page_option {
	PAGE_OPT_LIFETIMES = 384,
	PAGE_OPT_TIMELINE,
};

#define PAGE_SPECS_ASKED                                                                           \
	{PAGE_OPT_LIFETIMES, "lifetimes", "yes|no",                                                \
		"whether the page has lifetimes (default: of at most 10 million events)"},         \
		{PAGE_OPT_TIMELINE, "timeline", "yes|no",                                          \
			"whether the page has what happened over time: timeline, lifetimes, "      \
			"marks (default: yes)"},                                                   \
		VIEW_SPECS_FILTER VIEW_SPECS_MOMENTS VIEW_SPEC_WHOLE_STACKS

#endif
