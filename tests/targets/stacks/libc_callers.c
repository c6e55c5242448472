/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libc allocates for its caller (strdup, asprintf, getline) or calls back into the program (qsort):
 * stacks go through libc, which has neither frame pointers nor our sites.
 */
#include "truth.h"

TRUTH_SITE(site_in_comparison)

static char *volatile kept;

/* strdup is a call, not what a compiler could make of it. */
static char *(*volatile duplicate)(const char *) = strdup;

TRUTH_FRAME static uint64_t duplicate_words(size_t count)
{
	uint64_t bytes = 0;
	char word[300];
	for (size_t i = 0; i < count; i++) {
		memset(word, 'w', sizeof word);
		word[11 + i] = 0;
		bytes += strlen(word) + 1;
		kept = duplicate(word);
		if (i % 2)
			free(kept);
	}
	return bytes;
}

static int compare(const void *left, const void *right)
{
	int a = *(const int *)left, b = *(const int *)right;
	truth_free(site_in_comparison(77));
	return (a > b) - (a < b);
}

TRUTH_FRAME static void sort_numbers(void)
{
	int numbers[64]; /* few and small: qsort itself sorts them on its stack */
	for (int i = 0; i < 64; i++)
		numbers[i] = i * 37 % 64;
	qsort(numbers, 64, sizeof *numbers, compare);
	for (int i = 0; i < 64; i++)
		truth_need(numbers[i] == i, "qsort");
}

int main(void)
{
	uint64_t bytes = duplicate_words(200);
	truth_say("# expect: through=duplicate_words allocations=200 allocated_bytes=%lu "
		  "live_blocks=100",
		(unsigned long)bytes);
	truth_say("# expect: path site=strdup|__strdup|__GI___strdup "
		  "chain=strdup|__strdup|__GI___strdup<duplicate_words<main");
	sort_numbers();
	truth_say("# expect: path site=site_in_comparison "
		  "chain=site_in_comparison<compare<sort_numbers<main");
	truth_end(TRUTH_TEMPORARY);
	return 0;
}
