/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One block grows by 10 bytes, 20,000 times; with an argument it doubles 16 times. */
#include <stdlib.h>

int main(int argc, char **argv)
{
	char *text = NULL;
	for (size_t i = 1; i <= (argc > 1 ? 16u : 20000u); i++)
		text = realloc(text, argc > 1 ? (size_t)10 << i : i * 10);
	free(text);
	return 0;
}
