/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * yugabyte/yugabyte-db#33917 (1 start in 8), ray-project/ray#48671: threads that run before main
 * allocate while the runtime starts up.
 */
#include "stress.h"
TRUTH_SITE(site_before_main)

static void *body(void *argument)
{
	for (size_t i = 0; i < 200; i++)
		truth_free(site_before_main(17 + i % 50));
	return argument;
}

__attribute__((constructor)) static void before(void)
{
	stress_threads(6, body, NULL);
}

int main(void)
{
	truth_end(TRUTH_PLAIN);
	return 0;
}
