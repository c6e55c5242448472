/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors of a model beside leaks, settled: those that suppressions fit are taken out and counted,
 * equal ones become one. All that shows or judges errors then sees what is left.
 *
 *	error = errors_settle(model, set, true);
 *
 * Two errors are equal if kind, sentence (but for the addresses in it) and all stacks read the
 * same, whichever process and thread they are of.
 */
#ifndef ANALYSIS_ERRORS_SETTLE_H
#define ANALYSIS_ERRORS_SETTLE_H

#include <stdbool.h>

#include "analysis/resolve.h"
#include "analysis/suppress.h"
#include "model/errors.h"

/*
 * Settles the errors of `model`, to be done once: `set`: suppressions, in which uses are counted;
 * NULL: none. `merge`: equal errors become one. Entries for such errors are put into the
 * model, the used ones first (model_error_suppressions()). The model's names must have been applied
 * before. Errors: of memory, or more suppressions than a model holds.
 */
struct error *errors_settle(struct model *model, struct suppressions *set, bool merge) must_check_;

/* Adds an entry for an error of the model in Valgrind's form. Nothing if Memcheck has no
 * suppressions for such errors, or no stack is known. The resolver shows all frames and their
 * aliases. */
struct error *errors_write_suppression(struct resolver *resolver, const struct model *model,
	const struct program_error *error, struct text *out) must_check_;

#endif
