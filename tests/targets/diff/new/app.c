/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The newer program: old/app.c, after all this was done to it. Lines have moved, helper() stands in
 * moved.c, read_conf() is called read_config(), functions are in another order. Four regressions
 * and mends are planted: leaks() is new, grows() allocates more, shrinks() less, stale() is gone.
 */
#include <story.h>

APART static void shrinks(void)
{
	xalloc(5, 53);
}

APART static void grows(void)
{
	xalloc(25, 307);
}

static void small(void)
{
	xalloc(7, 23);
}

APART static void read_config(void)
{
	xalloc(11, 67);
	helper();
}

APART static void leaks(void)
{
	xalloc(6, 211);
}

APART static void steady(void)
{
	xalloc(10, 101);
	small();
}

int main(void)
{
	steady();
	read_config();
	grows();
	shrinks();
	leaks();
	return 0;
}
