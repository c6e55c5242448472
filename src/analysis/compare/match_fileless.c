/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See match.h. A function whose file only some builds know has two names: with the file, and
 * without. They are one if there is one file, and no build has both: one that has both tells two
 * functions apart.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/match.h"
#include "base/cleanup.h"
#include "base/map.h"

#define MANY UINT32_MAX

/* A function by its name alone. */
struct function_key {
	const char *function, *module;
};

static inline uint64_t function_hash(struct function_key key)
{
	return hash_u64(hash_bytes(key.function, strlen(key.function)) ^
			hash_bytes(key.module, strlen(key.module)));
}

static inline bool function_equal(struct function_key a, struct function_key b)
{
	return strcmp(a.function, b.function) == 0 && strcmp(a.module, b.module) == 0;
}

/* Its names; 0: none, MANY: it is of several files. */
struct forms {
	uint32_t with_file, without;
};

DEFINE_MAP(function_map, struct function_key, struct forms, function_hash, function_equal)

/* A function as one build of its module has it. */
struct build_key {
	uint32_t with_file; /* its name */
	struct identity_build build;
};

static inline uint64_t build_hash(struct build_key key)
{
	uint64_t hash = hash_u64((uint64_t)key.with_file << 32 | key.build.file);
	return hash_u64(hash ^ (uint64_t)(uintptr_t)key.build.path) + key.build.side;
}

static inline bool build_equal(struct build_key a, struct build_key b)
{
	return a.with_file == b.with_file && identity_build_equal(a.build, b.build);
}

DEFINE_MAP(build_map, struct build_key, uint32_t, build_hash, build_equal)

static struct error *match_fileless_collect(
	const struct frame_keys *names, struct function_map *functions)
{
	for (uint32_t i = 1; i < frame_keys_limit(names); i++) {
		const struct identity *name = frame_keys_get(names, i);
		if (name->mark != MARK_NONE || !name->function[0] || name->same_file)
			continue;
		struct forms *forms = function_map_insert(
			functions, (struct function_key){name->function, name->module}, NULL);
		if (!forms)
			return error_no_memory();
		uint32_t *form = name->file[0] ? &forms->with_file : &forms->without;
		*form = *form ? MANY : i;
	}
	return NULL;
}

static bool is_pair(const struct forms *forms)
{
	return forms->with_file && forms->with_file != MANY && forms->without &&
	       forms->without != MANY;
}

/* Sets in `ret`, of both names of each pair, the one with a file; false: no function has two. */
static bool find_pairs(const struct function_map *functions, uint32_t *ret)
{
	bool any = false;
	const struct forms *forms;
	for (uint32_t at = 0; (forms = function_map_next(functions, &at, NULL));) {
		if (!is_pair(forms))
			continue;
		ret[forms->with_file] = ret[forms->without] = forms->with_file;
		any = true;
	}
	return any;
}

/* Takes back pairs of which one build has both names. */
static struct error *drop_contradicted(const struct frame_keys *names, uint32_t *pairs)
{
	_cleanup_(build_map_deinit) struct build_map builds;
	build_map_init(&builds);
	size_t count;
	const struct identity_origin *origins = frame_keys_origins(names, &count);
	for (size_t i = 0; i < count; i++) {
		uint32_t with_file = pairs[origins[i].name];
		if (!with_file)
			continue;
		bool is_new;
		uint32_t *known = build_map_insert(
			&builds, (struct build_key){with_file, origins[i].build}, &is_new);
		if (!known)
			return error_no_memory();
		if (is_new)
			*known = origins[i].name;
		if (*known != origins[i].name)
			pairs[with_file] = 0;
	}
	return NULL;
}

struct error *match_join_fileless(struct match *match)
{
	const struct frame_keys *names = match->names;
	_cleanup_(function_map_deinit) struct function_map functions;
	function_map_init(&functions);
	_cleanup_free_ uint32_t *pairs = calloc(frame_keys_limit(names), sizeof(*pairs));
	struct error *error = pairs ? match_fileless_collect(names, &functions) : error_no_memory();
	if (error || !find_pairs(&functions, pairs))
		return error;
	error = drop_contradicted(names, pairs);
	for (uint32_t i = 1; i < frame_keys_limit(names) && !error; i++) {
		uint32_t other = pairs[i];
		if (!other || other == i || !pairs[other])
			continue;
		/* What the newest model calls it stands for both. */
		bool newer = frame_keys_get(names, i)->sides > frame_keys_get(names, other)->sides;
		match->same_as.data[newer ? other : i] = newer ? i : other;
		if (!match_number_vec_push(&match->fileless, i))
			error = error_no_memory();
	}
	return error;
}
