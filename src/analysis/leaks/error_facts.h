/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What suppressions ask about an error of a model: its kind in the words of Memcheck's files, and
 * the function that was called. Inside analysis/ only. */
#ifndef ANALYSIS_ERROR_FACTS_H
#define ANALYSIS_ERROR_FACTS_H

#include "analysis/suppress.h"
#include "base/text.h"
#include "model/errors.h"

/* Returns SUPPRESS_BIT() of the kinds of entries that fit the error; 0: none does. */
uint64_t error_facts_kinds(const struct program_error *error);

/* Adds what the extra line of an entry has to say, "write(buf)"; nothing for kinds without one. */
void error_facts_add_extra(const struct program_error *error, struct text *ret);

/*
 * Returns the frame that memcheck has above those of a recording, which begin with the caller: of
 * the function that frees, or that makes the access. False: there is none. `name` holds what the
 * frame borrows.
 */
bool error_facts_called(
	const struct program_error *error, struct text *name, struct suppress_frame *ret);

/*
 * Adds the name of the function of libc in which AddressSanitizer would see the error, as it
 * intercepts it ("memcpy"); nothing if it would see none. `top` is the innermost frame of the stack
 * that suppressions are compared with.
 */
void error_facts_add_call(
	const struct program_error *error, const struct suppress_frame *top, struct text *ret);

#endif
