/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * riboseinc/retrace#111, jemalloc/jemalloc#2505, unbrice/ksm_preload#7: another preload wraps
 * calloc with the help of dlsym, which callocs.
 */
#include "stress.h"
TRUTH_SITE_AS(site_calloc, (size_t bytes), bytes, calloc(1, bytes))

int main(void)
{
	for (size_t i = 0; i < 100; i++)
		truth_free(site_calloc(45 + i));
	truth_need(dlsym(RTLD_DEFAULT, "no such symbol") == NULL && dlerror(), "dlerror");
	truth_say("wrapped: %s", getenv("STRESS_WRAPPED") ? "yes" : "no");
	truth_say("# end");
	return 0;
}
