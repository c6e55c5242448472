/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs with stories that go wrong. `PROGRAM STORY` makes the errors of a story and prints each
 * one that it expects before it makes it; `PROGRAM STORY good` is the same without errors and
 * prints what came of it.
 *
 *   expect KIND OFFSET after|before|inside SIZE [freed]    of an access, next to a block
 *   expect KIND                                            of anything else
 */
#ifndef CHECK_WRONGS_H
#define CHECK_WRONGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The compiler must not know where this comes from. */
static inline void *hide(const volatile void *p)
{
	void *hidden = (void *)p;
	__asm__ volatile("" : "+r"(hidden)::"memory");
	return hidden;
}

static inline volatile char *bytes_of(void *p)
{
	return (volatile char *)hide(p);
}

static inline void expect(const char *kind, size_t offset, const char *where, size_t size)
{
	printf("expect %s %zu %s %zu\n", kind, offset, where, size);
	fflush(stdout);
}

static inline void expect_freed(const char *kind, size_t offset, size_t size)
{
	printf("expect %s %zu inside %zu freed\n", kind, offset, size);
	fflush(stdout);
}

static inline void expect_kind(const char *kind)
{
	printf("expect %s\n", kind);
	fflush(stdout);
}

struct story {
	const char *name;
	void (*tell)(bool good);
};

static inline int tell_story(int argc, char **argv, const struct story *stories)
{
	for (; argc > 1 && stories->name; stories++) {
		if (strcmp(stories->name, argv[1]))
			continue;
		stories->tell(argc > 2 && !strcmp(argv[2], "good"));
		puts("end");
		return 0;
	}
	fprintf(stderr, "no such story\n");
	return 2;
}

#endif
