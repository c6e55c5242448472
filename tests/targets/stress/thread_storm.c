/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gperftools/gperftools#1151, #382: hundreds of short threads, one after the other and side by
 * side, each frees what another allocated.
 */
#include "stress.h"
TRUTH_SITE(site_passed_on)

static void *passed;

static void *body(void *argument)
{
	for (size_t i = 0; i < 10; i++)
		truth_free(__atomic_exchange_n(&passed, site_passed_on(131 + i), __ATOMIC_ACQ_REL));
	return argument;
}

int main(void)
{
	for (int round = 0; round < 25; round++)
		stress_threads(24, body, NULL);
	truth_end(TRUTH_PLAIN);
	return 0;
}
