/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words and numbers of a line, taken from the left. What does not fit takes nothing. */
#ifndef SOURCES_FOREIGN_SCAN_H
#define SOURCES_FOREIGN_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct foreign_scan {
	const char *at, *end;
};

static inline struct foreign_scan foreign_scan_of(const char *line, size_t len)
{
	return (struct foreign_scan){.at = line, .end = line + len};
}

/* Skips spaces and tabs, if any. */
void foreign_scan_blanks(struct foreign_scan *scan);

/* Skips exactly this text; false if it is not there. */
bool foreign_scan_text(struct foreign_scan *scan, const char *text);

/* Reads decimal digits after optional blanks; false also if the number is above 2^64 - 1. */
bool foreign_scan_u64(struct foreign_scan *scan, uint64_t *ret);

/* Reads hexadecimal digits without a prefix. */
bool foreign_scan_hex(struct foreign_scan *scan, uint64_t *ret);

/* Returns whether only blanks are left. */
bool foreign_scan_at_end(struct foreign_scan *scan);

#endif
