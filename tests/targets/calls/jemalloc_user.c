/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs do that were made for jemalloc's heap profiler: what its documentation walks
 * through, and what they ask mallctl(). It finds the functions in the default namespace, as FFI
 * does. The argument says which.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef OWN_CONF
#define OWN_CONF NULL
#endif

/* The program's own options. In the dynamic symbols: libraries find it. */
__attribute__((visibility("default"))) const char *malloc_conf = OWN_CONF;

typedef int mallctl_function(const char *, void *, size_t *, void *, size_t);
typedef int nametomib_function(const char *, size_t *, size_t *);
typedef int bymib_function(const size_t *, size_t, void *, size_t *, void *, size_t);
typedef void stats_print_function(void (*)(void *, const char *), void *, const char *);

static mallctl_function *mallctl;
static nametomib_function *mallctlnametomib;
static bymib_function *mallctlbymib;
static stats_print_function *malloc_stats_print;

static void *volatile kept[4096];
static unsigned count;

static __attribute__((noinline)) void keep_block(size_t bytes)
{
	kept[count++] = malloc(bytes);
}

static void keep_blocks(unsigned blocks, size_t bytes)
{
	for (unsigned i = 0; i < blocks; i++)
		keep_block(bytes);
}

static void drop_blocks(void)
{
	while (count)
		free(kept[--count]);
}

/* "Use case: leak checking": each round leaks some more. */
static __attribute__((noinline)) void do_something(size_t i)
{
	void *volatile lost = malloc(i * 100);
	(void)lost;
}

static void leak_check(void)
{
	for (size_t i = 0; i < 1000; i++)
		do_something(i);
}

static void leak_nothing(void)
{
	keep_blocks(10, 1000);
	drop_blocks();
}

static int dump(const char *file)
{
	return mallctl("prof.dump", NULL, NULL, &file, sizeof(file));
}

static int set_active(bool active)
{
	return mallctl("prof.active", NULL, NULL, &active, sizeof(active));
}

/* "Use case: heap profiling": on for a part of the run, and a dump before and after it. */
static void heap_profile(void)
{
	keep_blocks(7, 1009);
	printf("%d\n", set_active(true));
	printf("%d\n", dump(NULL));
	keep_blocks(100, 2003);
	printf("%d\n", dump("named.heap"));
	printf("%d\n", set_active(false));
	keep_blocks(11, 4001);
	printf("%d\n", dump(NULL));
}

static void many_kinds(void)
{
	const char *prefix = "other";
	keep_blocks(64, 65536);
	printf("%d\n", dump(NULL));
	printf("%d\n", mallctl("prof.prefix", NULL, NULL, &prefix, sizeof(prefix)));
	printf("%d\n", dump(NULL));
	printf("%d\n", dump("/nonexistent/a.heap"));
	printf("%d\n", dump(""));
}

static void *dump_thread(void *results)
{
	int *failed = results;
	for (int i = 0; i < 4; i++)
		*failed += dump(NULL) != 0;
	return NULL;
}

static void from_threads(void)
{
	pthread_t threads[8];
	int failed[8] = {0}, all = 0;
	keep_blocks(10, 1000);
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, dump_thread, &failed[i]);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		all += failed[i];
	}
	printf("%d failed\n", all);
}

static void in_child(void)
{
	keep_blocks(3, 1000);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		keep_blocks(5, 1000);
		printf("%d %d\n", (int)getpid(), dump(NULL));
		exit(0);
	}
	waitpid(child, NULL, 0);
	printf("%d %d\n", (int)getpid(), dump(NULL));
}

/* One call: what it returns, what it reads, and how much. */
static void show(const char *name, size_t old_bytes, const void *new, size_t new_bytes)
{
	uint64_t old = 0;
	size_t bytes = old_bytes;
	int error = mallctl(
		name, old_bytes ? &old : NULL, old_bytes ? &bytes : NULL, (void *)new, new_bytes);
	size_t mib[8], parts = 8;
	int found = mallctlnametomib(name, mib, &parts);
	uint64_t by_mib = 0;
	size_t mib_bytes = old_bytes;
	int mib_error = found || new_bytes || !old_bytes
				? 0
				: mallctlbymib(mib, parts, &by_mib, &mib_bytes, NULL, 0);
	/* Addresses of texts differ. */
	bool is_text = old_bytes == 8 && old > 1ull << 32;
	printf("%s %zu %zu: %s, %zu read, %s; %s, %zu parts, %s\n", name, old_bytes, new_bytes,
		strerrorname_np(error) ? strerrorname_np(error) : "-", bytes,
		is_text ? "text"
		: old   ? "not 0"
			: "0",
		found ? strerrorname_np(found) : "-", found ? 0 : parts,
		mib_error ? strerrorname_np(mib_error) : "-");
}

static void answers(void)
{
	static const char *const names[] = {"prof.dump", "prof.active", "prof.gdump", "prof.prefix",
		"prof.reset", "prof.interval", "prof.lg_sample", "prof.thread_active_init",
		"thread.prof.name", "thread.prof.active", "opt.prof", "opt.prof_active",
		"opt.prof_thread_active_init", "opt.prof_prefix", "opt.prof_accum",
		"opt.prof_gdump", "opt.prof_final", "opt.prof_leak", "opt.prof_leak_error",
		"opt.lg_prof_sample", "opt.lg_prof_interval", "config.prof", "config.stats",
		"config.debug", "version", "epoch", "arenas.narenas", "arenas.page",
		"arenas.quantum", "stats.allocated", "stats.active", "stats.resident",
		"stats.mapped", "prof.dump.x", "nonsense", ""};
	bool yes = true, no = false;
	uint64_t one = 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		/* jemalloc itself dies of no prefix at all. */
		for (size_t bytes = !strcmp(names[i], "prof.prefix"); bytes <= 8;
			bytes = bytes ? bytes * 2 : 1)
			show(names[i], bytes, NULL, 0);
		if (strcmp(names[i], "prof.dump") && strcmp(names[i], "prof.prefix"))
			show(names[i], 0, &one, 3);
	}
	show("prof.active", 1, &no, 1);
	show("prof.active", 1, &yes, 1);
	show("prof.active", 1, &yes, 2);
	show("prof.active", 2, &yes, 1);
	show("prof.gdump", 1, &no, 1);
	show("thread.prof.active", 1, &yes, 1);
	show("prof.thread_active_init", 1, &yes, 1);
	show("epoch", 8, &one, 8);
	show("epoch", 8, &one, 4);
	show("opt.prof", 1, &yes, 1);
	show("version", 8, &one, 8);
	const char *name = "worker 7";
	show("thread.prof.name", 8, &name, 8);
	show("thread.prof.name", 0, &name, 8);
	name = "wor\nker";
	show("thread.prof.name", 0, &name, 8);
	size_t mib[2] = {0, 0}, parts = 1;
	printf("%d", mallctlnametomib("prof.dump", mib, &parts));
	printf(" %zu %s\n", parts, strerrorname_np(mallctlbymib(mib, parts, NULL, NULL, NULL, 0)));
}

static void show_stats(void)
{
	size_t before = 0, after = 0, bytes = sizeof(before);
	uint64_t epoch = 1;
	mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
	int error = mallctl("stats.allocated", &before, &bytes, NULL, 0);
	keep_blocks(100, 10000);
	mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
	error |= mallctl("stats.allocated", &after, &bytes, NULL, 0);
	printf("%d %s\n", error,
		after - before >= 1000000 && after - before < 1100000 ? "right" : "wrong");
	malloc_stats_print(NULL, NULL, NULL);
	malloc_stats_print(NULL, NULL, "J");
}

static bool reading_ends;

static void *read_stats(void *unused)
{
	size_t allocated, bytes = sizeof(allocated);
	while (!__atomic_load_n(&reading_ends, __ATOMIC_RELAXED))
		mallctl("stats.allocated", &allocated, &bytes, NULL, 0);
	return unused;
}

/* Children of a process whose threads read statistics all the time read them, too. */
static void stats_in_children(void)
{
	enum { THREADS = 3, CHILDREN = 300 };
	pthread_t threads[THREADS];
	int good = 0;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, read_stats, NULL);
	for (int i = 0; i < CHILDREN && good == i; i++) {
		int status = 1;
		size_t allocated, bytes = sizeof(allocated);
		pid_t child = fork();
		if (!child) {
			alarm(20);
			_exit(mallctl("stats.allocated", &allocated, &bytes, NULL, 0));
		}
		waitpid(child, &status, 0);
		good += status == 0;
	}
	__atomic_store_n(&reading_ends, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d of %d\n", good, CHILDREN);
}

/* heapwise dumps what is due when the prefix is set; a dump of another name gives it time to be
 * written. The real one dumps in malloc(). */
static void await_due(const char *prefix)
{
	static const char *const sync = "sync.heap";
	const char *version = "";
	size_t bytes = sizeof(version);
	mallctl("version", &version, &bytes, NULL, 0);
	if (!strstr(version, "heapwise"))
		return;
	mallctl("prof.prefix", NULL, NULL, (void *)&prefix, sizeof(prefix));
	if (mallctl("prof.dump", NULL, NULL, (void *)&sync, sizeof(sync)))
		puts("no dump");
}

/* Grows block by block, with blocks of several sizes. */
static void grow_pages(void)
{
	static const struct {
		const char *prefix;
		size_t bytes;
		unsigned blocks;
	} kinds[] = {{"a", 300, 130}, {"b", 5000, 12}, {"c", 10000, 6}, {"d", 20000, 3}};
	bool yes = true;
	mallctl("prof.gdump", NULL, NULL, &yes, sizeof(yes));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		mallctl("prof.prefix", NULL, NULL, (void *)&kinds[i].prefix,
			sizeof(kinds[i].prefix));
		for (unsigned k = 0; k < kinds[i].blocks; k++) {
			keep_block(kinds[i].bytes);
			await_due(kinds[i].prefix);
		}
		/* What is free is used again. */
		free(kept[--count]);
		keep_block(kinds[i].bytes);
		await_due(kinds[i].prefix);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} stories[] = {
	{"leak_check", leak_check},
	{"leak_nothing", leak_nothing},
	{"heap_profile", heap_profile},
	{"many_kinds", many_kinds},
	{"from_threads", from_threads},
	{"in_child", in_child},
	{"answers", answers},
	{"stats", show_stats},
	{"stats_in_children", stats_in_children},
	{"grow_pages", grow_pages},
};

int main(int argc, char **argv)
{
	mallctl = (mallctl_function *)dlsym(RTLD_DEFAULT, "mallctl");
	mallctlnametomib = (nametomib_function *)dlsym(RTLD_DEFAULT, "mallctlnametomib");
	mallctlbymib = (bymib_function *)dlsym(RTLD_DEFAULT, "mallctlbymib");
	malloc_stats_print = (stats_print_function *)dlsym(RTLD_DEFAULT, "malloc_stats_print");
	setvbuf(stdout, NULL, _IOLBF, 4096);
	for (size_t i = 0; argc == 2 && mallctl && i < sizeof(stories) / sizeof(stories[0]); i++) {
		if (!strcmp(argv[1], stories[i].name)) {
			stories[i].run();
			return 0;
		}
	}
	puts(mallctl ? "unknown story" : "no jemalloc");
	return 2;
}
