/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much is recorded, as the user chose. */
#ifndef CAPTURE_MODE_H
#define CAPTURE_MODE_H

#include <stdbool.h>
#include <stdint.h>

enum mode_kind {
	MODE_EXACT,     /* every event is in the file */
	MODE_AGGREGATE, /* every event is seen, its sums are in the file */
	MODE_SAMPLE,    /* some blocks are seen, by chance */
};

/* What the program maps, apart from the heap. */
enum mode_mappings {
	MODE_MAPPINGS_OFF,
	MODE_MAPPINGS_TOO,
	MODE_MAPPINGS_ONLY, /* MODE_EXACT: and of the heap nothing */
};

/* Whether errors are looked for (`heapwise check`). */
enum mode_check {
	MODE_CHECK_OFF,
	MODE_CHECK_TOO,  /* beside the heap */
	MODE_CHECK_ONLY, /* MODE_EXACT: and of the heap nothing */
};

struct mode {
	enum mode_kind kind;
	uint64_t sample_bytes;  /* MODE_SAMPLE: mean distance of samples in bytes; else 0 */
	uint64_t seed;          /* of the random numbers; 0: another one each time */
	uint64_t ring_bytes;    /* MODE_EXACT: bytes for the last events; 0: all are kept */
	uint64_t file_bytes;    /* MODE_EXACT: file size that ends the events; 0: none */
	bool is_chosen;         /* by an option; else a tool of --as may choose another */
	bool free_stacks;       /* not MODE_SAMPLE: stacks of frees are recorded, too */
	bool no_python_objects; /* of CPython's allocator only what malloc sees */
	const char *traced; /* Python functions whose lines are traced, with commas; NULL: none */
	enum mode_mappings mappings; /* whole in each mode */
	const char *tool;            /* the one of --as, static; NULL: none */
	enum mode_check check;       /* likewise */
};

#define MODE_SAMPLE_BYTES 524288u
/* Of `traced`, with the NUL. */
#define MODE_TRACED_BYTES 512u

#endif
