/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libraries allocate for the program is the program's: three copies of strdup(), a line of
 * getline(), a stream of open_memstream() that is never closed, and what a callback of qsort()
 * allocates. None of them may be taken for a block that libc keeps for itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *kept[2];

static int compare(const void *left, const void *right)
{
	int which = *(const int *)left > *(const int *)right;
	if (!kept[which])
		kept[which] = malloc(333);
	return which;
}

int main(void)
{
	int numbers[] = {2, 1};
	char *copies[3];
	char *line = NULL, *text;
	size_t room = 0, len;
	for (int i = 0; i < 3; i++)
		copies[i] = strdup("a copy of the program's own");
	FILE *input = fmemopen(copies[0], strlen(copies[0]), "r");
	if (!input || getline(&line, &room, input) < 0)
		return 1;
	fclose(input);
	FILE *stream = open_memstream(&text, &len);
	fputs("kept", stream);
	qsort(numbers, 2, sizeof(*numbers), compare);
	printf("# expect: strdup=3 callback=1\n");
	return copies[1] == NULL;
}
