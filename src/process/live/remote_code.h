/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few instructions that a thread of another process runs when it is made to do a system call.
 * After the call they restore the thread's signal mask and registers and jump to where it was. So
 * the thread goes on by itself if its tracer is killed meanwhile. A copy that it was made to fork
 * ends itself unless it is traced, and is reaped.
 *
 * For the time of the call the instructions are in unused bytes: the zeros after the kernel's own
 * code (vdso(7)), or else after a file's code. Such a page is private, and is written as a debugger
 * writes breakpoints. No stack is written to: memory below the stack pointer of a small stack
 * (goroutine, coroutine) may be in use.
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

/* Returns an address at which a stopped process has room for the code; 0 if there is none. */
uint64_t remote_code_place(pid_t pid);

/* Returns whether `address` is in the code. */
bool remote_code_has(uint64_t place, uint64_t address);

/* Returns the address of the system call instruction of an entry. */
uint64_t remote_code_entry(uint64_t place, enum remote_entry entry);

/* Writes the code, for a thread that is to go on with these registers and this signal mask. Returns
 * false, and changes nothing, if it can't be written. */
bool remote_code_write(
	pid_t tid, uint64_t place, const struct user_regs_struct *regs, uint64_t mask);

/* Overwrites the code with zeros, which were there before. */
void remote_code_erase(pid_t tid, uint64_t place);

#endif
