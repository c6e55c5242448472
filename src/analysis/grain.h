/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How finely frames are distinguished where figures are added up over stacks. A *spot* is what
 * frames become then: a function, a source line, a file, an address or a module.
 */
#ifndef ANALYSIS_GRAIN_H
#define ANALYSIS_GRAIN_H

#include "analysis/resolve.h"
#include "base/arena.h"
#include "base/text.h"

enum grain {
	GRAIN_FUNCTIONS, /* by name and module; without a name by address */
	GRAIN_LINES,     /* and by file and line */
	GRAIN_FILES,     /* of source; without one by module */
	GRAIN_ADDRESSES, /* and inlined functions */
	GRAIN_MODULES,   /* executables and libraries */
	GRAINS
};

/* Returns "functions"… */
const char *grain_name(enum grain grain);
/* Returns "function"… */
const char *grain_one(enum grain grain);

struct spot {
	uint32_t id;                     /* from 0, in the order in which they were met */
	const struct shown_frame *frame; /* the first one met */
	const char *name;                /* without the module; belongs to the spots */
	const char *brief;               /* shortened to fit a line (shown_frame.h); never NULL */
};

struct spots;

struct error *spots_create(enum grain grain, struct spots **ret) must_check_;
void spots_destroy(struct spots *spots);

static inline void spots_cleanup(struct spots **spots)
{
	spots_destroy(*spots);
}

enum grain spots_grain(const struct spots *spots);

/* Finds the spot of a frame, NULL: none, since it is a mere remark on its neighbours. They stay
 * valid as long as the spots. */
struct error *spots_find(
	struct spots *spots, const struct shown_frame *frame, const struct spot **ret) must_check_;

/* Memory that lives as long as the spots. */
struct arena *spots_arena(struct spots *spots);

size_t spots_count(const struct spots *spots);
const struct spot *spots_at(const struct spots *spots, size_t id);

DEFINE_VEC(spot_vec, const struct spot *)

/* Makes a frame one of the spot of another, unless it has one. */
struct error *spots_join(struct spots *spots, const struct shown_frame *frame,
	const struct shown_frame *with) must_check_;
/*
 * Replaces `ret` by the spots of a stack, innermost first. Of files and modules neighbours that are
 * the same become one.
 */
struct error *spots_stack(struct spots *spots, const struct shown_frame *const *frames,
	size_t count, struct spot_vec *ret) must_check_;

/* Adds "read_line", for lines "read_line input.c:41", for addresses with that after it; whole
 * names are for other programs. */
void spot_add_label(struct text *text, enum grain grain, const struct spot *spot);
void spot_add_whole_label(struct text *text, enum grain grain, const struct spot *spot);
/* Adds "read_line  [app]", or for lines "read_line  input.c:41  [app]". */
void spot_add_line(struct text *text, enum grain grain, const struct spot *spot);

#endif
