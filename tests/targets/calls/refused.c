/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that must not run when its recording is refused: it would say so. */
#include <unistd.h>

int main(void)
{
	return write(STDOUT_FILENO, "it ran\n", 7) == 7 ? 0 : 1;
}
