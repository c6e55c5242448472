/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handlers registered by atexit and on_exit allocate, free and register more handlers. */
#include "truth.h"

TRUTH_SITE(site_main)
TRUTH_SITE(site_in_handler)
TRUTH_SITE(site_in_late_handler)

static void *from_main;

/* The first one registered runs last. */
static void last(void)
{
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
}

static void late(void)
{
	truth_free(site_in_late_handler(801));
	site_in_late_handler(803);
}

static void handler(void)
{
	truth_free(from_main);
	site_in_handler(701);
	atexit(late);
}

static void with_status(int status, void *block)
{
	truth_need(status == 3, "status in on_exit");
	truth_free(block);
	truth_free(site_in_handler(703));
}

int main(void)
{
	atexit(last);
	for (int i = 0; i < 40; i++) /* more than libc keeps without allocating */
		atexit(handler);
	from_main = NULL;
	on_exit(with_status, site_main(601));
	return 3;
}
