/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs do that were made for gperftools' heap profiler, after its documentation. The
 * argument says which; PREFIX is where the profiles are expected, for those that wait for one.
 *
 *	heap_profiled STORY [PREFIX]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

/* gperftools/heap-profiler.h; NULL: the library is not there. */
extern void HeapProfilerStart(const char *prefix) __attribute__((weak));
extern int IsHeapProfilerRunning(void) __attribute__((weak));
extern void HeapProfilerStop(void) __attribute__((weak));
extern void HeapProfilerDump(const char *reason) __attribute__((weak));
extern char *GetHeapProfile(void) __attribute__((weak));

/* HeapLeakChecker::IgnoreObject(), and what HeapLeakChecker::Disabler begins and ends with. */
extern void _ZN15HeapLeakChecker14DoIgnoreObjectEPKv(const void *object) __attribute__((weak));
extern void _ZN15HeapLeakChecker8DisablerC1Ev(void *self) __attribute__((weak));
extern void _ZN15HeapLeakChecker8DisablerD1Ev(void *self) __attribute__((weak));

#define WAIT_MS 20000
#define MEGA 1048576

static const char *prefix;
static void *volatile kept[64];
static unsigned count;

static __attribute__((noinline)) void keep_block(size_t bytes)
{
	kept[count++] = malloc(bytes);
}

static __attribute__((noinline)) void drop_block(void)
{
	free(kept[--count]);
}

/* Until the profile with that number is there. */
static void await_profile(unsigned number)
{
	char path[4096];
	const struct timespec pause = {.tv_nsec = 1000000};
	snprintf(path, sizeof(path), "%s.%04u.heap", prefix, number);
	for (int i = 0; i < WAIT_MS && access(path, F_OK); i++)
		nanosleep(&pause, NULL);
}

/* The environment alone: blocks that stay, and blocks that don't. */
static void run_plain(void)
{
	for (size_t i = 1; i <= 20; i++)
		keep_block(i * 1000);
	for (int i = 0; i < 7; i++)
		drop_block();
}

/* Ten megabytes, none of which stay, and each is awaited. */
static void run_allocated(void)
{
	for (unsigned i = 1; i <= 3; i++) {
		for (int k = 0; k < 10; k++) {
			keep_block(MEGA);
			drop_block();
		}
		await_profile(i);
	}
}

static void run_in_use(void)
{
	for (unsigned i = 1; i <= 3; i++) {
		for (int k = 0; k < 5; k++)
			keep_block(MEGA + 1);
		await_profile(i);
	}
}

static void run_signal(void)
{
	keep_block(4321);
	raise(SIGUSR2);
	await_profile(1);
	drop_block();
}

static void run_calls(void)
{
	if (!HeapProfilerStart || !IsHeapProfilerRunning || !HeapProfilerDump || !HeapProfilerStop)
		exit(3);
	printf("running %d\n", IsHeapProfilerRunning());
	HeapProfilerStart(prefix);
	printf("running %d\n", IsHeapProfilerRunning());
	keep_block(1234);
	HeapProfilerDump("after one");
	keep_block(5678);
	HeapProfilerDump("after two");
	HeapProfilerStop();
	printf("running %d\n", IsHeapProfilerRunning());
	HeapProfilerDump("never");
}

/* Starts late, and again. */
static void run_later(void)
{
	if (!HeapProfilerStart || !HeapProfilerStop || !HeapProfilerDump)
		exit(3);
	keep_block(1000);
	HeapProfilerStart(prefix);
	keep_block(2000);
	keep_block(2100);
	drop_block();
	HeapProfilerDump("first");
	HeapProfilerStop();
	drop_block();
	keep_block(3000);
	HeapProfilerStart(prefix);
	keep_block(4000);
	HeapProfilerDump("second");
	HeapProfilerStop();
}

static void run_get(void)
{
	if (!GetHeapProfile)
		exit(3);
	keep_block(1234);
	char *text = GetHeapProfile();
	fputs(text, stdout);
	free(text);
}

static void run_fork(void)
{
	keep_block(1000);
	pid_t child = fork();
	if (!child) {
		keep_block(2000);
		exit(0);
	}
	waitpid(child, NULL, 0);
	printf("%d\n", (int)child);
}

static void run_leaks(void)
{
	keep_block(1000);
	keep_block(777);
	kept[--count] = NULL;
}

/* Of three that are lost, one is ignored and one is not recorded as a leak. */
static void run_ignored(void)
{
	char self;
	if (!_ZN15HeapLeakChecker8DisablerC1Ev || !_ZN15HeapLeakChecker8DisablerD1Ev ||
		!_ZN15HeapLeakChecker14DoIgnoreObjectEPKv)
		exit(3);
	keep_block(501);
	_ZN15HeapLeakChecker14DoIgnoreObjectEPKv(kept[--count]);
	_ZN15HeapLeakChecker8DisablerC1Ev(&self);
	keep_block(503);
	count--;
	_ZN15HeapLeakChecker8DisablerD1Ev(&self);
	keep_block(777);
	kept[--count] = NULL;
}

static __attribute__((noinline)) void *map_pages(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	kept[count++] = pages;
	return pages;
}

/* Mapped before the start and after it, unmapped in part, moved. */
static void run_maps(void)
{
	if (!HeapProfilerStart || !HeapProfilerDump)
		exit(3);
	map_pages(0x7000);
	HeapProfilerStart(prefix);
	keep_block(1234);
	map_pages(0x200000);
	munmap(map_pages(0x10000), 0x10000);
	munmap((char *)map_pages(0x5000) + 0x1000, 0x1000);
	kept[count - 1] = mremap(map_pages(0x3000), 0x3000, 0x30000, MREMAP_MAYMOVE);
	HeapProfilerDump("maps");
}

static void run_start(char *self)
{
	keep_block(1000);
	pid_t child = fork();
	if (!child) {
		static char story[] = "plain";
		char *const words[] = {self, story, NULL};
		execv(self, words);
		_exit(127);
	}
	waitpid(child, NULL, 0);
	printf("%d\n", (int)child);
}

int main(int argc, char **argv)
{
	const char *story = argc > 1 ? argv[1] : "plain";
	prefix = argc > 2 ? argv[2] : "";
	/* So that printf(3) allocates nothing. */
	static char buffer[BUFSIZ];
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	if (!strcmp(story, "plain"))
		run_plain();
	else if (!strcmp(story, "allocated"))
		run_allocated();
	else if (!strcmp(story, "in_use"))
		run_in_use();
	else if (!strcmp(story, "signal"))
		run_signal();
	else if (!strcmp(story, "calls"))
		run_calls();
	else if (!strcmp(story, "later"))
		run_later();
	else if (!strcmp(story, "get"))
		run_get();
	else if (!strcmp(story, "fork"))
		run_fork();
	else if (!strcmp(story, "leaks"))
		run_leaks();
	else if (!strcmp(story, "ignored"))
		run_ignored();
	else if (!strcmp(story, "maps"))
		run_maps();
	else if (!strcmp(story, "start"))
		run_start(argv[0]);
	else
		return 2;
	return 0;
}
