/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few instructions that a thread of another process runs when it is made to do a system call.
 * Behind the call they put back the thread's signal mask and registers and jump to where it stood:
 * so it finds its way home alone when its tracer is killed in the middle, at any moment. A copy
 * that it was made to fork ends itself unless it is traced, and is reaped.
 *
 * They stand for the time of the call in bytes that nobody uses: the zeros behind the kernel's own
 * code (vdso(7)), or else behind a file's. Such a page is private, and written as a debugger's
 * breakpoints are. No stack is written to: below the pointers of small ones (goroutines,
 * coroutines) may stand what is somebody's.
 */
#ifndef PROCESS_REMOTE_CODE_H
#define PROCESS_REMOTE_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* What follows the system call. */
enum remote_entry {
	REMOTE_CALL, /* home */
	REMOTE_FORK, /* home, after waiting for the child's end; the child ends */
	REMOTE_LAST, /* the end of the process */
	REMOTE_ENTRIES
};

/* Where the code can stand in a stopped process; 0: nowhere. */
uint64_t remote_code_place(pid_t pid);

/* Whether a thread that stands at this address runs it. */
bool remote_code_has(uint64_t place, uint64_t address);

/* The address of the system call instruction of an entry. */
uint64_t remote_code_entry(uint64_t place, enum remote_entry entry);

/* Writes it, for a thread that is to go on with these registers and this mask. False: it can't be
 * written there; then nothing is changed. */
bool remote_code_write(
	pid_t tid, uint64_t place, const struct user_regs_struct *regs, uint64_t mask);

/* Makes its place what it was: zeros. */
void remote_code_erase(pid_t tid, uint64_t place);

#endif
