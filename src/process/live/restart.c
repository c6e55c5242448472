/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/live/restart.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/cleanup.h"

#define SYSCALL_BYTES 2u
#define SYSCALL_CODE 0x050f
/* System V ABI: below it a function may keep data; below that nothing is anybody's. */
#define RED_ZONE 128u
/* Not in headers of Debian 12's age: linux/io_uring.h. */
#define URING_EXTENDED 8u
#define URING_ABSOLUTE 32u

/* Never seen by programs: linux/errno.h of the kernel. */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

enum time_form {
	TIME_MS,       /* an int; negative: for ever */
	TIME_TIMESPEC, /* where one is; 0: for ever */
	TIME_URING,    /* where a struct io_uring_getevents_arg is */
};

/* Calls that return EINTR, and in which register their relative time is. */
static const struct timed_call {
	uint64_t number;
	size_t at;
	enum time_form form;
} timed_calls[] = {
	{SYS_epoll_wait, offsetof(struct user_regs_struct, r10), TIME_MS},
	{SYS_epoll_pwait, offsetof(struct user_regs_struct, r10), TIME_MS},
	{SYS_epoll_pwait2, offsetof(struct user_regs_struct, r10), TIME_TIMESPEC},
	{SYS_rt_sigtimedwait, offsetof(struct user_regs_struct, rdx), TIME_TIMESPEC},
	{SYS_semtimedop, offsetof(struct user_regs_struct, r10), TIME_TIMESPEC},
	{SYS_io_getevents, offsetof(struct user_regs_struct, r8), TIME_TIMESPEC},
	{SYS_io_pgetevents, offsetof(struct user_regs_struct, r8), TIME_TIMESPEC},
	{SYS_io_uring_enter, offsetof(struct user_regs_struct, r8), TIME_URING},
};

static const struct timed_call *find_call(uint64_t number)
{
	for (size_t i = 0; i < sizeof(timed_calls) / sizeof(timed_calls[0]); i++) {
		if (timed_calls[i].number == number)
			return &timed_calls[i];
	}
	return NULL;
}

static uint64_t restart_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool read_task_file(pid_t pid, pid_t tid, const char *file, char *ret, size_t room)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
	_cleanup_fclose_ FILE *stream = fopen(path, "re");
	size_t n = stream ? fread(ret, 1, room - 1, stream) : 0;
	ret[n] = 0;
	return n;
}

/* "NAME   :   VALUE" of /proc/PID/task/TID/sched. */
static const char *sched_value(const char *text, const char *name)
{
	const char *at = strstr(text, name), *end = at ? strchr(at, '\n') : NULL;
	at = at ? strchr(at, ':') : NULL;
	return at && end && at < end ? at + 1 : NULL;
}

/* When a thread last began or ended to run, by its processor's clock; and how often it slept. */
static bool read_sched(pid_t pid, pid_t tid, uint64_t *ret_ns, uint64_t *ret_sleeps)
{
	char text[4096];
	uint64_t ms, part;
	const char *start, *sleeps;
	if (!read_task_file(pid, tid, "sched", text, sizeof(text)))
		return false;
	start = sched_value(text, "se.exec_start");
	sleeps = sched_value(text, "nr_voluntary_switches");
	if (!start || !sleeps || sscanf(start, "%" SCNu64 ".%6" SCNu64, &ms, &part) != 2)
		return false;
	*ret_ns = ms * 1000000 + part;
	*ret_sleeps = strtoull(sleeps, NULL, 10);
	return true;
}

/* Field 39 of proc_pid_stat(5). */
static int read_processor(pid_t pid, pid_t tid)
{
	char text[1024];
	if (!read_task_file(pid, tid, "stat", text, sizeof(text)))
		return -1;
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	return at ? atoi(at) : -1;
}

static bool read_call(pid_t pid, pid_t tid, uint64_t *ret_number)
{
	char text[256];
	return read_task_file(pid, tid, "syscall", text, sizeof(text)) &&
	       sscanf(text, "%" SCNu64, ret_number) == 1 && find_call(*ret_number);
}

/*
 * Adds the thread if it waits in one of the calls; since_ns is by its processor's clock yet. Three
 * files are read: they say one thing only if the thread did not run meanwhile. One that is on its
 * way to another processor has a time of 0 (migrate_task_rq_fair() in kernel/sched/fair.c), and
 * would seem to have waited since the processor began.
 */
static void thread_waits_read(pid_t pid, pid_t tid, struct restart_waits *ret)
{
	struct restart_wait wait = {.tid = tid};
	uint64_t number, since_ns, sleeps;
	if (!read_call(pid, tid, &number) || !read_sched(pid, tid, &since_ns, &sleeps) ||
		!read_call(pid, tid, &wait.number))
		return;
	wait.processor = read_processor(pid, tid);
	if (!since_ns || !read_sched(pid, tid, &wait.since_ns, &wait.sleeps) ||
		wait.since_ns != since_ns || wait.sleeps != sleeps || wait.number != number)
		return;
	(void)!restart_waits_push(ret, wait);
}

/* Both clocks are to be read within so long, if that can be had in a few tries: a
 * thread that is interrupted in between sees them further apart. */
#define AHEAD_NS 200000u
#define AHEAD_TRIES 10u

/*
 * What CLOCK_MONOTONIC is ahead of a processor's clock; we have come there just now. It is read
 * last: rather too much than too little, since a wait that counts as longer than it was ends early,
 * and one that counts as shorter ends late.
 */
static bool processor_ahead(int processor, int64_t *ret_ns)
{
	cpu_set_t set;
	uint64_t here, sleeps, least = UINT64_MAX;
	if (processor < 0 || processor >= CPU_SETSIZE)
		return false;
	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return false;
	pid_t self = (pid_t)syscall(SYS_gettid);
	for (unsigned i = 0; i < AHEAD_TRIES && least > AHEAD_NS; i++) {
		uint64_t before = restart_now_ns();
		sched_yield(); /* brings our own figure up to now */
		if (!read_sched(self, self, &here, &sleeps))
			return false;
		uint64_t now = restart_now_ns();
		if (now - before >= least)
			continue;
		least = now - before;
		*ret_ns = (int64_t)(now - here);
	}
	return true;
}

static void to_monotonic(struct restart_waits *waits)
{
	cpu_set_t before;
	if (!waits->len || sched_getaffinity(0, sizeof(before), &before))
		return;
	for (size_t i = 0; i < waits->len; i++) {
		int processor = waits->data[i].processor;
		int64_t ahead;
		if (processor == INT_MAX) /* done */
			continue;
		bool known = processor_ahead(processor, &ahead);
		for (size_t j = i; j < waits->len; j++) {
			struct restart_wait *wait = &waits->data[j];
			if (wait->processor != processor)
				continue;
			wait->since_ns = known ? wait->since_ns + (uint64_t)ahead : 0;
			wait->processor = INT_MAX;
		}
	}
	sched_setaffinity(0, sizeof(before), &before);
}

void restart_find_waits(pid_t pid, struct restart_waits *ret)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *folder = opendir(path);
	restart_waits_clear(ret);
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		if (entry->d_name[0] != '.')
			thread_waits_read(pid, (pid_t)atoi(entry->d_name), ret);
	}
	if (folder)
		closedir(folder);
	to_monotonic(ret);
}

uint64_t restart_since(const struct restart_waits *waits, pid_t pid, pid_t tid,
	const struct user_regs_struct *regs)
{
	uint64_t at, sleeps;
	for (size_t i = 0; i < waits->len; i++) {
		const struct restart_wait *wait = &waits->data[i];
		if (wait->tid != tid || wait->number != regs->orig_rax)
			continue;
		/* It has slept once more now: for us. */
		bool same = read_sched(pid, tid, &at, &sleeps) && sleeps <= wait->sleeps + 1;
		return same ? wait->since_ns : 0;
	}
	return 0;
}

static bool peek_word(pid_t tid, uint64_t address, uint64_t *ret)
{
	errno = 0;
	*ret = (uint64_t)ptrace(PTRACE_PEEKDATA, tid, (void *)address, NULL);
	return !errno;
}

static bool poke_word(pid_t tid, uint64_t address, uint64_t value)
{
	return !ptrace(PTRACE_POKEDATA, tid, (void *)address, (void *)value);
}

/* Puts what is left of the time at *address below the stack, and changes *address to that. */
static bool shorten_timespec(pid_t tid, uint64_t sp, uint64_t waited, uint64_t *address)
{
	uint64_t seconds, ns;
	if (!*address || !peek_word(tid, *address, &seconds) ||
		!peek_word(tid, *address + 8, &ns) || seconds > INT64_MAX / 1000000000u - 1)
		return false;
	uint64_t left = seconds * 1000000000u + ns, at = (sp - RED_ZONE - 64) & ~63ull;
	left = left > waited ? left - waited : 0;
	if (!poke_word(tid, at, left / 1000000000u) || !poke_word(tid, at + 8, left % 1000000000u))
		return false;
	*address = at;
	return true;
}

static void shorten_ms(uint64_t waited, uint64_t *value)
{
	int32_t ms = (int32_t)*value;
	uint64_t passed = waited / 1000000;
	if (ms > 0)
		*value = (uint64_t)ms > passed ? (uint64_t)ms - passed : 0;
}

/* struct io_uring_getevents_arg is three words; the third says where the time is. */
static void shorten_uring(pid_t tid, uint64_t waited, struct user_regs_struct *regs)
{
	uint64_t word[3], at = (regs->rsp - RED_ZONE - 128) & ~63ull;
	if (!(regs->r10 & URING_EXTENDED) || regs->r10 & URING_ABSOLUTE)
		return;
	for (unsigned i = 0; i < 3; i++) {
		if (!peek_word(tid, regs->r8 + 8ull * i, &word[i]))
			return;
	}
	if (!shorten_timespec(tid, regs->rsp, waited, &word[2]))
		return;
	for (unsigned i = 0; i < 3; i++) {
		if (!poke_word(tid, at + 8ull * i, word[i]))
			return;
	}
	regs->r8 = at;
}

static void shorten_timeout(
	const struct timed_call *call, uint64_t waited, pid_t tid, struct user_regs_struct *regs)
{
	uint64_t *value = (uint64_t *)((char *)regs + call->at);
	switch (call->form) {
	case TIME_MS:
		shorten_ms(waited, value);
		break;
	case TIME_TIMESPEC:
		(void)!shorten_timespec(tid, regs->rsp, waited, value);
		break;
	case TIME_URING:
		shorten_uring(tid, waited, regs);
		break;
	}
}

void restart_call(uint64_t since_ns, pid_t tid, struct user_regs_struct *regs)
{
	uint64_t code, now = restart_now_ns();
	if ((int64_t)regs->orig_rax < 0 || (int64_t)regs->rax != -EINTR ||
		!peek_word(tid, regs->rip - SYSCALL_BYTES, &code) ||
		(code & 0xffff) != SYSCALL_CODE)
		return;
	const struct timed_call *call = find_call(regs->orig_rax);
	if (call && since_ns && now > since_ns)
		shorten_timeout(call, now - since_ns, tid, regs);
	regs->rip -= SYSCALL_BYTES;
	regs->rax = regs->orig_rax;
	regs->orig_rax = (unsigned long)-1;
	ptrace(PTRACE_SETREGS, tid, NULL, regs);
}

struct user_regs_struct restart_user_registers(const struct user_regs_struct *regs)
{
	struct user_regs_struct home = *regs;
	int64_t result = (int64_t)regs->rax;
	bool anew =
		result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND;
	if ((int64_t)regs->orig_rax < 0 || (!anew && result != -ERESTART_RESTARTBLOCK))
		return home;
	home.rip -= SYSCALL_BYTES;
	home.rax = anew ? regs->orig_rax : SYS_restart_syscall;
	return home;
}
