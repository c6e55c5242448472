/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/serve/serve_files.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/number.h"
#include "query/moments.h"

void serve_files_deinit(struct serve_files *files)
{
	for (size_t i = 0; i < files->len; i++) {
		free(files->data[i].path);
		free(files->data[i].name);
	}
	free(files->data);
	hash_index_deinit(&files->by_path);
	free(files->folders);
}

/* Whether there is such a file; if not, *ret is where its number belongs. */
static bool is_listed(
	const struct serve_files *files, const char *path, struct hash_index_place *ret)
{
	uint32_t number;
	while ((number = hash_index_next(&files->by_path, ret)))
		if (strcmp(files->data[number - 1].path, path) == 0)
			return true;
	return false;
}

static bool make_room(struct serve_files *files)
{
	if (files->len < files->cap)
		return true;
	size_t cap = files->cap ? files->cap * 2 : 16;
	struct serve_file *moved = realloc(files->data, cap * sizeof(*moved));
	if (!moved)
		return false;
	files->data = moved;
	files->cap = cap;
	return true;
}

/* Takes over the path; NULL: no memory. */
static struct error *add_entry(struct serve_files *files, char *path, bool is_process)
{
	_cleanup_free_ char *kept = path;
	struct hash_index_place place;
	if (!kept || !hash_index_seek(&files->by_path, hash_bytes(path, strlen(path)), &place))
		return error_no_memory();
	if (!is_process && is_listed(files, path, &place))
		return NULL;
	if (files->len == SERVE_FILES_MAX) {
		files->left_out++;
		return NULL;
	}
	char *name;
	if (!make_room(files) || asprintf(&name, "recording-%zu", files->len + 1) < 0)
		return error_no_memory();
	if (!is_process)
		hash_index_put(&files->by_path, &place, (uint32_t)files->len);
	files->data[files->len++] = (struct serve_file){
		.path = steal_ptr(kept), .name = name, .is_process = is_process};
	return NULL;
}

static struct error *add_folder(struct serve_files *files, char *word)
{
	char **moved = realloc(files->folders, (files->folder_count + 1) * sizeof(*moved));
	if (!moved)
		return error_no_memory();
	files->folders = moved;
	files->folders[files->folder_count++] = word;
	return NULL;
}

static bool is_running(const char *word)
{
	uint64_t number;
	char path[64];
	struct stat st;
	if (!number_whole(word, &number))
		return false;
	snprintf(path, sizeof(path), "/proc/%llu", (unsigned long long)number);
	return stat(path, &st) == 0;
}

/* A page shows any moment of a file, so it has none itself. NULL: it is no FILE@MOMENT. */
static struct error *refuse_moment(const char *word)
{
	struct stat st;
	const char *moment = moment_after(word);
	_cleanup_free_ char *path = moment ? strndup(word, (size_t)(moment - word) - 1) : NULL;
	if (!path || stat(path, &st))
		return NULL;
	return error_create(ERROR_USAGE,
		"%s: serve takes whole files, and moments are chosen on the page; give it %s, or "
		"use 'heapwise html %s' for a page of that moment alone",
		word, path, word);
}

struct error *serve_files_add(struct serve_files *files, char *word)
{
	struct stat st;
	if (stat(word, &st)) {
		int why = errno;
		if (is_running(word))
			return add_entry(files, strdup(word), true);
		struct error *error = refuse_moment(word);
		if (error)
			return error;
		return error_errno(ERROR_INPUT, why, "%s", word);
	}
	if (S_ISDIR(st.st_mode))
		return add_folder(files, word);
	if (!S_ISREG(st.st_mode))
		return error_create(ERROR_INPUT,
			"%s: neither a file, nor a folder, nor a process; what comes through a "
			"pipe "
			"can't be read again",
			word);
	return add_entry(files, strdup(word), false);
}

static int is_recording_name(const struct dirent *entry)
{
	return !fnmatch("*.hpw", entry->d_name, FNM_PERIOD);
}

static struct error *look_into_folder(struct serve_files *files, const char *folder)
{
	struct dirent **entries = NULL;
	struct error *error = NULL;
	int count = scandir(folder, &entries, is_recording_name, alphasort);
	bool slash = folder[strlen(folder) - 1] == '/';
	for (int i = 0; i < count; i++) {
		char *path;
		if (asprintf(&path, "%s%s%s", folder, slash ? "" : "/", entries[i]->d_name) < 0)
			path = NULL;
		if (!error)
			error = add_entry(files, path, false);
		else
			free(path);
		free(entries[i]);
	}
	free(entries);
	return error;
}

static void look_at_file(struct serve_file *file)
{
	struct stat st;
	file->is_there = file->is_process ? is_running(file->path)
					  : stat(file->path, &st) == 0 && S_ISREG(st.st_mode);
	if (!file->is_there || file->is_process)
		return;
	file->bytes = (uint64_t)st.st_size;
	file->modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	file->inode = st.st_ino;
}

const char *serve_file_name(const struct serve_file *file)
{
	return file->is_process ? file->path : file->name;
}

/* The file with the longest path that the text begins with. NULL: with none. */
static const struct serve_file *file_at(
	const struct serve_files *files, const char *text, size_t *ret_len)
{
	const struct serve_file *found = NULL;
	*ret_len = 0;
	for (size_t i = 0; i < files->len; i++) {
		const struct serve_file *file = &files->data[i];
		size_t len = file->is_process ? 0 : strlen(file->path);
		if (len > *ret_len && strncmp(text, file->path, len) == 0) {
			found = file;
			*ret_len = len;
		}
	}
	return found;
}

void serve_files_hide(const struct serve_files *files, const char *message, struct text *ret)
{
	while (*message) {
		size_t len;
		const struct serve_file *file = file_at(files, message, &len);
		if (file)
			text_add(ret, file->name);
		else
			text_add_char(ret, *message);
		message += file ? len : 1;
	}
}

struct error *serve_files_look(struct serve_files *files)
{
	struct error *error = NULL;
	files->left_out = 0;
	for (size_t i = 0; !error && i < files->folder_count; i++)
		error = look_into_folder(files, files->folders[i]);
	for (size_t i = 0; i < files->len; i++)
		look_at_file(&files->data[i]);
	return error;
}

static void write_file_row(const struct serve_files *files, size_t number, struct json *json)
{
	const struct serve_file *file = &files->data[number];
	json_object_begin(json);
	json_key(json, "number");
	json_u64(json, number);
	json_key(json, "kind");
	json_string(json, file->is_process ? "process" : "file");
	json_key(json, "file");
	json_string(json, files->anonymize ? serve_file_name(file) : file->path);
	json_key(json, "there");
	json_bool(json, file->is_there);
	json_key(json, "bytes");
	if (file->is_there && !file->is_process)
		json_u64(json, file->bytes);
	else
		json_null(json);
	json_key(json, "modified_ns");
	if (file->is_there && !file->is_process)
		json_i64(json, file->modified_ns);
	else
		json_null(json);
	json_object_end(json);
}

void serve_files_write(const struct serve_files *files, bool compares, struct text *ret)
{
	_cleanup_free_ struct json *json = malloc(sizeof(*json));
	if (!json) {
		ret->failed = true;
		return;
	}
	json_init(json, text_write, ret);
	json_object_begin(json);
	json_key(json, "schema");
	json_string(json, "heapwise.serve/1");
	json_key(json, "writer");
	json_string(json, "heapwise " HW_VERSION);
	json_key(json, "compares");
	json_bool(json, compares);
	json_key(json, "left_out");
	json_u64(json, files->left_out);
	json_key(json, "files");
	json_array_begin(json);
	for (size_t i = 0; i < files->len; i++)
		write_file_row(files, i, json);
	json_array_end(json);
	json_object_end(json);
	json_finish(json);
}
