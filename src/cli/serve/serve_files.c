/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/serve/serve_files.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/number.h"

void serve_files_deinit(struct serve_files *files)
{
	for (size_t i = 0; i < files->len; i++)
		free(files->data[i].path);
	free(files->data);
	free(files->folders);
}

static bool is_listed(const struct serve_files *files, const char *path)
{
	for (size_t i = 0; i < files->len; i++)
		if (!files->data[i].is_process && strcmp(files->data[i].path, path) == 0)
			return true;
	return false;
}

/* Takes over the path; NULL: no memory. */
static struct error *add_entry(struct serve_files *files, char *path, bool is_process)
{
	if (!path)
		return error_no_memory();
	if ((!is_process && is_listed(files, path)) || files->len == SERVE_FILES_MAX) {
		free(path);
		return NULL;
	}
	if (files->len == files->cap) {
		size_t cap = files->cap ? files->cap * 2 : 16;
		struct serve_file *moved = realloc(files->data, cap * sizeof(*moved));
		if (!moved) {
			free(path);
			return error_no_memory();
		}
		files->data = moved;
		files->cap = cap;
	}
	files->data[files->len++] = (struct serve_file){.path = path, .is_process = is_process};
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

struct error *serve_files_add(struct serve_files *files, char *word)
{
	struct stat st;
	if (stat(word, &st)) {
		int why = errno;
		if (is_running(word))
			return add_entry(files, strdup(word), true);
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
		size_t before = files->len;
		if (asprintf(&path, "%s%s%s", folder, slash ? "" : "/", entries[i]->d_name) < 0)
			path = NULL;
		bool known = path && is_listed(files, path);
		if (!error)
			error = add_entry(files, path, false);
		else
			free(path);
		files->left_out += !known && files->len == before;
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

static void write_file_row(const struct serve_file *file, size_t number, struct json *json)
{
	json_object_begin(json);
	json_key(json, "number");
	json_u64(json, number);
	json_key(json, "kind");
	json_string(json, file->is_process ? "process" : "file");
	json_key(json, "file");
	json_string(json, file->path);
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

static bool add_to_text(void *ctx, const char *data, size_t len)
{
	struct text *text = ctx;
	text_add_n(text, data, len);
	return !text->failed;
}

void serve_files_write(const struct serve_files *files, bool compares, struct text *ret)
{
	_cleanup_free_ struct json *json = malloc(sizeof(*json));
	if (!json) {
		ret->failed = true;
		return;
	}
	json_init(json, add_to_text, ret);
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
		write_file_row(&files->data[i], i, json);
	json_array_end(json);
	json_object_end(json);
	json_finish(json);
}
