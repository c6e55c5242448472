/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the resident memory of a process was made of at a moment, as its recorder found out from
 * outside. The lines add up to the resident size exactly.
 */
#ifndef MODEL_RESIDENT_H
#define MODEL_RESIDENT_H

#include "base/error.h"
#include "model/model.h"

enum resident_kind {
	RESIDENT_HEAP,     /* memory of the allocator, with and without blocks */
	RESIDENT_MAPPING,  /* mapped by a call of the program */
	RESIDENT_STACKS,   /* of threads */
	RESIDENT_FILE,     /* code and data of a file that the loader mapped */
	RESIDENT_RECORDER, /* the recorder's own */
	RESIDENT_OTHER,
	RESIDENT_KINDS
};

struct resident_part {
	enum resident_kind kind;
	uint64_t bytes;
	struct stack_id stack; /* RESIDENT_MAPPING: of the call; 0: of several, or not known */
	enum alloc_kind call;  /* RESIDENT_MAPPING: by which function; KIND_UNKNOWN: of several */
	const char *file;      /* "": none, or of several */
};

struct resident_sample {
	uint64_t time_ns;
	uint64_t bytes;                             /* resident, the sum of all parts */
	size_t samples;                             /* how many there are in the recording */
	bool is_highest;                            /* it is the one with the most of them */
	bool heap_is_known;                         /* the next three are figures */
	uint64_t requested_bytes, requested_blocks; /* by blocks that were live then */
	uint64_t rounding_bytes;                    /* that these lack to multiples of 16 bytes */
};

/* Returns the sample that is nearest to the model's moment; NULL: the source has none. */
const struct resident_sample *model_resident(const struct model *model);
/* Of it, those of one kind together, in the order of the kinds, largest first. */
const struct resident_part *model_resident_parts(const struct model *model, size_t *ret_count);

/* For sources: sets the sample; then adds its parts. `file` of the row is copied. */
void build_resident(struct model *model, const struct resident_sample *sample);
struct error *build_resident_part(
	struct model *model, const struct resident_part *row, size_t file_len) must_check_;

#endif
