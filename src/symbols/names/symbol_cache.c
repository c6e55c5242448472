/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/names/symbol_cache.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "symbols/names/names_store.h"
#include "symbols/symbols.h"

/*
 * The clock of files ticks every 1 to 10 ms, and on some file systems every second or two; within a
 * tick a file can change twice with one time.
 */
#define SETTLED_NS INT64_C(50000000)
#define SETTLED_COARSE_NS INT64_C(3000000000)
#define NS_PER_SECOND INT64_C(1000000000)

static int64_t to_ns(struct timespec time)
{
	int64_t ns;
	return __builtin_mul_overflow((int64_t)time.tv_sec, NS_PER_SECOND, &ns) ||
			       __builtin_add_overflow(ns, (int64_t)time.tv_nsec, &ns)
		       ? INT64_MAX
		       : ns;
}

static bool is_settled(const struct stat *status)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t changed = to_ns(status->st_ctim);
	bool coarse = status->st_ctim.tv_nsec == 0;
	return changed <= to_ns(now) - (coarse ? SETTLED_COARSE_NS : SETTLED_NS);
}

static void add_identity(
	struct text *key, const char *what, const char *path, const struct stat *status)
{
	text_printf(key, "%s %zu:%s %ju %ju %jd %" PRId64 " %" PRId64 "\n", what, strlen(path),
		path, (uintmax_t)status->st_dev, (uintmax_t)status->st_ino,
		(intmax_t)status->st_size, to_ns(status->st_mtim), to_ns(status->st_ctim));
}

/* false: nothing tells whether it will be the same. */
static bool add_object(struct text *key, const char *what, const struct object *object)
{
	struct stat status;
	if (!object)
		return true;
	if (object->fd < 0 || fstat(object->fd, &status) < 0 || !is_settled(&status))
		return false;
	add_identity(key, what, object->path, &status);
	return true;
}

/* Another version of this program or of libdw may have other names for the same code. */
static bool add_tools(struct text *key)
{
	struct stat program, library;
	Dl_info info;
	void *function = dlsym(RTLD_DEFAULT, "dwarf_begin_elf");
	if (stat("/proc/self/exe", &program) < 0 || !function || !dladdr(function, &info) ||
		stat(info.dli_fname, &library) < 0)
		return false;
	add_identity(key, "by", "", &program);
	add_identity(key, "with", "", &library);
	return true;
}

/* false: answers of now must not be used later. */
static bool make_key(
	struct text *key, const struct symbols_settings *settings, const struct debug_files *files)
{
	text_clear(key);
	text_printf(key, "linkage names %d\nshared missing %d %d\n",
		settings->names != SYMBOLS_NAMES_SHORT, files->main && files->main->alt_missing,
		files->separate && files->separate->alt_missing);
	return (files->main || files->separate) && add_object(key, "module", files->main) &&
	       add_object(key, "debug", files->separate) && add_object(key, "shared", files->alt) &&
	       add_tools(key) && !key->failed;
}

static char *make_name(const struct text *key, const uint8_t *build_id, size_t build_id_len)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	for (size_t i = 0; i < build_id_len; i++)
		text_printf(&name, "%02x", build_id[i]);
	/* Only so that each key has a file of its own: the key itself is in it. */
	text_printf(&name, "-%016" PRIx64 ".names", hash_bytes(key->data, key->len));
	return name.failed ? NULL : text_steal(&name);
}

/* Bytes of the module's file, if they are answers for the key. */
static bool symbol_cache_load(const struct symbol_cache *known, const char *folder,
	uint8_t **ret_data, struct names_file *ret)
{
	size_t len;
	_cleanup_free_ uint8_t *data = NULL;
	if (!names_store_read(folder, known->name, &data, &len) ||
		!names_file_parse(ret, data, len) ||
		!names_file_has_key(ret, known->key.data, known->key.len))
		return false;
	*ret_data = steal_ptr(data);
	return true;
}

/* The state tells which file is asked for more; a hostile file may tell one that is not there. */
static bool symbol_cache_fits(const struct names_file *file, const struct debug_files *files)
{
	const struct names_header *header = file->header;
	return (header->state == SYMBOLS_DWARF || header->state == SYMBOLS_SYMTAB) &&
	       (header->separate ? files->separate : files->main);
}

/* Longer ones than linkers make are no names of files. */
#define BUILD_ID_MAX 64u

void symbol_cache_open(struct symbol_cache *known, const struct symbols_settings *settings,
	const uint8_t *build_id, size_t build_id_len, const struct debug_files *files)
{
	text_init(&known->key);
	/* Split units that are asked for are to be found, for callers that want all of them. */
	if (!settings->names_folder || settings->own_split || !build_id_len ||
		build_id_len > BUILD_ID_MAX || !make_key(&known->key, settings, files))
		return;
	known->name = make_name(&known->key, build_id, build_id_len);
	if (!known->name ||
		!symbol_cache_load(known, settings->names_folder, &known->data, &known->file))
		return;
	known->strings = calloc((size_t)known->file.header->strings + 1, sizeof(*known->strings));
	if (!known->strings || !symbol_cache_fits(&known->file, files)) {
		free(known->data);
		known->data = NULL;
	}
}

void symbol_cache_close(struct symbol_cache *known)
{
	text_deinit(&known->key);
	free(known->name);
	free(known->data);
	free((void *)known->strings);
	*known = (struct symbol_cache){.name = NULL};
}

static struct error *keep_string(
	struct symbol_cache *known, struct strings *strings, uint32_t number, const char **ret)
{
	*ret = NULL;
	if (number == 0)
		return NULL;
	const char **kept = &known->strings[number - 1];
	struct error *error =
		*kept ? NULL : strings_keep(strings, names_file_string(&known->file, number), kept);
	*ret = *kept;
	return error;
}

static struct error *keep_symbol(struct symbol_cache *known, struct strings *strings,
	const struct names_symbol *from, struct symbol *ret)
{
	*ret = (struct symbol){.line = from->line};
	struct error *error = keep_string(known, strings, from->function, &ret->function);
	if (!error)
		error = keep_string(known, strings, from->raw_name, &ret->raw_name);
	if (!error)
		error = keep_string(known, strings, from->linkage_name, &ret->linkage_name);
	return error ? error : keep_string(known, strings, from->file, &ret->file);
}

struct error *symbol_cache_find(struct symbol_cache *known, struct strings *strings,
	uint64_t address, const struct symbol **ret, size_t *ret_count)
{
	*ret_count = 0;
	size_t count;
	const struct names_symbol *found =
		known->data ? names_file_find(&known->file, address, &count) : NULL;
	if (!found)
		return NULL;
	struct symbol *symbols = arena_alloc(&strings->arena, count * sizeof(*symbols));
	if (!symbols)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		struct error *error = keep_symbol(known, strings, &found[i], &symbols[i]);
		if (error)
			return error;
		symbols[i].inlined = i + 1 < count;
	}
	*ret = symbols;
	*ret_count = count;
	return NULL;
}

/* Adds what is on disk by now: another command may have added to it meanwhile. */
static struct error *add_kept(struct symbol_cache *known, const char *folder,
	struct names_answer_vec *answers, struct strings *strings)
{
	struct symbol_cache disk = {.name = known->name, .key = known->key};
	if (!symbol_cache_load(&disk, folder, &disk.data, &disk.file))
		return NULL;
	size_t own = answers->len;
	names_answers_sort(answers);
	disk.strings = calloc((size_t)disk.file.header->strings + 1, sizeof(*disk.strings));
	struct error *error = disk.strings ? NULL : error_no_memory();
	for (uint32_t i = 0; !error && i < disk.file.header->addresses; i++) {
		struct names_answer answer = {.address = disk.file.addresses[i]};
		if (own &&
			bsearch(&answer, answers->data, own, sizeof(answer), names_answer_compare))
			continue;
		error = symbol_cache_find(
			&disk, strings, answer.address, &answer.symbols, &answer.count);
		if (!error && !names_answer_vec_push(answers, answer))
			error = error_no_memory();
	}
	free(disk.data);
	free((void *)disk.strings);
	return error;
}

bool symbol_cache_keep(struct symbol_cache *known, const struct symbols_settings *settings,
	const struct debug_files *files, const struct names_header *as,
	struct names_answer_vec *answers, struct strings *strings)
{
	_cleanup_(text_deinit) struct text key;
	_cleanup_(buf_deinit) struct buf buf;
	text_init(&key);
	buf_init(&buf);
	if (!known->name || !make_key(&key, settings, files) || key.len != known->key.len ||
		memcmp(key.data, known->key.data, key.len) != 0)
		return false;
	const char *folder = settings->names_folder;
	_cleanup_error_ struct error *error = add_kept(known, folder, answers, strings);
	if (error)
		return false;
	names_answers_sort(answers);
	if (!names_write(&buf, as, known->key.data, known->key.len, answers))
		return false;
	names_store_write(folder, known->name, buf.data, buf.len);
	return true;
}
