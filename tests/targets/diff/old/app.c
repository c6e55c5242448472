/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The older program. new/app.c says what was done to it. */
#include <story.h>

APART void helper(void)
{
	xalloc(3, 41);
}

/* Small enough to be inlined where that is allowed. */
static void small(void)
{
	xalloc(7, 23);
}

APART static void steady(void)
{
	xalloc(10, 101);
	small();
}

APART static void read_conf(void)
{
	xalloc(11, 67);
	helper();
}

APART static void grows(void)
{
	xalloc(5, 307);
}

APART static void shrinks(void)
{
	xalloc(15, 53);
}

APART static void stale(void)
{
	xalloc(4, 79);
}

int main(void)
{
	steady();
	read_conf();
	grows();
	shrinks();
	stale();
	return 0;
}
