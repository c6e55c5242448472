/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the frames of a process that is watched. */
#ifndef CLI_WATCH_NAMES_H
#define CLI_WATCH_NAMES_H

#include "base/vec.h"
#include "capture/watch.h"
#include "process/kernel_symbols.h"
#include "query/name_settings.h"
#include "symbols/symbols.h"

DEFINE_VEC(symbol_modules, uint32_t)

struct watch_names {
	struct name_settings settings;
	struct symbols *symbols;
	struct symbol_modules modules; /* by number of the watched process's module */
	struct kernel_symbols *kernel; /* of the kernel; NULL: not read */
};

/* A frame, innermost first: several symbols if functions were inlined. */
struct watch_frame {
	const struct symbol *symbols; /* count of them, at least one; NULL: in no module */
	size_t count;
	size_t module;    /* SIZE_MAX: none */
	uint64_t address; /* in the module's file, or in the process if it is in none */
	/* Of the kernel; `address` is the return address then, and name NULL if it is not known. */
	bool is_kernel;
	struct kernel_symbol kernel;
};

struct error *watch_names_open(struct watch_names *names) must_check_;
void watch_names_close(struct watch_names *names);

/* Reads the names of the kernel anew: modules come and go. */
struct error *watch_names_read_kernel(struct watch_names *names) must_check_;

/* Finds what a return address is in: one of `modules`, or, if that is NULL, the kernel. Valid until
 * the next call. */
struct error *watch_names_find(struct watch_names *names, const struct watch_modules *modules,
	uint64_t return_address, struct watch_frame *ret) must_check_;

#endif
