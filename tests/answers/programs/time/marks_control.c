/* SPDX-License-Identifier: GPL-2.0-or-later */
/* marks_control: sets the mark "a ESC ]0;x BEL b", says its number and waits for the end
 * of its input. Truth: in the recording it is "a?]0;x?b". */
#include <heapwise/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	free(malloc(10));
	heapwise_mark("a\033]0;x\007b");
	free(malloc(10));
	printf("%d\n", getpid());
	fflush(stdout);
	getchar();
	return 0;
}
