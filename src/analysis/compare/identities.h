/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a frame is called, whatever run or build it is of: the numbers of frames of several models
 * that are the same function. A frame is known by its function, the base name of its file and its
 * module's name without version; of a module that is the same file in all models (by build-id) its
 * line counts too, since the same code has the same lines. Addresses never count, but for code
 * without a name in such a module. Code objects and methods are known by their qualified name,
 * file and module, methods by their parameters, too; their lines count where all models have the
 * same code with the same lines.
 *
 * Left out of names, because builds differ in it: what compilers append to copies and parts of
 * functions (.cold, .part.0, [clone …]), ABI tags, how an anonymous namespace is spelt, folders,
 * and the name of the executable itself.
 */
#ifndef ANALYSIS_IDENTITIES_H
#define ANALYSIS_IDENTITIES_H

#include "analysis/resolve.h"

/* Of several models, at most so many. */
#define IDENTITIES_SIDES_MAX 64u

struct identity {
	/* Never NULL; "": unknown, or not a part of the name. The executable is
	 * IDENTITIES_EXECUTABLE.
	 */
	const char *function, *file, *module;
	uint64_t offset;      /* of code without a function */
	uint32_t line;        /* 0: not a part of the name */
	enum stack_mark mark; /* a remark instead of code */
	uint64_t sides;       /* bit set of the models that have it */
	bool same_file;       /* the module is one file in all models: its code is the same */
	bool several; /* of code without a function: it stands for several places of one model */
	const struct shown_frame *example;
};
#define IDENTITIES_EXECUTABLE "(executable)"

DEFINE_VEC(identity_vec, struct identity)

/* One build of a module, as far as it can be told from others. */
struct identity_build {
	const char *path; /* the pointer itself: each module of a model has its own */
	uint32_t file;    /* code_module of its frames */
	unsigned side;
};

static inline bool identity_build_equal(struct identity_build a, struct identity_build b)
{
	return a.path == b.path && a.file == b.file && a.side == b.side;
}

/* A name that a build of a module has. */
struct identity_origin {
	uint32_t name;
	struct identity_build build;
};

DEFINE_VEC(identity_origin_vec, struct identity_origin)

struct identities;

/*
 * `same_recording`: all models are of one recording, so that all modules are the same files. Models
 * and frames must outlive it. Precondition: count <= IDENTITIES_SIDES_MAX.
 */
struct error *identities_create(const struct model *const *models, size_t count,
	bool same_recording, struct identities **ret) must_check_;
void identities_destroy(struct identities *names);

static inline void identities_cleanup(struct identities **names)
{
	identities_destroy(*names);
}

/* The number, from 1, of a frame of the given model. */
struct error *identities_add(struct identities *names, unsigned side,
	const struct shown_frame *frame, uint32_t *ret) must_check_;

/* Names by number; 0 is none. Good until the next identities_add(). */
const struct identity *identities_get(const struct identities *names, uint32_t number);
/* One more than the largest number. */
size_t identities_limit(const struct identities *names);

/* Which builds have which names; some more than once. Good until the next identities_add(). */
const struct identity_origin *identities_origins(const struct identities *names, size_t *ret_count);

/*
 * Whether a name is all that is known of code without a function, and that is too little to tell:
 * it stands for several places of one model, or only some of the models that have the module lack
 * its functions' names there.
 */
bool identities_is_vague(const struct identities *names, uint32_t number);

/*
 * How many innermost frames tell a stack from others: outward of main, or of the outermost frame of
 * the program's own, is only how the C library starts programs and threads. Where some model does
 * not say which frames are the program's, the functions that start threads go by their names.
 */
size_t identities_depth(
	const struct identities *names, const struct shown_frame *const *frames, size_t depth);

#endif
