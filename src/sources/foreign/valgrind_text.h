/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames as Valgrind's tools write them into text: "0x4842DA: read_line (io.c:12)",
 * "0x4A2B1C: puts (in /usr/lib/libc.so.6)". Addresses are those of calls, not what they return to.
 */
#ifndef SOURCES_VALGRIND_TEXT_H
#define SOURCES_VALGRIND_TEXT_H

#include "sources/foreign/foreign.h"

struct valgrind_frame {
	uint64_t address;
	struct foreign_line line;
	struct foreign_text module; /* its path, if the file has it */
};

/* Into the text; what is no frame ("in 3 places, all below …") is a function without address. */
struct valgrind_frame valgrind_frame_of(const char *text, size_t len);

/* Finds the frame of functions at one address, innermost first; at least one. */
struct error *valgrind_frame_make(struct foreign *foreign, const struct valgrind_frame *functions,
	size_t count, struct foreign_frame *ret) must_check_;

/* Which function of an allocator it is; KIND_UNKNOWN: none. */
enum alloc_kind valgrind_kind_of(struct foreign_text function);

/* The target's command: words that were put together with blanks. */
struct error *valgrind_command(struct model *model, const char *text, size_t len) must_check_;

#endif
