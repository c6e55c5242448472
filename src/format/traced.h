/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TRACED_LINES: see FORMAT.md. */
#ifndef FORMAT_TRACED_H
#define FORMAT_TRACED_H

enum hpw_traced_column {
	HPW_TRACED_CODE = 0, /* row of CODE; 0: what found no room, only COUNT says something */
	HPW_TRACED_LINE,
	HPW_TRACED_COUNT,   /* how often it began */
	HPW_TRACED_GROWTH,  /* zigzag bytes: how much more was resident when it ended, summed up */
	HPW_TRACED_LARGEST, /* bytes that were resident at an end of it, the most of them; 0: none
			     */
	HPW_TRACED_UNSIZED, /* how often it ended while the resident size was not known */
	HPW_TRACED_COLUMNS
};
/* Rows of all TRACED_LINES together. */
#define HPW_TRACED_MAX (1u << 17)
/* Of a row. */
#define HPW_TRACED_COUNT_MAX (1ull << 44)

#endif
