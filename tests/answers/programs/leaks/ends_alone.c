/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the end of a block of eight bytes that are 0 and no more: the block is lost, though one of
 * new T[0] looks just so. */
#include <stdlib.h>

char *end;

int main(void)
{
	end = (char *)calloc(1, 8) + 8;
	return 0;
}
