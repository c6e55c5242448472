/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The constants of a chunk of a JFR file that stacks of allocations need: events refer to these by
 * keys, and they to others. They stand in the chunk in several places, each time those that are
 * new. They are kept as bytes, and read when somebody asks.
 */
#ifndef SOURCES_JFR_CONSTANTS_H
#define SOURCES_JFR_CONSTANTS_H

#include "sources/java/jfr_values.h"

enum jfr_pool {
	JFR_STRINGS,
	JFR_SYMBOLS,
	JFR_CLASSES,
	JFR_METHODS,
	JFR_STACKS,
	JFR_OLD_OBJECTS,
	JFR_POOLS,
};

/* Fields that are wanted of one value, at most. */
#define JFR_WANTED 4u

/* Where to find what is wanted of a type's values. */
struct jfr_shape {
	uint32_t type;
	uint32_t wanted[JFR_WANTED];
};

struct jfr_constant {
	uint64_t key;
	enum jfr_pool pool;
};

static inline uint64_t jfr_constant_hash(struct jfr_constant constant)
{
	return hash_u64(constant.key ^ hash_u64(constant.pool));
}

static inline bool jfr_constant_equal(struct jfr_constant a, struct jfr_constant b)
{
	return a.key == b.key && a.pool == b.pool;
}

DEFINE_MAP(jfr_constant_map, struct jfr_constant, struct jfr_bytes, jfr_constant_hash,
	jfr_constant_equal)

struct jfr_constants {
	const struct jfr_types *types;
	struct jfr_shape shapes[JFR_POOLS], frame;
	struct arena arena;
	uint64_t bytes; /* of what is kept */
	struct jfr_constant_map map;
};

/* `types` must outlive them. */
void jfr_constants_init(struct jfr_constants *constants, const struct jfr_types *types);
void jfr_constants_deinit(struct jfr_constants *constants);

/* Takes the constants of a checkpoint, after its size and type. ERROR_INPUT (a sentence without the
 * file's name): it is damaged, or there are too many. */
struct error *jfr_constants_add(
	struct jfr_constants *constants, struct jfr_bytes bytes) must_check_;

/* Adds a string, also if it is a constant; of one that is not there, nothing. */
void jfr_text_add(
	const struct jfr_constants *constants, const struct jfr_string *string, struct text *text);
/* Adds a class as Java writes it: "int[]", "java.lang.String". Returns whether it is known. */
bool jfr_class_add(const struct jfr_constants *constants, uint64_t key, struct text *text);

struct jfr_method {
	uint64_t class, name;
};
bool jfr_method_find(const struct jfr_constants *constants, uint64_t key, struct jfr_method *ret);
/* Adds a method with its class; *ret_class_len: bytes of the class, 0: it has none. Returns whether
 * it is known. */
bool jfr_method_add(const struct jfr_constants *constants, uint64_t key, struct text *text,
	size_t *ret_class_len);

/* The class of an object of jdk.OldObjectSample; 0: not known. */
uint64_t jfr_old_object_class(const struct jfr_constants *constants, uint64_t key);

struct jfr_frame {
	uint64_t method;
	uint32_t line; /* 0: not known */
};
DEFINE_VEC(jfr_frame_vec, struct jfr_frame)

/* Finds the frames of a stack, innermost first. false: it is not there. */
bool jfr_stack_read(const struct jfr_constants *constants, uint64_t key, struct jfr_frame_vec *ret,
	bool *ret_truncated, bool *ret_no_memory);

#endif
