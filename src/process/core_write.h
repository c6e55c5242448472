/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes an address space as a core dump, with what the kernel's would have (core(5), the default
 * filter): the program's own memory whole, of files the first page of what is mapped, and notes of
 * threads, mapped files and the auxiliary vector. Pages of zeros are holes of the file.
 */
#ifndef PROCESS_CORE_WRITE_H
#define PROCESS_CORE_WRITE_H

#include "process/address_space.h"

/* Writes a core to `fd`, which is empty and stays open; `path` is its name in messages. Returns
 * ERROR_ENVIRONMENT if it can't be written. Memory that can't be read is left out. */
struct error *core_write(const struct address_space *space, int fd, const char *path) must_check_;

#endif
