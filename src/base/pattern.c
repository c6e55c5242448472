/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/pattern.h"

#include <stddef.h>

bool pattern_fits(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL;
	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			from = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
