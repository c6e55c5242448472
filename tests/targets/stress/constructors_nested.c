/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bloomberg/memray#549 (the order of dlopen's locks and its own): a constructor loads a library
 * whose constructor loads another; destructors close them again, all of them allocate.
 */
#include "stress.h"
int main(void)
{
	for (int i = 0; i < 20; i++)
		truth_need(!dlclose(stress_open("libstress_plugin_outer.so", RTLD_NOW)), "dlclose");
	truth_say("# end");
	return 0;
}
