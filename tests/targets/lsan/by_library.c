/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

int under_lsan(void);

int main(void)
{
	printf("%s\n", under_lsan() ? "under LeakSanitizer" : "alone");
	return 0;
}
