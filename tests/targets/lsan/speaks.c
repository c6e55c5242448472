/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each case calls functions of LeakSanitizer; the test knows none of their results: it compares. */
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lsan_target.h"

static int turned_off;

const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "# what the program knows of\nleak:known_to_lose\n";
}

int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return turned_off;
}

static void one_lost(void)
{
	lose(LOST_BYTES);
}

static char *volatile held;

static void nothing_lost(void)
{
	held = malloc(LOST_BYTES);
}

static __attribute__((noinline)) void known_to_lose(void)
{
	char *volatile block = malloc(LOST_BYTES);
	memset(block, 1, LOST_BYTES);
	block = NULL;
}

static void suppressed_by_program(void)
{
	known_to_lose();
}

static void suppressed_and_lost(void)
{
	known_to_lose();
	lose(LOST_BYTES);
}

static void is_turned_off(void)
{
	turned_off = 1;
	lose(LOST_BYTES);
}

static __attribute__((noinline)) void lose_told(size_t offset)
{
	char **volatile block = malloc(LOST_BYTES);
	memset(block, 0, LOST_BYTES);
	block[1] = malloc(77);
	IF_THERE(__lsan_ignore_object, (char *)block + offset);
	block = NULL;
}

static void ignored(void)
{
	lose_told(0);
}

static void ignored_by_its_middle(void)
{
	lose_told(500);
}

/* The address of an ignored block, given out again, is another block's. */
static __attribute__((noinline)) void lose_again(void)
{
	char *volatile block = malloc(LOST_BYTES);
	uintptr_t first = ~(uintptr_t)block;
	IF_THERE(__lsan_ignore_object, block);
	free(block);
	block = malloc(LOST_BYTES);
	printf("%s\n", first ? "given out" : "");
	memset(block, 1, LOST_BYTES);
	block = NULL;
}

static void ignored_then_freed(void)
{
	lose_again();
}

static void ignored_then_moved(void)
{
	char *volatile block = malloc(100);
	IF_THERE(__lsan_ignore_object, block);
	block = realloc(block, 100000);
	memset(block, 1, 100000);
	block = NULL;
}

static void disabled(void)
{
	IF_THERE(__lsan_disable);
	lose(LOST_BYTES);
	IF_THERE(__lsan_enable);
}

static void disabled_twice_enabled_once(void)
{
	IF_THERE(__lsan_disable);
	IF_THERE(__lsan_disable);
	IF_THERE(__lsan_enable);
	lose(LOST_BYTES);
}

static void disabled_then_enabled(void)
{
	for (int i = 0; i < 1000; i++)
		disabled();
	lose(LOST_BYTES);
}

static void lost_before_disabled(void)
{
	lose(LOST_BYTES);
	disabled();
}

static pthread_barrier_t turn;

static void *other_disables(void *argument)
{
	IF_THERE(__lsan_disable);
	pthread_barrier_wait(&turn);
	lose(2003);
	pthread_barrier_wait(&turn);
	return argument;
}

static void with_other(int loses)
{
	pthread_t other;
	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&other, NULL, other_disables, NULL);
	pthread_barrier_wait(&turn);
	if (loses)
		lose(LOST_BYTES);
	pthread_barrier_wait(&turn);
	pthread_join(other, NULL);
}

static void disabled_in_another_thread(void)
{
	with_other(0);
}

static void lost_while_another_is_disabled(void)
{
	with_other(1);
}

static void *thread_loses(void *argument)
{
	lose(LOST_BYTES);
	return argument;
}

/* It ends disabled; the next one may get its place. */
static void lost_after_a_disabled_thread(void)
{
	pthread_t thread;
	with_other(0);
	pthread_create(&thread, NULL, thread_loses, NULL);
	pthread_join(thread, NULL);
}

static void *page;

/* Shared memory that may not be written to is searched by nobody who is not told to. */
static __attribute__((noinline)) void hide_in_page(void)
{
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char **words = page;
	words[3] = malloc(LOST_BYTES);
	mprotect(page, 4096, PROT_READ);
}

static void root_region(void)
{
	hide_in_page();
	IF_THERE(__lsan_register_root_region, page, 4096);
}

static void root_region_that_ends_before(void)
{
	hide_in_page();
	IF_THERE(__lsan_register_root_region, page, 24);
}

static void root_region_no_more(void)
{
	root_region();
	IF_THERE(__lsan_unregister_root_region, page, 4096);
}

static void root_region_twice(void)
{
	root_region_no_more();
	IF_THERE(__lsan_register_root_region, page, 4096);
	IF_THERE(__lsan_register_root_region, page, 4096);
	IF_THERE(__lsan_unregister_root_region, page, 4096);
}

static void recoverable(void)
{
	scrub();
	printf("found %d\n",
		__lsan_do_recoverable_leak_check ? __lsan_do_recoverable_leak_check() : -1);
}

static void recoverable_before_and_after(void)
{
	recoverable();
	lose(LOST_BYTES);
	recoverable();
	recoverable();
}

static void recoverable_suppressed(void)
{
	known_to_lose();
	recoverable();
}

static void recoverable_turned_off(void)
{
	lose(LOST_BYTES);
	turned_off = 1;
	recoverable();
	turned_off = 0;
	recoverable();
	turned_off = 1;
}

static void check(void)
{
	scrub();
	IF_THERE(__lsan_do_leak_check);
	printf("checked\n");
}

static void checked_with_leak(void)
{
	lose(LOST_BYTES);
	check();
}

static void checked_before_leak(void)
{
	check();
	lose(LOST_BYTES);
	check();
}

static void *thread_checks(void *argument)
{
	pthread_barrier_wait(&turn);
	recoverable();
	return argument;
}

static void checked_by_two_threads(void)
{
	pthread_t threads[2];
	lose(LOST_BYTES);
	scrub();
	pthread_barrier_init(&turn, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, thread_checks, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

/* The pointer is in a register of the caller alone. */
static void checked_with_block_in_register(void)
{
	register char *block __asm__("r12") = malloc(LOST_BYTES);
	__asm__ volatile("" : "+r"(block));
	scrub();
	int found = __lsan_do_recoverable_leak_check ? __lsan_do_recoverable_leak_check() : -1;
	__asm__ volatile("" : "+r"(block));
	free(block);
	printf("found %d\n", found);
}

static void in_child(void (*what)(void))
{
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		what();
		check();
		_exit(0);
	}
	int status = 0;
	waitpid(child, &status, 0);
	printf("child's status %d\n", WEXITSTATUS(status));
}

static void child_checks(void)
{
	in_child(one_lost);
}

static void child_loses_and_exits(void)
{
	pid_t child = fork();
	if (!child) {
		lose(LOST_BYTES);
		scrub();
		exit(0);
	}
	int status = 0;
	waitpid(child, &status, 0);
	printf("child's status %d\n", WEXITSTATUS(status));
}

static void child_is_disabled_too(void)
{
	IF_THERE(__lsan_disable);
	in_child(one_lost);
	IF_THERE(__lsan_enable);
}

static void at_exit_loses(void)
{
	lose(LOST_BYTES);
}

static void lost_by_exit_handler(void)
{
	atexit(at_exit_loses);
}

static void ends_by__exit(void)
{
	lose(LOST_BYTES);
	_exit(0);
}

static void ends_by_quick_exit(void)
{
	lose(LOST_BYTES);
	quick_exit(0);
}

static void ends_with_status_3(void)
{
	lose(LOST_BYTES);
	scrub();
	exit(3);
}

static void *thread_exits(void *argument)
{
	lose(LOST_BYTES);
	scrub();
	exit(argument ? 1 : 4);
}

static void another_thread_exits(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, thread_exits, NULL);
	pthread_join(thread, NULL);
}

static void without_leak_ends_with_status_3(void)
{
	exit(3);
}

#define CASE(name)                                                                                 \
	{                                                                                          \
#name, name                                                                        \
	}
static const struct target_case cases[] = {CASE(one_lost), CASE(nothing_lost),
	CASE(suppressed_by_program), CASE(suppressed_and_lost), CASE(is_turned_off), CASE(ignored),
	CASE(ignored_by_its_middle), CASE(ignored_then_freed), CASE(ignored_then_moved),
	CASE(disabled), CASE(disabled_twice_enabled_once), CASE(disabled_then_enabled),
	CASE(lost_before_disabled), CASE(disabled_in_another_thread),
	CASE(lost_while_another_is_disabled), CASE(lost_after_a_disabled_thread), CASE(root_region),
	CASE(root_region_that_ends_before), CASE(root_region_no_more), CASE(root_region_twice),
	CASE(recoverable), CASE(recoverable_before_and_after), CASE(recoverable_suppressed),
	CASE(recoverable_turned_off), CASE(checked_with_leak), CASE(checked_before_leak),
	CASE(checked_by_two_threads), CASE(checked_with_block_in_register), CASE(child_checks),
	CASE(child_loses_and_exits), CASE(child_is_disabled_too), CASE(lost_by_exit_handler),
	CASE(ends_by__exit), CASE(ends_by_quick_exit), CASE(ends_with_status_3),
	CASE(another_thread_exits), CASE(without_leak_ends_with_status_3), {NULL, NULL}};

int main(int argc, char **argv)
{
	if (argc == 1) { /* lists its cases */
		for (const struct target_case *c = cases; c->name; c++)
			printf("%s\n", c->name);
		return 0;
	}
	return run_case(argc, argv, cases);
}
