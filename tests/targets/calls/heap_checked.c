/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that was made for gperftools' leak checker, as far as the linker sees it: it refers to
 * functions of gperftools/heap-checker.h by their C++ names, so it needs no header and no library.
 * Usage: heap_checked STORY…. Each check prints: its name, what NoLeaks() returned, bytes, objects.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* class HeapLeakChecker has 56 bytes. */
struct checker {
	void *words[7];
};

#define IMPORT(name) __asm__(name) __attribute__((weak))
extern void checker_init(struct checker *self, const char *name)
	IMPORT("_ZN15HeapLeakCheckerC1EPKc");
extern void checker_deinit(struct checker *self) IMPORT("_ZN15HeapLeakCheckerD1Ev");
extern bool checker_no_leaks(struct checker *self, int symbolizes)
	IMPORT("_ZN15HeapLeakChecker9DoNoLeaksENS_15ShouldSymbolizeE");
extern ssize_t checker_bytes(const struct checker *self)
	IMPORT("_ZNK15HeapLeakChecker11BytesLeakedEv");
extern ssize_t checker_objects(const struct checker *self)
	IMPORT("_ZNK15HeapLeakChecker13ObjectsLeakedEv");
extern bool checker_is_active(void) IMPORT("_ZN15HeapLeakChecker8IsActiveEv");
extern bool checker_no_global_leaks(void) IMPORT("_ZN15HeapLeakChecker13NoGlobalLeaksEv");
extern struct checker *checker_global(void) IMPORT("_ZN15HeapLeakChecker13GlobalCheckerEv");
extern void checker_cancel(void) IMPORT("_ZN15HeapLeakChecker17CancelGlobalCheckEv");
extern void checker_ignore(const void *object) IMPORT("_ZN15HeapLeakChecker14DoIgnoreObjectEPKv");
extern void checker_unignore(const void *object) IMPORT("_ZN15HeapLeakChecker14UnIgnoreObjectEPKv");
extern void cleaner_init(void *self, void (*function)(void)) IMPORT("_ZN11HeapCleanerC1EPFvvE");

void *volatile kept, *volatile older;
static void *cleaned;

static __attribute__((noinline)) char *allocate(size_t bytes)
{
	char *block = malloc(bytes);
	if (block)
		memset(block, 1, bytes);
	return block;
}

/* So that no word of a lost block's address is left on the stack, or in a register. */
static __attribute__((noinline)) void clear_stack(void)
{
	char volatile words[8192];
	for (size_t i = 0; i < sizeof(words); i++)
		words[i] = 0;
	__asm__ volatile("xor %%eax, %%eax\n xor %%ecx, %%ecx\n xor %%edx, %%edx\n"
			 "xor %%esi, %%esi\n xor %%edi, %%edi\n xor %%r8d, %%r8d\n" ::
				 : "eax", "ecx", "edx", "esi", "edi", "r8");
}

static __attribute__((noinline)) void lose(size_t bytes)
{
	kept = allocate(bytes);
	kept = NULL;
	clear_stack();
}

/* A block that holds another one is lost. */
static __attribute__((noinline)) void lose_chain(void)
{
	char *head = allocate(64);
	*(char **)head = allocate(65);
	kept = head;
	kept = head = NULL;
	clear_stack();
}

static __attribute__((noinline)) void keep(size_t bytes, size_t offset)
{
	kept = allocate(bytes) + offset;
	clear_stack();
}

static __attribute__((noinline)) void make_unaligned(void)
{
	char *holder = allocate(64), *block = allocate(777);
	memcpy(holder + 3, &block, sizeof(block));
	kept = holder;
}

static void keep_unaligned(void)
{
	make_unaligned();
	clear_stack();
}

static void *lose_in_thread(void *context)
{
	lose(999);
	return context;
}

static __attribute__((noinline)) void run_thread(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, lose_in_thread, NULL);
	pthread_join(thread, NULL);
	clear_stack();
}

static void show(const char *name, bool is_fine, const struct checker *checker)
{
	bool known = checker_is_active();
	printf("%s %d %zd %zd\n", name, is_fine, known ? checker_bytes(checker) : -1,
		known ? checker_objects(checker) : -1);
	fflush(stdout);
}

static void end_check(const char *name, struct checker *checker)
{
	bool is_fine = checker_no_leaks(checker, 1);
	show(name, is_fine, checker);
	checker_deinit(checker);
}

static void run_checks(void)
{
	struct checker outer, inner;
	lose(111);
	older = allocate(444);
	checker_init(&outer, "outer");
	checker_init(&inner, "kept");
	keep(222, 0);
	end_check("kept", &inner);
	checker_init(&inner, "lost");
	lose(333);
	lose(333);
	end_check("lost", &inner);
	checker_init(&inner, "older");
	older = NULL;
	clear_stack();
	end_check("older", &inner);
	checker_init(&inner, "chain");
	lose_chain();
	end_check("chain", &inner);
	checker_init(&inner, "thread");
	run_thread();
	end_check("thread", &inner);
	end_check("outer", &outer);
}

/* Returns the address of the block in a form that is no reference. */
static __attribute__((noinline)) uintptr_t make_ignored(void)
{
	char *block = allocate(501);
	checker_ignore(block);
	return ~(uintptr_t)block;
}

static __attribute__((noinline)) void end_ignored(uintptr_t hidden)
{
	checker_unignore((const void *)~hidden);
}

static void run_ignored(void)
{
	struct checker checker;
	checker_init(&checker, "ignored");
	uintptr_t hidden = make_ignored();
	clear_stack();
	bool is_fine = checker_no_leaks(&checker, 1);
	show("ignored", is_fine, &checker);
	end_ignored(hidden);
	clear_stack();
	end_check("unignored", &checker);
}

static void run_one(const char *name, void (*function)(void))
{
	struct checker checker;
	checker_init(&checker, name);
	function();
	end_check(name, &checker);
}

static void keep_offset(void)
{
	keep(9000, 2000);
}

static void keep_global(void)
{
	keep(600, 0);
}

static void free_cleaned(void)
{
	free(cleaned);
}

static void run_cleanup(void)
{
	char self;
	cleaned = allocate(700);
	cleaner_init(&self, free_cleaned);
}

static void run_stack(void)
{
	struct checker checker;
	checker_init(&checker, "stack");
	void *volatile local = allocate(650);
	clear_stack();
	end_check("stack", &checker);
	free(local);
}

static void *run_stack_in_thread(void *context)
{
	run_stack();
	return context;
}

static void run_other_stack(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, run_stack_in_thread, NULL);
	pthread_join(thread, NULL);
}

static void run_global(void)
{
	lose(111);
	bool is_fine = checker_no_global_leaks();
	struct checker *global = checker_global();
	if (global)
		show("_main_", is_fine, global);
	else
		printf("_main_ %d\n", is_fine);
}

static void run_story(const char *story)
{
	struct checker checker;
	if (!strcmp(story, "checks"))
		run_checks();
	else if (!strcmp(story, "ignored"))
		run_ignored();
	else if (!strcmp(story, "offset"))
		run_one("offset", keep_offset);
	else if (!strcmp(story, "unaligned"))
		run_one("unaligned", keep_unaligned);
	else if (!strcmp(story, "kept"))
		run_one("kept", keep_global);
	else if (!strcmp(story, "stack"))
		run_stack();
	else if (!strcmp(story, "other"))
		run_other_stack();
	else if (!strcmp(story, "global"))
		run_global();
	else if (!strcmp(story, "cancel"))
		checker_cancel();
	else if (!strcmp(story, "cleanup"))
		run_cleanup();
	else if (!strcmp(story, "unused")) {
		checker_init(&checker, "unused");
		checker_deinit(&checker);
	} else if (!strcmp(story, "early")) {
		checker_init(&checker, "early");
		checker_bytes(&checker);
	}
}

int main(int argc, char **argv)
{
	/* So that printf(3) allocates nothing. */
	static char buffer[BUFSIZ];
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	if (!checker_init || !checker_is_active)
		return 3;
	printf("active %d\n", checker_is_active());
	for (int i = 1; i < argc; i++)
		run_story(argv[i]);
	return 0;
}
