/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two functions that leak, more at each call. Built with -DFIXED one of them no longer does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 1000 };

static char *text_of(char letter, size_t size)
{
	char *text = malloc(size);

	if (!text)
		abort();
	memset(text, letter, size - 1);
	text[size - 1] = '\0';
	return text;
}

static size_t read_request(int number)
{
	char *request = text_of('q', 64 + number);

	return strlen(request);
}

static size_t write_reply(int number)
{
	char *reply = text_of('r', 128 + 4 * number);
	size_t length = strlen(reply);

#ifdef FIXED
	free(reply);
#endif
	return length;
}

int main(void)
{
	size_t bytes = 0;

	for (int number = 0; number < REQUESTS; number++)
		bytes += read_request(number) + write_reply(number);
	printf("%zu bytes\n", bytes);
	return 0;
}
