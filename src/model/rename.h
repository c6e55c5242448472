/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replaces every name in a model. All that a model knows in words goes through here, so that
 * whatever is made of it afterwards has none of the old ones. As build.h, for sources alone.
 */
#ifndef MODEL_RENAME_H
#define MODEL_RENAME_H

#include "base/error.h"
#include "model/model.h"

enum name_kind {
	NAME_FUNCTION,
	NAME_FILE,   /* of source code */
	NAME_MODULE, /* and programs */
	NAME_THREAD,
	NAME_MARK,
	NAME_SUPPRESSION,
	NAME_KINDS
};

/* Strings that it gives may be gone after the next call. */
struct renamer {
	struct error *(*name)(void *ctx, enum name_kind kind, const char *name, const char **ret);
	/* Replaces the names of a frame; its module has its old path. */
	struct error *(*frame)(void *ctx, const struct module *module, struct given_frame *frame);
	/* Whether a module may be known by its build-id. */
	bool (*keeps_build_id)(void *ctx, const struct module *module);
	void *ctx;
};

/*
 * Names are replaced by the renamer's. Words that are no names (command line, folder, host, what a
 * source remarks, patterns of functions) are dropped, or stand for what they say in general; the
 * time of day too. Code whose names are to be looked up in files keeps none.
 */
struct error *model_rename(struct model *model, const struct renamer *renamer) must_check_;

#endif
