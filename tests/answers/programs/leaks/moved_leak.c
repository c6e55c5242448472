/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two functions of one shape. "1 0": open_session leaves 10 blocks of 4096 B; "0 1": write_log
 * does. Between these two runs one leak is gone and another is new.
 */
#include <stdlib.h>

void *sessions, *logs;

__attribute__((noinline)) void open_session(int n)
{
	for (int i = 0; i < n; i++) {
		void *p = malloc(4096);
		*(void **)p = sessions;
		sessions = p;
	}
}

__attribute__((noinline)) void write_log(int n)
{
	for (int i = 0; i < n; i++) {
		void *p = malloc(4096);
		*(void **)p = logs;
		logs = p;
	}
}

int main(int count, char **arguments)
{
	if (count > 1 && atoi(arguments[1]))
		open_session(10);
	if (count > 2 && atoi(arguments[2]))
		write_log(10);
	return 0;
}
