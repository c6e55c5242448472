/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc says about a running process. */
#ifndef PROCESS_PROC_INFO_H
#define PROCESS_PROC_INFO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct proc_info {
	pid_t pid;
	char *exe;     /* its program file, as it is called in its own mounts */
	char *command; /* its arguments, with blanks between */
	char *maps;    /* /proc/PID/maps */
	char *environ; /* NUL-separated, as it was given at exec, environ_bytes long */
	size_t environ_bytes;
	int seccomp;       /* 0 none, 1 strict, 2 filter */
	bool secure;       /* AT_SECURE: it has other rights than its parent, LD_* are ignored */
	bool other_pids;   /* it is in another PID namespace than the caller */
	bool other_mounts; /* it is in another mount namespace than the caller */
};

/*
 * Reads what /proc says about a process. Returns ERROR_INPUT if there is no such process, it has
 * ended, it belongs to the kernel, or the caller may not read it. Call proc_info_deinit() for *ret
 * in any case.
 */
struct error *proc_info_read(pid_t pid, struct proc_info *ret) must_check_;
void proc_info_deinit(struct proc_info *info);

/* Returns whether a process is stopped by a signal or by its tracer; false if it does not exist. */
bool process_is_stopped(pid_t pid);

/* A thread of the process that has not ended, the first if it may be; else `pid` itself. Where the
 * first has ended, its number leads to no memory. */
pid_t process_first_live_thread(pid_t pid);

/* Reads the file /proc/PID/`name`. *ret has its *ret_len bytes and a NUL after them; the caller
 * frees it. Returns ERROR_INPUT if it can't be read or is longer than `max` bytes. */
struct error *process_read(
	pid_t pid, const char *name, size_t max, char **ret, size_t *ret_len) must_check_;

/* Returns what traces a process (ptrace); 0: nothing, or it is not known. */
pid_t process_tracer(pid_t pid);

/* Returns the parent of a process, which may be the one that adopted it; 0 if unknown. */
pid_t process_parent(pid_t pid);

/* Returns when a process started, in clock ticks since the machine did (proc(5), starttime): with
 * its number this tells processes apart. 0 if it has ended, waited for or not, or that is unknown.
 */
uint64_t process_start_ticks(pid_t pid);

/* Returns how long a process has run, in nanoseconds: at least 1, which is also that of one that
 * has ended. */
uint64_t process_age_ns(pid_t pid);

/* Returns whether this process is in the machine's first PID namespace, whose numbers programs in
 * the kernel see; false if it is not known. */
bool process_is_in_first_namespace(void);

/* Returns the number of a process in its own PID namespace; `pid` itself if unknown. */
pid_t process_inner_pid(pid_t pid);

/* Returns the value of a variable in the process's environment; NULL if it is not set. The string
 * belongs to `info`. */
const char *proc_info_getenv(const struct proc_info *info, const char *name);

#endif
