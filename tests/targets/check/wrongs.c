/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors of C programs: accesses and frees. See wrongs.h. */
#include "wrongs.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 33, 47, 48, 63, 64,
	65, 77, 80, 96, 99, 100, 1000, 4095, 4096, 4097, 12345, 1 << 20, (1 << 20) + 3};
#define SIZES (sizeof(sizes) / sizeof(*sizes))

static size_t round_up(size_t n)
{
	return (n + 15) / 16 * 16;
}

static void over_write(bool good)
{
	for (size_t i = 0; i < SIZES; i++) {
		volatile char *p = bytes_of(malloc(sizes[i]));
		memset((void *)p, 1, sizes[i]);
		if (!good) {
			expect("InvalidWrite", 0, "after", sizes[i]);
			p[sizes[i]] = 0;
		}
		free((void *)p);
	}
}

/* Beyond the bytes that alignment leaves. */
static void over_read(bool good)
{
	for (size_t i = 0; i < SIZES; i++) {
		volatile char *p = bytes_of(malloc(sizes[i]));
		size_t at = good ? sizes[i] - 1 : round_up(sizes[i]);
		p[sizes[i] - 1] = 7;
		if (!good)
			expect("InvalidRead", at - sizes[i], "after", sizes[i]);
		char c = p[at];
		if (good)
			printf("%d\n", c);
		free((void *)p);
	}
}

static void over_write_far(bool good)
{
	for (size_t i = 0; i < SIZES; i++) {
		volatile char *p = bytes_of(calloc(1, sizes[i]));
		size_t at = good ? sizes[i] - 1 : round_up(sizes[i]) + 100;
		if (!good)
			expect("InvalidWrite", at - sizes[i], "after", sizes[i]);
		p[at] = 1;
		free((void *)p);
	}
}

static void under_write(bool good)
{
	for (size_t i = 0; i < SIZES; i++) {
		volatile char *p = bytes_of(malloc(sizes[i]));
		if (!good)
			expect("InvalidWrite", 1, "before", sizes[i]);
		p[good ? 0 : -1] = 1;
		free((void *)p);
	}
}

static void under_read(bool good)
{
	for (size_t i = 0; i < SIZES; i++) {
		volatile char *p = bytes_of(malloc(sizes[i]));
		if (!good)
			expect("InvalidRead", 1, "before", sizes[i]);
		(void)p[good ? 0 : -1];
		free((void *)p);
	}
}

static void freed_read(bool good)
{
	for (size_t i = 0; i < SIZES; i++) {
		volatile char *p = bytes_of(malloc(sizes[i]));
		if (!good)
			free((void *)p);
		if (!good)
			expect_freed("InvalidRead", sizes[i] / 2, sizes[i]);
		(void)p[sizes[i] / 2];
		if (good)
			free((void *)p);
	}
}

static void freed_write(bool good)
{
	for (size_t i = 0; i < SIZES; i++) {
		volatile char *p = bytes_of(malloc(sizes[i]));
		if (!good)
			free((void *)p);
		if (!good)
			expect_freed("InvalidWrite", 0, sizes[i]);
		p[0] = 1;
		if (good)
			free((void *)p);
	}
}

/* Small blocks of which the beginning is written after the free, found when they leave. */
static void freed_write_late(bool good)
{
	char *volatile p[50];
	for (size_t i = 0; i < 50; i++)
		p[i] = malloc(i + 1);
	for (size_t i = 0; i < 50 && !good; i++)
		free(p[i]);
	for (size_t i = 0; i < 50; i++) {
		if (!good)
			expect_freed("InvalidWrite", i, i + 1);
		((char *)hide(p[i]))[i] = 1;
	}
	for (size_t i = 0; i < 50 && good; i++)
		free(p[i]);
}

static void realloc_old(bool good)
{
	for (size_t n = 20; n < 2000; n += 333) {
		char *p = malloc(n), *old = hide(p);
		p = realloc(p, n * 2);
		if (!good)
			expect_freed("InvalidRead", 3, n);
		(void)bytes_of(good ? p : old)[3];
		free(p);
	}
}

static void free_twice(bool good)
{
	for (size_t i = 0; i < SIZES; i++) {
		char *p = malloc(sizes[i]), *q = malloc(sizes[i]);
		free(p);
		if (!good) {
			expect_freed("DoubleFree", 0, sizes[i]);
			free(hide(p));
		}
		free(q);
	}
}

/* A thousand frees later. */
static void free_twice_late(bool good)
{
	char *p = malloc(44);
	free(p);
	for (int i = 0; i < 1000; i++)
		free(hide(malloc(44)));
	if (!good) {
		expect_freed("DoubleFree", 0, 44);
		free(hide(p));
	}
}

static char global[64];

static void free_others(bool good)
{
	char local[64], *p = malloc(77);
	char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (good) {
		free(p);
		munmap(map, 8192);
		return;
	}
	expect("InvalidFree", 1, "inside", 77);
	free(hide(p + 1));
	expect("InvalidFree", 16, "inside", 77);
	free(hide(p + 16));
	expect_kind("InvalidFree");
	free(hide(local));
	expect_kind("InvalidFree");
	free(hide(local + 16));
	expect_kind("InvalidFree");
	free(hide(global));
	expect_kind("InvalidFree");
	free(hide(map));
	expect_kind("InvalidFree");
	free(hide(map + 4096));
	expect_kind("InvalidFree");
	free(hide((void *)16));
	expect_kind("InvalidFree");
	free(hide((void *)0x4141414141414140));
	expect_kind("InvalidFree");
	if (realloc(hide(global), 10))
		puts("realloc of a global gave a block");
	free(p);
}

static void usable(bool good)
{
	size_t sum = 0;
	for (size_t i = 0; i < SIZES; i++) {
		char *p = malloc(sizes[i]);
		size_t room = malloc_usable_size(p);
		memset(p, 1, room); /* what a program may do */
		sum += room >= sizes[i];
		free(p);
	}
	printf("%zu\n", sum);
	(void)good;
}

static void realloc_to_zero(bool good)
{
	void *p = malloc(10);
	if (good) {
		free(p);
		return;
	}
	expect("ReallocSizeZero", 0, "inside", 10);
	p = realloc(hide(p), 0);
	printf("%d\n", p != NULL);
}

static void silly_sizes(bool good)
{
	if (good)
		return;
	expect_kind("FishyValue");
	printf("%d", malloc((size_t)hide((void *)-1)) != NULL);
	printf(" %d\n", errno == ENOMEM);
	expect_kind("FishyValue");
	printf("%d\n", calloc((size_t)hide((void *)(1l << 62)), 8) != NULL);
	expect_kind("FishyValue");
	printf("%d\n", reallocarray(NULL, (size_t)hide((void *)(1l << 62)), 8) != NULL);
	void *p = malloc(10);
	expect_kind("FishyValue");
	printf("%d\n", realloc(p, (size_t)hide((void *)-100)) != NULL);
	free(p);
	expect_kind("InvalidAlignment");
	printf("%d\n", posix_memalign(&p, 24, 10) == EINVAL);
	expect_kind("InvalidAlignment");
	p = memalign((size_t)hide((void *)24), 10);
	printf("%d\n", (uintptr_t)p % 32 == 0);
	free(p);
}

static void alignments(bool good)
{
	int wrong = 0;
	for (size_t align = 8; align <= 1 << 20; align *= 2) {
		for (size_t size = 0; size < 70000; size = size * 3 + 1) {
			void *p = NULL, *q = memalign(align, size);
			wrong += posix_memalign(&p, align, size) != 0;
			wrong += (uintptr_t)p % align != 0 || (uintptr_t)q % align != 0;
			memset(p, 1, size);
			memset(q, 2, size);
			free(p);
			free(q);
		}
	}
	void *p = valloc(10), *q = pvalloc(10);
	wrong += (uintptr_t)p % 4096 != 0 || (uintptr_t)q % 4096 != 0;
	memset(q, 1, 4096);
	free(p);
	free(q);
	printf("%d\n", wrong);
	(void)good;
}

static void in_thread(bool good);

static void in_child(bool good)
{
	char *p = malloc(30);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		free(p);
		if (!good) {
			expect_freed("DoubleFree", 0, 30);
			free(hide(p));
			char *q = malloc(40);
			expect("InvalidWrite", 8, "after", 40);
			bytes_of(q)[48] = 1;
			free(q);
		}
		fflush(stdout);
		_exit(0);
	}
	int status = -1;
	waitpid(child, &status, 0);
	printf("%d\n", status);
	free(p);
}

static void *free_from_thread(void *p)
{
	free(p);
	return NULL;
}

static void *touch_from_thread(void *p)
{
	bytes_of(p)[5] = 1;
	return NULL;
}

static void run_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;
	pthread_create(&thread, NULL, function, argument);
	pthread_join(thread, NULL);
}

static void in_thread(bool good)
{
	char *p = malloc(60);
	run_thread(free_from_thread, p);
	if (!good) {
		expect_freed("InvalidWrite", 5, 60);
		run_thread(touch_from_thread, p);
		expect_freed("DoubleFree", 0, 60);
		free(hide(p));
	}
}

static void at_exit(void)
{
	bytes_of(malloc(21))[0] = 1;
}

/* Blocks that nobody frees: found at the end. */
static void never_freed(bool good)
{
	volatile char *p = bytes_of(malloc(21));
	if (!good) {
		expect("InvalidWrite", 1, "after", 21);
		p[22] = 1;
	}
	atexit(at_exit);
}

/* Of one block, at one page: each instruction's, and each one's once. */
static void several_errors(bool good)
{
	int rounds = (int)(size_t)hide((void *)20);
	for (size_t n = 64; n < 5000; n += 1600) {
		volatile char *p = bytes_of(malloc(n)), *q = bytes_of(malloc(n));
		size_t over = good ? 0 : n;
		if (!good) {
			expect("InvalidWrite", 8, "after", n);
			expect("InvalidWrite", 40, "after", n);
			expect("InvalidRead", 8, "after", n);
			expect_freed("InvalidWrite", 8, n);
			expect_freed("InvalidRead", 8, n);
		}
		p[over + 8] = 5;
		for (int i = 0; i < rounds; i++)
			p[over + 40 + (size_t)i % 8] = 1;
		/* What was written is there. */
		if (p[over + 8] != 5)
			exit(3);
		if (!good)
			free((void *)q);
		for (int i = 8; i < rounds; i++)
			q[i] = 6;
		if (q[8] != 6)
			exit(4);
		if (good)
			free((void *)q);
		free((void *)p);
	}
}

/* More instructions than one that make the same access many times. */
static void many_errors(bool good)
{
	volatile char *p = bytes_of(malloc(48));
	if (!good) {
		expect("InvalidWrite", 0, "after", 48);
		expect("InvalidRead", 1000, "after", 48);
	}
	for (int i = 0; i < 100000; i++) {
		p[good ? 0 : 48] = 1;
		(void)p[good ? 40 : 1048];
	}
	if (p[good ? 0 : 48] != 1)
		exit(3);
	free((void *)p);
}

/* An instruction that is repeated is one. */
static void repeated_errors(bool good)
{
	static char from[6000];
	for (size_t n = 100; n <= 4000; n += 1300) {
		char *p = hide(malloc(64)), *to = good ? hide(malloc(n)) : p + 64;
		void *d = to, *s = from;
		size_t count = n;
		if (!good)
			expect("InvalidWrite", 0, "after", 64);
		__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(count)::"memory");
		if (d != to + n)
			exit(3);
		if (good)
			free(to);
		free(p);
	}
}

/* --- ends at which nobody frees --- */

static void leave_damage(bool good)
{
	volatile char *p = bytes_of(malloc(37));
	if (!good)
		p[38] = 1;
}

static void end_exit(void)
{
	_exit(7);
}

static void end_exit_c99(void)
{
	_Exit(8);
}

static void end_quick_exit(void)
{
	quick_exit(9);
}

static void end_system_call(void)
{
	syscall(SYS_exit_group, 10);
}

static void end_exec(void)
{
	execv("/no/such/program", (char *[]){"no", NULL});
	execve("/bin/true", (char *[]){"true", NULL}, environ);
}

static void end_exec_by_name(void)
{
	execvp("true", (char *[]){"true", NULL});
}

static void end_abort(void)
{
	abort();
}

static void end_assert(void)
{
	__assert_fail("it is", "wrongs.c", 1, "end_assert");
}

static void end_fault(void)
{
	*(volatile int *)hide((void *)24) = 1;
}

static void survive_abort(int number)
{
	(void)number;
	_exit(11);
}

static void end_in_handler(void)
{
	signal(SIGABRT, survive_abort);
	abort();
}

/* Shares memory with the process that makes it: what is damaged is that one's. */
static void end_vforked(void)
{
	if (!vfork())
		_exit(0);
	wait(NULL);
	_exit(12);
}

/* The child has nothing to report but what it did. */
static void end_forked(void)
{
	fflush(stdout);
	if (!fork())
		_exit(0);
	wait(NULL);
	_exit(13);
}

static void unusual_ends(bool good)
{
	static void (*const ends[])(void) = {end_exit, end_exit_c99, end_quick_exit,
		end_system_call, end_exec, end_exec_by_name, end_abort, end_assert, end_fault,
		end_in_handler, end_vforked, end_forked};
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		int status = -1;
		if (!good)
			expect("InvalidWrite", 1, "after", 37);
		if (ends[i] == end_fault)
			expect_kind("InvalidWrite");
		fflush(stdout);
		pid_t child = fork();
		if (!child) {
			leave_damage(good);
			ends[i]();
			_exit(99);
		}
		waitpid(child, &status, 0);
		printf("%x\n", status & ~0x80);
	}
}

static const struct story stories[] = {{"over_write", over_write}, {"over_read", over_read},
	{"over_write_far", over_write_far}, {"under_write", under_write},
	{"under_read", under_read}, {"freed_read", freed_read}, {"freed_write", freed_write},
	{"freed_write_late", freed_write_late}, {"realloc_old", realloc_old},
	{"free_twice", free_twice}, {"free_twice_late", free_twice_late},
	{"free_others", free_others}, {"usable", usable}, {"realloc_to_zero", realloc_to_zero},
	{"silly_sizes", silly_sizes}, {"alignments", alignments}, {"in_child", in_child},
	{"in_thread", in_thread}, {"never_freed", never_freed}, {"several_errors", several_errors},
	{"many_errors", many_errors}, {"repeated_errors", repeated_errors},
	{"unusual_ends", unusual_ends}, {NULL, NULL}};

int main(int argc, char **argv)
{
	return tell_story(argc, argv, stories);
}
