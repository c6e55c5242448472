/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See loaded_files.h. */
#include "analysis/stacks/loaded_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"

uint64_t file_key_hash(struct file_key key)
{
	return hash_bytes(key.path, strlen(key.path));
}

bool file_key_equal(struct file_key a, struct file_key b)
{
	return strcmp(a.path, b.path) == 0 && a.build_id_len == b.build_id_len &&
	       (a.build_id_len == 0 || memcmp(a.build_id, b.build_id, a.build_id_len) == 0);
}

struct error *loaded_files_init(
	struct loaded_files *files, const struct model *model, struct loaded_files *beside)
{
	*files = (struct loaded_files){.model = model};
	files_map_init(&files->numbers);
	files_map_init(&files->files);
	loaded_path_vec_init(&files->met);
	files->by_module = calloc(model_module_limit(model), sizeof(*files->by_module));
	if (!files->by_module)
		return error_no_memory();
	if (beside) {
		files->beside = beside->beside ? beside->beside : beside;
		files->symbols = beside->symbols;
		return NULL;
	}
	struct error *error = symbols_create(model_names_from(model), &files->symbols);
	if (!error)
		symbols_recorded_at(files->symbols, model_target(model)->wall_start_ns);
	return error;
}

void loaded_files_deinit(struct loaded_files *files)
{
	if (!files->beside)
		symbols_destroy(files->symbols);
	free(files->by_module);
	files_map_deinit(&files->numbers);
	files_map_deinit(&files->files);
	loaded_path_vec_deinit(&files->met);
}

/* The file stands for one more module of the model. Each of several recordings that were added up
 * has its own, and files of other tools list parts of one. */
static void meet_again(struct loaded_files *files, struct file_key key, uint32_t file)
{
	const struct recording *recording = model_recording(files->model);
	bool has_file_ids = !recording->merged && strcmp(recording->source, "recording") == 0;
	if (key.build_id_len || !has_file_ids)
		return;
	for (size_t i = 0; i < files->met.len; i++)
		if (files->met.data[i].module == file)
			files->met.data[i].doubtful = true;
}

static struct error *number_file(struct loaded_files *files, struct file_key key, uint32_t *ret)
{
	struct loaded_files *owner = files->beside ? files->beside : files;
	bool is_new;
	uint32_t *number = files_map_insert(&owner->numbers, key, &is_new);
	if (!number)
		return error_no_memory();
	struct error *error = is_new ? symbols_add_module(owner->symbols, key.path, key.build_id,
					       key.build_id_len, number)
				     : NULL;
	*ret = *number;
	return error;
}

struct error *loaded_files_find(
	struct loaded_files *files, struct module_id id, uint32_t *ret_module)
{
	uint32_t *known = &files->by_module[id.value];
	const struct module *module = model_module(files->model, id);
	if (*known == 0 && module->path[0] != '\0') {
		struct file_key key = {module->path, module->build_id, module->build_id_len};
		bool is_new;
		uint32_t *file = files_map_insert(&files->files, key, &is_new);
		if (!file)
			return error_no_memory();
		if (is_new) {
			struct error *error = number_file(files, key, file);
			if (error)
				return error;
			struct loaded_path met = {.path = module->path, .module = *file};
			if (!loaded_path_vec_push(&files->met, met))
				return error_no_memory();
		} else {
			meet_again(files, key, *file);
		}
		*known = *file + 1;
	}
	*ret_module = *known ? *known - 1 : NO_MODULE;
	return NULL;
}

/* What to say of a file in that state; NULL: nothing. */
static const char *state_note(enum symbols_state state)
{
	switch (state) {
	case SYMBOLS_MISSING:
		return "cannot be read: its functions have no names";
	case SYMBOLS_CHANGED:
		return "has changed since it was recorded: its functions have no names";
	default:
		return NULL;
	}
}

/* With names that were kept it has to be the same as without: damage shows only where all is read
 * (`symbols` has it). */
static void add_lacks(struct text *text, const char *path, unsigned lacks)
{
	static const struct {
		enum symbols_lack lack;
		const char *words;
	} rows[] = {
		{SYMBOLS_LACK_ZSTD,
			"its debug information is compressed with zstd, which this elfutils can't "
			"read (use objcopy --decompress-debug-sections): no line numbers"},
		{SYMBOLS_LACK_SHARED, "its shared debug file (dwz) is missing or from another "
				      "build: some names are missing"},
		{SYMBOLS_LACK_SPLIT, "split debug information (.dwo, .dwp) is missing or from "
				     "another build: inlined functions are missing there"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (lacks & rows[i].lack)
			text_printf(text, "%s: %s.\n", path, rows[i].words);
}

void loaded_files_notes(const struct loaded_files *files, struct text *ret)
{
	for (size_t i = 0; i < files->met.len; i++) {
		struct loaded_path file = files->met.data[i];
		const char *note = state_note(symbols_module_state(files->symbols, file.module));
		/* The vdso never was a file. */
		if (note && file.path[0] == '/')
			text_printf(ret, "%s %s.\n", file.path, note);
		if (file.doubtful)
			text_printf(ret,
				"%s has no build-id and was loaded more than once: if these were "
				"different files, function names and source lines may be wrong.\n",
				file.path);
		add_lacks(ret, file.path, symbols_module_lacks(files->symbols, file.module));
	}
}
