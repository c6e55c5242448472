/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a model says of code, on its way into another model. */
#ifndef SOURCES_CODE_COPY_H
#define SOURCES_CODE_COPY_H

#include "model/build.h"

/* A copy of a string of another model; NULL stays NULL. */
struct error *code_copy_string(struct model *into, const char **string) must_check_;

/* Copies of its frames, which the caller frees, with strings of the model. */
struct error *code_copy_run(struct model *into, const struct embedded_run *run,
	struct embedded_frame **ret) must_check_;

/*
 * Copies all code that is in no loaded file. Modules of the other model are moved by `modules`.
 * *ret, which the caller frees: the new id of each; NULL: there is none.
 */
struct error *code_copy_all(
	struct model *into, const struct model *from, uint32_t modules, uint32_t **ret) must_check_;

#endif
