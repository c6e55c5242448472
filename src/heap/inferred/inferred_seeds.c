/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where inference begins, and to what it spreads. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/block_slack.h"
#include "heap/inferred/inferred_arrays.h"
#include "heap/inferred/inferred_find.h"
#include "heap/inferred/inferred_pools.h"
#include "heap/inferred/inferred_subset.h"
#include "heap/types/recognisers.h"

/* Blocks whose memory has to be read one by one, before those that are left are read in order; and
 * of many blocks one of this many, so that it takes few rounds to go along a chain of all of them.
 */
#define READS_MOST (1u << 16)
#define READS_PART 16u

/* Debug information of the system's libraries tells of their own few blocks, and is large. */
static bool is_worth_reading(const struct address_module *module)
{
	static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
	for (size_t i = 0; i < ARRAY_SIZE(folders) && !module->executable; i++) {
		if (!strncmp(module->path, folders[i], strlen(folders[i])))
			return false;
	}
	return *module->path != '\0';
}

bool inferred_know_module(
	struct inferring *inferring, const struct address_module *module, uint32_t *ret_number)
{
	struct inferring *f = inferring;
	return module && is_worth_reading(module) &&
	       heap_names_symbols(f->scan->names, module, ret_number) &&
	       types_add_module(f->types, *ret_number);
}

/* A variable that holds blocks, and where its words are. */
struct global {
	uint64_t start, end;
	struct slot_vec slots;
};

static void find_global(struct inferring *f, uint64_t address, struct global *ret)
{
	const struct address_module *module = address_space_module(f->scan->heap.space, address);
	uint32_t number;
	struct heap_global variable = {.start = 0};
	slot_vec_clear(&ret->slots);
	*ret = (struct global){address, address + 1, ret->slots};
	if (!inferred_know_module(f, module, &number) ||
		!heap_layouts_global(f->scan, address, &variable))
		return;
	ret->start = variable.start;
	ret->end = ret->start + types_get(f->types, variable.variable.type)->size;
	inferred_find_slots(f, variable.variable.type, &ret->slots);
}

/* Words of one variable follow each other. */
static void take_globals(struct inferring *f)
{
	struct global global = {.start = 0};
	for (size_t i = 0; i < f->graph->roots.len && !f->failed; i++) {
		const struct graph_root *word = &f->graph->roots.data[i];
		if (f->scan->roots.data[word->root].kind != HEAP_ROOT_DATA)
			continue;
		if (word->address < global.start || word->address >= global.end)
			find_global(f, word->address, &global);
		const struct slot *slot = slots_at_address(&global.slots,
			word->address - global.start, f->scan->heap.space, word->address);
		uint64_t into = word->edge & GRAPH_INTERIOR ? word->offset : 0;
		if (slot)
			inferred_claim_slot(f, slot,
				search_block_address(f->search, GRAPH_BLOCK(word->edge)) + into,
				word->address);
	}
	slot_vec_deinit(&global.slots);
}

/* The functions of its table that are asked which class they are of. */
#define FUNCTIONS_ASKED 8u

/* What a std::function of libc++ holds is in an object whose class has the target's for an
 * argument. Where that is a lambda, the class is called otherwise in debug information: there its
 * functions say which one it is. They are declared in it and in its base, whose name is another. */
static void lay_out_target(struct inferring *f, uint32_t number, const struct shape_key *key)
{
	struct heap_type *type = &f->scan->types.types.data[number];
	const struct address_space *space = f->scan->heap.space;
	uint64_t function;
	if (strncmp(type->name, "std::__function::__func<", 24) != 0)
		return;
	for (uint64_t i = 0; i < FUNCTIONS_ASKED && type->layout == TYPE_VOID; i++) {
		struct types_function_class class;
		uint32_t module_number;
		if (!address_space_word(space, key->head + 8 * i, &function))
			return;
		const struct address_module *module = address_space_module(space, function);
		if (inferred_know_module(f, module, &module_number) &&
			types_function_class(
				f->types, module_number, function - module->bias, "", &class) &&
			!strncmp(class.name, "__func<", 7) &&
			inferred_is_close(f, types_get(f->types, class.type)->size, key->size))
			type->layout = class.type;
	}
}

/* The layouts of classes that objects name themselves: where their tables are, they are described.
 */
static void lay_out_objects(struct inferring *f)
{
	struct heap_scan *s = f->scan;
	for (uint32_t class = 0; class < s->types.shape_count && !f->failed; class ++) {
		uint32_t number = s->types.of_shape[class], unused;
		if (number == HEAP_TYPE_NONE || s->types.types.data[number].layout_wanted ||
			s->types.types.data[number].kind != HEAP_TYPE_CXX)
			continue;
		const struct shape_key *key = &s->classes.classes.data[class].key;
		if (!inferred_know_module(
			    f, address_space_module(s->heap.space, key->head), &unused))
			continue;
		s->types.types.data[number].layout_wanted = true;
		heap_layouts_of_class(s, class);
		if (s->types.types.data[number].layout == TYPE_VOID)
			lay_out_target(f, number, key);
	}
}

/* In the order in which they lie in memory. */
static void take_objects(struct inferring *f, struct in_order *in_order)
{
	struct heap_types *types = &f->scan->types;
	size_t count = types->types.len;
	bool any = false;
	for (size_t i = 0; i < count; i++)
		any |= types->types.data[i].layout != TYPE_VOID &&
		       types->types.data[i].kind == HEAP_TYPE_CXX;
	uint32_t blocks = any ? search_block_count(f->search) : 0;
	in_order->walk = (struct space_walk){f->graph->space, 0, 0};
	for (uint32_t block = 0; block < blocks && !f->failed; block++) {
		uint32_t type = heap_types_of_label(types, block_label(f->search, block));
		if (type >= count || types->types.data[type].kind != HEAP_TYPE_CXX)
			continue;
		in_order->walk.block = block;
		inferred_follow(f, block, in_order);
		inferred_follow_all(f);
	}
}

/* Finds what whole classes may be, as some of their blocks are; a type without pointers fits too
 * much. At first what settled classes are: those that look like them are so, too. */
static bool inferred_seeds_spread(struct inferring *f, enum inferred_basis basis)
{
	struct heap_scan *s = f->scan;
	bool any = false;
	for (uint32_t class = 0; class < s->types.shape_count && !f->failed; class ++) {
		const struct heap_shape *of = &s->classes.classes.data[class];
		uint32_t found = f->of_shape[class];
		bool is_mixed = inferred_bit(f->is_mixed, class);
		/* Those that have NULL where others have a pointer. */
		if (found == HEAP_TYPE_NONE && !inferred_bit(f->is_mixed, of->group))
			found = f->of_shape[of->group];
		if (s->types.of_shape[class] != HEAP_TYPE_NONE || found == HEAP_TYPE_NONE ||
			f->alike[class] != HEAP_TYPE_NONE || is_mixed || !of->key.pointers ||
			(basis == BASIS_SETTLED && f->alike[of->group] != found) ||
			!inferred_fits(f, found, class))
			continue;
		f->alike[class] = found;
		if (basis == BASIS_SETTLED)
			inferred_set_bit(f->is_settled, class);
		any = true;
	}
	return any;
}

/* Whether blocks of a label are nodes of a container that were named at once. */
static bool is_named_family(const struct heap_types *types, struct block_label label)
{
	if (!block_label_is_family(label))
		return false;
	const struct heap_type *type = &types->types.data[heap_types_of_label(types, label)];
	return type->kind == HEAP_TYPE_CONTAINER && type->layout != TYPE_VOID;
}

/* A block that looks like those of a type gets that type. Returns whether its members are to be
 * followed, as those of other blocks that were not followed so far. */
static bool inferred_seeds_take_block(
	struct inferring *f, uint32_t block, enum inferred_basis basis)
{
	const struct heap_types *types = &f->scan->types;
	struct block_label label = block_label(f->search, block);
	f->basis = basis;
	uint32_t class = heap_types_shape(types, label);
	if (class != HEAP_SHAPE_NONE) {
		if (f->looked_at[class] != LOOKING_AT ||
			!inferred_alike(f, block, class, f->alike[class]))
			return false;
		inferred_assign_block(f, block, f->alike[class]);
		return true;
	}
	if (inferred_bit(f->is_done, block) ||
		!(is_named_family(types, label) || inferred_bit(f->is_left, block)))
		return false;
	/* What follows from a block is known no better than the block. */
	f->basis = inferred_basis_of(f, block);
	return true;
}

static bool is_subset_complete(const struct inferring *f)
{
	return f->subset && f->subset->is_complete;
}

/* The blocks of classes that look like others, each for itself: of settled ones, or of others; of
 * families; and those that were left. */
static void take_classes(struct inferring *f, enum inferred_basis basis, struct in_order *in_order)
{
	const struct heap_types *types = &f->scan->types;
	uint32_t blocks = search_block_count(f->search);
	in_order->walk = (struct space_walk){f->graph->space, 0, 0};
	inferred_learn_rules(f);
	for (uint32_t class = 0; class < types->shape_count; class ++) {
		bool is_now = basis == BASIS_LOOKS || inferred_bit(f->is_settled, class);
		if (is_now && f->alike[class] != HEAP_TYPE_NONE &&
			f->looked_at[class] == NOT_LOOKED_AT)
			f->looked_at[class] = LOOKING_AT;
	}
	if (f->subset)
		inferred_type_subset(f, f->subset, basis);
	for (uint32_t block = 0; block < blocks && !f->failed && !is_subset_complete(f); block++) {
		if (!inferred_seeds_take_block(f, block, basis))
			continue;
		in_order->walk.block = block;
		inferred_follow(f, block, in_order);
		inferred_follow_all(f);
	}
	f->basis = BASIS_DECLARED;
	for (uint32_t class = 0; class < types->shape_count; class ++) {
		if (f->looked_at[class] == LOOKING_AT)
			f->looked_at[class] = LOOKED_AT;
	}
}

static bool inferred_seeds_prepare(struct inferring *f)
{
	size_t classes = f->scan->types.shape_count;
	f->of_shape = malloc((classes + 1) * sizeof(*f->of_shape));
	f->claims = calloc(classes + 1, sizeof(*f->claims));
	f->is_mixed = calloc(classes / 64 + 1, sizeof(*f->is_mixed));
	f->is_settled = calloc(classes / 64 + 1, sizeof(*f->is_settled));
	f->looked_at = calloc(classes + 1, sizeof(*f->looked_at));
	f->alike = malloc((classes + 1) * sizeof(*f->alike));
	size_t words = search_block_count(f->search) / 64 + 1;
	struct heap_scan_alike *bits = &f->scan->alike;
	f->is_done = calloc(words, sizeof(*f->is_done));
	f->is_left = calloc(words, sizeof(*f->is_left));
	f->is_begun = calloc(words, sizeof(*f->is_begun));
	bits->looks = calloc(words, sizeof(*bits->looks));
	bits->settled = calloc(words, sizeof(*bits->settled));
	for (size_t i = 0; f->of_shape && f->alike && i < classes; i++)
		f->of_shape[i] = f->alike[i] = HEAP_TYPE_NONE;
	return f->of_shape && f->claims && f->is_mixed && f->is_done && f->is_left && f->is_begun &&
	       f->is_settled && f->looked_at && f->alike && bits->looks && bits->settled;
}

static void inferred_seeds_infer(struct inferring *f, struct in_order *in_order)
{
	const struct heap_area_vec *areas = &f->scan->heap.areas;
	for (size_t i = 0; i < areas->len; i++)
		f->loose |= areas->data[i].allocator != HEAP_GLIBC;
	lay_out_objects(f);
	inferred_take_held(f);
	inferred_follow_all(f);
	take_globals(f);
	inferred_follow_all(f);
	take_objects(f, in_order);
	inferred_follow_all(f);
	inferred_take_thread_locals(f);
	inferred_follow_all(f);
	inferred_take_stacks(f);
	inferred_follow_all(f);
	while (inferred_take_pools(f) || inferred_take_arrays(f))
		inferred_follow_all(f);
	inferred_take_larger(f, in_order);
}

/* For few blocks alone it is unknown what counts of those that end before they do. */
static bool has_tail_of_subset(const struct inferring *f)
{
	for (size_t i = 0; i < f->subset->reverse->blocks.len; i++) {
		uint32_t block = f->subset->reverse->blocks.data[i];
		uint32_t type = heap_types_of_label(&f->scan->types, block_label(f->search, block));
		if (type != HEAP_TYPE_NONE && block_slack_may_have(f->scan, block, type))
			return true;
	}
	return false;
}

static uint64_t reads_most(const struct inferring *f)
{
	return READS_MOST + search_block_count(f->search) / READS_PART;
}

/* Each round finds the types of whole classes, or follows blocks that were not followed before, so
 * the rounds end. */
static void infer_classes(struct inferring *f, struct in_order *in_order)
{
	bool is_last = false;
	/* What is sure comes first. */
	while (!f->failed && !is_subset_complete(f)) {
		enum inferred_basis basis = f->has_settled ? BASIS_SETTLED : BASIS_LOOKS;
		f->has_settled = false;
		f->reads = reads_most(f);
		inferred_follow_all(f);
		while (inferred_take_arrays(f))
			inferred_follow_all(f);
		if (!inferred_seeds_spread(f, basis) && basis == BASIS_LOOKS) {
			/* What was followed in order may lead into pools, too; what those lead to
			 * is asked once. */
			if (!is_last && inferred_take_pools(f)) {
				is_last = f->has_settled = true;
				continue;
			}
			if (f->subset)
				f->subset->is_complete = !has_tail_of_subset(f);
			break;
		}
		take_classes(f, basis, in_order);
		/* Later rounds know more than is asked for here. */
		if (!is_subset_complete(f))
			f->subset = NULL;
	}
}

struct error *inferred_recognise(struct heap_scan *scan, struct inferred_subset *subset)
{
	if (scan->no_inference) {
		if (subset)
			subset->is_complete = true;
		return NULL;
	}
	struct inferring f = {.scan = scan,
		.subset = subset,
		.search = scan->search,
		.graph = search_graph(scan->search)};
	struct error *error = heap_names_types(scan->names, &f.types);
	if (error)
		return error;
	scan->layouts.types = f.types;
	f.pools = inferred_pools_create();
	f.arrays = inferred_arrays_create();
	f.failed = !f.pools || !f.arrays || !inferred_seeds_prepare(&f);
	f.reads = reads_most(&f);
	error = page_cache_open(scan->heap.space, &f.pages);
	if (!error)
		error = window_open(scan->heap.space, &f.window);
	struct in_order in_order = {.walk = {NULL, 0, 0}};
	if (!error)
		error = window_open(scan->heap.space, &in_order.window);
	if (!f.failed && !error) {
		inferred_seeds_infer(&f, &in_order);
		infer_classes(&f, &in_order);
		inferred_check_arrays(&f);
		inferred_keep_pools(&f);
	}
	inferred_pools_destroy(f.pools);
	inferred_arrays_destroy(f.arrays);
	window_close(&in_order.window);
	window_close(&f.window);
	page_cache_close(&f.pages);
	inferred_free_facts(&f);
	inferred_works_deinit(&f.work);
	beginnings_deinit(&f.beginnings);
	inferred_ranges_deinit(&f.ranges);
	free(f.buffer);
	free(f.of_shape);
	free(f.claims);
	free(f.is_mixed);
	free(f.is_done);
	free(f.is_settled);
	free(f.looked_at);
	free(f.alike);
	free(f.is_left);
	free(f.is_begun);
	if (!error && (f.failed || types_failed(f.types)))
		error = error_no_memory();
	return error;
}
