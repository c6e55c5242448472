/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An allocation inside two functions that are always inlined: both appear as inlined frames, with
 * the file and the line of the call, before the function that holds the code.
 */
#include "truth.h"

TRUTH_COUNTERS(inner_inlined)

/* Both lines are told by the macro at the very place. */
static unsigned inner_line, outer_line;

__attribute__((always_inline)) static inline void *inner_inlined(size_t bytes)
{
	inner_line = __LINE__ + 1;
	void *block = malloc(bytes);
	return truth_born(&truth_of_inner_inlined, block, bytes);
}

__attribute__((always_inline)) static inline void *outer_inlined(size_t bytes)
{
	outer_line = __LINE__ + 1;
	void *block = inner_inlined(bytes * 3);
	return block;
}

TRUTH_FRAME static void *holds_the_code(size_t bytes)
{
	void *block = outer_inlined(bytes + 1);
	TRUTH_STAY();
	return block;
}

int main(void)
{
	for (size_t i = 0; i < 100; i++) {
		void *block = holds_the_code(171 + 2 * i);
		if (i % 2)
			truth_free(block);
	}
	truth_say("# expect: path site=inner_inlined "
		  "chain=inner_inlined<outer_inlined<holds_the_code<main");
	truth_say("# expect: frame site=inner_inlined function=inner_inlined inlined=1 "
		  "file=inlined.c line=%u",
		inner_line);
	truth_say("# expect: frame site=inner_inlined function=outer_inlined inlined=1 "
		  "file=inlined.c line=%u",
		outer_line);
	truth_say("# expect: frame site=inner_inlined function=holds_the_code inlined=0 "
		  "file=inlined.c");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
