/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see signals.h. May touch: the same.
 *
 * Our handler has SA_NODEFER and an empty mask, so that a fault in it (guard_peek) is handled too;
 * what the program's handler is to have blocked is blocked before it is called. It runs on the
 * alternate stack if the program's would, or if the program has none of its own.
 *
 * A blocked SIGSEGV of a fault would kill the program without a word. So the two are never blocked
 * in truth, but for a handler of theirs while that runs and until the thread, if it has left that
 * by a jump, allocates (signals_review); threads that believe so are told so. A
 * fault of such a thread calls their handler, where without us it would kill: whether the mask was
 * changed since, by siglongjmp, we can't know.
 */
#include "runtime/guard/signals.h"

#include "runtime/guard/sweep.h"

#include <errno.h>
#include <ucontext.h>

int __sigaction(int number, const struct sigaction *action, struct sigaction *old);
sighandler_t ssignal(int number, sighandler_t handler);
sighandler_t bsd_signal(int number, sighandler_t handler);

#define MASK_BYTES 8

/* What the program has set. Written under the lock; a handler reads it without, and may see a
 * change of another thread half made, as it may without us. */
static struct sigaction theirs[3];
static struct rt_lock setting; /* leaf */
static bool installed;
static bool traps_installed; /* likewise for SIGTRAP, which the program may block */

static struct sigaction *action_of(int number)
{
	return number == SIGSEGV   ? &theirs[0]
	       : number == SIGBUS  ? &theirs[1]
	       : number == SIGTRAP ? &theirs[2]
				   : NULL;
}

static bool is_function(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static uint64_t mask_word(const sigset_t *set)
{
	return guard_load64(set);
}

#define BIT_OF(number) (1ull << ((number)-1))
/* SA_RESTORER, of the kernel's <asm/signal.h>: libc sets it. */
#define SA_RESTORER_FLAG 0x04000000
/* SIGCANCEL and SIGSETXID, which glibc leaves out of all masks. */
#define LIBC_BITS (BIT_OF(32) | BIT_OF(33))
#define OUR_BITS (BIT_OF(SIGSEGV) | BIT_OF(SIGBUS))

static uint64_t masked_bits(void)
{
	uint32_t masked = guard_here.masked;
	return (masked & GUARD_MASKED_SEGV ? BIT_OF(SIGSEGV) : 0) |
	       (masked & GUARD_MASKED_BUS ? BIT_OF(SIGBUS) : 0);
}

static void set_masked_bits(uint64_t bits)
{
	guard_here.masked = (bits & BIT_OF(SIGSEGV) ? (uint32_t)GUARD_MASKED_SEGV : 0) |
			    (bits & BIT_OF(SIGBUS) ? (uint32_t)GUARD_MASKED_BUS : 0);
}

/* --- following the program's own --- */

/* It was sent by a process, not made by a fault. */
static bool is_sent(const siginfo_t *info)
{
	return info->si_code <= 0;
}

/* The default: happens when the instruction is tried again, or the signal is sent again. */
static void do_default(int number, const siginfo_t *info, const ucontext_t *context)
{
	struct sigaction usual = {.sa_handler = SIG_DFL};
	if (!is_sent(info) && number != SIGTRAP)
		fault_report_end(info, context);
	sweep_ending();
	__sigaction(number, &usual, NULL);
	if (is_sent(info) || info->si_code == SI_KERNEL || number == SIGTRAP)
		sys_call(__NR_tgkill, sys_call(__NR_getpid, 0, 0, 0),
			sys_call(__NR_gettid, 0, 0, 0), number);
}

/* The thread takes it for blocked: now it is, and waits. */
static void postpone_signal(int number, ucontext_t *context)
{
	guard_store64(&context->uc_sigmask, mask_word(&context->uc_sigmask) | BIT_OF(number));
	uint64_t bit = BIT_OF(number);
	sys_call4(__NR_rt_sigprocmask, SIG_BLOCK, &bit, NULL, MASK_BYTES);
	sys_call(__NR_tgkill, sys_call(__NR_getpid, 0, 0, 0), sys_call(__NR_gettid, 0, 0, 0),
		number);
}

/* What it has blocked is so in truth: it may leave by siglongjmp, which sets the mask without us.
 */
static void call_theirs(
	int number, siginfo_t *info, ucontext_t *context, const struct sigaction *action)
{
	uint64_t blocked = mask_word(&context->uc_sigmask) | mask_word(&action->sa_mask);
	if (!(action->sa_flags & SA_NODEFER))
		blocked |= BIT_OF(number);
	uint32_t masked = guard_here.masked;
	guard_here.handles = true;
	sys_call4(__NR_rt_sigprocmask, SIG_SETMASK, &blocked, NULL, MASK_BYTES);
	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(number, info, context);
	else
		action->sa_handler(number);
	guard_here.handles = false;
	guard_here.masked = masked;
}

void signals_review(void)
{
	uint64_t before = 0, ours = OUR_BITS;
	guard_here.handles = false;
	if (sys_no_calls() ||
		sys_failed(sys_call4(__NR_rt_sigprocmask, SIG_UNBLOCK, &ours, &before, MASK_BYTES)))
		return;
	set_masked_bits(masked_bits() | (before & OUR_BITS));
}

static void follow_theirs(int number, siginfo_t *info, ucontext_t *context)
{
	struct sigaction action = *action_of(number);
	if (is_sent(info) && masked_bits() & BIT_OF(number)) {
		postpone_signal(number, context);
		return;
	}
	if (action.sa_handler == SIG_IGN && is_sent(info))
		return;
	if (!is_function(&action)) {
		do_default(number, info, context);
		return;
	}
	if (action.sa_flags & (int)SA_RESETHAND)
		action_of(number)->sa_handler = SIG_DFL;
	call_theirs(number, info, context, &action);
}

static void handle_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	if (!is_sent(info) && fault_handle(number, info, context)) {
		errno = saved;
		return;
	}
	follow_theirs(number, info, context);
	/* As it is without us: what their handler has made of errno stays. */
}

static void install_handler(int number)
{
	struct sigaction ours = {
		.sa_sigaction = handle_signal, .sa_flags = SA_SIGINFO | SA_NODEFER};
	const struct sigaction *action = action_of(number);
	if (is_function(action))
		ours.sa_flags |= action->sa_flags & (SA_ONSTACK | SA_RESTART);
	else
		ours.sa_flags |= SA_ONSTACK;
	__sigaction(number, &ours, NULL);
}

void signals_init(void)
{
	__sigaction(SIGSEGV, NULL, &theirs[0]);
	__sigaction(SIGBUS, NULL, &theirs[1]);
	install_handler(SIGSEGV);
	install_handler(SIGBUS);
	__atomic_store_n(&installed, true, __ATOMIC_RELEASE);
}

bool signals_await_traps(void)
{
	if (rt_likely(__atomic_load_n(&traps_installed, __ATOMIC_ACQUIRE)))
		return true;
	if (sys_no_calls() || !rt_lock_try(&setting))
		return false;
	if (!traps_installed) {
		__sigaction(SIGTRAP, NULL, &theirs[2]);
		install_handler(SIGTRAP);
		__atomic_store_n(&traps_installed, true, __ATOMIC_RELEASE);
	}
	rt_unlock(&setting);
	return true;
}

/* --- what the program calls --- */

static uint64_t masks_of_others[65]; /* our bits that the program has set in them; relaxed */

/* Handlers of other signals don't block ours either. */
static int set_other(int number, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction open;
	uint64_t word = 0;
	if (action) {
		open = *action;
		word = mask_word(&open.sa_mask);
		guard_store64(&open.sa_mask, word & ~OUR_BITS);
	}
	int result = __sigaction(number, action ? &open : NULL, old);
	if (result)
		return result;
	uint64_t *kept = &masks_of_others[number], before = __atomic_load_n(kept, __ATOMIC_RELAXED);
	if (action)
		__atomic_store_n(kept, word & OUR_BITS, __ATOMIC_RELAXED);
	if (old)
		guard_store64(&old->sa_mask, mask_word(&old->sa_mask) | before);
	return 0;
}

/* What a program reads back is what the kernel has made of it. */
static void add_kernels_part(struct sigaction *action, int number)
{
	struct sigaction ours;
	if (__sigaction(number, NULL, &ours))
		return;
	action->sa_flags |= ours.sa_flags & SA_RESTORER_FLAG;
	action->sa_restorer = ours.sa_restorer;
	guard_store64(&action->sa_mask,
		mask_word(&action->sa_mask) & ~(BIT_OF(SIGKILL) | BIT_OF(SIGSTOP)));
}

static void swap_action(int number, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction *kept = action_of(number), before, after;
	if (action)
		after = *action;
	bool locked = rt_lock_try(&setting);
	before = *kept;
	if (action) {
		*kept = after;
		install_handler(number);
		add_kernels_part(kept, number);
	}
	if (locked)
		rt_unlock(&setting);
	if (old)
		*old = before;
}

static bool is_ours(int number)
{
	return action_of(number) && guard_is_ready() &&
	       __atomic_load_n(number == SIGTRAP ? &traps_installed : &installed, __ATOMIC_ACQUIRE);
}

GUARD_API int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	if (!is_ours(number))
		return set_other(number, action, old);
	swap_action(number, action, old);
	return 0;
}

static sighandler_t set_handler(int number, sighandler_t handler, int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
	swap_action(number, &action, &old);
	return old.sa_handler;
}

GUARD_API sighandler_t signal(int number, sighandler_t handler)
{
	if (!is_ours(number) || handler == SIG_ERR)
		return ssignal(number, handler); /* libc's signal, by another name */
	return set_handler(number, handler, SA_RESTART);
}

GUARD_API sighandler_t bsd_signal(int number, sighandler_t handler)
{
	return signal(number, handler);
}

/* Which of ours the thread takes for blocked after a change. */
static uint64_t masked_after(int how, const uint64_t *word, uint64_t masked)
{
	if (!word)
		return masked;
	return how == SIG_BLOCK ? masked | *word : how == SIG_UNBLOCK ? masked & ~*word : *word;
}

/* Changes the mask as asked, without ours, of which only a note is taken. */
static int change_mask(int how, const sigset_t *set, sigset_t *old)
{
	uint64_t masked = masked_bits(), word = 0, before = 0;
	if (set)
		word = mask_word(set);
	/* One that is blocked in truth (postpone_signal) is unblocked in truth. */
	uint64_t others = word & ~(LIBC_BITS | (how == SIG_UNBLOCK ? 0 : OUR_BITS));
	set_masked_bits(masked_after(how, set ? &word : NULL, masked)); /* one may come at once */
	long failed =
		sys_call4(__NR_rt_sigprocmask, how, set ? &others : NULL, &before, MASK_BYTES);
	if (sys_failed(failed)) {
		set_masked_bits(masked);
		return (int)-failed;
	}
	if (old)
		guard_store64(old, before | masked);
	return 0;
}

GUARD_API int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return change_mask(how, set, old);
}

GUARD_API int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	int error = change_mask(how, set, old);
	if (!error)
		return 0;
	errno = error;
	return -1;
}
