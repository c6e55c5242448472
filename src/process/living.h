/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc tells about a process that runs. */
#ifndef PROCESS_LIVING_H
#define PROCESS_LIVING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct living {
	pid_t pid;
	char *exe;     /* its program file, as it is called in its own mounts */
	char *command; /* its arguments, with blanks between */
	char *maps;    /* /proc/PID/maps */
	char *environ; /* NUL-separated, as it was given at exec, environ_bytes long */
	size_t environ_bytes;
	int seccomp;       /* 0 none, 1 strict, 2 filter */
	bool secure;       /* AT_SECURE: with other rights than its starter, LD_* are ignored */
	bool other_pids;   /* in another PID namespace than we */
	bool other_mounts; /* in another mount namespace */
};

/*
 * ERROR_INPUT: there is no such process, it has ended, it is the kernel's, or we may not look. *ret
 * is to be given back by living_deinit() in any case.
 */
struct error *living_open(pid_t pid, struct living *ret) must_check_;
void living_deinit(struct living *living);

/* Whether a process is stopped by a signal, or by who traces it; false if it is not there. */
bool process_is_stopped(pid_t pid);

/* A thread of the process that has not ended, the first if it may be; else `pid` itself. Where the
 * first has ended, its number leads to no memory. */
pid_t process_living_thread(pid_t pid);

/* What /proc/PID/`name` holds, and a NUL behind; *ret is the caller's. ERROR_INPUT: it can't be
 * read, or is longer than `max`. */
struct error *process_read(
	pid_t pid, const char *name, size_t max, char **ret, size_t *ret_len) must_check_;

/* The process that started it, or took it over; 0: nobody knows. */
pid_t process_parent(pid_t pid);

/* The number that a process has in its own PID namespace; `pid` itself if nobody knows. */
pid_t process_inner_pid(pid_t pid);

/* The value of a variable in its environment; NULL: it has none. Belongs to the process. */
const char *living_getenv(const struct living *living, const char *name);

#endif
