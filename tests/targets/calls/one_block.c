/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocates once and frees nothing: everything that can be counted is one. */
#include <stdlib.h>

void *volatile block;

int main(void)
{
	block = malloc(941);
	return !block;
}
