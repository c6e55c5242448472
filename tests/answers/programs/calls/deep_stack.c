/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loaded by a script: waits, under frames of C that take some MiB of the stack. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int go_down(int frames)
{
	volatile char room[1000];
	memset((char *)room, 1, sizeof(room));
	if (frames)
		return go_down(frames - 1) + room[frames % sizeof(room)];
	puts("ready");
	fflush(stdout);
	pause();
	return room[0];
}
