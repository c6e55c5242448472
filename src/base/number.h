/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as people write them. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Reads a whole number of at least 1. Returns false if `text` is none. */
static inline bool number_whole(const char *text, uint64_t *ret)
{
	errno = 0;
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	bool digits = text[0] >= '0' && text[0] <= '9' && *end == '\0';
	if (!digits || errno || value == 0)
		return false;
	*ret = value;
	return true;
}

#endif
