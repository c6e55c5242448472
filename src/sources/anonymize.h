/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings without names, for readers who may see how a program uses memory but not what it is. A
 * name becomes a token, "function-17", the same one wherever it stands. What is kept, because it is
 * in every program: names in the libraries of the C and C++ runtime and of allocators, and these
 * libraries' own; `main`, malloc, operator new… That a function is one of std:: or a wrapper of an
 * allocator is seen from its token too, as reports go by it. docs/symbols.md lists what goes.
 */
#ifndef SOURCES_ANONYMIZE_H
#define SOURCES_ANONYMIZE_H

#include "base/error.h"
#include "model/model.h"
#include "model/rename.h"

/* Knows which token is whose. */
struct anonymizer;

struct error *anonymizer_create(struct anonymizer **ret) must_check_;
void anonymizer_destroy(struct anonymizer *anonymizer);

static inline void anonymizer_cleanup(struct anonymizer **anonymizer)
{
	anonymizer_destroy(*anonymizer);
}

/* Finds the token of a name, which lives as long as the anonymizer. */
struct error *anonymizer_name(struct anonymizer *anonymizer, enum name_kind kind, const char *name,
	const char **ret) must_check_;

/*
 * Looks up the names of all code, as model_names_from() says, and then replaces all names in the
 * model: nothing made of it has any, and no file is asked for one again.
 */
struct error *anonymizer_model(struct anonymizer *anonymizer, struct model *model) must_check_;

#endif
