/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What readers of foreign formats share: names, frames, stacks and sites that are made as the file
 * tells of them, each once. Foreign files name code by functions and lines, by addresses, or by
 * both; what they say is kept (model/given.h), and symbols are only looked up for addresses that
 * come without a name.
 */
#ifndef SOURCES_FOREIGN_H
#define SOURCES_FOREIGN_H

#include "base/map.h"
#include "base/vec.h"
#include "model/build.h"
#include "sources/recording/input.h"
#include "symbols/strings.h"

struct foreign_text {
	const char *data; /* NULL: the file says nothing */
	size_t len;
};

/* One function of a frame, as the file has it. */
struct foreign_line {
	struct foreign_text function; /* mangled or not */
	struct foreign_text raw_name; /* mangled, if the file has both */
	struct foreign_text file;
	uint32_t line;
};

/* A frame of a stack: a number, from 1. */
struct foreign_frame {
	uint32_t value;
};

struct foreign_place {
	uint32_t module;
	uint64_t address;
};

/* What a frame is: code at an address, or (`code` is not 0) a name. */
struct foreign_code {
	struct foreign_place place; /* of a name its address is 0 */
	uint32_t code;              /* of the model */
};

static inline uint64_t foreign_place_hash(struct foreign_place place)
{
	return hash_u64(place.address ^ hash_u64(place.module));
}

static inline bool foreign_place_equal(struct foreign_place a, struct foreign_place b)
{
	return a.module == b.module && a.address == b.address;
}

/* Lines as one key: its bytes are compared. */
struct foreign_key {
	const uint8_t *data;
	size_t len;
};

static inline uint64_t foreign_key_hash(struct foreign_key key)
{
	return hash_bytes(key.data, key.len);
}

static inline bool foreign_key_equal(struct foreign_key a, struct foreign_key b)
{
	return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

struct foreign_child {
	uint32_t parent, frame;
};

static inline uint64_t foreign_child_hash(struct foreign_child child)
{
	return hash_u64((uint64_t)child.parent << 32 | child.frame);
}

static inline bool foreign_child_equal(struct foreign_child a, struct foreign_child b)
{
	return a.parent == b.parent && a.frame == b.frame;
}

DEFINE_MAP(foreign_places, struct foreign_place, uint32_t, foreign_place_hash, foreign_place_equal)
DEFINE_MAP(foreign_keys, struct foreign_key, uint32_t, foreign_key_hash, foreign_key_equal)
DEFINE_MAP(
	foreign_children, struct foreign_child, uint32_t, foreign_child_hash, foreign_child_equal)
DEFINE_MAP(foreign_modules, const char *, uint32_t, string_hash, string_equal)
DEFINE_VEC(foreign_code_vec, struct foreign_code)

struct foreign {
	struct model *model;
	const char *root;     /* as of struct input */
	struct strings names; /* demangling, each name once */
	struct foreign_code_vec frames;
	struct foreign_places by_place; /* frames that have an address → number of the run, or 0 */
	struct foreign_keys by_lines;   /* frames by all that the file says of them */
	struct foreign_children stacks;
	struct foreign_places sites; /* (stack, kind) → id + 1 */
	struct foreign_modules modules;
	uint32_t stack_count, site_count, module_count;
};

/*
 * Sets the spread of estimates of one row of a file, of whose blocks samples were taken every
 * `period` bytes on average and scaled to what they stand for by their mean size. Sites sum up what
 * their rows have (spread_add()). `one_size`: all blocks of the row are of the same size, and so
 * each was taken with the same probability; else they may be of any sizes that have that mean.
 */
void foreign_estimate(struct site *row, uint64_t period, bool one_size);

/* Creates a model for an input, which must outlive it. All figures are unknown until the reader
 * sets them. `source` as of struct recording. */
struct error *foreign_create(
	struct foreign *foreign, const char *source, const struct input *input) must_check_;
void foreign_deinit(struct foreign *foreign); /* with the model, unless it was taken out */

/* Finds the module of that path; `about` (path ignored) counts when it is new. */
struct error *foreign_module(struct foreign *foreign, struct foreign_text path,
	const struct module *about, struct module_id *ret) must_check_;

/*
 * Finds the frame at an address, `lines` innermost first; address 0: the file has none. It is that
 * of the instruction after the call, unless `exact`: then of the call itself. No lines: symbols
 * tell.
 */
struct error *foreign_frame(struct foreign *foreign, struct module_id module, uint64_t address,
	bool exact, const struct foreign_line *lines, size_t count,
	struct foreign_frame *ret) must_check_;

/* Finds the stack that has one more frame inward of `outer`. */
struct error *foreign_push(struct foreign *foreign, struct stack_id outer,
	struct foreign_frame frame, struct stack_id *ret) must_check_;

/* Finds the site of a stack and a kind; its counters are to be added to. */
struct error *foreign_site(struct foreign *foreign, struct stack_id stack, enum alloc_kind kind,
	struct site_id *ret) must_check_;

/* Copies a string; the copy lives as long as the model. */
struct error *foreign_string(
	struct foreign *foreign, struct foreign_text text, const char **ret) must_check_;

/* Sets the totals to the sums of the sites; ERROR_INPUT if one is above 2^64. */
struct error *foreign_total(struct foreign *foreign) must_check_;

#endif
