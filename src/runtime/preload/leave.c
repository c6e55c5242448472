/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see leave.h. May touch: the same.
 *
 * Exit handlers run in the opposite order of their registration, and the libraries' destructors are
 * one that libc registers after the constructors of preloaded libraries: ours is the very last, and
 * all the frees of the others are in the recording.
 */
#include "runtime/preload/leave.h"

#include "format/status.h"
#include "runtime/preload/dump_signal.h"
#include "runtime/preload/hooks.h"
#include "runtime/preload/lsan_bridge.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"

#include <link.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS 1000000000u
/* Without a clock: 10 to 140 cycles each. */
#define PATIENCE_SPINS 20000000u

static int quick_status = (int)HW_LEAVING_UNKNOWN;

/*
 * What the thread that ends the program had at that call: stack pointer and the registers that are
 * its own across calls; sp 0: main has returned instead.
 */
static struct {
	uint64_t sp, registers[HW_LEAVING_REGISTERS];
} at_call;

/*
 * A vfork child has its parent's memory, and is not meant. Where the kernel may not be asked for
 * the process id, a process that exits by the rules counts as the parent: a vfork child calls no
 * exit handlers.
 */
static bool is_awaited(bool by_handler)
{
	bool ours = rt_as_event_begin((uint64_t)__builtin_frame_address(0));
	int32_t awaited = rt_process_is_recording(rt_process) ? rt_process->shm->awaited : 0;
	return rt_as_event_end(ours) && awaited &&
	       (sys_no_calls() ? by_handler : awaited == sys_call(__NR_getpid, 0, 0, 0));
}

static bool is_awaited_at_main_end(void)
{
	bool ours = rt_as_event_begin((uint64_t)__builtin_frame_address(0)),
	     awaited = rt_process_is_recording(rt_process) && rt_process->shm->awaited_at_main_end;
	return rt_as_event_end(ours) && awaited;
}

static bool is_answered(const struct hw_shm *shm)
{
	uint32_t state = __atomic_load_n(&shm->leaving, __ATOMIC_ACQUIRE);
	return state != HW_LEAVING_ASKS && state != HW_LEAVING_HELD;
}

#define SIGNAL_BIT(number) (1ull << ((number)-1))
/* Signals by which the program is asked to end, or to do something at once. */
#define SIGNALS_PRESSING                                                                           \
	(SIGNAL_BIT(SIGHUP) | SIGNAL_BIT(SIGINT) | SIGNAL_BIT(SIGQUIT) | SIGNAL_BIT(SIGUSR1) |     \
		SIGNAL_BIT(SIGUSR2) | SIGNAL_BIT(SIGALRM) | SIGNAL_BIT(SIGTERM))

/*
 * A wait in which no code of the program runs: a
 * reader that sees the same odd `leaving_quiet` before and after has seen a stopped process.
 */
struct quiet {
	bool on;
	uint64_t blocked, before; /* signals: those that are blocked now, and were */
};

/* The signals that have handlers of the program's. What the others do is the kernel's doing: if it
 * ends the program, that does not wait for the search. */
static uint64_t signals_handled(void)
{
	struct {
		uint64_t handler, flags, restorer, mask;
	} action;
	uint64_t ret = 0;
	for (int number = 1; number <= 64; number++) {
		long failed = sys_call4(__NR_rt_sigaction, number, 0, &action, 8);
		bool ours = number != SIGKILL && number != SIGSTOP;
		if (ours && (failed || action.handler > 1 /* SIG_DFL, SIG_IGN */))
			ret |= SIGNAL_BIT(number);
	}
	return ret;
}

static void quiet_begin(struct quiet *quiet, struct hw_shm *shm)
{
	*quiet = (struct quiet){.on = !sys_no_calls()};
	if (!quiet->on)
		return;
	quiet->blocked = signals_handled();
	sys_call4(__NR_rt_sigprocmask, 0 /* SIG_BLOCK */, &quiet->blocked, &quiet->before, 8);
	__atomic_fetch_add(&shm->leaving_quiet, 1, __ATOMIC_SEQ_CST);
}

static void quiet_end(struct quiet *quiet, struct hw_shm *shm)
{
	if (!quiet->on)
		return;
	quiet->on = false;
	__atomic_fetch_add(&shm->leaving_quiet, 1, __ATOMIC_SEQ_CST);
	sys_signals_restore(quiet->before);
}

/* Returns whether a handler of the program is blocked that another process may wait for. */
static bool is_pressed(const struct quiet *quiet)
{
	uint64_t pending = 0;
	return quiet->on && !sys_failed(sys_call(__NR_rt_sigpending, &pending, 8, 0)) &&
	       pending & quiet->blocked & ~quiet->before & SIGNALS_PRESSING;
}

/* Sleeps until the collector has answered, or neither does so nor works on it for PATIENCE_NS. A
 * handler waits for as long at most: then it runs, and the search is without success. */
static void wait_for_answer(struct hw_shm *shm, struct quiet *quiet)
{
	uint64_t since = sys_now_ns(), now = since, pressed = 0;
	uint32_t held = 0;
	for (; !is_answered(shm) && now - since < PATIENCE_NS; now = sys_now_ns()) {
		uint32_t state = __atomic_load_n(&shm->leaving, __ATOMIC_ACQUIRE);
		struct sys_timespec step = {0, PATIENCE_NS / 4};
		if (state == HW_LEAVING_ASKS || state == HW_LEAVING_HELD)
			sys_call4(__NR_futex, &shm->leaving, FUTEX_WAIT, state, &step);
		if (!is_pressed(quiet))
			pressed = 0;
		else if (!pressed)
			pressed = sys_now_ns();
		else if (sys_now_ns() - pressed > PATIENCE_NS)
			quiet_end(quiet, shm);
		uint32_t seen = __atomic_load_n(&shm->held, __ATOMIC_RELAXED);
		if (seen != held)
			since = sys_now_ns();
		held = seen;
	}
}

/* Does so where no system call is allowed. */
static void spin_for_answer(struct hw_shm *shm)
{
	uint32_t held = 0;
	for (uint32_t spins = 0; spins < PATIENCE_SPINS && !is_answered(shm); spins++) {
		uint32_t seen = __atomic_load_n(&shm->held, __ATOMIC_RELAXED);
		if (seen != held)
			spins = 0;
		held = seen;
		__builtin_ia32_pause();
	}
}

enum exit_path {
	EXIT_BY_MAIN,    /* main has ended, its exit handlers are still to run */
	EXIT_BY_HANDLER, /* the last of them */
	EXIT_BY_QUICK,   /* the last of those of quick_exit */
	EXIT_BY_CALL,    /* of _exit and the like */
};

/*
 * One thread asks at a time. Another one's check may take as long as the search does; a thread that
 * a signal handler ends in the middle of its own does not wait for itself. False: without success.
 */
static bool asking_begin(struct hw_shm *shm, uint32_t tid)
{
	bool quiet = sys_no_calls();
	uint64_t since = quiet ? 0 : sys_now_ns();
	uint32_t held = 0, holder = 0;
	for (uint32_t spins = 0; !__atomic_compare_exchange_n(
		     &shm->asker, &holder, tid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
		spins++, holder = 0) {
		struct sys_timespec step = {0, PATIENCE_NS / 1000};
		uint32_t seen = __atomic_load_n(&shm->held, __ATOMIC_RELAXED);
		uint64_t now = quiet ? 0 : sys_now_ns();
		if (seen != held) {
			since = now;
			spins = 0;
		}
		held = seen;
		if (holder == tid || now - since > PATIENCE_NS || spins > PATIENCE_SPINS)
			return false;
		if (quiet)
			__builtin_ia32_pause();
		else
			sys_call(__NR_nanosleep, &step, 0, 0);
	}
	return true;
}

static void asking_end(struct hw_shm *shm)
{
	__atomic_store_n(&shm->asker, 0, __ATOMIC_RELEASE);
}

/*
 * What the fields of the shared memory say is what is asked. False:
 * the answer has been read already. No handler runs meanwhile: a process whose only thread waits
 * here is stopped, and can be inspected as it is. It is quiet before it asks, so that the
 * collector finds it so at once.
 */
static bool ask_and_wait(struct hw_shm *shm)
{
	uint32_t stays = HW_LEAVING_NOT;
	struct quiet quiet;
	shm->leaving_thread = sys_thread_pointer();
	quiet_begin(&quiet, shm);
	bool asks = __atomic_compare_exchange_n(
		&shm->leaving, &stays, HW_LEAVING_ASKS, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	if (asks && quiet.on)
		wait_for_answer(shm, &quiet);
	else if (asks)
		spin_for_answer(shm);
	quiet_end(&quiet, shm);
	return asks;
}

/* Of client.c. */
int heapwise_rt_is_recording(void);

/* The program wants no search at its end. */
static bool is_cancelled;

static rt_lsan_ask *lsan_ask; /* NULL: the program does not speak to LeakSanitizer */

/* Gives the collector what the program has to say. */
static enum rt_lsan_over send_program_texts(struct hw_shm *shm)
{
	struct rt_lsan_strings strings = {{NULL}, RT_LSAN_OPEN};
	if (lsan_ask)
		lsan_ask(&strings);
	for (int i = 0; i < (int)HW_LSAN_TEXTS; i++) {
		uint64_t at = (uint64_t)strings.texts[i];
		shm->lsan_texts[i] = (struct hw_span){at, at ? at + strlen(strings.texts[i]) : 0};
	}
	return strings.over;
}

/* Whether an end is one at which there is nothing to search: LeakSanitizer searches after the exit
 * handlers of exit(3) and nowhere else. */
static bool is_unsearched(const struct hw_shm *shm, enum exit_path path)
{
	enum rt_lsan_over over = send_program_texts((struct hw_shm *)shm);
	return over == RT_LSAN_ENDS || __atomic_load_n(&is_cancelled, __ATOMIC_RELAXED) ||
	       (shm->as_lsan && (over || path == EXIT_BY_CALL || path == EXIT_BY_QUICK));
}

/* Has what the shared memory says searched, and waits for what that comes to. */
static enum hw_found ask_what_is_found(struct hw_shm *shm, uint32_t *ret_status)
{
	shm->found = HW_FOUND_UNKNOWN;
	if (!ask_and_wait(shm) || !is_answered(shm))
		return HW_FOUND_UNKNOWN;
	*ret_status = shm->found_status & 0xff;
	return (enum hw_found)shm->found;
}

/* As LeakSanitizer does it: the status that the process is to end with. */
static int ask_for_status(struct hw_shm *shm, int status)
{
	uint32_t other = 0;
	shm->leaving_what = HW_LEAVES_AFTER_VERDICT;
	enum hw_found found = ask_what_is_found(shm, &other);
	return found == HW_FOUND_LEAKS && other ? (int)other : status;
}

/* How much memory the process had at most, however it came by it: it can't be read once it is gone.
 */
static void put_resident(void)
{
	char text[HW_STATUS_BYTES];
	if (!rt_process_is_recording(rt_process) || sys_no_calls())
		return;
	long fd = sys_call4(
		__NR_openat, -100 /* AT_FDCWD */, "/proc/self/status", 0x80000 /* O_CLOEXEC */, 0);
	if (sys_failed(fd))
		return;
	long len = sys_call(__NR_read, fd, text, sizeof(text));
	sys_call(__NR_close, fd, 0, 0);
	if (sys_failed(len))
		return;
	bool ours = rt_as_event_begin((uint64_t)__builtin_frame_address(0));
	if (rt_process_is_recording(rt_process))
		rt_process->shm->resident_bytes = hw_status_resident(text, (size_t)len);
	rt_as_event_end(ours);
}

/* Returns the status to end with: another one only at the last exit handler. */
static int wait_for_collector(int status, enum exit_path path)
{
	uint32_t tid = rt_thread_id();
	if (path == EXIT_BY_HANDLER || path == EXIT_BY_QUICK)
		put_resident();
	if (!is_awaited(path == EXIT_BY_HANDLER || path == EXIT_BY_QUICK))
		return status;
	struct hw_shm *shm = rt_process->shm;
	if (!asking_begin(shm, tid))
		return status;
	bool unsearched = is_unsearched(shm, path);
	shm->leaving_tid = tid;
	shm->leaving_sp = at_call.sp;
	memcpy(shm->leaving_registers, at_call.registers, sizeof(at_call.registers));
	if (shm->as_lsan && path == EXIT_BY_HANDLER) {
		if (!unsearched)
			status = ask_for_status(shm, status);
		unsearched = true;
	}
	shm->leaving_unsearched = unsearched;
	shm->leaving_status = (uint32_t)status;
	shm->leaving_what = path == EXIT_BY_MAIN ? HW_LEAVES_MAIN : HW_LEAVES;
	ask_and_wait(shm);
	asking_end(shm);
	return status;
}

HOOK void heapwise_rt_lsan_annotate(enum hw_annotation what, const void *address, size_t bytes)
{
	if (what == HW_ANNOTATE_DISABLE || what == HW_ANNOTATE_ENABLE)
		rt_here.disabled = what == HW_ANNOTATE_DISABLE;
	rt_event_annotate(what, (uint64_t)address, bytes, RT_CALLER().sp);
}

/* Of this image: a forked child's collector need not know them. */
static uint64_t lsan_functions[HW_LSAN_FUNCTIONS];

void rt_leave_learn(const struct hw_shm *shm)
{
	const struct link_map *program = _r_debug.r_map;
	for (int i = 0; program && i < (int)HW_LSAN_FUNCTIONS; i++) {
		if (shm->lsan_functions[i])
			lsan_functions[i] = program->l_addr + shm->lsan_functions[i];
	}
}

HOOK void *heapwise_rt_lsan_function(enum hw_lsan_function which)
{
	return (void *)lsan_functions[which];
}

HOOK void heapwise_rt_lsan_join(rt_lsan_ask *ask)
{
	lsan_ask = ask;
}

/* A search that the program requests, and whose. */
struct wanted_search {
	const struct rt_lsan_caller *caller;
	enum hw_leak_asker asker;
	uint32_t check;
};

static enum hw_found check_now(
	const struct wanted_search *wanted, uint32_t *ret_status, struct hw_found_sums *ret_sums)
{
	struct rt_process *p = rt_process;
	uint32_t tid = rt_thread_id();
	if (!p || __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != RT_RECORDING ||
		!asking_begin(p->shm, tid))
		return HW_FOUND_UNKNOWN;
	struct hw_shm *shm = p->shm;
	send_program_texts(shm);
	shm->leaving_tid = tid;
	shm->leaving_what = HW_LEAVES_NOT;
	shm->leaving_asker = wanted->asker;
	shm->leaving_check = wanted->check;
	shm->leaving_sp = (uint64_t)wanted->caller->sp;
	memcpy(shm->leaving_registers, wanted->caller->registers, sizeof(shm->leaving_registers));
	enum hw_found found = ask_what_is_found(shm, ret_status);
	if (found != HW_FOUND_UNKNOWN)
		*ret_sums = shm->found_sums;
	asking_end(shm);
	return found;
}

HOOK enum hw_found heapwise_rt_lsan_check(const struct rt_lsan_caller *caller, uint32_t *ret_status)
{
	const struct wanted_search wanted = {caller, HW_ASKER_LSAN, 0};
	struct hw_found_sums sums;
	*ret_status = 0;
	return check_now(&wanted, ret_status, &sums);
}

HOOK enum hw_found heapwise_rt_leak_check(
	const struct rt_lsan_caller *caller, uint32_t check, struct hw_found_sums *ret_sums)
{
	const struct wanted_search wanted = {caller, HW_ASKER_CHECKER, check};
	uint32_t status = 0;
	*ret_sums = (struct hw_found_sums){.lost_blocks = 0};
	return check_now(&wanted, &status, ret_sums);
}

HOOK uint32_t heapwise_rt_heap_check(void)
{
	return heapwise_rt_is_recording() ? rt_process->shm->heap_check : HW_HEAP_CHECK_NOT;
}

HOOK void heapwise_rt_leak_check_cancel(void)
{
	__atomic_store_n(&is_cancelled, true, __ATOMIC_RELAXED);
}

/* Main has returned, or a thread has called exit. */
static void main_ends(int status)
{
	if (is_awaited_at_main_end())
		wait_for_collector(status & 0xff, EXIT_BY_MAIN);
}

/* exit(3), from the last exit handler, goes on with what is still to do: writing streams out. */
static void at_exit(int status, __attribute__((unused)) void *context)
{
	bool ours = rt_as_event_begin((uint64_t)__builtin_frame_address(0));
	if (rt_process_is_recording(rt_process))
		rt_dump_signal_review(rt_process->shm);
	rt_as_event_end(ours);
	int end = wait_for_collector(status & 0xff, EXIT_BY_HANDLER);
	if (end != (status & 0xff))
		rt_real.exit(end);
}

static void at_quick_exit_last(__attribute__((unused)) void *context)
{
	wait_for_collector(quick_status, EXIT_BY_QUICK);
}

/* What at_quick_exit(3) is made of; without an object, so that no object's end removes it. */
int __cxa_at_quick_exit(void (*handler)(void *), void *object);

static __attribute__((used)) void on_exit_call(int status)
{
	main_ends(status);
}

static __attribute__((used)) void on_last_call(int status)
{
	wait_for_collector(status & 0xff, EXIT_BY_CALL);
}

static __attribute__((used)) void on_quick_call(int status)
{
	quick_status = status & 0xff;
}

static __attribute__((used)) void resolve_exit_functions(void)
{
	if (!rt_real._exit)
		rt_real_resolve();
}

/* In assembly, so that no frame of this library is between the program and its exit handlers. */
#define DEFINE_EXIT(name, before)                                                                  \
	HOOK __attribute__((naked, noreturn)) void name(int status);                               \
	HOOK __attribute__((naked, noreturn)) void name(__attribute__((unused)) int status)        \
	{                                                                                          \
		__asm__("mov %%rsp, %c0+at_call(%%rip)\n"                                          \
			"mov %%rbx, %c1+at_call(%%rip)\n"                                          \
			"mov %%rbp, %c1+8+at_call(%%rip)\n"                                        \
			"mov %%r12, %c1+16+at_call(%%rip)\n"                                       \
			"mov %%r13, %c1+24+at_call(%%rip)\n"                                       \
			"mov %%r14, %c1+32+at_call(%%rip)\n"                                       \
			"mov %%r15, %c1+40+at_call(%%rip)\n"                                       \
			"push %%rdi\n"                                                             \
			"call " #before "\n"                                                       \
			"sub $8, %%rsp\n"                                                          \
			"call resolve_exit_functions\n"                                            \
			"add $8, %%rsp\n"                                                          \
			"pop %%rdi\n"                                                              \
			"jmp *rt_real+%c2(%%rip)\n" ::"i"(0),                                      \
			"i"(8), "i"(offsetof(struct rt_real, name)));                              \
	}

DEFINE_EXIT(exit, on_exit_call)
DEFINE_EXIT(_exit, on_last_call)
DEFINE_EXIT(_Exit, on_last_call)
DEFINE_EXIT(quick_exit, on_quick_call)

typedef int main_function(int, char **, char **);
static __attribute__((used)) main_function *program_main;

static __attribute__((used)) int main_and_end(int argc, char **argv, char **environment)
{
	int status = program_main(argc, argv, environment);
	main_ends(status);
	return status;
}

static __attribute__((used)) uint32_t reports_main_end;

int __libc_start_main(main_function *function, int argc, char **argv, void (*init)(void),
	void (*fini)(void), void (*loader_fini)(void), void *stack_end);

/* Nothing is between main and its caller, unless the end of main is to be announced. */
HOOK __attribute__((naked)) int __libc_start_main(__attribute__((unused)) main_function *function,
	__attribute__((unused)) int argc, __attribute__((unused)) char **argv,
	__attribute__((unused)) void (*init)(void), __attribute__((unused)) void (*fini)(void),
	__attribute__((unused)) void (*loader_fini)(void), __attribute__((unused)) void *stack_end)
{
	__asm__("cmpl $0, reports_main_end(%%rip)\n"
		"je 1f\n"
		"mov %%rdi, program_main(%%rip)\n"
		"lea main_and_end(%%rip), %%rdi\n"
		"1: jmp *rt_real+%c0(%%rip)\n" ::"i"(offsetof(struct rt_real, __libc_start_main)));
}

void rt_leave_prepare(void)
{
	resolve_exit_functions();
	on_exit(at_exit, NULL);
	__cxa_at_quick_exit(at_quick_exit_last, NULL);
	reports_main_end = is_awaited(false) && is_awaited_at_main_end();
}
