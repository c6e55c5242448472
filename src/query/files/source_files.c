/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/source_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "bundle/layout.h"

#define NS_PER_S 1000000000ull

void source_file_deinit(struct listing_source *source)
{
	for (size_t i = 0; i < source->tried_count; i++)
		free((char *)source->tried[i]);
	free((void *)source->tried);
	free((char *)source->text);
	*source = (struct listing_source){.found = NULL};
}

/* Takes `path`. */
static struct error *add_tried(struct listing_source *source, char *path)
{
	const char **grown =
		path ? realloc((void *)source->tried, (source->tried_count + 1) * sizeof(*grown))
		     : NULL;
	if (!grown) {
		free(path);
		return error_no_memory();
	}
	grown[source->tried_count++] = path;
	source->tried = grown;
	return NULL;
}

/*
 * Endings of source code, as compilers, preprocessors and generators of parsers name their files;
 * after gcc's manual (3.2 "Options Controlling the Kind of Output") and those of other languages.
 */
static const char *const SOURCE_ENDINGS[] = {"c", "cc", "cp", "cxx", "cpp", "c++", "h", "hh", "hp",
	"hxx", "hpp", "h++", "i", "ii", "inc", "inl", "ipp", "ixx", "tcc", "tpp", "txx", "cppm",
	"def", "tab", "s", "sx", "asm", "m", "mi", "mm", "mii", "f", "for", "ftn", "fpp", "f77",
	"f90", "f95", "f03", "f08", "ada", "adb", "ads", "d", "di", "go", "rs", "zig", "nim", "v",
	"vala", "vapi", "swift", "pas", "pp", "p", "y", "yy", "ypp", "l", "ll", "lpp", "re", "rl",
	"gperf", "cu", "cuh", "cl", "ispc", "java", "kt", "kts", "scala", "groovy", "clj", "cs",
	"fs", "vb", "py", "pyi", "pyx", "pxd", "pxi", "rb", "pl", "pm", "xs", "php", "lua", "tcl",
	"r", "jl", "js", "mjs", "cjs", "jsx", "ts", "tsx", "coffee", "ml", "mli", "hs", "lhs",
	"erl", "ex", "exs", "lisp", "lsp", "scm", "el", "cob", "cbl", "hip", "metal", "qml"};

/*
 * Whether a name is one of source code: by its ending, or it is a header without one, as C++ has
 * them. What a recording or debug information names may be any file that its reader may read.
 */
static bool is_source_name(const char *path)
{
	const char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	const char *dot = strrchr(name, '.');
	if (!dot)
		return strstr(path, "/include/c++/") != NULL;
	for (size_t i = 0; i < sizeof(SOURCE_ENDINGS) / sizeof(*SOURCE_ENDINGS); i++)
		if (!strcasecmp(dot + 1, SOURCE_ENDINGS[i]))
			return true;
	return false;
}

/* The path may lead elsewhere through links: both names must be source code's. */
static bool is_source(const char *path)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	return real && is_source_name(path) && is_source_name(real);
}

/* Whether it is there and could be read; then all is set. */
static struct error *try_path(
	struct listing_source *source, char *path, uint64_t recorded_ns, bool *ret_found)
{
	struct stat st;
	struct error *error = add_tried(source, path);
	if (error)
		return error;
	*ret_found = false;
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return NULL;
	if (!is_source(path)) {
		source->refused = path;
		return NULL;
	}
	uint8_t *data;
	_cleanup_error_ struct error *unread =
		read_file(path, SOURCE_BYTES_MAX, &data, &source->len);
	if (unread)
		return NULL;
	source->text = (const char *)data;
	source->found = path;
	uint64_t changed_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
	source->newer = recorded_ns && changed_ns > recorded_ns;
	*ret_found = true;
	return NULL;
}

static char *source_files_join(const char *folder, const char *file)
{
	char *path;
	return asprintf(&path, "%s/%s", folder, file) < 0 ? NULL : path;
}

/* FOLDER/src/demo/util.c, FOLDER/demo/util.c, FOLDER/util.c */
static struct error *try_folder(struct listing_source *source, const char *folder, const char *file,
	uint64_t recorded_ns, bool *ret_found)
{
	struct error *error = NULL;
	while (!error && !*ret_found && file) {
		while (*file == '/')
			file++;
		error = try_path(source, source_files_join(folder, file), recorded_ns, ret_found);
		file = strchr(file, '/');
	}
	return error;
}

static struct error *try_bundle(
	struct listing_source *source, const struct source_search *search, bool *ret_found)
{
	_cleanup_(text_deinit) struct text place;
	text_init(&place);
	bool good = bundle_place_below(&place, BUNDLE_SOURCES, search->file);
	if (place.failed)
		return error_no_memory();
	return good ? try_path(source, source_files_join(search->bundle, place.data),
			      search->recorded_ns, ret_found)
		    : NULL;
}

struct error *source_file_find(const struct source_search *search, struct listing_source *ret)
{
	bool found = false;
	const char *file = search->file;
	*ret = (struct listing_source){.found = NULL};
	struct error *error = search->bundle ? try_bundle(ret, search, &found) : NULL;
	if (!error && !found)
		error = try_path(ret,
			file[0] == '/'
				? strdup(file)
				: source_files_join(search->cwd[0] ? search->cwd : ".", file),
			search->recorded_ns, &found);
	for (size_t i = 0; !error && !found && i < search->folder_count; i++)
		error = try_folder(ret, search->folders[i], file, search->recorded_ns, &found);
	return error;
}
