/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/live/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"

#define CALL_STOP (SIGTRAP | 0x80) /* PTRACE_O_TRACESYSGOOD */
#define STOPS_MAX 64
/* As ptrace and rt_sigaction(2) take it: the kernel's sigset_t. */
#define SIGNAL_SET_BYTES 8u
/* linux/ptrace.h and linux/rseq.h, which Debian 12's libc does not go along with. */
#define GET_RSEQ_CONFIGURATION 0x420f
#define RSEQ_CS_OFFSET 8u
/* The segment of 64-bit code: __USER_CS of the kernel's asm/segment.h. */
#define CODE_64 0x33u

/* Whether a thread is under a seccomp filter, or that is unknown. */
static bool is_confined(pid_t tid)
{
	char path[64], line[256];
	int mode = -1;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	while (file && mode < 0 && fgets(line, sizeof(line), file))
		(void)!sscanf(line, "Seccomp: %d", &mode);
	return mode;
}

struct stopped_thread *remote_thread(struct stopped *stopped)
{
	struct stopped_thread *found = NULL;
	for (size_t i = 0; i < stopped->threads.len; i++) {
		struct stopped_thread *thread = &stopped->threads.data[i];
		bool in_call = (int64_t)thread->regs.orig_rax >= 0;
		if (!thread->stopped || thread->signal || thread->regs.cs != CODE_64 ||
			(found && !in_call) ||
			(!stopped->calls_allowed && is_confined(thread->tid)))
			continue;
		found = thread;
		if (in_call)
			break;
	}
	return found;
}

/* Whether a thread finds its way home from the code of an earlier tracer. */
static bool is_in_use(const struct stopped *stopped, uint64_t place)
{
	for (size_t i = 0; i < stopped->threads.len; i++) {
		if (remote_code_has(place, stopped->threads.data[i].regs.rip))
			return true;
	}
	return false;
}

uint64_t remote_free_place(const struct stopped *stopped, const struct stopped_thread *thread)
{
	uint64_t place = thread ? remote_code_place(thread->tid) : 0;
	return is_in_use(stopped, place) ? 0 : place;
}

/* What a thread brings on itself: to block these would have the kernel forget their handlers. */
static uint64_t blockable_signals(void)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
	uint64_t mask = ~0ull;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		mask &= ~(1ull << (own[i] - 1));
	return mask;
}

/*
 * The thread has stopped because of a signal, which is not delivered now. False: it was the call
 * that brought it. Else it was sent by another process, and comes again later.
 */
static bool keep_signal(pid_t tid, int signal, int *ret_signal)
{
	siginfo_t info;
	if (!ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) && info.si_code > 0)
		return false;
	*ret_signal = signal;
	return true;
}

/* Lets the thread run to the next stop of a system call. */
static bool run_to_call(pid_t tid, int *ret_signal, struct remote_answer *answer)
{
	for (int tries = 0; tries < STOPS_MAX; tries++) {
		int status;
		if (ptrace(PTRACE_SYSCALL, tid, NULL, NULL) ||
			child_wait(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return false;
		int event = status >> 16;
		if (WSTOPSIG(status) == CALL_STOP && !event)
			return true;
		if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK)
			ptrace(PTRACE_GETEVENTMSG, tid, NULL, &answer->event);
		else if (!event && !keep_signal(tid, WSTOPSIG(status), ret_signal))
			return false;
	}
	return false;
}

/* Stops the thread where it would go on as it was, so that the kernel begins a call again that it
 * was in. */
static void stand_still(pid_t tid, int *ret_signal)
{
	int status;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	for (int tries = 0; tries < STOPS_MAX; tries++) {
		if (ptrace(PTRACE_CONT, tid, NULL, NULL) ||
			child_wait(tid, &status, __WALL) != tid || !WIFSTOPPED(status) ||
			status >> 16 == PTRACE_EVENT_STOP)
			return;
		if (!(status >> 16))
			(void)!keep_signal(tid, WSTOPSIG(status), ret_signal);
	}
}

static struct remote_sequence sequence_get(pid_t tid)
{
	struct { /* linux/ptrace.h */
		uint64_t pointer;
		uint32_t bytes, signature, flags, pad;
	} about;
	if (ptrace(GET_RSEQ_CONFIGURATION, tid, sizeof(about), &about) != sizeof(about) ||
		!about.pointer)
		return (struct remote_sequence){0, 0};
	uint64_t address = about.pointer + RSEQ_CS_OFFSET;
	errno = 0;
	uint64_t value = (uint64_t)ptrace(PTRACE_PEEKDATA, tid, (void *)address, NULL);
	return (struct remote_sequence){address, errno ? 0 : value};
}

/* In which restartable sequence the thread is: struct rseq_cs of linux/rseq.h. 0: in none; else
 * where it goes on if anything comes between. */
static uint64_t sequence_abort(pid_t tid, const struct remote_sequence *sequence, uint64_t at)
{
	uint64_t words[4];
	for (size_t i = 0; sequence->value && i < 4; i++) {
		errno = 0;
		words[i] = (uint64_t)ptrace(
			PTRACE_PEEKDATA, tid, (void *)(sequence->value + 8 * i), NULL);
		if (errno)
			return 0;
	}
	return sequence->value && at - words[1] < words[2] ? words[3] : 0;
}

static void set_call(const struct remote_call *call, uint64_t place, struct user_regs_struct *regs)
{
	regs->rip = remote_code_entry(place, call->entry);
	regs->rax = call->number;
	regs->rdi = call->arguments[0];
	regs->rsi = call->arguments[1];
	regs->rdx = call->arguments[2];
	regs->r10 = call->arguments[3];
	regs->r8 = call->arguments[4];
	regs->r9 = call->arguments[5];
	regs->orig_rax = (unsigned long)-1;
}

/* Writes the code; its way home is how the thread would go on by itself. */
static bool prepare_call(const struct stopped_thread *thread,
	const struct remote_sequence *sequence, uint64_t place, uint64_t mask)
{
	struct user_regs_struct home = restart_user_registers(&thread->again);
	uint64_t aborted = sequence_abort(thread->tid, sequence, home.rip);
	if (aborted)
		home.rip = aborted;
	return remote_code_write(thread->tid, place, &home, mask);
}

/*
 * From the moment at which the thread has its new registers until it has the old ones again it
 * finds home alone, so all else that is changed is changed, and changed back, in between.
 */
bool remote_begin(struct remote_run *run, struct stopped_thread *thread, uint64_t place,
	unsigned long options)
{
	pid_t tid = thread->tid;
	*run = (struct remote_run){.thread = thread, .place = place, .sequence = sequence_get(tid)};
	long traced = (long)(options | PTRACE_O_TRACESYSGOOD);
	return place && !ptrace(PTRACE_GETSIGMASK, tid, SIGNAL_SET_BYTES, &run->mask) &&
	       !ptrace(PTRACE_SETOPTIONS, tid, NULL, (void *)traced) &&
	       prepare_call(thread, &run->sequence, place, run->mask);
}

bool remote_next(struct remote_run *run, const struct remote_call *call, struct remote_answer *ret)
{
	pid_t tid = run->thread->tid;
	struct user_regs_struct regs = run->thread->regs;
	uint64_t all = blockable_signals();
	*ret = (struct remote_answer){0, 0};
	set_call(call, run->place, &regs);
	bool done = !ptrace(PTRACE_SETREGS, tid, NULL, &regs) &&
		    !ptrace(PTRACE_SETSIGMASK, tid, SIGNAL_SET_BYTES, &all) &&
		    run_to_call(tid, &run->signal, ret) && run_to_call(tid, &run->signal, ret) &&
		    !ptrace(PTRACE_GETREGS, tid, NULL, &regs);
	ret->result = (long)regs.rax;
	return done;
}

void remote_end(struct remote_run *run, unsigned long options)
{
	pid_t tid = run->thread->tid;
	ptrace(PTRACE_SETOPTIONS, tid, NULL, (void *)options);
	stand_still(tid, &run->signal);
	ptrace(PTRACE_SETSIGMASK, tid, SIGNAL_SET_BYTES, &run->mask);
	ptrace(PTRACE_SETREGS, tid, NULL, &run->thread->again);
	if (run->sequence.value)
		ptrace(PTRACE_POKEDATA, tid, (void *)run->sequence.address,
			(void *)run->sequence.value);
	remote_code_erase(tid, run->place);
	if (run->signal)
		syscall(SYS_tkill, tid, run->signal);
}

bool remote_do(
	struct stopped_thread *thread, const struct remote_call *call, struct remote_answer *ret)
{
	struct remote_run run;
	*ret = (struct remote_answer){0, 0};
	if (!remote_begin(&run, thread, call->place, call->options))
		return false;
	bool done = remote_next(&run, call, ret);
	remote_end(&run, call->options_after);
	return done;
}

void remote_do_last(pid_t pid, const struct remote_call *call)
{
	struct user_regs_struct regs;
	struct remote_answer answer;
	int signal = 0;
	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return;
	set_call(call, call->place, &regs);
	if (!ptrace(PTRACE_SETOPTIONS, pid, NULL,
		    (void *)(call->options | PTRACE_O_TRACESYSGOOD)) &&
		!ptrace(PTRACE_SETREGS, pid, NULL, &regs) && run_to_call(pid, &signal, &answer))
		(void)!run_to_call(pid, &signal, &answer);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)call->options_after);
}
