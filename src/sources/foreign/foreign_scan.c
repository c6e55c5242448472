/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/foreign/foreign_scan.h"

#include <string.h>

void foreign_scan_blanks(struct foreign_scan *scan)
{
	/* Lines of files that were through other systems end with a carriage return. */
	while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r'))
		scan->at++;
}

bool foreign_scan_text(struct foreign_scan *scan, const char *text)
{
	size_t len = strlen(text);
	if ((size_t)(scan->end - scan->at) < len || memcmp(scan->at, text, len) != 0)
		return false;
	scan->at += len;
	return true;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

static bool scan_digits(struct foreign_scan *scan, unsigned base, uint64_t *ret)
{
	const char *at = scan->at;
	uint64_t value = 0;
	for (; at < scan->end && digit_of(*at) < (int)base; at++)
		if (__builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(value, (uint64_t)digit_of(*at), &value))
			return false;
	if (at == scan->at)
		return false;
	scan->at = at;
	*ret = value;
	return true;
}

bool foreign_scan_u64(struct foreign_scan *scan, uint64_t *ret)
{
	struct foreign_scan tried = *scan;
	foreign_scan_blanks(&tried);
	if (!scan_digits(&tried, 10, ret))
		return false;
	*scan = tried;
	return true;
}

bool foreign_scan_hex(struct foreign_scan *scan, uint64_t *ret)
{
	return scan_digits(scan, 16, ret);
}

bool foreign_scan_at_end(struct foreign_scan *scan)
{
	foreign_scan_blanks(scan);
	return scan->at == scan->end;
}
