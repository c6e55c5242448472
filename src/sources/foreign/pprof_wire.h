/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.proto of pprof as bytes: a small reader of the protobuf encoding for these messages
 * alone. Fields are those of github.com/google/pprof, proto/profile.proto; unknown ones are
 * skipped, as protobuf wants it.
 */
#ifndef SOURCES_PPROF_WIRE_H
#define SOURCES_PPROF_WIRE_H

#include "base/cursor.h"
#include "base/map.h"
#include "base/vec.h"
#include "sources/foreign/foreign.h"

struct pprof_type {
	uint64_t type, unit; /* strings */
};

struct pprof_mapping {
	uint64_t id, start, limit, file_offset, file, build_id;
};

struct pprof_line {
	uint64_t function; /* its id */
	int64_t line;
};

struct pprof_location {
	uint64_t id, mapping, address;
	uint32_t first_line, line_count;
};

struct pprof_function {
	uint64_t id, name, system_name, file;
};

struct pprof_slice {
	const uint8_t *data;
	uint32_t len;
};

static inline uint64_t pprof_id_hash(uint64_t id)
{
	return hash_u64(id);
}

static inline bool pprof_id_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_VEC(pprof_type_vec, struct pprof_type)
DEFINE_VEC(pprof_mapping_vec, struct pprof_mapping)
DEFINE_VEC(pprof_line_vec, struct pprof_line)
DEFINE_VEC(pprof_location_vec, struct pprof_location)
DEFINE_VEC(pprof_function_vec, struct pprof_function)
DEFINE_VEC(pprof_slice_vec, struct pprof_slice)
DEFINE_MAP(pprof_id_map, uint64_t, uint32_t, pprof_id_hash, pprof_id_equal)

/* A profile; slices point into the bytes that it was read from. */
struct pprof_profile {
	const char *name; /* of the file */
	const uint8_t *start;
	struct pprof_type_vec types;
	struct pprof_mapping_vec mappings;
	struct pprof_line_vec lines;
	struct pprof_location_vec locations;
	struct pprof_function_vec functions;
	struct pprof_slice_vec strings;
	struct pprof_slice_vec samples;
	struct pprof_id_map mapping_of, location_of, function_of; /* id → index */
	struct pprof_type period_type;
	uint64_t drop_frames, keep_frames, default_type; /* strings */
	uint64_t comment;                                /* the first one, a string */
	int64_t time_ns, duration_ns, period;
};

/* One sample's message. */
struct pprof_label {
	uint64_t key, text; /* strings */
	int64_t number;
};

DEFINE_VEC(pprof_number_vec, uint64_t)
DEFINE_VEC(pprof_label_vec, struct pprof_label)

struct pprof_sample {
	struct pprof_number_vec locations, values;
	struct pprof_label_vec labels;
};

void pprof_profile_init(struct pprof_profile *profile);
void pprof_profile_deinit(struct pprof_profile *profile);

/* Reads all but the samples' insides; `data` must outlive the profile. */
struct error *pprof_read(
	struct pprof_profile *profile, const char *name, const void *data, size_t len) must_check_;
/* Replaces what is in `ret`. */
struct error *pprof_read_sample(
	const struct pprof_profile *profile, size_t index, struct pprof_sample *ret) must_check_;

/* Finds a string of the table; ERROR_INPUT if there is none with that number. 0 is "". */
struct error *pprof_text(
	const struct pprof_profile *profile, uint64_t number, struct foreign_text *ret) must_check_;

/* Returns whether bytes can be the beginning of a profile. */
bool pprof_looks_like(const uint8_t *head, size_t len);

#endif
