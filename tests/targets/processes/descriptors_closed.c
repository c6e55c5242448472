/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that closes every descriptor it does not know, like a daemon, and fills the numbers
 * with its own files: recording goes on, also in threads that start later.
 */
#include "truth.h"
#include <fcntl.h>
#include <pthread.h>

TRUTH_SITE(site_before)
TRUTH_SITE(site_after)
TRUTH_SITE(site_in_thread)

static void *work(void *argument)
{
	for (size_t i = 0; i < 1000; i++)
		truth_free(site_in_thread(907));
	return argument;
}

int main(void)
{
	int files[40];
	site_before(903);
	truth_need(!close_range(3, ~0u, 0), "close_range");
	for (int i = 0; i < 40; i++) {
		files[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		truth_need(files[i] == 3 + i, "a descriptor was open after all");
	}
	for (size_t i = 0; i < 1000; i++)
		truth_free(site_after(905));
	pthread_t thread;
	truth_need(!pthread_create(&thread, NULL, work, NULL), "thread");
	pthread_join(thread, NULL);
	for (int i = 0; i < 40; i++)
		truth_need(lseek(files[i], 0, SEEK_CUR) == 0, "a descriptor was taken away");
	truth_threads(2);
	truth_end(TRUTH_PLAIN);
	return 0;
}
