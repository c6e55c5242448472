/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end: quick_exit, which runs at_quick_exit handlers and no others. */
#include "truth.h"

TRUTH_SITE(site_main)
TRUTH_SITE(site_last)

static void last(void)
{
	site_last(1001);
	truth_free(site_last(1003));
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
}

TRUTH_FRAME static void leave(void)
{
	site_main(35);
	quick_exit(25);
}

int main(void)
{
	for (size_t i = 0; i < 100; i++)
		truth_free(site_main(501 + i));
	truth_need(!at_quick_exit(last), "at_quick_exit");
	leave();
}
