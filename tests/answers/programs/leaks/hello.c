/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nothing of its own is allocated: libc keeps the buffer of standard output. */
#include <stdio.h>

int main(void)
{
	puts("hello");
	return 0;
}
