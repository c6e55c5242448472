/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/options.h"

bool options_size(const char *text, uint64_t *ret)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || errno)
		return false;
	static const char units[] = "KMG";
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	bool is_whole = !*end || (unit && (!end[1] || !strcmp(end + 1, "iB")));
	if (!is_whole || value > UINT64_MAX >> shift)
		return false;
	*ret = (uint64_t)value << shift;
	return true;
}
