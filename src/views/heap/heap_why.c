/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "heap/cxx.h"
#include "heap/texts.h"
#include "heap/thread_locals.h"
#include "heap/where.h"
#include "views/heap/heap_joined_view.h"
#include "views/heap/heuristics.h"
#include "views/heap_layout_view.h"
#include "views/heap_notes.h"
#include "views/heap_where_view.h"
#include "views/report/json_parts.h"

#define TEXT_ROWS 12u /* of each layer */
/* Of a long chain the first and the last layers are shown, and those that globals hold. */
#define FIRST_LAYERS 10u
#define LAST_LAYERS 4u

static const char *const root_names[HEAP_ROOT_KINDS] = {[HEAP_ROOT_DATA] = "global",
	[HEAP_ROOT_STACK] = "stack",
	[HEAP_ROOT_TLS] = "thread-local storage",
	[HEAP_ROOT_REGISTERS] = "registers",
	[HEAP_ROOT_MAPPING] = "mapping",
	[HEAP_ROOT_COLLECTOR] = "collector"};

static const char *type_name(const struct heap_page *page, uint32_t type)
{
	return page->survey->types.types.data[type].name;
}

static bool has_address(const struct heap_root *root)
{
	return root->kind != HEAP_ROOT_REGISTERS && root->kind != HEAP_ROOT_COLLECTOR;
}

/* Adds a variable as it is declared, and the member in it that the word is: "static struct node
 * *list", "struct registry registry, its first". */
static void add_declared(
	const struct heap_page *page, uint64_t address, bool is_thread_local, struct text *text)
{
	struct heap_global global;
	if (is_thread_local ? !thread_locals_declared(page->survey, address, &global)
			    : !heap_layouts_global(page->survey, address, &global))
		return;
	struct types *types = page->survey->layouts.types;
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	struct types_place place;
	text_add(text, global.variable.is_local ? "static " : "");
	cxx_add_declaration(text, types, global.variable.type, global.variable.name);
	types_locate(types, global.variable.type, global.offset, &place, &path);
	if (path.len)
		text_printf(text, ", its %s", path.data);
}

/* What makes a pointer into a block as good as one to its start. */
static enum search_heuristic explain(const struct heap_page *page, uint64_t target, uint64_t into)
{
	uint64_t offset;
	uint32_t block = into ? search_block_at(page->survey->search, target, &offset) : SPACE_NONE;
	return block != SPACE_NONE ? interior_explain(page->survey, block, into) : 0;
}

/* The end of a line: how far a pointer leads into what it points to. */
static void text_into(
	const struct heap_page *page, uint64_t target, uint64_t into, struct text *out)
{
	enum search_heuristic heuristic = explain(page, target, into);
	if (into)
		text_printf(out, " + %" PRIu64, into);
	if (heuristic)
		text_printf(out, " (%s)", heuristic_name(heuristic));
	text_add_char(out, '\n');
}

static struct error *text_root(
	const struct heap_page *page, const struct why_root *row, struct text *out)
{
	const struct survey *s = page->survey;
	const struct heap_root *root = &s->roots.data[row->root];
	struct heap_where where;
	struct error *error = has_address(root) ? heap_where(s, row->address, &where) : NULL;
	if (error)
		return error;
	bool says_itself = root->kind == HEAP_ROOT_STACK || root->kind == HEAP_ROOT_TLS;
	text_add(out, "    ");
	if (!says_itself)
		text_add(out, root_names[root->kind]);
	if (root->kind == HEAP_ROOT_REGISTERS)
		text_printf(
			out, " of thread %d", (int)s->heap.space->threads.data[root->thread].tid);
	if (has_address(root)) {
		text_printf(out, "%s0x%" PRIx64 " ", says_itself ? "" : " ", row->address);
		heap_where_describe(&where, out);
	}
	_cleanup_(text_deinit) struct text declared;
	text_init(&declared);
	if (root->kind == HEAP_ROOT_DATA || root->kind == HEAP_ROOT_TLS)
		add_declared(page, row->address, root->kind == HEAP_ROOT_TLS, &declared);
	if (declared.len) {
		text_add(out, " (");
		text_add_shown(out, declared.data, 300);
		text_add(out, ")");
	}
	text_printf(out, " → 0x%" PRIx64, row->target);
	text_into(page, row->target, row->into, out);
	return NULL;
}

/* Of rows and roots, which are in order of layers, the first of a layer. */
static size_t first_row(const struct why *why, unsigned layer)
{
	size_t low = 0, high = why->rows.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (why->rows.data[middle].layer < layer)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
static size_t first_root(const struct why *why, unsigned layer)
{
	size_t low = 0, high = why->roots.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (why->roots.data[middle].layer < layer)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Those of the layers from `first` to `last` that are `unnamed`, or not. */
static struct error *text_roots(const struct heap_page *page, const struct why *why, unsigned first,
	unsigned last, bool unnamed, struct text *out)
{
	struct error *error = NULL;
	size_t shown = 0, all = 0;
	for (size_t i = first_root(why, first); i < why->roots.len && !error; i++) {
		const struct why_root *root = &why->roots.data[i];
		if (root->layer > last)
			break;
		if (root->is_unnamed != unnamed)
			continue;
		all++;
		if (shown < (page->limit ? page->limit : TEXT_ROWS)) {
			shown++;
			error = text_root(page, root, out);
		}
	}
	if (all > shown)
		text_printf(out, "    … and %zu more words outside of blocks\n", all - shown);
	return error;
}

/* Adds the member of a row's example that holds the pointer: "node.next". */
static void add_member(const struct heap_page *page, const struct why_row *row, struct text *text)
{
	const struct survey *s = page->survey;
	struct heap_layout layout;
	uint64_t offset;
	uint32_t block = search_block_at(s->search, row->example, &offset);
	if (block == SPACE_NONE)
		return;
	if (thread_locals_owner(s, block)) {
		thread_locals_add_member(s, block, row->offset, text);
		return;
	}
	pools_add_member(s, block, row->offset, text);
	if (!text->len && heap_layout_of(s, block, &layout))
		heap_layout_add_member(s, &layout, row->offset, text);
}

/* Of thread-local memory whose it is. */
static void add_owner(const struct heap_page *page, const struct why_row *row, struct text *text)
{
	uint64_t offset;
	uint32_t block = search_block_at(page->survey->search, row->example, &offset);
	pid_t tid = row->blocks == 1 && block != SPACE_NONE
			    ? thread_locals_owner(page->survey, block)
			    : 0;
	if (tid)
		text_printf(text, ", of thread %d", (int)tid);
}

static void text_rows(
	const struct heap_page *page, const struct why *why, unsigned layer, struct text *out)
{
	size_t shown = 0, all = 0;
	for (size_t i = first_row(why, layer); i < why->rows.len; i++) {
		const struct why_row *row = &why->rows.data[i];
		if (row->layer != layer)
			break;
		if (++all > (page->limit ? page->limit : TEXT_ROWS))
			continue;
		shown++;
		text_add(out, "    ");
		text_add_count(out, row->blocks);
		text_add(out, row->blocks == 1 ? " block of " : " blocks of ");
		text_add_shown(out, type_name(page, row->type), 120);
		_cleanup_(text_deinit) struct text member;
		text_init(&member);
		add_member(page, row, &member);
		if (member.len) {
			text_add(out, ", by ");
			text_add(out, member.data);
		}
		add_owner(page, row, out);
		if (row->repeats)
			text_add(out, ", some held by others of them");
		text_printf(out, ", as 0x%" PRIx64 " + %" PRIu64 " → 0x%" PRIx64, row->example,
			row->offset, row->target);
		text_into(page, row->target, row->into, out);
	}
	if (all > shown)
		text_printf(out, "    … and blocks of %zu more types\n", all - shown);
}

static bool has_roots(const struct why *why, unsigned first, unsigned last, bool unnamed)
{
	for (size_t i = first_root(why, first); i < why->roots.len; i++) {
		const struct why_root *root = &why->roots.data[i];
		if (root->layer > last)
			break;
		if (root->is_unnamed == unnamed)
			return true;
	}
	return false;
}

/* Of a layer the only type; HEAP_TYPE_NONE: it has several. */
static uint32_t only_type(const struct why *why, unsigned layer)
{
	size_t i = first_row(why, layer);
	bool is_only = i < why->rows.len && why->rows.data[i].layer == layer &&
		       (i + 1 == why->rows.len || why->rows.data[i + 1].layer != layer);
	return is_only ? why->rows.data[i].type : HEAP_TYPE_NONE;
}

/* After how many layers the types of those from `first` to `last` come again; 0: they don't. */
static unsigned period_of(const struct why *why, unsigned first, unsigned last)
{
	for (unsigned period = 1; period <= LAST_LAYERS && period <= last - first; period++) {
		unsigned layer = first;
		while (layer + period <= last && only_type(why, layer) != HEAP_TYPE_NONE &&
			only_type(why, layer) == only_type(why, layer + period))
			layer++;
		if (layer + period > last)
			return period;
	}
	return 0;
}

/* The end of a run of layers, none of which a global or the like holds: they are one line. 0: the
 * layer is shown. */
static unsigned folded_to(const struct why *why, unsigned layer)
{
	if (layer <= FIRST_LAYERS || layer + LAST_LAYERS > why->layers)
		return 0;
	unsigned last = why->layers - LAST_LAYERS;
	for (size_t i = first_root(why, layer); i < why->roots.len; i++) {
		const struct why_root *root = &why->roots.data[i];
		if (root->layer > last)
			break;
		if (root->is_unnamed)
			continue;
		last = root->layer - 1;
		break;
	}
	return last > layer ? last : 0;
}

static void text_folded(const struct heap_page *page, const struct why *why, unsigned first,
	unsigned last, struct text *out)
{
	unsigned period = period_of(why, first, last);
	text_add(out, "  … ");
	text_add_count(out, last - first + 1);
	text_add(out, " more steps");
	/* What holds comes first. */
	for (unsigned i = period; i > 0; i--) {
		text_add(out, i == period ? ": " : " → ");
		text_add_shown(out, type_name(page, only_type(why, first + i - 1)), 60);
	}
	text_add_char(out, '\n');
}

/* SPACE_NONE: several were asked for. */
static uint32_t asked_block(const struct heap_page *page, const struct why *why)
{
	uint64_t offset;
	return why->asked_blocks == 1 ? search_block_at(page->survey->search, why->asked, &offset)
				      : SPACE_NONE;
}

/* Of how many elements a single block is, and the like. */
static bool asked_layout(
	const struct heap_page *page, const struct why *why, struct heap_layout *ret)
{
	uint32_t block = asked_block(page, why);
	return block != SPACE_NONE && heap_layout_of(page->survey, block, ret);
}

static struct error *text_layers(
	const struct heap_page *page, const struct why *why, struct text *out)
{
	struct error *error = NULL;
	for (unsigned layer = has_roots(why, 0, 0, false) ? 0 : 1; layer <= why->layers && !error;
		layer++) {
		unsigned last = folded_to(why, layer);
		if (last) {
			text_folded(page, why, layer, last, out);
			layer = last;
			continue;
		}
		text_printf(out,
			layer ? "  step %u: who points at those\n"
			      : "  held from outside of blocks\n",
			layer);
		if (layer)
			text_rows(page, why, layer, out);
		error = text_roots(page, why, layer, layer, false, out);
	}
	return error;
}

static struct error *write_text(const struct heap_page *page, const char *what,
	const struct kin_set *types, const struct why *why, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	text_add_shown(&out, what, 200);
	if (asked_block(page, why) != SPACE_NONE)
		texts_add_quoted(page->survey, asked_block(page, why), &out);
	text_add(&out, ": ");
	text_add_count(&out, why->asked_blocks);
	text_add(&out, why->asked_blocks == 1 ? " block, " : " blocks, ");
	text_add_bytes(&out, why->asked_bytes);
	struct heap_layout layout;
	if (asked_layout(page, why, &layout))
		heap_layout_add_extent(&layout, &out);
	if (asked_block(page, why) != SPACE_NONE)
		pools_add_evidence(page->survey, asked_block(page, why), &out);
	text_add_char(&out, '\n');
	if (types && heap_kin_has_derived(types)) {
		text_add(&out, "  of these ");
		heap_kin_describe(page->survey, types, &out);
		text_add_char(&out, '\n');
	}
	struct error *error = NULL;
	if (why->asked_blocks == 1)
		error = heap_allocation_text(page, why->asked, why->asked_bytes, &out);
	if (!why->rows.len && !why->roots.len)
		text_add(&out, "  nothing points there\n");
	if (!error)
		error = text_layers(page, why, &out);
	if (why->cut)
		text_add(&out, "  … and further up\n");
	if (!error && has_roots(why, 0, why->layers, true)) {
		text_add(&out, "  words on stacks in no variable that is known, which may be left "
			       "from before\n");
		error = text_roots(page, why, 0, why->layers, true, &out);
	}
	if (!error && out.failed)
		error = error_no_memory();
	if (!error)
		sink->write(sink->ctx, out.data, out.len);
	return error;
}

static void put_rows(struct json *json, const struct heap_page *page, const struct why *why)
{
	json_key(json, "referrers");
	json_array_begin(json);
	for (size_t i = 0; i < why->rows.len; i++) {
		const struct why_row *row = &why->rows.data[i];
		json_object_begin(json);
		json_put_u64(json, "layer", row->layer);
		json_put_string(json, "type", type_name(page, row->type));
		json_put_string(json, "target_type", type_name(page, row->target_type));
		json_put_u64(json, "blocks", row->blocks);
		json_put_bool(json, "repeats", row->repeats);
		json_put_hexadecimal(json, "example", row->example, true);
		json_put_u64(json, "offset", row->offset);
		_cleanup_(text_deinit) struct text member;
		text_init(&member);
		add_member(page, row, &member);
		json_put_string(json, "member", member.data);
		json_put_hexadecimal(json, "target", row->target, true);
		json_put_u64(json, "into", row->into);
		heuristic_put(json, explain(page, row->target, row->into));
		json_object_end(json);
	}
	json_array_end(json);
}

/* Of a place on a stack: "thread", "function", "variable" and "variable_offset". */
static void put_frame(struct json *json, const struct heap_where *where)
{
	const struct heap_stack_place *frame = &where->frame;
	json_put_u64(json, "thread", (uint64_t)where->tid);
	json_put_string(json, "function", frame->function);
	json_put_string(json, "variable", frame->variable);
	if (frame->variable)
		json_put_u64(json, "variable_offset", frame->offset);
}

static struct error *put_root(
	struct json *json, const struct heap_page *page, const struct why_root *row)
{
	const struct survey *s = page->survey;
	const struct heap_root *root = &s->roots.data[row->root];
	struct heap_where where = {.kind = HEAP_WHERE_NOWHERE};
	struct error *error = has_address(root) ? heap_where(s, row->address, &where) : NULL;
	if (error)
		return error;
	json_object_begin(json);
	json_put_u64(json, "layer", row->layer);
	json_put_string(json, "kind", root_names[root->kind]);
	json_put_hexadecimal(json, "address", row->address, has_address(root));
	if (root->kind == HEAP_ROOT_STACK)
		put_frame(json, &where);
	if (root->kind == HEAP_ROOT_TLS || root->kind == HEAP_ROOT_REGISTERS)
		json_put_u64(
			json, "thread", (uint64_t)s->heap.space->threads.data[root->thread].tid);
	if (where.place.module) {
		json_put_string(json, "module", where.place.module->path);
		json_put_string(json, "symbol", where.place.name);
		json_put_u64(json, "symbol_offset", where.offset);
		_cleanup_(text_deinit) struct text declared;
		text_init(&declared);
		add_declared(page, row->address, root->kind == HEAP_ROOT_TLS, &declared);
		json_put_string(json, "declared", declared.data);
	}
	json_put_hexadecimal(json, "target", row->target, true);
	json_put_u64(json, "into", row->into);
	heuristic_put(json, explain(page, row->target, row->into));
	json_object_end(json);
	return NULL;
}

/* What blocks of a type are, those of derived classes each for itself. */
static void put_types(struct json *json, const struct survey *s, const struct kin_set *types)
{
	json_key(json, "types");
	json_array_begin(json);
	for (size_t i = 0; i < types->kin.len; i++) {
		const struct heap_type *type = &s->types.types.data[types->kin.data[i].type];
		json_object_begin(json);
		json_put_string(json, "type", type->name);
		json_put_u64(json, "blocks", type->blocks);
		json_object_end(json);
	}
	json_array_end(json);
}

static struct error *write_json(const struct heap_page *page, const char *what,
	const struct kin_set *types, const struct why *why, const struct sink *sink)
{
	struct json json;
	struct error *error = NULL;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	heap_document_put(&json, page, "heapwise.heap-why/1");
	json_put_string(&json, "of", what);
	json_put_u64(&json, "blocks", why->asked_blocks);
	json_put_u64(&json, "bytes", why->asked_bytes);
	json_put_bool(&json, "cut", why->cut);
	if (types)
		put_types(&json, page->survey, types);
	struct heap_layout layout;
	if (asked_layout(page, why, &layout))
		heap_extent_put(&layout, &json);
	if (asked_block(page, why) != SPACE_NONE)
		heap_pool_put(page->survey, asked_block(page, why), &json);
	if (why->asked_blocks == 1)
		error = heap_allocation_put(page, why->asked, why->asked_bytes, &json);
	put_rows(&json, page, why);
	json_key(&json, "roots");
	json_array_begin(&json);
	for (size_t i = 0; i < why->roots.len && !error; i++)
		error = put_root(&json, page, &why->roots.data[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
	return error;
}

struct error *heap_why_write(const struct heap_page *page, const char *what,
	const struct kin_set *types, const struct why *why, const struct sink *sink)
{
	return page->json ? write_json(page, what, types, why, sink)
			  : write_text(page, what, types, why, sink);
}
