/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call stack of a thread of which there are registers and memory: by the unwind tables of the
 * modules' files, as elfutils' libdwfl reads them.
 */
#ifndef SYMBOLS_UNWIND_H
#define SYMBOLS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct unwind_module {
	const char *name;
	int fd;         /* of its file; stays the caller's */
	uint64_t start; /* where its first byte lies in memory */
};

struct unwind_thread {
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	/* x86-64: as struct user_regs_struct; aarch64: x0 to x30, sp, pc. */
	const uint64_t *registers;
	void *context;
	bool (*read_word)(void *context, uint64_t address, uint64_t *ret);
};

/* A frame: where its code goes on, which is a return address but for `exact` ones. */
struct unwind_frame {
	uint64_t pc;
	bool exact;
	/* 0: not known. That of the next frame is where this one ends. */
	uint64_t stack_pointer, frame_pointer;
};

struct unwinder;

/* The modules that unwind tables are in. Those that can't be read are left out. */
struct error *unwinder_create(
	const struct unwind_module *modules, size_t count, struct unwinder **ret) must_check_;
void unwinder_destroy(struct unwinder *unwinder);

/* At most `room` frames, innermost first; at least one, unless there is no room. */
size_t unwinder_run(struct unwinder *unwinder, const struct unwind_thread *thread,
	struct unwind_frame *ret, size_t room);

#endif
