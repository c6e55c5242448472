/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See grain.h. Names are the keys: frames of two recordings that are compared meet in one spot. */
#include "analysis/grain.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"

static uint64_t hash_frame(const struct shown_frame *frame)
{
	return hash_u64((uintptr_t)frame);
}

static bool same_frame(const struct shown_frame *a, const struct shown_frame *b)
{
	return a == b;
}

static uint64_t hash_name(const char *name)
{
	return hash_bytes(name, strlen(name));
}

static bool same_name(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

DEFINE_MAP(frame_spots, const struct shown_frame *, const struct spot *, hash_frame, same_frame)
DEFINE_MAP(key_spots, const char *, const struct spot *, hash_name, same_name)

/* Stacks that follow one another mostly have the same outer frames: what was found for the frame
 * that came last so many frames inward of the outermost one. */
#define LATEST_DEPTHS 64u

struct latest_spot {
	const struct shown_frame *frame; /* NULL: none yet */
	const struct spot *spot;
};

struct spots {
	enum grain grain;
	struct arena arena;
	struct frame_spots by_frame;
	struct key_spots by_key;
	struct spot_vec all;
	struct latest_spot latest[LATEST_DEPTHS];
};

static const struct {
	const char *many, *one;
} grain_names[] = {
	[GRAIN_FUNCTIONS] = {"functions", "function"},
	[GRAIN_LINES] = {"lines", "line"},
	[GRAIN_FILES] = {"files", "file"},
	[GRAIN_ADDRESSES] = {"addresses", "address"},
	[GRAIN_MODULES] = {"modules", "module"},
};
static_assert(ARRAY_SIZE(grain_names) == GRAINS, "each grain has a name");

const char *grain_name(enum grain grain)
{
	return grain_names[grain].many;
}

const char *grain_one(enum grain grain)
{
	return grain_names[grain].one;
}

struct error *spots_create(enum grain grain, struct spots **ret)
{
	struct spots *spots = calloc(1, sizeof(*spots));
	if (!spots)
		return error_no_memory();
	spots->grain = grain;
	arena_init(&spots->arena);
	frame_spots_init(&spots->by_frame);
	key_spots_init(&spots->by_key);
	spot_vec_init(&spots->all);
	*ret = spots;
	return NULL;
}

void spots_destroy(struct spots *spots)
{
	if (!spots)
		return;
	arena_deinit(&spots->arena);
	frame_spots_deinit(&spots->by_frame);
	key_spots_deinit(&spots->by_key);
	spot_vec_deinit(&spots->all);
	free(spots);
}

enum grain spots_grain(const struct spots *spots)
{
	return spots->grain;
}

struct arena *spots_arena(struct spots *spots)
{
	return &spots->arena;
}

size_t spots_count(const struct spots *spots)
{
	return spots->all.len;
}

const struct spot *spots_at(const struct spots *spots, size_t id)
{
	return spots->all.data[id];
}

/* Whether spots are named by their functions. */
static bool is_function(enum grain grain)
{
	return grain != GRAIN_FILES && grain != GRAIN_MODULES;
}

static const char *module_name(const struct shown_frame *frame)
{
	return frame->module                     ? frame->module
	       : shown_frame_is_managed(frame)   ? "[in no module]"
	       : frame->function && frame->given ? "[not in the file]"
	       : frame->function                 ? "[made at run time]"
						 : "[in no file]";
}

static void grain_add_name(struct text *text, enum grain grain, const struct shown_frame *frame)
{
	if (frame->mark == MARK_SIGNAL) {
		text_add(text, stack_mark_text(frame->mark));
		return;
	}
	if (frame->mark != MARK_NONE) {
		text_printf(text, "(%s)", stack_mark_text(frame->mark));
		return;
	}
	switch (grain) {
	case GRAIN_FILES:
		text_add(text, frame->file ? frame->file : module_name(frame));
		return;
	case GRAIN_MODULES:
		text_add(text, module_name(frame));
		return;
	default:
		shown_frame_add_code(text, frame);
		return;
	}
}

/* What makes a spot: equal keys, one spot. Fields are apart by a byte that no name has. */
static void add_key(struct text *text, enum grain grain, const struct shown_frame *frame)
{
	grain_add_name(text, grain, frame);
	bool by_name = frame->by_name && frame->function;
	text_printf(text, "\n%s\n", frame->module && !by_name ? frame->module : "");
	if (frame->mark != MARK_NONE || grain == GRAIN_FILES || grain == GRAIN_MODULES)
		return;
	if (grain == GRAIN_LINES || grain == GRAIN_ADDRESSES)
		text_printf(text, "%s:%" PRIu32, frame->file ? frame->file : "", frame->line);
	if (grain == GRAIN_ADDRESSES && frame->instruction)
		text_printf(text, "\n#%" PRIu32, frame->instruction);
	else if (grain == GRAIN_ADDRESSES)
		text_printf(text, "\n%" PRIx64, frame->offset ? frame->offset : frame->address);
}

static void add_file_key(struct text *text, const struct shown_frame *frame)
{
	grain_add_name(text, GRAIN_FILES, frame);
}

static struct error *make_spot(
	struct spots *spots, const struct shown_frame *frame, const struct spot **ret)
{
	struct spot *spot = arena_alloc(&spots->arena, sizeof(*spot));
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	grain_add_name(&name, spots->grain, frame);
	if (!spot || name.failed)
		return error_no_memory();
	*spot = (struct spot){
		.id = (uint32_t)spots->all.len,
		.frame = frame,
		.name = arena_strdup(&spots->arena, name.data ? name.data : ""),
	};
	spot->brief = is_function(spots->grain) && frame->brief ? frame->brief : spot->name;
	if (!spot->name || !spot_vec_push(&spots->all, spot))
		return error_no_memory();
	*ret = spot;
	return NULL;
}

static struct error *find_by_key(
	struct spots *spots, const struct shown_frame *frame, const struct spot **ret)
{
	_cleanup_(text_deinit) struct text key;
	text_init(&key);
	/* A header's figures are its own, whichever library took it in. */
	if (spots->grain == GRAIN_FILES && frame->file)
		add_file_key(&key, frame);
	else
		add_key(&key, spots->grain, frame);
	if (key.failed)
		return error_no_memory();
	const struct spot **known = key_spots_find(&spots->by_key, key.data);
	if (known) {
		*ret = *known;
		return NULL;
	}
	struct error *error = make_spot(spots, frame, ret);
	if (error)
		return error;
	bool is_new;
	const char *kept = arena_strdup(&spots->arena, key.data);
	known = kept ? key_spots_insert(&spots->by_key, kept, &is_new) : NULL;
	if (!known)
		return error_no_memory();
	*known = *ret;
	return NULL;
}

/* Said of how a stack was found, not of what called what. */
static bool is_remark(const struct shown_frame *frame)
{
	return frame->mark != MARK_NONE && frame->mark != MARK_SIGNAL &&
	       !stack_mark_cut(frame->mark);
}

struct error *spots_find(
	struct spots *spots, const struct shown_frame *frame, const struct spot **ret)
{
	*ret = NULL;
	if (is_remark(frame))
		return NULL;
	const struct spot **known = frame_spots_find(&spots->by_frame, frame);
	if (known) {
		*ret = *known;
		return NULL;
	}
	struct error *error = find_by_key(spots, frame, ret);
	if (error)
		return error;
	bool is_new;
	known = frame_spots_insert(&spots->by_frame, frame, &is_new);
	if (!known)
		return error_no_memory();
	*known = *ret;
	return NULL;
}

/* As spots_find(), of a frame that is so far inward of the outermost one of its stack. */
static struct error *find_at_depth(
	struct spots *spots, const struct shown_frame *frame, size_t depth, const struct spot **ret)
{
	if (depth >= LATEST_DEPTHS)
		return spots_find(spots, frame, ret);
	struct latest_spot *latest = &spots->latest[depth];
	if (latest->frame != frame) {
		struct error *error = spots_find(spots, frame, &latest->spot);
		latest->frame = error ? NULL : frame;
		if (error)
			return error;
	}
	*ret = latest->spot;
	return NULL;
}

struct error *spots_join(
	struct spots *spots, const struct shown_frame *frame, const struct shown_frame *with)
{
	const struct spot *spot;
	bool is_new;
	struct error *error = spots_find(spots, with, &spot);
	if (error || !spot)
		return error;
	const struct spot **known = frame_spots_insert(&spots->by_frame, frame, &is_new);
	if (!known)
		return error_no_memory();
	if (is_new)
		*known = spot;
	memset(spots->latest, 0, sizeof(spots->latest));
	return NULL;
}

struct error *spots_stack(struct spots *spots, const struct shown_frame *const *frames,
	size_t count, struct spot_vec *ret)
{
	bool joins = spots->grain == GRAIN_FILES || spots->grain == GRAIN_MODULES;
	ret->len = 0;
	for (size_t i = 0; i < count; i++) {
		const struct spot *spot;
		struct error *error = find_at_depth(spots, frames[i], count - 1 - i, &spot);
		if (error)
			return error;
		if (!spot || (joins && ret->len && ret->data[ret->len - 1] == spot))
			continue;
		if (!spot_vec_push(ret, spot))
			return error_no_memory();
	}
	return NULL;
}

static void grain_add_place(struct text *text, enum grain grain, const struct spot *spot,
	const char *name, const char *joint)
{
	const struct shown_frame *frame = spot->frame;
	text_add_shown(text, name, SIZE_MAX);
	if (frame->mark != MARK_NONE || (grain != GRAIN_LINES && grain != GRAIN_ADDRESSES))
		return;
	if (frame->file) {
		text_add(text, joint);
		text_add_shown(text, path_last_part(frame->file), SIZE_MAX);
		if (frame->line)
			text_printf(text, ":%" PRIu32, frame->line);
	}
	if (grain == GRAIN_ADDRESSES && frame->instruction)
		text_printf(text, "%s#%" PRIu32, joint, frame->instruction - 1);
	else if (grain == GRAIN_ADDRESSES && frame->function && (frame->offset || frame->address))
		text_printf(text, "%s0x%" PRIx64, joint,
			frame->module && !frame->unplaced ? frame->offset : frame->address);
}

void spot_add_label(struct text *text, enum grain grain, const struct spot *spot)
{
	grain_add_place(text, grain, spot, spot->brief, " ");
}

void spot_add_whole_label(struct text *text, enum grain grain, const struct spot *spot)
{
	grain_add_place(text, grain, spot, spot->name, " ");
}

void spot_add_line(struct text *text, enum grain grain, const struct spot *spot)
{
	const struct shown_frame *frame = spot->frame;
	grain_add_place(text, grain, spot, spot->brief, "  ");
	if (grain == GRAIN_FILES || grain == GRAIN_MODULES || !frame->module ||
		!(frame->function || frame->file))
		return;
	text_add(text, "  [");
	text_add_shown(text, frame->module, SIZE_MAX);
	text_add_char(text, ']');
}
