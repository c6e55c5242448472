/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program's only word about LeakSanitizer is its library's. */
#include "lsan_target.h"

int under_lsan(void);
int under_lsan(void)
{
	IF_THERE(__lsan_disable);
	lose(LOST_BYTES);
	IF_THERE(__lsan_enable);
	return __lsan_disable != NULL;
}
