/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of what happens is kept, as the user has chosen. */
#ifndef CAPTURE_MODE_H
#define CAPTURE_MODE_H

#include <stdbool.h>
#include <stdint.h>

enum mode_kind {
	MODE_EXACT,     /* every event is in the file */
	MODE_AGGREGATE, /* every event is seen, its sums are in the file */
	MODE_SAMPLE,    /* some blocks are seen, by chance */
};

struct mode {
	enum mode_kind kind;
	uint64_t sample_bytes; /* MODE_SAMPLE: one block about every so many bytes; else 0 */
	uint64_t seed;         /* of the chance; 0: another one each time */
	uint64_t ring_bytes;   /* MODE_EXACT: keep the last events in so many bytes; 0: all */
	uint64_t file_bytes;   /* MODE_EXACT: no more events once the file is so large; 0: never */
	bool free_stacks;      /* not MODE_SAMPLE: stacks of frees are taken, too */
};

#define MODE_SAMPLE_BYTES 524288u

#endif
