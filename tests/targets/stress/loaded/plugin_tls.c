/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin of static_tls_exhausted: thread-local variables of STRESS_BYTES that must be in the
 * static block.
 */
static __thread char space[STRESS_BYTES] __attribute__((tls_model("initial-exec")));

char *stress_plugin_tls(void);

char *stress_plugin_tls(void)
{
	return space;
}
