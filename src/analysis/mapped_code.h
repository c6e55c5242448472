/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the code of a model's modules was mapped, as tools want it that look names up themselves. */
#ifndef ANALYSIS_MAPPED_CODE_H
#define ANALYSIS_MAPPED_CODE_H

#include "analysis/stacks/loaded_files.h"

/* As a line of /proc/PID/maps. */
struct mapped_code {
	const struct module *module;
	uint64_t start, end;
	uint64_t offset; /* in the file */
};

DEFINE_VEC(mapped_code_vec, struct mapped_code)

/*
 * Adds the mappings of code of all modules that have a path and a range, those of the program
 * first: readers take the first one for it. Where the file isn't here, or is another one by now, a
 * module is one mapping from the beginning of its file.
 */
struct error *mapped_code_add(const struct model *model, struct mapped_code_vec *ret) must_check_;

#endif
