/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inference from variables on stacks. A variable without a value yet has stale contents; so
 * variables come last, those declared further down are ignored, and what they point to must be a
 * structure that fits, or what is known to be a container's.
 */
#include <string.h>

#include "base/map.h"
#include "heap/contents.h"
#include "heap/inferred/inferred_find.h"
#include "heap/limits.h"

/* Structures in structures of a variable. */
#define HOLDERS_DEPTH_MOST 8u

static inline uint64_t holder_hash(uint32_t type)
{
	return hash_u64(type);
}

static inline bool holder_equal(uint32_t a, uint32_t b)
{
	return a == b;
}
/* Whether a type is a std::any, or has one among its members. */
DEFINE_MAP(holder_map, uint32_t, bool, holder_hash, holder_equal)

struct taking {
	struct inferring *f;
	unsigned frames; /* that are left: LIMIT_TYPED_FRAMES */
	struct holder_map holders;
};

static void take_pointer(
	struct inferring *f, const struct slot *slot, uint64_t word, uint64_t address)
{
	uint64_t offset;
	const uint32_t target = slot->target;
	uint32_t block = search_block_at(f->search, word, &offset);
	if (block == SPACE_NONE)
		return;
	if (slot->container.form != RUST_NONE || slot->internal != TYPE_VOID) {
		inferred_claim_slot(f, slot, word, address);
		return;
	}
	if (offset) {
		inferred_claim_counted(f, block, offset, target);
		return;
	}
	uint32_t known = heap_types_of_label(&f->scan->types, block_label(f->search, block));
	if (known != HEAP_TYPE_NONE || type_has_members(types_get(f->types, target)))
		inferred_claim(f, block, target);
}

static void take_words(struct inferring *f, uint32_t plain, uint64_t address)
{
	struct fact *fact = f->failed ? NULL : inferred_fact(f, plain);
	if (fact)
		inferred_each_word(f, address, &fact->slots, take_pointer);
}

/* "std::any", "std::__1::any" */
static bool is_any(struct types *types, uint32_t plain)
{
	const char *name = types_get(types, plain)->name;
	size_t len = name ? strlen(name) : 0;
	return len >= 8 && !strncmp(name, "std::", 5) && !strcmp(name + len - 5, "::any") &&
	       contents_knows(types, plain);
}

static bool is_holder(struct taking *t, uint32_t plain, unsigned depth)
{
	struct types *types = t->f->types;
	const bool *known = holder_map_find(&t->holders, plain);
	if (known || depth > HOLDERS_DEPTH_MOST)
		return known && *known;
	const struct type of = *types_get(types, plain);
	bool ret = is_any(types, plain);
	for (uint32_t i = 0; !ret && type_has_members(&of) && i < of.member_count; i++)
		ret = is_holder(t, types_plain(types, of.members[i].type), depth + 1);
	bool *kept = holder_map_insert(&t->holders, plain, NULL);
	t->f->failed |= !kept;
	if (kept)
		*kept = ret;
	return ret;
}

/* What lies in a std::any itself: its own words say what that is, not its type. */
static void take_held(struct taking *t, uint32_t plain, uint64_t address, unsigned depth)
{
	struct types *types = t->f->types;
	struct contents contents;
	if (t->f->failed || !is_holder(t, plain, depth))
		return;
	const struct type of = *types_get(types, plain);
	if (is_any(types, plain)) {
		if (contents_read(t->f->scan, types, plain, address, &contents) &&
			contents.kind == CONTENTS_ONE && !contents.is_empty &&
			contents.type != TYPE_VOID && contents.address - address < of.size)
			take_words(t->f, types_plain(types, contents.type), contents.address);
		return;
	}
	for (uint32_t i = 0; i < of.member_count; i++)
		if (of.members[i].kind == MEMBER_PLAIN || of.members[i].kind == MEMBER_BASE)
			take_held(t, types_plain(types, of.members[i].type),
				address + of.members[i].bits / 8, depth + 1);
}

static void take_variable(void *context, uint32_t type, uint64_t address)
{
	struct taking *t = context;
	uint32_t plain = types_plain(t->f->types, type);
	take_words(t->f, plain, address);
	take_held(t, plain, address, 0);
}

/* Where in its source the function is, not what was inlined into it; 0: not known. */
static uint32_t line_of(struct inferring *f, uint32_t module, uint64_t pc)
{
	const struct symbol *symbols;
	size_t count;
	struct error *error =
		symbols_resolve(f->scan->names->symbols, module, pc, &symbols, &count);
	f->failed |= error != NULL;
	error_destroy(error);
	return f->failed ? 0 : symbols[count - 1].line;
}

static void take_thread(struct taking *t, size_t thread)
{
	struct inferring *f = t->f;
	bool any = true;
	for (size_t i = 0; any && t->frames && !f->failed; i++) {
		struct local_frame frame;
		const struct address_module *module;
		uint32_t number;
		struct error *error =
			stack_places_frame(f->scan->stacks, thread, i, &frame, &module, &any);
		f->failed |= error != NULL;
		error_destroy(error);
		if (!any || !inferred_know_module(f, module, &number))
			continue;
		t->frames--;
		types_locals(
			f->types, number, &frame, line_of(f, number, frame.pc), take_variable, t);
	}
}

void inferred_take_stacks(struct inferring *inferring)
{
	struct inferring *f = inferring;
	struct taking t = {.f = f, .frames = LIMIT_TYPED_FRAMES};
	size_t threads = f->scan->heap.space->threads.len;
	for (size_t i = 0; i < threads && t.frames && !f->failed; i++)
		take_thread(&t, i);
	holder_map_deinit(&t.holders);
	if (!t.frames)
		heap_limit_reach(f->scan, REACHED_TYPED_FRAMES);
	for (size_t i = 0; i < threads; i++) {
		if (stack_places_is_cut(f->scan->stacks, i))
			heap_limit_reach(f->scan, REACHED_STACK_FRAMES);
	}
}
