/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which requests of operator new can't fail. One that throws must not have its return probed: the
 * kernel's address is then in place of the caller's, and no exception gets past that.
 */
#ifndef CAPTURE_THROW_LIMIT_H
#define CAPTURE_THROW_LIMIT_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Returns the bytes up to which a request of a process can't fail: a quarter of the machine's
 * memory. 0 if any may: its address space or data are limited (setrlimit), the kernel doesn't
 * overcommit, or that can't be read. The process may change its limits afterwards.
 */
uint64_t throw_limit_read(pid_t pid);

#endif
