/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replaces every name in a model. All text of a model passes through here, so that no output that
 * is made of it afterwards has an old name. Only src/sources/ includes this, as build.h.
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

/* How names are replaced. Returned strings are valid until the next call. */
struct renamer {
	struct error *(*name)(void *ctx, enum name_kind kind, const char *name, const char **ret);
	/* Replaces the names of a frame; its module has its old path. */
	struct error *(*frame)(
		void *ctx, const struct module *module, struct embedded_frame *frame);
	/* Returns whether a module keeps its build-id. */
	bool (*keeps_build_id)(void *ctx, const struct module *module);
	void *ctx;
};

/*
 * Replaces all names by those of the renamer. Text that is no name (command line, folder, host,
 * remarks of a source, patterns of functions) and the time of day are dropped or replaced by
 * something general. Code whose names would be looked up in files gets none.
 */
struct error *model_rename(struct model *model, const struct renamer *renamer) must_check_;

#endif
