/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See match.h. Names first, then one hash of names for each row finds its group. */
#include "analysis/compare/match.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"

/* Names of a row, each replaced by what stands for it. */
struct group_key {
	const uint32_t *names, *same_as;
	uint32_t len;
	enum alloc_kind kind;
};

static inline uint64_t group_key_hash(struct group_key key)
{
	uint64_t hash = key.kind;
	for (uint32_t i = 0; i < key.len; i++)
		hash = hash_u64(hash ^ key.same_as[key.names[i]]) + i;
	return hash;
}

static inline bool group_key_equal(struct group_key a, struct group_key b)
{
	if (a.len != b.len || a.kind != b.kind)
		return false;
	for (uint32_t i = 0; i < a.len; i++)
		if (a.same_as[a.names[i]] != b.same_as[b.names[i]])
			return false;
	return true;
}

DEFINE_MAP(group_map, struct group_key, uint32_t, group_key_hash, group_key_equal)

/* How many innermost frames count. Remarks at the outer end (that there is no unwind information)
 * are no part of what other tools write. */
static size_t depth_of(const struct match *match, const struct row *row)
{
	size_t depth = row->depth;
	while (match->mixed && depth && shown_frame_is_remark(row->frames[depth - 1]))
		depth--;
	return match->whole ? depth : frame_keys_depth(match->names, row->frames, depth);
}

static struct error *match_add_member(struct match *match, unsigned side, const struct row *row)
{
	uint32_t *names = arena_alloc(&match->arena, (row->depth + 1) * sizeof(*names));
	if (!names)
		return error_no_memory();
	for (size_t i = 0; i < row->depth; i++) {
		struct error *error = frame_keys_add(match->names, side, row->frames[i], &names[i]);
		if (error)
			return error;
	}
	struct match_member member = {
		.row = row,
		.names = names,
		.len = (uint32_t)depth_of(match, row),
		.side = side,
	};
	return match_member_vec_push(&match->members, member) ? NULL : error_no_memory();
}

static struct error *add_side(struct match *match, unsigned side, const struct rows *rows)
{
	if (!match_member_vec_reserve(&match->members, match->members.len + rows->rows.len))
		return error_no_memory();
	for (size_t i = 0; i < rows->rows.len; i++) {
		struct error *error = match_add_member(match, side, &rows->rows.data[i]);
		if (error)
			return error;
	}
	return NULL;
}

/* Every name stands for itself. */
static struct error *begin_names(struct match *match)
{
	for (uint32_t i = 0; i < frame_keys_limit(match->names); i++)
		if (!match_number_vec_push(&match->same_as, i))
			return error_no_memory();
	return NULL;
}

static bool is_better_example(const struct match_member *a, const struct match_member *b)
{
	if (a->side != b->side)
		return a->side > b->side;
	return a->row->sums->allocated_bytes > b->row->sums->allocated_bytes;
}

/* Operators of all forms (nothrow, aligned) have one name, by which alone other tools know them. */
static enum alloc_kind kind_by_name(enum alloc_kind kind)
{
	int first = 0;
	while (first < (int)kind &&
		strcmp(alloc_kind_name((enum alloc_kind)first), alloc_kind_name(kind)) != 0)
		first++;
	return (enum alloc_kind)first;
}

static struct error *put_into_group(struct match *match, struct group_map *map, uint32_t index)
{
	struct match_member *member = &match->members.data[index];
	struct group_key key = {member->names, match->same_as.data, member->len,
		match->kinds ? kind_by_name(member->row->sums->kind) : KIND_UNKNOWN};
	bool is_new;
	uint32_t *group = group_map_insert(map, key, &is_new);
	if (!group)
		return error_no_memory();
	if (is_new) {
		*group = (uint32_t)match->examples.len;
		if (!match_number_vec_push(&match->examples, index))
			return error_no_memory();
	}
	member->group = *group;
	uint32_t *example = &match->examples.data[*group];
	if (is_better_example(member, &match->members.data[*example]))
		*example = index;
	return NULL;
}

static struct error *make_groups(struct match *match)
{
	_cleanup_(group_map_deinit) struct group_map map;
	group_map_init(&map);
	match_number_vec_clear(&match->examples);
	for (uint32_t i = 0; i < match->members.len; i++) {
		struct error *error = put_into_group(match, &map, i);
		if (error)
			return error;
	}
	return NULL;
}

static struct error *match_fill(
	struct match *match, const struct match_side *sides, size_t count, bool same_recording)
{
	for (size_t i = count; i-- > 0;) {
		struct error *error = add_side(match, (unsigned)i, sides[i].rows);
		if (error)
			return error;
	}
	struct error *error = begin_names(match);
	if (!error && !same_recording)
		error = match_join_fileless(match);
	if (!error)
		error = make_groups(match);
	if (error || count != 2 || same_recording)
		return error;
	error = match_find_renames(match);
	return error || !match->renames.len ? error : make_groups(match);
}

/* Of how many sites the called function is known. */
enum known_kinds { KINDS_NONE, KINDS_SOME, KINDS_ALL };

static enum known_kinds known_kinds_of(const struct model *model)
{
	size_t count, known = 0;
	const struct site *sites = model_sites(model, &count);
	for (size_t i = 0; i < count; i++)
		known += sites[i].kind != KIND_UNKNOWN;
	return known == count ? KINDS_ALL : known ? KINDS_SOME : KINDS_NONE;
}

/*
 * Whether kinds tell places apart. Files of one tool tell of the same ones; another may know some
 * that this one does not: heaptrack only has operators, mtrace realloc.
 */
static bool compares_kinds(const struct match_side *sides, size_t count, bool mixed)
{
	enum known_kinds least = mixed ? KINDS_ALL : KINDS_SOME;
	for (size_t i = 0; i < count; i++)
		if (known_kinds_of(sides[i].model) < least)
			return false;
	return true;
}

static bool is_mixed(const struct match_side *sides, size_t count)
{
	const char *first = model_recording(sides[0].model)->source;
	for (size_t i = 1; i < count; i++)
		if (strcmp(model_recording(sides[i].model)->source, first) != 0)
			return true;
	return false;
}

struct error *match_create(
	const struct match_side *sides, size_t count, bool same_recording, struct match **ret)
{
	_cleanup_(match_cleanup) struct match *match = calloc(1, sizeof(*match));
	if (!match)
		return error_no_memory();
	arena_init(&match->arena);
	const struct model *models[FRAME_KEYS_SIDES_MAX];
	match->whole = true;
	match->mixed = is_mixed(sides, count);
	match->kinds = compares_kinds(sides, count, match->mixed);
	match->side_count = count;
	for (size_t i = 0; i < count; i++) {
		models[i] = sides[i].model;
		if (i < 2)
			match->models[i] = sides[i].model;
		match->whole &= model_recording(models[i])->whole_stacks;
	}
	struct error *error = frame_keys_create(models, count, same_recording, &match->names);
	if (!error)
		error = match_fill(match, sides, count, same_recording);
	if (!error)
		*ret = steal_ptr(match);
	return error;
}

void match_destroy(struct match *match)
{
	if (!match)
		return;
	frame_keys_destroy(match->names);
	arena_deinit(&match->arena);
	match_member_vec_deinit(&match->members);
	match_number_vec_deinit(&match->same_as);
	match_number_vec_deinit(&match->examples);
	match_number_vec_deinit(&match->fileless);
	rename_vec_deinit(&match->renames);
	free(match);
}

const struct match_member *match_members_of(const struct match *match, unsigned side)
{
	size_t first = 0;
	while (first < match->members.len && match->members.data[first].side != side)
		first++;
	return match->members.data + first;
}

/* Frames with place numbers of the match, by those that they have in their models. */
DEFINE_VEC(copy_vec, const struct shown_frame *)

struct copies {
	struct copy_vec of_side[FRAME_KEYS_SIDES_MAX];
};

static void copies_deinit(struct copies *copies)
{
	for (size_t i = 0; i < FRAME_KEYS_SIDES_MAX; i++)
		copy_vec_deinit(&copies->of_side[i]);
}

/* A frame as the newest model calls it, at its own line. NULL: no memory. */
static const struct shown_frame *copy_frame(struct rows *rows, const struct match *match,
	struct copy_vec *copies, const struct shown_frame *frame, uint32_t name)
{
	while (copies->len <= frame->place)
		if (!copy_vec_push(copies, NULL))
			return NULL;
	if (copies->data[frame->place])
		return copies->data[frame->place];
	struct shown_frame *copy = arena_alloc(&rows->arena, sizeof(*copy));
	if (!copy)
		return NULL;
	uint32_t place = match->same_as.data[name];
	*copy = *frame;
	copy->place = place;
	/* Of code without a name only the module is known to be the same: where it is for
	 * several places none of their addresses is its own. */
	const struct identity *name_of = frame_keys_get(match->names, place);
	const struct shown_frame *newest = name_of->example;
	if (name_of->several) {
		copy->address = copy->offset = 0;
		copy->unplaced = true;
	}
	/* Where it does not say the module, the older one's stays. */
	if (newest->module || !frame->function) {
		copy->module = newest->module;
		copy->module_path = newest->module_path;
		copy->by_name = newest->by_name;
	}
	if (newest->function && newest->file && frame->file) {
		copy->function = newest->function;
		copy->file = newest->file;
	}
	copies->data[frame->place] = copy;
	return copy;
}

static struct error *begin_row(
	struct match *match, uint32_t group, struct rows *rows, struct copies *copies)
{
	const struct match_member *example = &match->members.data[match->examples.data[group]];
	const struct row *from = example->row;
	const struct shown_frame **frames =
		arena_alloc(&rows->arena, (from->depth + 1) * sizeof(*frames));
	if (!frames)
		return error_no_memory();
	for (size_t i = 0; i < from->depth; i++) {
		frames[i] = copy_frame(rows, match, &copies->of_side[example->side],
			from->frames[i], example->names[i]);
		if (!frames[i])
			return error_no_memory();
	}
	struct site none = {.stack = from->sums->stack, .kind = from->sums->kind};
	struct row row = {
		.frames = frames,
		.depth = from->depth,
		.sums = &none,
		.base = &none,
		.partial = from->partial,
		.guessed = from->guessed,
		.cut = from->cut,
		.fits_on_stack = from->fits_on_stack,
		.library = from->library ? arena_strdup(&rows->arena, from->library) : NULL,
	};
	for (size_t i = 0; i < from->depth; i++)
		if (from->frames[i] == from->place)
			row.place = frames[i];
	if (!row_own_sums(&row, &rows->arena) || !row_own_base(&row, &rows->arena))
		return error_no_memory();
	return row_vec_push(&rows->rows, row) ? NULL : error_no_memory();
}

struct error *match_rows(struct match *match, unsigned from, struct rows *ret)
{
	_cleanup_(copies_deinit) struct copies copies = {0};
	if (!row_vec_reserve(&ret->rows, match_groups(match)))
		return error_no_memory();
	for (uint32_t i = 0; i < match_groups(match); i++) {
		struct error *error = begin_row(match, i, ret, &copies);
		if (error)
			return error;
	}
	for (size_t i = 0; i < match->members.len; i++) {
		const struct match_member *member = &match->members.data[i];
		struct row *row = &ret->rows.data[member->group];
		const struct match_member *example =
			&match->members.data[match->examples.data[member->group]];
		struct site *sums = row_own_sums(row, &ret->arena);
		struct site *base = row_own_base(row, &ret->arena);
		if (!sums || !base)
			return error_no_memory();
		struct stack_id stack = sums->stack;
		site_add(member->side >= from ? sums : base, member->row->sums);
		sums->stack = base->stack = stack;
		if (member->side >= from)
			row->leak_kinds |= member->row->leak_kinds;
		/* One model's figures may be beyond what a library keeps, another's not. */
		row->library = member->row->library ? row->library : NULL;
		if (member->side == example->side)
			row->stacks += member->row->stacks;
	}
	return NULL;
}

/* Which of two models is the only one with the name. */
static const char *where_of(const struct match *match, const struct identity *name)
{
	uint64_t newest = UINT64_C(1) << (match->side_count - 1);
	return match->side_count != 2    ? ""
	       : name->sides == newest   ? " in the newer recording"
	       : !(name->sides & newest) ? " in the older recording"
					 : "";
}

/* The first name of a module without functions' names, as its example is called. */
static void add_unnamed(const struct match *match, const struct identity *name, struct text *ret)
{
	const char *where = where_of(match, name);
	text_add(ret, "Code of ");
	text_add_shown(ret, name->example->module, SIZE_MAX);
	text_printf(ret,
		" has no names%s: its functions cannot be distinguished, and their allocations "
		"count as one allocation site.\n",
		where);
}

static bool has_inlined(const struct match *match, const char *module)
{
	for (size_t i = 0; i < match->members.len; i++) {
		const struct match_member *member = &match->members.data[i];
		for (uint32_t k = 0; k < member->len; k++)
			if (member->row->frames[k]->inlined &&
				strcmp(frame_keys_get(match->names, member->names[k])->module,
					module) == 0)
				return true;
	}
	return false;
}

DEFINE_VEC(build_vec, struct identity_build)

static bool has_build(const struct build_vec *builds, struct identity_build build)
{
	for (size_t i = 0; i < builds->len; i++)
		if (identity_build_equal(builds->data[i], build))
			return true;
	return false;
}

/* Whether a build that has functions of a module without their file knows the files of others. */
static struct error *knows_files(
	const struct match *match, const bool *fileless, const char *module, bool *ret)
{
	_cleanup_(build_vec_deinit) struct build_vec builds;
	build_vec_init(&builds);
	size_t count;
	const struct identity_origin *origins = frame_keys_origins(match->names, &count);
	for (int with_file = 0; with_file < 2; with_file++)
		for (size_t i = 0; i < count; i++) {
			const struct identity *name = frame_keys_get(match->names, origins[i].name);
			if ((with_file ? !name->file[0] : !fileless[origins[i].name]) ||
				strcmp(name->module, module) != 0)
				continue;
			*ret = has_build(&builds, origins[i].build);
			if (with_file && *ret)
				return NULL;
			if (!with_file && !*ret && !build_vec_push(&builds, origins[i].build))
				return error_no_memory();
		}
	*ret = false;
	return NULL;
}

/* "Functions of app have", or how many if others have files: "2 functions of app, such as
 * parse, have". */
static struct error *add_fileless_functions(const struct match *match, const bool *fileless,
	const struct identity *first, bool *ret_one, struct text *ret)
{
	bool some;
	struct error *error = knows_files(match, fileless, first->module, &some);
	if (error)
		return error;
	size_t count = 0;
	for (size_t i = 0; some && i < match->fileless.len; i++)
		count += strcmp(frame_keys_get(match->names, match->fileless.data[i])->module,
				 first->module) == 0;
	*ret_one = count == 1;
	if (count > 1)
		text_add_count(ret, count);
	text_add(ret, count == 1 ? "Function " : count ? " functions" : "Functions");
	if (count == 1)
		shown_frame_add_shown(ret, first->example);
	text_add(ret, " of ");
	text_add_shown(ret, first->example->module, SIZE_MAX);
	if (count > 1) {
		text_add(ret, ", such as ");
		shown_frame_add_shown(ret, first->example);
		text_add(ret, ",");
	}
	return NULL;
}

/* One sentence a module, at its first name without a file. */
static struct error *add_fileless(const struct match *match, struct text *ret)
{
	_cleanup_free_ bool *fileless =
		calloc(frame_keys_limit(match->names) + 1, sizeof(*fileless));
	if (!fileless)
		return error_no_memory();
	for (size_t i = 0; i < match->fileless.len; i++)
		fileless[match->fileless.data[i]] = true;
	for (size_t i = 0; i < match->fileless.len; i++) {
		const struct identity *name = frame_keys_get(match->names, match->fileless.data[i]);
		bool noted = false, one;
		for (size_t k = 0; k < i && !noted; k++)
			noted = strcmp(frame_keys_get(match->names, match->fileless.data[k])
						->module,
					name->module) == 0;
		if (noted || !name->example->module || !has_inlined(match, name->module))
			continue;
		struct error *error = add_fileless_functions(match, fileless, name, &one, ret);
		if (error)
			return error;
		text_printf(ret,
			" %s no source lines%s: what was inlined into %s counts as %s there, and "
			"as that of inlined functions in the other%s.\n",
			one ? "has" : "have",
			match->side_count == 2 ? where_of(match, name) : " in some of the runs",
			one ? "it" : "them", one ? "its own" : "theirs",
			match->side_count == 2 ? " one" : "s");
	}
	return NULL;
}

struct error *match_note_unnamed(const struct match *match, struct text *ret)
{
	struct error *error = add_fileless(match, ret);
	if (error)
		return error;
	size_t limit = frame_keys_limit(match->names);
	_cleanup_free_ bool *noted = calloc(limit + 1, sizeof(*noted));
	if (!noted)
		return error_no_memory();
	for (size_t i = 0; i < match->members.len; i++) {
		const struct match_member *member = &match->members.data[i];
		for (size_t k = 0; k < member->len; k++) {
			uint32_t name = member->names[k];
			if (noted[name] || !frame_keys_is_vague(match->names, name))
				continue;
			noted[name] = true;
			add_unnamed(match, frame_keys_get(match->names, name), ret);
		}
	}
	return ret->failed ? error_no_memory() : NULL;
}

struct error *match_fold(const struct model *model, struct rows *rows)
{
	struct match_side side = {model, rows};
	_cleanup_(match_cleanup) struct match *match = NULL;
	_cleanup_(rows_deinit) struct rows folded;
	rows_init(&folded);
	struct error *error = match_create(&side, 1, false, &match);
	if (!error)
		error = match_rows(match, 0, &folded);
	if (!error)
		error = match_note_unnamed(match, &folded.remarks);
	if (error)
		return error;
	for (size_t i = 0; i < folded.rows.len; i++)
		row_conclude(&folded.rows.data[i]);
	struct rows before = *rows;
	*rows = folded;
	folded = before;
	return NULL;
}
