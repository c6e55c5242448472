/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of JDK Flight Recorder's files. Each chunk of a file describes its own types: classes of
 * fields, which are numbers, strings, other classes or keys of constants. A value has no length, so
 * all that come before one are to be gone through. Numbers are LEB128 of at most nine bytes, the
 * ninth of which has eight bits.
 */
#ifndef SOURCES_JFR_VALUES_H
#define SOURCES_JFR_VALUES_H

#include "base/arena.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "sources/foreign/foreign.h"

/* Bytes that are still to be read. Functions that read return false where these end, or are no such
 * value. */
struct jfr_bytes {
	const uint8_t *pos, *end;
};

bool jfr_number(struct jfr_bytes *bytes, uint64_t *ret);

/* A string as it stands there. */
struct jfr_string {
	enum { JFR_NULL, JFR_EMPTY, JFR_CONSTANT, JFR_UTF8, JFR_UTF16, JFR_LATIN1 } encoding;
	uint64_t key;          /* JFR_CONSTANT: of the constant string */
	struct jfr_bytes data; /* of the last three; JFR_UTF16: of `count` numbers */
	uint64_t count;
};

bool jfr_string(struct jfr_bytes *bytes, struct jfr_string *ret);
/* Adds it in UTF-8; of a constant, nothing. */
void jfr_string_add(const struct jfr_string *string, struct text *text);

enum jfr_form {
	JFR_FORM_BYTE,
	JFR_FORM_NUMBER,
	JFR_FORM_FLOAT,
	JFR_FORM_DOUBLE,
	JFR_FORM_STRING,
	JFR_FORM_FIELDS,
};

struct jfr_field {
	const char *name;
	uint64_t type_id;
	uint32_t type; /* number of it; JFR_NONE: the file does not describe it */
	bool is_key, is_array;
};

struct jfr_type {
	const char *name;
	uint64_t id;
	enum jfr_form form;
	uint32_t first_field, field_count;
};
#define JFR_NONE UINT32_MAX

static inline uint64_t jfr_key_hash(uint64_t key)
{
	return hash_u64(key);
}

static inline bool jfr_key_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_VEC(jfr_fields, struct jfr_field)
DEFINE_VEC(jfr_type_vec, struct jfr_type)
DEFINE_MAP(jfr_type_map, uint64_t, uint32_t, jfr_key_hash, jfr_key_equal)

/* The types of a chunk. */
struct jfr_types {
	struct arena arena;
	struct jfr_fields fields;
	struct jfr_type_vec types;
	struct jfr_type_map by_id;
};

void jfr_types_init(struct jfr_types *types);
void jfr_types_deinit(struct jfr_types *types);
/* Reads an event of metadata, after its size and type. ERROR_INPUT (a sentence without the file's
 * name): it is damaged. */
struct error *jfr_types_read(struct jfr_types *types, struct jfr_bytes bytes) must_check_;

/* Return numbers, of the field in its type; JFR_NONE: there is none. */
uint32_t jfr_type_named(const struct jfr_types *types, const char *name);
uint32_t jfr_type_of(const struct jfr_types *types, uint64_t id);
uint32_t jfr_field_named(const struct jfr_types *types, uint32_t type, const char *name);

struct jfr_value {
	uint64_t number;       /* or key; a byte */
	struct jfr_bytes data; /* from where it begins; NULL: the type has no such field */
};

/*
 * Goes through a value of the type, of which `count` fields are wanted, by their numbers (JFR_NONE:
 * not there, 0 then). *ret has one for each.
 */
bool jfr_value_read(const struct jfr_types *types, uint32_t type, struct jfr_bytes *bytes,
	const uint32_t *wanted, size_t count, struct jfr_value *ret);

#endif
