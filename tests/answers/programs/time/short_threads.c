/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 30 threads, one after the other, that live for a millisecond: each is called w0, w1 or w2 before
 * its only allocation, of 1,000 bytes and its number. So there are 10 of each name. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *work(void *argument)
{
	int number = (int)(intptr_t)argument;
	char name[16];
	snprintf(name, sizeof(name), "w%d", number % 3);
	pthread_setname_np(pthread_self(), name);
	void *block = malloc(1000 + (size_t)number);
	__asm__ volatile("" ::"r"(block) : "memory");
	nanosleep(&(struct timespec){0, 1000000}, NULL);
	return NULL;
}

int main(void)
{
	for (int i = 0; i < 30; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, work, (void *)(intptr_t)i);
		pthread_join(thread, NULL);
	}
	_Exit(0);
}
