/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What model.c and build.c share: the inside of struct model. No other file includes this. */
#ifndef MODEL_MODEL_IMPL_H
#define MODEL_MODEL_IMPL_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/leak_rules.h"
#include "model/model.h"
#include "model/resident.h"

/* Code of no module that has a name: nodes there become names in the end. */
struct named_address {
	uint64_t address;
	struct code_id code;
};

DEFINE_VEC(string_vec, const char *)
DEFINE_VEC(module_vec, struct module)
DEFINE_VEC(site_vec, struct site)
DEFINE_VEC(thread_vec, struct thread)
DEFINE_VEC(size_vec, struct size_count)
DEFINE_VEC(live_vec, struct live_block)
DEFINE_VEC(code_vec, struct code)
DEFINE_VEC(traced_vec, struct traced_line)
DEFINE_VEC(named_vec, struct named_address)
DEFINE_VEC(unrecorded_vec, struct unrecorded_program)
DEFINE_VEC(small_process_vec, struct small_process)
DEFINE_VEC(series_row_vec, struct series_row)
DEFINE_VEC(series_site_vec, struct series_site)
DEFINE_VEC(mark_vec, struct mark)
DEFINE_VEC(resident_part_vec, struct resident_part)
DEFINE_VEC(realloc_vec, struct realloc_site)
DEFINE_VEC(leak_record_vec, struct leak_record)
DEFINE_VEC(leak_group_vec, struct leak_group)
DEFINE_VEC(leak_root_vec, struct leak_root)
DEFINE_VEC(program_error_vec, struct program_error)
DEFINE_VEC(error_stack_vec, struct error_stack)
DEFINE_VEC(error_suppression_vec, struct error_suppression)

DEFINE_VEC(given_vec, struct embedded_run)

/* Where in a program: what a node of a stack says. */
struct code_place {
	uint32_t module;
	uint64_t address;
};

static inline uint64_t code_place_hash(struct code_place place)
{
	return hash_u64(place.address ^ hash_u64(place.module));
}

static inline bool code_place_equal(struct code_place a, struct code_place b)
{
	return a.module == b.module && a.address == b.address;
}

DEFINE_MAP(given_map, struct code_place, uint32_t, code_place_hash, code_place_equal)

/* What a node of a stack is, beside where it hangs: as of struct stack_node. */
struct stack_frame {
	uint64_t address;
	uint32_t code;
	uint32_t module;
};

DEFINE_VEC(stack_frame_vec, struct stack_frame)

/*
 * Stack nodes. A program has few different frames and many stacks of them, so a node has the number
 * of its frame. A walk outward needs both at once, and each step may be a cache miss. Unused rows
 * are all zero, and so is frame 0.
 */
struct stack_table {
	struct stack_link *links;
	size_t len, cap;
	size_t rows; /* given so far; bounds the gaps */
	struct stack_frame_vec frames;
	/* Hash table of numbers of frames; 0: free. NULL: to be made when it is needed. */
	uint32_t *slots;
	size_t slots_cap; /* a power of two */
};

/*
 * Invariants: parent[i] < i for i > 0; modules[0] and stacks row 0 exist; argv ends with NULL;
 * sizes and live ascend; every id stored is in range.
 */
struct model {
	struct arena strings;
	const struct symbols_settings *names_from; /* borrowed */
	struct target target;
	struct recording recording;
	struct totals totals;
	struct string_vec argv;
	struct string_vec damage;
	struct module_vec modules;
	struct stack_table stacks;
	struct site_vec sites;
	struct thread_vec threads;
	struct size_vec sizes;
	struct live_vec live;
	bool has_live;
	struct inherited inherited;
	struct site_vec inherited_sites;
	struct unrecorded_vec unrecorded;
	struct small_process_vec small;
	uint64_t small_bytes; /* with their commands */
	struct code_vec code; /* 0 is none */
	struct traced_vec traced;
	struct named_vec named;   /* ascending by address, each once */
	struct model *subtracted; /* NULL: none */
	struct given_vec given;
	struct given_map given_of; /* → number in given */
	struct series_row_vec series;
	struct series_site_vec series_sites;
	struct mark_vec marks;
	struct lifetimes lifetimes;
	struct realloc_vec reallocs;
	bool has_leak_search;
	struct leak_search leak_search;
	struct leak_search_rules leak_rules;
	struct leak_root_vec leak_roots;
	struct leak_group_vec leak_groups; /* parents have smaller numbers */
	struct leak_record_vec leak_records;
	bool knows_errors;
	bool has_check; /* check is known */
	struct check_coverage check;
	struct program_error_vec errors;
	struct error_stack_vec error_stacks;
	struct error_suppression_vec error_suppressions;
	bool has_resident;
	struct resident_sample resident;
	struct resident_part_vec resident_parts;
};

#endif
