/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/leaks/leak_paths.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"

/* A path by what is read of it. */
struct path_key {
	uint32_t parent, holder, stack;
};

static inline uint64_t path_key_hash(struct path_key key)
{
	return hash_u64(
		(uint64_t)key.parent << 32 ^ hash_u64((uint64_t)key.holder << 32 | key.stack));
}

static inline bool path_key_equal(struct path_key a, struct path_key b)
{
	return a.parent == b.parent && a.holder == b.holder && a.stack == b.stack;
}

DEFINE_MAP(path_map, struct path_key, uint32_t, path_key_hash, path_key_equal)

/* A holder by where it begins: a variable or else a root, and a register of it. */
struct holder_key {
	uint64_t start;
	uint32_t root; /* UINT32_MAX: a variable, whichever root has it */
	uint32_t reg;
};

static inline uint64_t holder_key_hash(struct holder_key key)
{
	return hash_u64(key.start ^ hash_u64((uint64_t)key.root << 32 | key.reg));
}

static inline bool holder_key_equal(struct holder_key a, struct holder_key b)
{
	return a.start == b.start && a.root == b.root && a.reg == b.reg;
}

DEFINE_MAP(holder_map, struct holder_key, uint32_t, holder_key_hash, holder_key_equal)

struct building {
	const struct model *model;
	struct resolver *resolver;
	const uint32_t *stacks;
	struct path_map paths;
	struct holder_map holders;
	struct leak_paths *ret;
};

void leak_paths_init(struct leak_paths *paths)
{
	leak_path_vec_init(&paths->paths);
	leak_holder_vec_init(&paths->holders);
	paths->of_group = NULL;
}

void leak_paths_deinit(struct leak_paths *paths)
{
	leak_path_vec_deinit(&paths->paths);
	leak_holder_vec_deinit(&paths->holders);
	free(paths->of_group);
	paths->of_group = NULL;
}

static const char *thread_name(const struct model *model, uint32_t tid)
{
	size_t count;
	const struct thread *threads = model_threads(model, &count);
	for (size_t i = 0; i < count; i++)
		if (threads[i].tid == tid)
			return threads[i].name;
	return "";
}

static struct error *leak_paths_describe(
	struct building *building, const struct leak_group *group, struct leak_holder *ret)
{
	size_t count;
	const struct leak_root *root = &model_leak_roots(building->model, &count)[group->root];
	*ret = (struct leak_holder){
		.place = root->place,
		.name = root->name,
		.start = root->start,
		.module = root->module,
		.tid = root->tid,
		.thread_name = "",
	};
	if (root->place == LEAK_PLACE_REGISTERS)
		ret->reg = (unsigned)group->root_address;
	if (root->place == LEAK_PLACE_REGISTERS || root->place == LEAK_PLACE_STACK) {
		ret->thread_name = thread_name(building->model, root->tid);
		ret->is_main = root->tid && root->tid == model_target(building->model)->pid;
	}
	if (root->place != LEAK_PLACE_DATA)
		return NULL;
	struct error *error =
		resolver_data(building->resolver, root->module, group->root_address, &ret->data);
	ret->start = group->root_address - ret->data.offset;
	return error;
}

struct error *leak_holder_find_place(struct resolver *resolver, struct leak_holder *holder)
{
	if (holder->place != LEAK_PLACE_DATA || !holder->data.name || holder->is_placed)
		return NULL;
	holder->is_placed = true;
	return resolver_data_place(resolver, holder->module, holder->start, &holder->data);
}

/* The number of what holds the first block of a group, and the word's place in it. */
static struct error *find_holder(struct building *building, const struct leak_group *group,
	uint32_t *ret, uint64_t *ret_offset)
{
	struct leak_holder holder;
	struct error *error = leak_paths_describe(building, group, &holder);
	if (error)
		return error;
	bool variable = holder.place == LEAK_PLACE_DATA && holder.data.name;
	struct holder_key key = {holder.start, variable ? UINT32_MAX : group->root, holder.reg};
	/* Words of nameless data are apart: they may be of different variables. */
	if (holder.place == LEAK_PLACE_DATA && !variable)
		key.start = group->root_address;
	bool numbered = holder.place == LEAK_PLACE_REGISTERS || holder.place == LEAK_PLACE_IGNORED;
	*ret_offset = numbered                          ? 0
		      : variable                        ? holder.data.offset
		      : holder.place == LEAK_PLACE_DATA ? 0
							: group->root_address - holder.start;
	bool is_new;
	uint32_t *number = holder_map_insert(&building->holders, key, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		*number = (uint32_t)building->ret->holders.len;
		if (!leak_holder_vec_push(&building->ret->holders, holder))
			return error_no_memory();
	}
	*ret = *number;
	return NULL;
}

static struct error *leak_paths_add_group(struct building *building, const struct leak_group *group,
	uint32_t stack, uint32_t *ret_path)
{
	struct leak_path_vec *paths = &building->ret->paths;
	struct leak_path path = {.parent = LEAK_NO_PATH,
		.depth = 1,
		.stack = stack,
		.offset = group->offset,
		.into = group->into,
		.size = UINT64_MAX};
	struct error *error = NULL;
	if (group->parent == LEAK_NO_GROUP) {
		error = find_holder(building, group, &path.holder, &path.offset);
	} else {
		path.parent = building->ret->of_group[group->parent];
		path.holder = paths->data[path.parent].holder;
		path.first = paths->data[path.parent].first;
		path.depth = paths->data[path.parent].depth + 1;
	}
	if (error)
		return error;
	bool is_new;
	uint32_t *number = path_map_insert(
		&building->paths, (struct path_key){path.parent, path.holder, stack}, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		*number = (uint32_t)paths->len;
		if (path.parent == LEAK_NO_PATH)
			path.first = *number;
		if (!leak_path_vec_push(paths, path))
			return error_no_memory();
	}
	struct leak_path *known = &paths->data[*number];
	known->words++;
	known->repeats |= group->repeats;
	known->together |= group->together;
	*ret_path = *number;
	return NULL;
}

/* How many blocks there are, and how large, on each path. */
static void add_records(const struct model *model, struct leak_paths *ret)
{
	size_t count;
	const struct leak_record *records = model_leak_records(model, &count);
	for (size_t i = 0; i < count; i++) {
		const struct leak_record *record = &records[i];
		if (record->group == LEAK_NO_GROUP || !record->blocks)
			continue;
		struct leak_path *path = &ret->paths.data[ret->of_group[record->group]];
		bool first = path->blocks == 0;
		uint64_t size = record->example.size; /* the largest */
		bool alike = record->bytes / record->blocks == size &&
			     record->bytes % record->blocks == 0;
		path->size = alike && (first || path->size == size) ? size : UINT64_MAX;
		path->blocks += record->blocks;
		path->bytes += record->bytes;
	}
}

struct error *leak_paths_build(const struct model *model, struct resolver *resolver,
	const uint32_t *stack_of_group, struct leak_paths *ret)
{
	size_t count;
	const struct leak_group *groups = model_leak_groups(model, &count);
	struct building building = {.model = model, .resolver = resolver, .ret = ret};
	path_map_init(&building.paths);
	holder_map_init(&building.holders);
	ret->of_group = calloc(count + 1, sizeof(*ret->of_group));
	struct error *error = ret->of_group ? NULL : error_no_memory();
	for (size_t i = 0; i < count && !error; i++)
		error = leak_paths_add_group(
			&building, &groups[i], stack_of_group[i], &ret->of_group[i]);
	if (!error)
		add_records(model, ret);
	path_map_deinit(&building.paths);
	holder_map_deinit(&building.holders);
	return error;
}

size_t leak_path_steps(const struct leak_paths *paths, uint32_t path, uint32_t ret[LEAK_STEPS_MAX],
	uint32_t *ret_skipped)
{
	const struct leak_path *all = paths->paths.data;
	size_t depth = all[path].depth, shown = min(depth, (size_t)LEAK_STEPS_MAX);
	*ret_skipped = (uint32_t)(depth - shown);
	for (size_t i = shown; i > 0; i--) {
		ret[i - 1] = path;
		path = all[path].parent;
	}
	if (*ret_skipped)
		ret[0] = all[ret[0]].first;
	return shown;
}

const char *leak_holder_register(const struct leak_holder *holder)
{
	static const char *const names[] = LEAK_REGISTER_NAMES;
	return holder->place == LEAK_PLACE_REGISTERS ? names[holder->reg] : NULL;
}

static void add_thread(struct text *text, const struct leak_holder *holder)
{
	if (holder->is_main) {
		text_add(text, "the main thread");
		return;
	}
	text_printf(text, "thread %" PRIu32, holder->tid);
	if (holder->thread_name[0])
		text_printf(text, " (%s)", holder->thread_name);
}

static void add_data(struct text *text, const struct leak_holder *holder)
{
	const struct shown_data *data = &holder->data;
	if (!data->name) {
		if (data->module)
			text_printf(text, "data of %s at 0x%" PRIx64, data->module, data->offset);
		else
			text_printf(text, "data at 0x%" PRIx64, holder->start + data->offset);
		return;
	}
	text_printf(text, "global %s", data->name);
	if (data->file) {
		text_printf(text, " (%s:%" PRIu32 ")", path_last_part(data->file), data->line);
	} else {
		text_printf(text, " (%s)", data->module);
	}
}

void leak_holder_describe(struct text *text, const struct leak_holder *holder)
{
	switch (holder->place) {
	case LEAK_PLACE_DATA:
		add_data(text, holder);
		break;
	case LEAK_PLACE_STACK:
		text_add(text, "stack or thread-local storage of ");
		add_thread(text, holder);
		break;
	case LEAK_PLACE_REGISTERS:
		text_printf(text, "register %s of ", leak_holder_register(holder));
		add_thread(text, holder);
		break;
	case LEAK_PLACE_MAPPING:
		if (holder->name[0])
			text_printf(text, "mapping of %s", holder->name);
		else
			text_printf(text, "memory mapped at 0x%" PRIx64, holder->start);
		break;
	case LEAK_PLACE_REGION:
		text_printf(text, "root region at 0x%" PRIx64, holder->start);
		break;
	case LEAK_PLACE_IGNORED:
		text_add(text, "the program's __lsan_ignore_object or __lsan_disable");
		break;
	}
}
