/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pointer in the buffer of a stream is one, in a buffer of libc's and in one that the program
 * gave. (fread with what was not read yet: writing ends at exit.) */
#include "leaks.h"

LEAK_ROLE(in_own_buffer)
LEAK_ROLE(in_libc_buffer)

static char own_buffer[4096] __attribute__((aligned(16)));

/* A file with the words in it, and all but the first are left in the buffer. */
TRUTH_FRAME static FILE *stream(char *buffer, void *block)
{
	void *words[3] = {NULL, block, NULL};
	int ends[2];
	truth_need(!pipe(ends), "pipe");
	truth_need(write(ends[1], words, sizeof words) == sizeof words, "write");
	FILE *file = fdopen(ends[0], "r");
	truth_need(file != NULL, "fdopen");
	if (buffer)
		setvbuf(file, buffer, _IOFBF, sizeof own_buffer);
	for (size_t i = 0; i < 8; i++)
		truth_need(fgetc(file) == 0, "fgetc");
	return file;
}

TRUTH_FRAME static void story(void)
{
	stream(own_buffer, in_own_buffer(216));
	stream(NULL, in_libc_buffer(232));
}

int main(void)
{
	leak_libc_allocates = 1;
	story();
	LEAKS_ARE(LEAK_REACHABLE, in_own_buffer);
	LEAKS_ARE(LEAK_REACHABLE, in_libc_buffer);
	leaks_with("--run-libc-freeres=no");
	LEAKS_ARE(LEAK_REACHABLE, in_own_buffer);
	LEAKS_ARE(LEAK_REACHABLE, in_libc_buffer);
	leaks_end();
	_exit(0);
}
