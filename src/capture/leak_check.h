/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the user wants to be searched for leaks, and when. */
#ifndef CAPTURE_LEAK_CHECK_H
#define CAPTURE_LEAK_CHECK_H

#include <stdbool.h>

struct leak_check {
	bool at_exit;        /* after all exit handlers and destructors */
	bool at_main_end;    /* before them */
	bool on_death;       /* and at a fatal signal: the process is traced for life */
	bool as_lsan;        /* only where LeakSanitizer would */
	unsigned alignment;  /* of words that are looked at: 1, 2, 4 or 8; 0: 8 */
	unsigned heuristics; /* enum search_heuristic */
};

#endif
