/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What earlier commands found out about one module, kept on disk by its build-id.
 *
 * Answers may be used only by a command that would find the same: beside them stands what they were
 * made from (the key), namely each file that is used for the module, as the search finds it this
 * time too, with its inode, size and times; the program that found them; and whatever else decides.
 * So a debug file that comes, goes or changes gives another key. Files that changed a moment ago,
 * whose times would not tell another change, have none.
 */
#ifndef SYMBOLS_SYMBOL_CACHE_H
#define SYMBOLS_SYMBOL_CACHE_H

#include "base/error.h"
#include "base/text.h"
#include "symbols/names/names_file.h"
#include "symbols/names/names_writer.h"
#include "symbols/split/debug_file.h"
#include "symbols/strings.h"

/* All 0 before symbol_cache_open(). */
struct symbol_cache {
	char *name; /* of the file; NULL: nothing is kept of this module */
	struct text key;
	uint8_t *data; /* NULL: no answers yet */
	struct names_file file;
	const char **strings; /* kept, by number - 1; filled on first use */
};

/* `build_id` the recorded one, or the module's own. Without memory nothing is known. */
void symbol_cache_open(struct symbol_cache *known, const struct symbols_settings *settings,
	const uint8_t *build_id, size_t build_id_len, const struct debug_files *files);
void symbol_cache_close(struct symbol_cache *known);

/*
 * Finds the symbols of an address, in memory of `strings`; *ret_count 0: they are not known. The
 * only errors are of memory.
 */
struct error *symbol_cache_find(struct symbol_cache *known, struct strings *strings,
	uint64_t address, const struct symbol **ret, size_t *ret_count) must_check_;

/*
 * Keeps answers, with those that are known already, unless the files are no longer those of the
 * key. Changes `answers`. true: something was written.
 */
bool symbol_cache_keep(struct symbol_cache *known, const struct symbols_settings *settings,
	const struct debug_files *files, const struct names_header *as,
	struct names_answer_vec *answers, struct strings *strings);

#endif
