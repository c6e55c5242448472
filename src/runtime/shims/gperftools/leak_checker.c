/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program uses HeapLeakChecker or HeapCleaner of gperftools/heap-checker.h, in any
 * thread; when the library is loaded, and when the program ends. May touch: the program's objects
 * of these classes; stderr; the runtime.
 *
 * The functions have the C++ names of the header that Debian's libgoogle-perftools-dev 2.10 has.
 * The search is the tool's, outside the program: the runtime requests it, and waits.
 */
#include "runtime/shims/gperftools/leak_checker.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "format/shm.h"
#include "runtime/shims/gperftools/line.h"
#include "runtime/shims/gperftools/profiler.h"

#define API __attribute__((visibility("default")))
#define PAGE_BYTES 4096u
#define CLEANUPS_MAX 1024u
#define VERBOSE "PERFTOOLS_VERBOSE"

/* The runtime's, see preload/lsan_bridge.h. */
struct rt_lsan_caller;
extern enum hw_found heapwise_rt_leak_check(const struct rt_lsan_caller *caller, uint32_t check,
	struct hw_found_sums *ret_sums) __attribute__((weak));
extern void heapwise_rt_leak_check_cancel(void) __attribute__((weak));
extern uint32_t heapwise_rt_heap_check(void) __attribute__((weak));
extern void heapwise_rt_lsan_annotate(enum hw_annotation what, const void *address, size_t bytes)
	__attribute__((weak));

/* A check that was begun: a page of its own, so that it is no block of the program's. */
struct check {
	uint32_t id; /* HW_ANNOTATE_CHECK; 0: of all blocks */
	char name[PAGE_BYTES - 4];
};
static_assert(sizeof(struct check) == PAGE_BYTES, "a page");

/* class HeapLeakChecker: the program has the memory. */
struct checker {
	void *lock;
	struct check *check; /* NULL: HEAPCHECK was not set, so it does nothing */
	void *snapshot;
	bool has_checked;
	ssize_t bytes, objects; /* leaks that were found */
	bool keeps_profiles;
};
static_assert(sizeof(struct checker) == 56, "as gperftools/heap-checker.h has it");

static struct check main_check = {.name = "_main_"};
static struct checker main_checker = {.check = &main_check};
static uint32_t last_id = HW_CHECK_MAIN;

typedef void cleanup_function(void);
static cleanup_function *cleanups[CLEANUPS_MAX];
static uint32_t cleanup_count;

static enum hw_heap_check find_mode(void)
{
	return heapwise_rt_heap_check ? (enum hw_heap_check)heapwise_rt_heap_check()
				      : HW_HEAP_CHECK_NOT;
}

static void annotate_check(enum hw_annotation what, uint32_t id)
{
	if (heapwise_rt_lsan_annotate)
		heapwise_rt_lsan_annotate(what, (const void *)(uintptr_t)id, 0);
}

static void say_of(const char *before, const char *name, const char *after)
{
	struct gp_line line;
	gp_line_init(&line);
	gp_line_add(&line, before);
	gp_line_add(&line, name);
	gp_line_add(&line, after);
	gp_print(line.data);
}

static __attribute__((noreturn)) void print_and_abort(const char *line)
{
	gp_print(line);
	abort();
}

static void describe_leaks(const struct check *check, const struct hw_found_sums *sums)
{
	struct gp_line line;
	gp_line_init(&line);
	gp_line_add(&line, "Leak check ");
	gp_line_add(&line, check->name);
	gp_line_add(&line, " detected leaks of ");
	gp_line_add_number(&line, sums->lost_bytes);
	gp_line_add(&line, " bytes in ");
	gp_line_add_number(&line, sums->lost_blocks);
	gp_line_add(&line, " objects\n");
	gp_print(line.data);
}

static void describe_none(const struct check *check, const struct hw_found_sums *sums)
{
	struct gp_line line;
	const char *verbose = getenv(VERBOSE);
	if (verbose && strtol(verbose, NULL, 10) < 0)
		return;
	gp_line_init(&line);
	gp_line_add(&line, "No leaks found for check \"");
	gp_line_add(&line, check->name);
	gp_line_add(&line, "\" (but no 100% guarantee that there aren't any): found ");
	gp_line_add_number(&line, sums->blocks);
	gp_line_add(&line, " reachable heap objects of ");
	gp_line_add_number(&line, sums->bytes);
	gp_line_add(&line, " bytes\n");
	gp_print(line.data);
}

static __attribute__((used)) bool check_leaks(
	struct checker *self, const struct rt_lsan_caller *caller)
{
	struct hw_found_sums sums = {.lost_blocks = 0};
	if (!self->check)
		return true;
	enum hw_found found = heapwise_rt_leak_check
				      ? heapwise_rt_leak_check(caller, self->check->id, &sums)
				      : HW_FOUND_UNKNOWN;
	self->has_checked = true;
	self->bytes = (ssize_t)sums.lost_bytes;
	self->objects = (ssize_t)sums.lost_blocks;
	if (found == HW_FOUND_UNKNOWN)
		say_of("heapwise: whether check \"", self->check->name,
			"\" has leaks is not known: the process could not be searched\n");
	else if (found == HW_FOUND_LEAKS)
		describe_leaks(self->check, &sums);
	else
		describe_none(self->check, &sums);
	return found != HW_FOUND_LEAKS;
}

static bool is_checked_whole(void)
{
	enum hw_heap_check mode = find_mode();
	return mode != HW_HEAP_CHECK_NOT && mode != HW_HEAP_CHECK_LOCAL;
}

static __attribute__((used)) bool check_all(
	const struct checker *self, const struct rt_lsan_caller *caller)
{
	(void)self;
	return !is_checked_whole() || check_leaks(&main_checker, caller);
}

/*
 * In assembly, so that what the caller has in its registers, and where its stack begins, is known:
 * no words that we leave there count as the program's.
 */
#define DEFINE_CHECK(name, function)                                                               \
	API __attribute__((naked)) bool name(struct checker *self);                                \
	API __attribute__((naked)) bool name(__attribute__((unused)) struct checker *self)         \
	{                                                                                          \
		__asm__("push %r15\n"                                                              \
			"push %r14\n"                                                              \
			"push %r13\n"                                                              \
			"push %r12\n"                                                              \
			"push %rbp\n"                                                              \
			"push %rbx\n"                                                              \
			"mov %rsp, %rsi\n"                                                         \
			"sub $8, %rsp\n"                                                           \
			"call " #function "\n"                                                     \
			"add $56, %rsp\n"                                                          \
			"ret\n");                                                                  \
	}

/* bool HeapLeakChecker::DoNoLeaks(ShouldSymbolize), which NoLeaks(), SameHeap() and their like
 * call. */
DEFINE_CHECK(_ZN15HeapLeakChecker9DoNoLeaksENS_15ShouldSymbolizeE, check_leaks)
/* static bool HeapLeakChecker::NoGlobalLeaks(). */
DEFINE_CHECK(_ZN15HeapLeakChecker13NoGlobalLeaksEv, check_all)

static struct check *begin_check(const char *name)
{
	struct check *check = mmap(
		NULL, sizeof(*check), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (check == MAP_FAILED)
		return NULL;
	stpncpy(check->name, name, sizeof(check->name) - 1);
	check->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	annotate_check(HW_ANNOTATE_CHECK, check->id);
	return check;
}

/* HeapLeakChecker::HeapLeakChecker(const char *), under two names. */
void _ZN15HeapLeakCheckerC1EPKc(struct checker *self, const char *name);
API void _ZN15HeapLeakCheckerC1EPKc(struct checker *self, const char *name)
{
	*self = (struct checker){.lock = NULL};
	if (find_mode() == HW_HEAP_CHECK_NOT) {
		say_of("Heap checker is not active, hence checker \"", name,
			"\" will do nothing!\n"
			"To activate set the HEAPCHECK environment variable.\n");
		return;
	}
	self->check = begin_check(name);
}

void _ZN15HeapLeakCheckerC2EPKc(struct checker *self, const char *name);
API void _ZN15HeapLeakCheckerC2EPKc(struct checker *self, const char *name)
{
	_ZN15HeapLeakCheckerC1EPKc(self, name);
}

/* HeapLeakChecker::~HeapLeakChecker(), under two names. */
void _ZN15HeapLeakCheckerD1Ev(struct checker *self);
API void _ZN15HeapLeakCheckerD1Ev(struct checker *self)
{
	if (!self->check || self->check == &main_check)
		return;
	if (!self->has_checked)
		print_and_abort("Some *NoLeaks|SameHeap method must be called on any created "
				"HeapLeakChecker\n");
	annotate_check(HW_ANNOTATE_CHECK_END, self->check->id);
	munmap(self->check, sizeof(*self->check));
	self->check = NULL;
}

void _ZN15HeapLeakCheckerD2Ev(struct checker *self);
API void _ZN15HeapLeakCheckerD2Ev(struct checker *self)
{
	_ZN15HeapLeakCheckerD1Ev(self);
}

static const struct checker *need_checked(const struct checker *self)
{
	if (!self->has_checked)
		print_and_abort("*NoLeaks|SameHeap must execute before this call\n");
	return self;
}

/* ssize_t HeapLeakChecker::BytesLeaked() const. */
ssize_t _ZNK15HeapLeakChecker11BytesLeakedEv(const struct checker *self);
API ssize_t _ZNK15HeapLeakChecker11BytesLeakedEv(const struct checker *self)
{
	return need_checked(self)->bytes;
}

/* ssize_t HeapLeakChecker::ObjectsLeaked() const. */
ssize_t _ZNK15HeapLeakChecker13ObjectsLeakedEv(const struct checker *self);
API ssize_t _ZNK15HeapLeakChecker13ObjectsLeakedEv(const struct checker *self)
{
	return need_checked(self)->objects;
}

/* static bool HeapLeakChecker::IsActive(). */
bool _ZN15HeapLeakChecker8IsActiveEv(void);
API bool _ZN15HeapLeakChecker8IsActiveEv(void)
{
	return find_mode() != HW_HEAP_CHECK_NOT;
}

/* static HeapLeakChecker *HeapLeakChecker::GlobalChecker(). */
struct checker *_ZN15HeapLeakChecker13GlobalCheckerEv(void);
API struct checker *_ZN15HeapLeakChecker13GlobalCheckerEv(void)
{
	return is_checked_whole() ? &main_checker : NULL;
}

/* static void HeapLeakChecker::CancelGlobalCheck(). */
void _ZN15HeapLeakChecker17CancelGlobalCheckEv(void);
API void _ZN15HeapLeakChecker17CancelGlobalCheckEv(void)
{
	const char *verbose = getenv(VERBOSE);
	if (!is_checked_whole() || !heapwise_rt_leak_check_cancel)
		return;
	if (!verbose || strtol(verbose, NULL, 10) >= 0)
		gp_print("Canceling the automatic at-exit whole-program memory leak check\n");
	heapwise_rt_leak_check_cancel();
}

/* HeapCleaner::HeapCleaner(void (*)()), under two names. */
void _ZN11HeapCleanerC1EPFvvE(void *self, cleanup_function *function);
API void _ZN11HeapCleanerC1EPFvvE(void *self, cleanup_function *function)
{
	uint32_t number = __atomic_fetch_add(&cleanup_count, 1, __ATOMIC_RELAXED);
	(void)self;
	if (number < CLEANUPS_MAX)
		cleanups[number] = function;
	else
		gp_print("heapwise: there are too many heap check cleanups: one will not run\n");
}

void _ZN11HeapCleanerC2EPFvvE(void *self, cleanup_function *function);
API void _ZN11HeapCleanerC2EPFvvE(void *self, cleanup_function *function)
{
	_ZN11HeapCleanerC1EPFvvE(self, function);
}

/* static void HeapCleaner::RunHeapCleanups(). The real library, where it is loaded, calls it. */
void _ZN11HeapCleaner15RunHeapCleanupsEv(void);
API void _ZN11HeapCleaner15RunHeapCleanupsEv(void)
{
	uint32_t count = __atomic_exchange_n(&cleanup_count, 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < count && i < CLEANUPS_MAX; i++)
		cleanups[i]();
}

void gp_checker_init(void)
{
	if (find_mode() != HW_HEAP_CHECK_SINCE_START)
		return;
	main_check.id = HW_CHECK_MAIN;
	annotate_check(HW_ANNOTATE_CHECK, main_check.id);
}

void gp_checker_end(void)
{
	if (find_mode() != HW_HEAP_CHECK_LOCAL)
		_ZN11HeapCleaner15RunHeapCleanupsEv();
}
