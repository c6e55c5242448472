/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/comparison.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"

#define NEWER ((uint64_t)1 << 1)

/* A file or module as both models call it; file NULL: a module. */
struct common {
	const char *file, *module;
};

static inline uint64_t common_hash(struct common key)
{
	uint64_t hash = hash_bytes(key.module, strlen(key.module));
	return key.file ? hash_u64(hash ^ hash_bytes(key.file, strlen(key.file))) : hash;
}

static inline bool common_equal(struct common a, struct common b)
{
	return strcmp(a.module, b.module) == 0 && !a.file == !b.file &&
	       (!a.file || strcmp(a.file, b.file) == 0);
}

struct counterpart {
	const struct shown_frame *frame; /* NULL: there are several */
};

DEFINE_MAP(counterparts, struct common, struct counterpart, common_hash, common_equal)

/* False: it is no code. */
static bool common_of(const struct identity *identity, enum grain grain, struct common *ret)
{
	if (identity->mark != MARK_NONE || !identity->example)
		return false;
	*ret = (struct common){.module = identity->module};
	if (grain == GRAIN_FILES && *identity->file)
		ret->file = identity->file;
	return ret->file || *ret->module;
}

/* Whether both are shown as one. */
static bool is_one(const struct shown_frame *a, const struct shown_frame *b, bool file)
{
	const char *x = file ? a->file : a->module_path, *y = file ? b->file : b->module_path;
	return x && y && strcmp(x, y) == 0;
}

/* Files and modules of the newer model. */
static struct error *change_spots_learn(
	const struct frame_keys *names, enum grain grain, struct counterparts *ret)
{
	for (uint32_t i = 1; i < frame_keys_limit(names); i++) {
		const struct identity *identity = frame_keys_get(names, i);
		struct common key;
		bool is_new;
		if (!(identity->sides & NEWER) || !common_of(identity, grain, &key))
			continue;
		struct counterpart *known = counterparts_insert(ret, key, &is_new);
		if (!known)
			return error_no_memory();
		if (is_new)
			known->frame = identity->example;
		else if (known->frame && !is_one(known->frame, identity->example, key.file))
			known->frame = NULL;
	}
	return NULL;
}

static struct error *join_frame(const struct shown_frame *frame, const struct identity *identity,
	const struct counterparts *counterparts, struct spots *spots)
{
	struct common key;
	if ((identity->sides & NEWER) || !common_of(identity, spots_grain(spots), &key))
		return NULL;
	const struct counterpart *known = counterparts_find(counterparts, key);
	return known && known->frame ? spots_join(spots, frame, known->frame) : NULL;
}

static struct error *change_spots_join(const struct comparison *comparison, struct spots *spots)
{
	const struct frame_keys *names = comparison->diff.match->names;
	const struct rows *rows = &comparison->diff.rows;
	_cleanup_(counterparts_deinit) struct counterparts counterparts;
	counterparts_init(&counterparts);
	struct error *error = change_spots_learn(names, spots_grain(spots), &counterparts);
	for (size_t i = 0; !error && i < rows->rows.len; i++) {
		const struct row *row = &rows->rows.data[i];
		for (size_t k = 0; !error && k < row->depth; k++)
			error = join_frame(row->frames[k],
				frame_keys_get(names, row->frames[k]->place), &counterparts, spots);
	}
	return error;
}

struct error *change_spots_create(
	const struct comparison *comparison, enum grain grain, struct spots **ret)
{
	_cleanup_(spots_cleanup) struct spots *spots = NULL;
	struct error *error = spots_create(grain, &spots);
	if (!error && (grain == GRAIN_FILES || grain == GRAIN_MODULES))
		error = change_spots_join(comparison, spots);
	if (!error)
		*ret = steal_ptr(spots);
	return error;
}
