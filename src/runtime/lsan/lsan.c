/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program calls a function of sanitizer/lsan_interface.h, or is about to be searched
 * for leaks. May touch: the program's own words to LeakSanitizer, which it calls; stderr; the
 * runtime, by what lsan_bridge.h declares.
 *
 * The functions that LeakSanitizer has for programs, for programs that heapwise records. They pass
 * their arguments to the runtime, which passes them on: the tool does the search. A library apart
 * from the runtime, so that programs that do not know LeakSanitizer don't find it: many refer to
 * these functions weakly, and take their being there for running under it.
 */
#include "runtime/preload/lsan_bridge.h"

#include <stdbool.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

/* As sanitizer/lsan_interface.h declares them. */
void __lsan_disable(void);
void __lsan_enable(void);
void __lsan_ignore_object(const void *p);
void __lsan_register_root_region(const void *p, size_t size);
void __lsan_unregister_root_region(const void *p, size_t size);
void __lsan_do_leak_check(void);
int __lsan_do_recoverable_leak_check(void);
/* The program's, if it has them. */
extern int __lsan_is_turned_off(void) __attribute__((weak));
extern const char *__lsan_default_suppressions(void) __attribute__((weak));
extern const char *__lsan_default_options(void) __attribute__((weak));

static __thread unsigned disabled __attribute__((tls_model("initial-exec")));
/* Of this process and those that it was forked from; a check without leaks leaves its end as it is
 * where LeakSanitizer would. */
static enum rt_lsan_over over;

static void annotate_memory(enum hw_annotation what, const void *address, size_t bytes)
{
	if (heapwise_rt_lsan_annotate)
		heapwise_rt_lsan_annotate(what, address, bytes);
}

API void __lsan_disable(void)
{
	if (!disabled++)
		annotate_memory(HW_ANNOTATE_DISABLE, NULL, 0);
}

/* LeakSanitizer ends a program that enables more often than it disables; natively it would run. */
API void __lsan_enable(void)
{
	if (disabled && !--disabled)
		annotate_memory(HW_ANNOTATE_ENABLE, NULL, 0);
}

API void __lsan_ignore_object(const void *p)
{
	annotate_memory(HW_ANNOTATE_IGNORE, p, 0);
}

API void __lsan_register_root_region(const void *p, size_t size)
{
	annotate_memory(HW_ANNOTATE_ROOT, p, size);
}

API void __lsan_unregister_root_region(const void *p, size_t size)
{
	annotate_memory(HW_ANNOTATE_ROOT_END, p, size);
}

/* The program's function: the one that its exports name, or else one that only the tool knows. */
static void *find_program_function(void *exported, enum hw_lsan_function which)
{
	return exported || !heapwise_rt_lsan_function ? exported : heapwise_rt_lsan_function(which);
}

static bool is_turned_off(void)
{
	int (*function)(void) = (int (*)(void))find_program_function(
		(void *)__lsan_is_turned_off, HW_LSAN_IS_TURNED_OFF);
	return function && function();
}

static const char *text_of(void *exported, enum hw_lsan_function which)
{
	const char *(*function)(void) =
		(const char *(*)(void))find_program_function(exported, which);
	return function ? function() : NULL;
}

static void collect_program_texts(struct rt_lsan_strings *ret)
{
	ret->texts[HW_LSAN_SUPPRESSIONS] =
		text_of((void *)__lsan_default_suppressions, HW_LSAN_DEFAULT_SUPPRESSIONS);
	ret->texts[HW_LSAN_OPTIONS] =
		text_of((void *)__lsan_default_options, HW_LSAN_DEFAULT_OPTIONS);
	ret->over = __atomic_load_n(&over, __ATOMIC_RELAXED);
	if (!ret->over && is_turned_off())
		ret->over = RT_LSAN_OVER;
}

static __attribute__((used)) int check_leaks(const struct rt_lsan_caller *caller)
{
	uint32_t status;
	return heapwise_rt_lsan_check && !is_turned_off() &&
	       heapwise_rt_lsan_check(caller, &status) == HW_FOUND_LEAKS;
}

static __attribute__((used)) void check_once(const struct rt_lsan_caller *caller)
{
	uint32_t status;
	enum rt_lsan_over open = RT_LSAN_OPEN;
	if (!heapwise_rt_lsan_check ||
		!__atomic_compare_exchange_n(
			&over, &open, RT_LSAN_OVER, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED) ||
		is_turned_off() || heapwise_rt_lsan_check(caller, &status) != HW_FOUND_LEAKS ||
		!status)
		return;
	__atomic_store_n(&over, RT_LSAN_ENDS, __ATOMIC_RELAXED);
	_exit((int)status);
}

/*
 * In assembly, so that what the caller has in its registers, and where its stack begins, is known:
 * no words that we leave there count as the program's.
 */
#define DEFINE_CHECK(type, name, function)                                                         \
	API __attribute__((naked)) type name(void)                                                 \
	{                                                                                          \
		__asm__("push %r15\n"                                                              \
			"push %r14\n"                                                              \
			"push %r13\n"                                                              \
			"push %r12\n"                                                              \
			"push %rbp\n"                                                              \
			"push %rbx\n"                                                              \
			"mov %rsp, %rdi\n"                                                         \
			"sub $8, %rsp\n"                                                           \
			"call " #function "\n"                                                     \
			"add $56, %rsp\n"                                                          \
			"ret\n");                                                                  \
	}

DEFINE_CHECK(int, __lsan_do_recoverable_leak_check, check_leaks)
DEFINE_CHECK(void, __lsan_do_leak_check, check_once)

static __attribute__((constructor)) void join_runtime(void)
{
	if (heapwise_rt_lsan_join)
		heapwise_rt_lsan_join(collect_program_texts);
}
