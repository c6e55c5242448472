/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For a preload, with libc_malloc_debug.so.0: any program writes the log that MALLOC_TRACE names.
 */
#include <mcheck.h>

__attribute__((constructor)) static void begin(void)
{
	mtrace();
}
