/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Figures of /proc/PID/status, which both sides read: the target at its end, the collector before.
 */
#ifndef FORMAT_STATUS_H
#define FORMAT_STATUS_H

#include <stddef.h>
#include <stdint.h>

#define HW_STATUS_BYTES 4096u

/* The figure of a line "NAME:    123 kB" in bytes; 0: there is none. `name` begins with the newline
 * before it and ends with the colon. */
static inline uint64_t hw_status_bytes(const char *text, size_t len, const char *name)
{
	for (size_t at = 0; at < len; at++) {
		size_t n = 0;
		while (name[n] && at + n < len && text[at + n] == name[n])
			n++;
		if (name[n])
			continue;
		uint64_t kib = 0;
		for (at += n; at < len && (text[at] == ' ' || text[at] == '\t'); at++)
			;
		for (; at < len && text[at] >= '0' && text[at] <= '9'; at++)
			kib = kib * 10 + (uint64_t)(text[at] - '0');
		return kib << 10;
	}
	return 0;
}

/* The largest resident size so far, without what is shared with others: the recorder's rings, too.
 */
static inline uint64_t hw_status_resident(const char *text, size_t len)
{
	uint64_t most = hw_status_bytes(text, len, "\nVmHWM:");
	uint64_t shared = hw_status_bytes(text, len, "\nRssShmem:");
	return most > shared ? most - shared : 0;
}

#endif
