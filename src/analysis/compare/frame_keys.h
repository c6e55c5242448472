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

/* Of several models, at most this many. */
#define FRAME_KEYS_SIDES_MAX 64u

struct identity {
	/* Never NULL; "": unknown, or not a part of the name. The executable is
	 * FRAME_KEYS_EXECUTABLE.
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
#define FRAME_KEYS_EXECUTABLE "(executable)"

DEFINE_VEC(identity_vec, struct identity)

/* One build of a module, as far as it can be distinguished from others. */
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

struct frame_keys;

/*
 * `same_recording`: all models are of one recording, so that all modules are the same files. Models
 * and frames must outlive the keys. Precondition: count <= FRAME_KEYS_SIDES_MAX.
 */
struct error *frame_keys_create(const struct model *const *models, size_t count,
	bool same_recording, struct frame_keys **ret) must_check_;
void frame_keys_destroy(struct frame_keys *names);

static inline void frame_keys_cleanup(struct frame_keys **names)
{
	frame_keys_destroy(*names);
}

/* Finds the number, from 1, of a frame of the given model. */
struct error *frame_keys_add(struct frame_keys *names, unsigned side,
	const struct shown_frame *frame, uint32_t *ret) must_check_;

/* Names by number; 0 is none. Good until the next frame_keys_add(). */
const struct identity *frame_keys_get(const struct frame_keys *names, uint32_t number);
/* Returns one more than the largest number. */
size_t frame_keys_limit(const struct frame_keys *names);

/* Returns which builds have which names; some appear more than once. Valid until the next
 * frame_keys_add(). */
const struct identity_origin *frame_keys_origins(const struct frame_keys *names, size_t *ret_count);

/*
 * Returns whether a name is all that is known of code without a function, and that is too little to
 * tell: it stands for several places of one model, or only some of the models that have the module
 * lack its functions' names there.
 */
bool frame_keys_is_vague(const struct frame_keys *names, uint32_t number);

/*
 * Returns how many innermost frames tell a stack from others: outward of main, or of the outermost
 * frame of the program's own, is only how the C library starts programs and threads. Where some
 * model does not say which frames are the program's, the functions that start threads go by their
 * names.
 */
size_t frame_keys_depth(
	const struct frame_keys *names, const struct shown_frame *const *frames, size_t depth);

#endif
