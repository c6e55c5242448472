/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * executes_itself TIMES: has 200 threads, waits 20 ms, and executes itself with one time fewer; the
 * last one ends. In each exec the kernel ends the threads, which takes a while.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *wait_forever(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 0;
	if (times <= 0)
		return 0;
	for (int i = 0; i < 200; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, wait_forever, NULL))
			return 1;
	}
	usleep(20000);
	char left[16];
	snprintf(left, sizeof(left), "%d", times - 1);
	execl("/proc/self/exe", argv[0], left, (char *)NULL);
	return 1;
}
