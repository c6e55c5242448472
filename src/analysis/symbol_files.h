/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where names of a recording's code come from: its modules, the files that were looked at for each.
 */
#ifndef ANALYSIS_SYMBOL_FILES_H
#define ANALYSIS_SYMBOL_FILES_H

#include <stdbool.h>

#include "base/error.h"
#include "model/model.h"
#include "symbols/symbols.h"

/* A file, however often it was loaded. Strings are the model's or the symbols'. */
struct symbol_file {
	const char *path;
	const uint8_t *build_id; /* NULL: none was recorded, so that nothing tells another file */
	size_t build_id_len;
	uint32_t module; /* of the symbols */
	enum symbols_state state;
	unsigned lacks;         /* of enum symbols_lack */
	const char *names_from; /* NULL: no file has any */
	const struct symbols_lookups *tried;
	size_t tried_count;
	uint64_t addresses;     /* that stacks go through */
	uint64_t named, placed; /* of these: with a function, with a source line */
	uint64_t kept;          /* of all addresses: as earlier commands had found them */
	bool has_roots;         /* memory of its data holds blocks, in a search for leaks */
};

DEFINE_VEC(symbol_file_vec, struct symbol_file)
DEFINE_VEC(source_name_vec, const char *)

struct symbol_files {
	struct symbol_file_vec files;   /* in the order in which they were loaded */
	struct source_name_vec sources; /* of all frames, each once */
	struct symbols *symbols;
};

void symbol_files_init(struct symbol_files *files);
void symbol_files_deinit(struct symbol_files *files);

/* Opens all and names all addresses. The model and its model_names_from() must outlive it. */
struct error *symbol_files_build(const struct model *model, struct symbol_files *ret) must_check_;

#endif
