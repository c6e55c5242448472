/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of several models that are the same places: by kind and by the names of their frames
 * (frame_keys.h), so that address randomisation, rebuilds, other folders and moved lines do not
 * matter.
 *
 * A function whose file only some of the builds know is one, if the others have it in one file
 * alone and none of them has it without as well.
 *
 * Of two models a second pass finds functions that were renamed or moved to another file: names
 * that only one of the two has, in stacks that are equal otherwise. In each case the module must be
 * the same but another build, whose code no longer has the old name, as the old one's did not have
 * the new (rename_proof.h); and of all that may be the other's counterpart there must be exactly
 * one:
 *
 *   moved    the same function of another file, somewhere in the same position;
 *   renamed  all of the row's figures are equal too, and either the file is the same or there was
 *            more than one allocation; or the function calls one that nobody else calls, in either
 *            model, and allocates about as often (up to twice).
 *
 * What is in doubt stays two places: one that is gone and one that is new.
 */
#ifndef ANALYSIS_MATCH_H
#define ANALYSIS_MATCH_H

#include "analysis/compare/frame_keys.h"
#include "analysis/rows.h"

struct match_side {
	const struct model *model;
	const struct rows *rows; /* of that model; need not be all of them */
};

/* A row of a model. */
struct match_member {
	const struct row *row;
	const uint32_t *names; /* of all of its frames; the first `len` tell it from others */
	uint32_t len, side, group;
};

struct rename {
	const struct shown_frame *from, *to;
	bool moved; /* to another file, under its own name */
};

DEFINE_VEC(match_member_vec, struct match_member)
DEFINE_VEC(match_number_vec, uint32_t)
DEFINE_VEC(rename_vec, struct rename)

struct match {
	const struct model *models[2]; /* the first two */
	struct frame_keys *names;
	struct arena arena;
	struct match_member_vec members; /* the last model's first, each in the order of its rows */
	struct match_number_vec same_as; /* which name stands for each: itself, or what it became */
	struct match_number_vec examples; /* the member that each group is shown as */
	struct rename_vec renames;        /* of two models; ordered by the newer name */
	struct match_number_vec fileless; /* names without a file of functions that have one, too */
	size_t side_count;
	bool kinds; /* each model says which function was called: it counts */
	bool mixed; /* of files of several tools */
	bool whole; /* all stacks are as their makers wanted them: their outermost frames count */
};

/*
 * Models in order of age, the oldest first. Rows, models and the owners of frames must outlive the
 * match. Precondition: 0 < count <= FRAME_KEYS_SIDES_MAX.
 */
struct error *match_create(const struct match_side *sides, size_t count, bool same_recording,
	struct match **ret) must_check_;
void match_destroy(struct match *match);

static inline void match_cleanup(struct match **match)
{
	match_destroy(*match);
}

static inline size_t match_groups(const struct match *match)
{
	return match->examples.len;
}

/* Returns the members of a model's rows, in the order of the rows. */
const struct match_member *match_members_of(const struct match *match, unsigned side);

/*
 * Adds one row a group to empty rows, in order of groups, with the frames of the newest model that
 * has it (of its row that allocated most). Frames that are one function have one `place`, whatever
 * their lines. `sums` are those of models at `from` and later, `base` those before. What is a
 * library's own is so in each model that has it, or in none. The rows live as long as the match.
 */
struct error *match_rows(struct match *match, unsigned from, struct rows *ret) must_check_;

/* Makes one row of those rows of a model that are the same place, and sets their remarks. */
struct error *match_fold(const struct model *model, struct rows *rows) must_check_;

/* Adds a sentence for each module whose code without names is identified by its module alone where
 * that decides which places are one, and for each of whose functions some builds do not know the
 * files: only the others tell what was inlined. */
struct error *match_note_unnamed(const struct match *match, struct text *ret) must_check_;

/* Joins functions whose file only some builds know; called by match_create(), before groups are
 * made. */
struct error *match_join_fileless(struct match *match) must_check_;

/* Finds renames; called by match_create() for two models. */
struct error *match_find_renames(struct match *match) must_check_;

#endif
