/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libc has in the heap for a program: streams, directories, thread-local memory of a library
 * that is loaded late. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio_ext.h>

#include "account.h"

ACCOUNT_DEFINE;

#define THREADS 3u

static FILE *streams[8];
static DIR *directories[3];
static pthread_barrier_t all_there;
static void *(*thread_memory)(void);

static void *work(void *unused)
{
	(void)unused;
	account(thread_memory(), 1, 'r', "thread-local memory");
	pthread_barrier_wait(&all_there);
	for (;;)
		pause();
	return NULL;
}

static void load(const char *program)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s_library.so", program);
	void *library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	account(library, 1, 'r', "link_map"); /* that is what glibc's handle is */
	*(void **)&thread_memory = dlsym(library, "thread_memory");
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	fputs("its buffer is a block, too", stdout);
	__fpurge(stdout);
	for (unsigned i = 0; i < 8; i++) {
		streams[i] = i % 2 ? tmpfile() : fopen("/proc/self/exe", "r");
		if (!streams[i])
			return 2;
		account(streams[i], 1, 'r', "FILE");
		if (i % 2)
			fputs("text", streams[i]);
		else
			fgetc(streams[i]);
	}
	for (unsigned i = 0; i < 3; i++) {
		directories[i] = opendir("/");
		readdir(directories[i]);
		account(directories[i], 1, 'r', "DIR");
	}
	load(argv[0]);
	pthread_barrier_init(&all_there, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, work, NULL);
	}
	pthread_barrier_wait(&all_there);
	account_end();
	return streams[0] == NULL;
}
