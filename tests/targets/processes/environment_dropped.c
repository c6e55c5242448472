/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that empties its own environment and changes its folder and name goes on as before. */
#include "truth.h"
#include <sys/prctl.h>

TRUTH_SITE(site_before)
TRUTH_SITE(site_after)

int main(void)
{
	site_before(923);
	truth_need(!clearenv(), "clearenv");
	truth_need(!chdir("/"), "chdir");
	prctl(PR_SET_NAME, "another name", 0, 0, 0);
	for (size_t i = 0; i < 100; i++)
		truth_free(site_after(925));
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
