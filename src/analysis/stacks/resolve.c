/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See resolve.h. Two tables, each filled on first use:
 *
 *   frame of the model ──known──▶ entry (a run of shown frames) ◀──frames── (symbol module, ELF
 *                                                                           address)
 *
 * `known` makes the common case, a frame seen before in another stack, one array read; the map
 * after it makes modules that were loaded again at another address share their frames. Only what a
 * signal interrupted, and what a handler returns to, is by the nodes outward of it, and is always
 * looked for in the map.
 */
#include "analysis/resolve.h"

#include <stdlib.h>

#include "analysis/stacks/frame_maker.h"
#include "analysis/stacks/hidden_frames.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"

#define MARKS_MODULE (UINT32_MAX - 1)
#define GIVEN_MODULE (UINT32_MAX - 2) /* what the source says itself, by number */
#define CODE_MODULE (UINT32_MAX - 3)  /* code in no loaded file, and the instruction */

#define NOTHING_SHOWN 1u /* an entry */

/* Where code is, or one of the modules above with a number of its own. */
static inline uint64_t frame_key_hash(struct code_address key)
{
	return hash_u64(key.address ^ hash_u64(key.module));
}

static inline bool frame_key_equal(struct code_address a, struct code_address b)
{
	return a.module == b.module && a.address == b.address;
}

DEFINE_MAP(frame_map, struct code_address, uint32_t, frame_key_hash, frame_key_equal)

/* A run in what the maker made. */
struct entry {
	uint32_t first, count;
};

DEFINE_VEC(entry_vec, struct entry)

/* What is shown of a frame of the model. */
struct known_frame {
	const struct shown_frame *only; /* all that is shown; NULL: it is another number of frames,
					   a mark, or not yet known */
	uint32_t entry;                 /* 0: not yet known */
	uint32_t place;                 /* that one's */
};

struct resolver {
	const struct model *model;
	struct frame_maker maker;
	struct hidden_frames hidden_frames;
	struct entry_vec entries; /* 0 is unused, NOTHING_SHOWN empty */
	struct frame_map frames;
	struct known_frame *known; /* by number of the frame */
	bool has_signals;          /* some stack goes through a handler */
	const struct shown_frame *kinds[ALLOC_KINDS];
	bool all_frames;
};

/* Makes the entry of a frame that no table knows yet. */
static struct error *add_entry(struct resolver *resolver, struct stack_node node,
	const struct embedded_run *given, struct code_address key, uint32_t *ret)
{
	struct frame_maker *maker = &resolver->maker;
	struct entry entry = {.first = (uint32_t)maker->made.len};
	enum stack_mark mark = stack_node_mark(node);
	struct error *error =
		mark != MARK_NONE ? frame_maker_add(maker,
					    (struct shown_frame){.mark = mark, .kind = FRAME_MARK})
		: given           ? frame_maker_add_given(maker, node, given)
		: node.code.value ? frame_maker_add_managed(maker, node)
				  : frame_maker_add_code(maker, node, key);
	if (error)
		return error;
	entry.count = (uint32_t)maker->made.len - entry.first;
	*ret = (uint32_t)resolver->entries.len;
	return entry_vec_push(&resolver->entries, entry) ? NULL : error_no_memory();
}

/*
 * The frame that a handler returns to lies right inward of the frame that its signal interrupted.
 * It is the code that the kernel was given (__restore_rt of libc), which carries no information.
 */
static bool is_trampoline(const struct resolver *resolver, struct stack_node node)
{
	struct stack_node outer = model_stack(resolver->model, node.parent);
	return node.kind == FRAME_NATIVE && outer.kind != FRAME_MARK &&
	       stack_node_mark(model_stack(resolver->model, outer.parent)) == MARK_SIGNAL;
}

/*
 * A signal is shown where a reader expects it: instead of the trampoline, between the handler and
 * what it interrupted. The mark itself is one frame further out and is not shown.
 */
static struct error *find_entry(struct resolver *resolver, struct stack_id id, uint32_t *ret)
{
	struct stack_node node = model_stack(resolver->model, id);
	if (stack_node_mark(node) == MARK_SIGNAL) {
		*ret = NOTHING_SHOWN;
		return NULL;
	}
	if (is_trampoline(resolver, node))
		node = (struct stack_node){.kind = FRAME_MARK, .address = MARK_SIGNAL};
	const struct embedded_run *given = model_embedded(resolver->model, node);
	struct code_address key = {.module = MARKS_MODULE, .address = node.address};
	if (node.code.value) {
		uint64_t instruction = node.kind == FRAME_NAME ? 0 : node.address;
		key = (struct code_address){.module = CODE_MODULE,
			.address = (uint64_t)node.code.value << 32 | instruction};
	} else if (given) {
		key = (struct code_address){.module = GIVEN_MODULE,
			.address = model_embedded_number(resolver->model, given)};
	} else if (stack_node_mark(node) == MARK_NONE) {
		struct error *error = frame_maker_find_code(&resolver->maker, node, &key);
		if (error)
			return error;
	}
	uint32_t *known = frame_map_find(&resolver->frames, key);
	if (known) {
		*ret = *known;
		return NULL;
	}
	struct error *error = add_entry(resolver, node, given, key, ret);
	if (error)
		return error;
	bool is_new;
	known = frame_map_insert(&resolver->frames, key, &is_new);
	if (!known)
		return error_no_memory();
	*known = *ret;
	return NULL;
}

/* The called function itself, for all_frames. */
static struct error *kind_frame(
	struct resolver *resolver, enum alloc_kind kind, const struct shown_frame **ret)
{
	if (!resolver->kinds[kind]) {
		struct error *error = frame_maker_add(
			&resolver->maker, (struct shown_frame){.function = alloc_kind_name(kind)});
		if (error)
			return error;
		resolver->kinds[kind] = resolver->maker.made.data[resolver->maker.made.len - 1];
	}
	*ret = resolver->kinds[kind];
	return NULL;
}

static bool is_signal(const struct resolver *resolver, uint32_t id)
{
	return stack_node_mark(model_stack(resolver->model, (struct stack_id){id})) == MARK_SIGNAL;
}

/* Whether a node is shown by what is outward of it. */
static bool is_by_signal(
	const struct resolver *resolver, const struct stack_link *links, uint32_t id)
{
	uint32_t outer = links[id].parent;
	return is_signal(resolver, outer) || is_signal(resolver, links[outer].parent);
}

/* Finds the entry of a node by what is known of its frame. */
static struct error *find_known(
	struct resolver *resolver, const struct stack_link *links, uint32_t id, struct entry *ret)
{
	struct known_frame *known = &resolver->known[links[id].frame], apart = {.entry = 0};
	if (resolver->has_signals && is_by_signal(resolver, links, id))
		known = &apart;
	if (!known->entry) {
		struct error *error = find_entry(resolver, (struct stack_id){id}, &known->entry);
		if (error)
			return error;
	}
	*ret = resolver->entries.data[known->entry];
	const struct shown_frame *first =
		ret->count == 1 ? resolver->maker.made.data[ret->first] : NULL;
	if (first && first->mark == MARK_NONE && !resolver->has_signals) {
		known->only = first;
		known->place = first->place;
	}
	return NULL;
}

static bool add_frame(struct resolved_stack *ret, const struct shown_frame *frame)
{
	ret->hash = shown_frame_hash_add(ret->hash, frame->place);
	ret->unmarked &= frame->mark == MARK_NONE;
	return frame_vec_push(&ret->frames, frame);
}

/* Adds what is shown of a node, if that is not one frame alone. */
static struct error *add_node(struct resolver *resolver, const struct stack_link *links,
	uint32_t id, bool *guessed, struct resolved_stack *ret)
{
	struct entry entry;
	struct error *error = find_known(resolver, links, id, &entry);
	if (error)
		return error;
	const struct shown_frame *const *frames = resolver->maker.made.data + entry.first;
	/* Each guessed step has a mark; "from here on" appears once. */
	if (entry.count == 1 && frames[0]->mark == MARK_GUESSED) {
		if (*guessed)
			return NULL;
		*guessed = true;
	}
	for (uint32_t i = 0; i < entry.count; i++)
		if (!add_frame(ret, frames[i]))
			return error_no_memory();
	return NULL;
}

/* Adds the frames of nodes that show one frame each, and are known, while there is room. Returns
 * the first other node, or 0. */
static uint32_t add_known(const struct resolver *resolver, const struct stack_link *links,
	uint32_t id, struct resolved_stack *ret)
{
	const struct known_frame *all = resolver->known;
	size_t len = ret->frames.len, cap = ret->frames.cap;
	const struct shown_frame **frames = ret->frames.data;
	uint64_t hash = ret->hash;
	while (id != 0 && len < cap) {
		const struct known_frame *known = &all[links[id].frame];
		if (!known->only)
			break;
		frames[len++] = known->only;
		hash = shown_frame_hash_add(hash, known->place);
		id = links[id].parent;
	}
	ret->frames.len = len;
	ret->hash = hash;
	return id;
}

/* Adds the frames of a stack's nodes. */
static struct error *resolver_add_nodes(
	struct resolver *resolver, struct stack_id stack, struct resolved_stack *ret)
{
	const struct stack_link *links = model_stack_links(resolver->model);
	bool guessed = false;
	uint32_t id = stack.value;
	while ((id = add_known(resolver, links, id, ret))) {
		struct error *error = NULL;
		if (!resolver->known[links[id].frame].only) {
			error = add_node(resolver, links, id, &guessed, ret);
			id = links[id].parent;
		} else if (!frame_vec_reserve(&ret->frames, ret->frames.len + 1)) {
			error = error_no_memory();
		}
		if (error)
			return error;
	}
	return NULL;
}

/* Outward from here stacks are so much alike that their nodes are in the cache. */
#define FETCH_DEPTH 64u

void resolver_fetch(const struct resolver *resolver, const struct stack_id *stacks, size_t count)
{
	const struct stack_link *links = model_stack_links(resolver->model);
	uint32_t at[RESOLVER_BATCH];
	size_t left = 0;
	for (size_t i = 0; i < count; i++)
		if (stacks[i].value)
			at[left++] = stacks[i].value;
	for (unsigned depth = 0; left && depth < FETCH_DEPTH; depth++) {
		size_t kept = 0;
		for (size_t i = 0; i < left; i++) {
			uint32_t outer = links[at[i]].parent;
			at[kept] = outer;
			kept += outer != 0;
		}
		left = kept;
	}
	/* Nothing of it is used, but it must not be left out. */
	__asm__ volatile("" : : "r"(left) : "memory");
}

/* What is said of the frames, after some of them were taken out. */
static void say_again(enum alloc_kind kind, struct resolved_stack *ret)
{
	ret->hash = kind;
	ret->unmarked = true;
	for (size_t i = 0; i < ret->frames.len; i++) {
		const struct shown_frame *frame = ret->frames.data[i];
		ret->hash = shown_frame_hash_add(ret->hash, frame->place);
		ret->unmarked &= frame->mark == MARK_NONE;
	}
}

struct error *resolver_stack_hashed(struct resolver *resolver, struct stack_id stack,
	enum alloc_kind kind, struct resolved_stack *ret)
{
	ret->frames.len = 0;
	ret->hash = kind;
	ret->unmarked = true;
	if (resolver->all_frames && kind != KIND_UNKNOWN) {
		const struct shown_frame *frame;
		struct error *error = kind_frame(resolver, kind, &frame);
		if (error)
			return error;
		if (!add_frame(ret, frame))
			return error_no_memory();
	}
	struct error *error = resolver_add_nodes(resolver, stack, ret);
	if (error)
		return error;
	size_t whole = ret->frames.len;
	hidden_frames_apply(&resolver->hidden_frames, resolver->maker.any, &ret->frames);
	if (ret->frames.len != whole)
		say_again(kind, ret);
	return NULL;
}

struct error *resolver_stack(struct resolver *resolver, struct stack_id stack, enum alloc_kind kind,
	struct frame_vec *ret)
{
	struct resolved_stack resolved = {.frames = *ret};
	struct error *error = resolver_stack_hashed(resolver, stack, kind, &resolved);
	*ret = resolved.frames;
	return error;
}

struct error *resolver_data(
	struct resolver *resolver, struct module_id id, uint64_t address, struct shown_data *ret)
{
	const struct module *module = model_module(resolver->model, id);
	*ret = (struct shown_data){.offset = address - module->bias};
	if (module->path[0] == '\0')
		return NULL;
	ret->module = path_last_part(module->path);
	uint32_t number;
	struct symbol_variable variable = {.name = NULL};
	struct error *error = loaded_files_find(&resolver->maker.files, id, &number);
	if (!error && number != NO_MODULE)
		error = symbols_variable_name(
			resolver->maker.files.symbols, number, ret->offset, &variable);
	if (error || !variable.name)
		return error;
	ret->name = variable.name;
	ret->offset = variable.offset;
	return NULL;
}

struct error *resolver_data_place(
	struct resolver *resolver, struct module_id id, uint64_t address, struct shown_data *data)
{
	uint32_t number;
	struct symbol_variable variable = {.name = NULL};
	struct error *error = loaded_files_find(&resolver->maker.files, id, &number);
	if (!error && number != NO_MODULE)
		error = symbols_variable(resolver->maker.files.symbols, number,
			address - model_module(resolver->model, id)->bias, &variable);
	data->file = variable.file;
	data->line = variable.line;
	return error;
}

const char *resolver_inner_name(struct resolver *resolver, const struct shown_frame *frame)
{
	return frame->code_module ? symbols_inner_name(resolver->maker.files.symbols,
					    frame->code_module - 1, frame->offset)
				  : NULL;
}

void resolver_add_aliases(struct resolver *resolver)
{
	resolver->maker.with_aliases = true;
}

void resolver_notes(const struct resolver *resolver, struct text *ret)
{
	if (resolver->hidden_frames.hid_interpreter)
		text_add(ret, "Stacks are shown without the frames of Python's interpreter "
			      "(--all-frames shows them).\n");
	loaded_files_notes(&resolver->maker.files, ret);
}

struct error *resolver_code(
	struct resolver *resolver, struct stack_id *stack, struct code_address *ret)
{
	struct stack_node node = model_stack(resolver->model, *stack);
	*stack = node.parent;
	*ret = (struct code_address){.module = NO_MODULE};
	if (node.kind != FRAME_NATIVE || node.code.value)
		return NULL;
	return frame_maker_find_code(&resolver->maker, node, ret);
}

struct symbols *resolver_symbols(struct resolver *resolver)
{
	return resolver->maker.files.symbols;
}

static struct error *resolver_make(
	const struct model *model, bool all_frames, struct resolver *beside, struct resolver **ret)
{
	_cleanup_(resolver_cleanup) struct resolver *resolver = calloc(1, sizeof(*resolver));
	if (!resolver)
		return error_no_memory();
	entry_vec_init(&resolver->entries);
	frame_map_init(&resolver->frames);
	resolver->model = model;
	resolver->all_frames = all_frames;
	struct error *error =
		frame_maker_init(&resolver->maker, model, beside ? &beside->maker : NULL);
	if (!error)
		error = hidden_frames_init(
			&resolver->hidden_frames, model_recording(model), all_frames);
	if (error)
		return error;
	resolver->known = calloc(model_frame_limit(model), sizeof(*resolver->known));
	for (uint32_t i = 0; i < model_frame_limit(model); i++)
		resolver->has_signals |= stack_node_mark(model_frame(model, i)) == MARK_SIGNAL;
	if (!resolver->known || !entry_vec_push(&resolver->entries, (struct entry){0}) ||
		!entry_vec_push(&resolver->entries, (struct entry){0}))
		return error_no_memory();
	*ret = steal_ptr(resolver);
	return NULL;
}

struct error *resolver_create(const struct model *model, bool all_frames, struct resolver **ret)
{
	return resolver_make(model, all_frames, NULL, ret);
}

struct error *resolver_create_beside(
	const struct model *model, struct resolver *beside, struct resolver **ret)
{
	return resolver_make(model, true, beside && beside->model == model ? beside : NULL, ret);
}

void resolver_destroy(struct resolver *resolver)
{
	if (!resolver)
		return;
	frame_maker_deinit(&resolver->maker);
	hidden_frames_deinit(&resolver->hidden_frames);
	free(resolver->known);
	frame_map_deinit(&resolver->frames);
	entry_vec_deinit(&resolver->entries);
	free(resolver);
}
