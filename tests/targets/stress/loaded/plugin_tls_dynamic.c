/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin of tls_allocated_on_first_use: 60 KB of thread-local variables that each thread gets
 * when it asks.
 */
static __thread char space[60000] __attribute__((tls_model("global-dynamic")));

char *stress_plugin_tls_dynamic(void);

char *stress_plugin_tls_dynamic(void)
{
	return space;
}
