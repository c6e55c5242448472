/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See match.h. Rows that only one model has are written as patterns: a name that the other model
 * has as well stays, one that it has not becomes a hole. Rows of both models with the same pattern
 * are "otherwise equal stacks", and what fills a hole of one may be what fills it in the other:
 *
 *   old    parse ← read_conf ← load ← main        parse ← ○ ← load ← main
 *   new    parse ← read_config ← load ← main      parse ← ○ ← load ← main
 *
 * Three ways to be sure of a pair are tried in turn, the surest first, until none finds any more:
 * each pair makes further rows equal.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/match.h"
#include "analysis/compare/rename_proof.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"

enum { OLD, NEW };
#define ROUNDS 16u
#define MANY UINT32_MAX

/* How often a place allocated; what was inherited had been allocated elsewhere: what lives of it.
 */
static uint64_t calls_of(const struct site *site)
{
	return site->allocations ? site->allocations : site->live_blocks;
}

static uint64_t match_renames_bytes_of(const struct site *site)
{
	return site->allocations ? site->allocated_bytes : site->live_bytes;
}

struct pattern_key {
	const uint32_t *names; /* 0: a hole */
	uint32_t len;
	enum alloc_kind kind;
	/* Of WAY_FIGURES; else 0. */
	uint64_t allocations, bytes, min_size, max_size;
};

static inline uint64_t pattern_hash(struct pattern_key key)
{
	uint64_t hash = hash_bytes(key.names, key.len * sizeof(*key.names)) + key.kind;
	hash = hash_u64(hash ^ key.allocations) ^ key.bytes;
	return hash_u64(hash_u64(hash ^ key.min_size) ^ key.max_size);
}

static inline bool pattern_equal(struct pattern_key a, struct pattern_key b)
{
	return a.len == b.len && a.kind == b.kind && a.allocations == b.allocations &&
	       a.bytes == b.bytes && a.min_size == b.min_size && a.max_size == b.max_size &&
	       (!a.len || memcmp(a.names, b.names, a.len * sizeof(*a.names)) == 0);
}

/* The one row of each model with the pattern, + 1; 0: none, MANY: several. */
struct pattern {
	uint32_t row[2];
};

DEFINE_MAP(pattern_map, struct pattern_key, struct pattern, pattern_hash, pattern_equal)

/* Position `at` of a pattern; and a name that is asked about, else 0. */
struct hole_key {
	struct pattern_key pattern;
	uint32_t at, name;
};

static inline uint64_t hole_hash(struct hole_key key)
{
	return hash_u64(pattern_hash(key.pattern) ^ ((uint64_t)key.name << 32 | key.at));
}

static inline bool hole_equal(struct hole_key a, struct hole_key b)
{
	return a.at == b.at && a.name == b.name && pattern_equal(a.pattern, b.pattern);
}

/* The one name of each model that fills it; 0: none, MANY: several. And how often they allocate. */
struct hole {
	uint32_t name[2];
	uint64_t allocations[2];
};

DEFINE_MAP(hole_map, struct hole_key, struct hole, hole_hash, hole_equal)

/* Two names that may be one. */
struct pair {
	uint32_t old, new;
};

DEFINE_VEC(pair_vec, struct pair)

struct search {
	struct match *match;
	uint64_t *sides;      /* of each name: bit set of models that have it, under any name */
	uint32_t *partner[2]; /* of each name of a model, found in this pass; 0: none, MANY */
	struct pair_vec found;
	struct match_number_vec loose; /* members whose group one model alone has */
	struct arena arena;            /* patterns */
	struct rename_proof *proof;
	struct pair_vec refuted; /* that the code of the two distinguishes, or does not tell */
};

static uint32_t name_of(const struct search *search, const struct match_member *member, uint32_t i)
{
	return search->match->same_as.data[member->names[i]];
}

static bool is_one_sided(const struct search *search, uint32_t name)
{
	return search->sides[name] != 3;
}

static struct error *find_loose(struct search *search)
{
	const struct match *match = search->match;
	_cleanup_free_ unsigned char *sides = calloc(match_groups(match) + 1, 1);
	if (!sides)
		return error_no_memory();
	for (size_t i = 0; i < match->members.len; i++)
		sides[match->members.data[i].group] |=
			(unsigned char)(1 << match->members.data[i].side);
	for (uint32_t i = 0; i < match->members.len; i++)
		if (sides[match->members.data[i].group] != 3 &&
			!match_number_vec_push(&search->loose, i))
			return error_no_memory();
	return NULL;
}

static struct error *make_pattern(
	struct search *search, const struct match_member *member, struct pattern_key *ret)
{
	uint32_t *names = arena_alloc(&search->arena, (member->len + 1) * sizeof(*names));
	if (!names)
		return error_no_memory();
	for (uint32_t i = 0; i < member->len; i++) {
		uint32_t name = name_of(search, member, i);
		names[i] = is_one_sided(search, name) ? 0 : name;
	}
	*ret = (struct pattern_key){
		.names = names, .len = member->len, .kind = member->row->sums->kind};
	return NULL;
}

/* Notes that two names may be one; of contradictions neither holds. */
static struct error *match_renames_propose(struct search *search, uint32_t old, uint32_t new)
{
	const uint32_t name[2] = {old, new}, other[2] = {new, old};
	if (search->partner[OLD][old] == new && search->partner[NEW][new] == old)
		return NULL;
	for (int side = OLD; side <= NEW; side++) {
		uint32_t *partner = &search->partner[side][name[side]];
		*partner = *partner && *partner != other[side] ? MANY : other[side];
	}
	return pair_vec_push(&search->found, (struct pair){old, new}) ? NULL : error_no_memory();
}

static bool same_module(const struct search *search, uint32_t old, uint32_t new)
{
	const struct frame_keys *names = search->match->names;
	const struct identity *a = frame_keys_get(names, old), *b = frame_keys_get(names, new);
	return a->mark == MARK_NONE && b->mark == MARK_NONE && a->function[0] && b->function[0] &&
	       strcmp(a->module, b->module) == 0;
}

static bool same_string(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* Fills holes by what a row of either model has there. */
static struct error *fill_holes(struct search *search, struct hole_map *holes)
{
	for (size_t i = 0; i < search->loose.len; i++) {
		const struct match_member *member =
			&search->match->members.data[search->loose.data[i]];
		struct hole_key key = {.name = 0};
		struct error *error = make_pattern(search, member, &key.pattern);
		if (error)
			return error;
		for (key.at = 0; key.at < member->len; key.at++) {
			uint32_t name = name_of(search, member, key.at);
			if (key.pattern.names[key.at])
				continue;
			struct hole *hole = hole_map_insert(holes, key, NULL);
			if (!hole)
				return error_no_memory();
			uint32_t *known = &hole->name[member->side];
			*known = *known && *known != name ? MANY : name;
			hole->allocations[member->side] += calls_of(member->row->sums);
		}
	}
	return NULL;
}

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
	return same_string(a.function, b.function) && same_string(a.module, b.module);
}

DEFINE_MAP(function_map, struct function_key, struct hole, function_hash, function_equal)

/* Of pairs that are not `alike` yet, whether both are in one position. `newer`: of each name the
 * newer one of its pair, or 0. */
static struct error *compare_positions(struct search *search, const uint32_t *newer, bool *alike)
{
	_cleanup_(hole_map_deinit) struct hole_map holes;
	hole_map_init(&holes);
	for (size_t i = 0; i < search->loose.len; i++) {
		const struct match_member *member =
			&search->match->members.data[search->loose.data[i]];
		struct hole_key key = {.pattern = {0}};
		for (key.at = 0; key.at < member->len; key.at++) {
			key.name = newer[name_of(search, member, key.at)];
			if (!key.name || alike[key.name])
				continue;
			struct error *error = key.pattern.names
						      ? NULL
						      : make_pattern(search, member, &key.pattern);
			if (error)
				return error;
			struct hole *hole = hole_map_insert(&holes, key, NULL);
			if (!hole)
				return error_no_memory();
			hole->name[member->side] = 1;
			alike[key.name] = hole->name[OLD] && hole->name[NEW];
		}
	}
	return NULL;
}

static struct error *propose_moved(
	struct search *search, const struct function_map *functions, uint32_t *newer, bool *alike)
{
	const struct hole *hole;
	bool any = false;
	for (uint32_t at = 0; (hole = function_map_next(functions, &at, NULL));) {
		uint32_t old = hole->name[OLD], new = hole->name[NEW];
		if (!old || !new || old == MANY || new == MANY)
			continue;
		newer[old] = newer[new] = new;
		any = true;
	}
	struct error *error = any ? compare_positions(search, newer, alike) : NULL;
	for (uint32_t at = 0; !error && (hole = function_map_next(functions, &at, NULL));) {
		uint32_t old = hole->name[OLD], new = hole->name[NEW];
		if (old && old != MANY && newer[old] && alike[new])
			error = match_renames_propose(search, old, new);
	}
	return error;
}

/* Functions of one name that each model has in one file, another one. */
static struct error *find_moved(struct search *search)
{
	const struct frame_keys *names = search->match->names;
	_cleanup_(function_map_deinit) struct function_map functions;
	function_map_init(&functions);
	for (uint32_t i = 1; i < frame_keys_limit(names); i++) {
		const struct identity *name = frame_keys_get(names, i);
		if (!is_one_sided(search, i) || !name->function[0] || !name->file[0])
			continue;
		struct hole *hole = function_map_insert(
			&functions, (struct function_key){name->function, name->module}, NULL);
		if (!hole)
			return error_no_memory();
		uint32_t *known = &hole->name[name->sides == 1 ? OLD : NEW];
		*known = *known ? MANY : i;
	}
	_cleanup_free_ uint32_t *newer = calloc(frame_keys_limit(names), sizeof(*newer));
	_cleanup_free_ bool *alike = calloc(frame_keys_limit(names), sizeof(*alike));
	if (!newer || !alike)
		return error_no_memory();
	return propose_moved(search, &functions, newer, alike);
}

/* Rows with equal figures in equal positions. */
static struct error *propose_by_figures(struct search *search, const struct pattern *pattern)
{
	const struct match_member *old = &search->match->members.data[pattern->row[OLD] - 1];
	const struct match_member *new = &search->match->members.data[pattern->row[NEW] - 1];
	for (uint32_t i = 0; i < old->len; i++) {
		uint32_t a = name_of(search, old, i), b = name_of(search, new, i);
		if (a == b || !same_module(search, a, b))
			continue;
		const char *file = frame_keys_get(search->match->names, a)->file;
		bool same_file =
			file[0] && same_string(file, frame_keys_get(search->match->names, b)->file);
		if (!same_file && calls_of(old->row->sums) < 2)
			continue;
		struct error *error = match_renames_propose(search, a, b);
		if (error)
			return error;
	}
	return NULL;
}

static struct error *find_by_figures(struct search *search)
{
	_cleanup_(pattern_map_deinit) struct pattern_map patterns;
	pattern_map_init(&patterns);
	for (size_t i = 0; i < search->loose.len; i++) {
		uint32_t index = search->loose.data[i];
		const struct match_member *member = &search->match->members.data[index];
		const struct site *sums = member->row->sums;
		struct pattern_key key;
		struct error *error = make_pattern(search, member, &key);
		if (error)
			return error;
		key.allocations = calls_of(sums);
		key.bytes = match_renames_bytes_of(sums);
		key.min_size = sums->min_size;
		key.max_size = sums->max_size;
		struct pattern *pattern = pattern_map_insert(&patterns, key, NULL);
		if (!pattern)
			return error_no_memory();
		uint32_t *row = &pattern->row[member->side];
		*row = *row ? MANY : index + 1;
	}
	const struct pattern *pattern;
	for (uint32_t at = 0; (pattern = pattern_map_next(&patterns, &at, NULL));) {
		if (!pattern->row[OLD] || !pattern->row[NEW] || pattern->row[OLD] == MANY ||
			pattern->row[NEW] == MANY)
			continue;
		struct error *error = propose_by_figures(search, pattern);
		if (error)
			return error;
	}
	return NULL;
}

/* The one caller of each name in a model's rows; 0: none, MANY. */
static void note_callers(const struct search *search, uint32_t *callers[2])
{
	const struct match *match = search->match;
	for (size_t i = 0; i < match->members.len; i++) {
		const struct match_member *member = &match->members.data[i];
		for (uint32_t at = 0; at + 1 < member->len; at++) {
			uint32_t caller = name_of(search, member, at + 1);
			uint32_t *known = &callers[member->side][name_of(search, member, at)];
			*known = *known && *known != caller ? MANY : caller;
		}
	}
}

static bool is_evidence(const struct search *search, uint32_t name)
{
	const struct shown_frame *frame = frame_keys_get(search->match->names, name)->example;
	return name && frame && frame->is_program && !frame->is_wrapper;
}

static struct error *find_by_callee(struct search *search)
{
	_cleanup_free_ uint32_t *old = calloc(frame_keys_limit(search->match->names), sizeof(*old));
	_cleanup_free_ uint32_t *new = calloc(frame_keys_limit(search->match->names), sizeof(*new));
	if (!old || !new)
		return error_no_memory();
	note_callers(search, (uint32_t *[]){old, new});
	_cleanup_(hole_map_deinit) struct hole_map holes;
	hole_map_init(&holes);
	struct error *error = fill_holes(search, &holes);
	const struct hole_key *key;
	const struct hole *hole;
	for (uint32_t at = 0; !error && (hole = hole_map_next(&holes, &at, &key));) {
		uint32_t a = hole->name[OLD], b = hole->name[NEW];
		if (!a || !b || a == MANY || b == MANY || !key->at || !same_module(search, a, b))
			continue;
		uint32_t callee = key->pattern.names[key->at - 1];
		uint64_t less = min(hole->allocations[OLD], hole->allocations[NEW]);
		uint64_t more = max(hole->allocations[OLD], hole->allocations[NEW]);
		if (is_evidence(search, callee) && old[callee] == a && new[callee] == b &&
			more / 2 <= less)
			error = match_renames_propose(search, a, b);
	}
	return error;
}

static bool is_refuted(const struct search *search, struct pair pair)
{
	for (size_t i = 0; i < search->refuted.len; i++)
		if (search->refuted.data[i].old == pair.old &&
			search->refuted.data[i].new == pair.new)
			return true;
	return false;
}

/* Makes the newer name stand for both, if the code of neither build has both. */
static struct error *match_renames_accept(struct search *search, struct pair pair, bool *ret_any)
{
	struct match *match = search->match;
	const struct identity *old = frame_keys_get(match->names, pair.old);
	const struct identity *new = frame_keys_get(match->names, pair.new);
	if (search->partner[OLD][pair.old] != pair.new ||
		search->partner[NEW][pair.new] != pair.old || is_refuted(search, pair))
		return NULL;
	bool proven;
	struct error *error = rename_proof_find(search->proof, old, new, &proven);
	if (error)
		return error;
	if (!proven)
		return pair_vec_push(&search->refuted, pair) ? NULL : error_no_memory();
	for (size_t i = 0; i < match->same_as.len; i++)
		if (match->same_as.data[i] == pair.old)
			match->same_as.data[i] = pair.new;
	search->sides[pair.old] = search->sides[pair.new] = 3;
	*ret_any = true;
	struct rename rename = {
		old->example, new->example, same_string(old->function, new->function)};
	return rename_vec_push(&match->renames, rename) ? NULL : error_no_memory();
}

/* One way, once. */
static struct error *try_way(
	struct search *search, struct error *(*find)(struct search *), bool *ret_any)
{
	size_t bytes = frame_keys_limit(search->match->names) * sizeof(uint32_t);
	memset(search->partner[OLD], 0, bytes);
	memset(search->partner[NEW], 0, bytes);
	pair_vec_clear(&search->found);
	*ret_any = false;
	struct error *error = find(search);
	for (size_t i = 0; i < search->found.len && !error; i++)
		error = match_renames_accept(search, search->found.data[i], ret_any);
	return error;
}

static struct error *try_all(struct search *search)
{
	static struct error *(*const ways[])(struct search *) = {
		find_moved, find_by_figures, find_by_callee};
	for (unsigned round = 0, way = 0; round < ROUNDS && way < ARRAY_SIZE(ways); round++) {
		bool any;
		struct error *error = try_way(search, ways[way], &any);
		if (error)
			return error;
		way = any ? 0 : way + 1;
	}
	return NULL;
}

static int compare_renames(const void *left, const void *right)
{
	const struct rename *a = left, *b = right;
	return strcmp(a->to->function, b->to->function);
}

static struct error *search_init(struct search *search)
{
	size_t limit = frame_keys_limit(search->match->names);
	search->sides = calloc(limit, sizeof(*search->sides));
	search->partner[OLD] = calloc(limit, sizeof(uint32_t));
	search->partner[NEW] = calloc(limit, sizeof(uint32_t));
	if (!search->sides || !search->partner[OLD] || !search->partner[NEW])
		return error_no_memory();
	const uint32_t *same_as = search->match->same_as.data;
	for (uint32_t i = 0; i < limit; i++)
		search->sides[same_as[i]] |= frame_keys_get(search->match->names, i)->sides;
	for (uint32_t i = 0; i < limit; i++)
		search->sides[i] = search->sides[same_as[i]];
	const struct model *models[2];
	for (int side = OLD; side <= NEW; side++)
		models[side] = search->match->models[side];
	struct error *error = rename_proof_create(models, &search->proof);
	return error ? error : find_loose(search);
}

static void search_deinit(struct search *search)
{
	free(search->sides);
	free(search->partner[OLD]);
	free(search->partner[NEW]);
	pair_vec_deinit(&search->found);
	pair_vec_deinit(&search->refuted);
	rename_proof_destroy(search->proof);
	match_number_vec_deinit(&search->loose);
	arena_deinit(&search->arena);
}

struct error *match_find_renames(struct match *match)
{
	_cleanup_(search_deinit) struct search search = {.match = match};
	arena_init(&search.arena);
	struct error *error = search_init(&search);
	if (!error && search.loose.len)
		error = try_all(&search);
	if (match->renames.len)
		qsort(match->renames.data, match->renames.len, sizeof(*match->renames.data),
			compare_renames);
	return error;
}
