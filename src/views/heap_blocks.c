/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All blocks of a heap, one after the other as they are found: output never waits for the end. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "heap/inferred.h"
#include "heap/texts.h"
#include "views/heap_joined_view.h"
#include "views/heap_notes.h"
#include "views/heuristics.h"
#include "views/json_parts.h"

#define PIECE_BYTES (64u << 10)
/* So much of a text is shown. */
#define BEGINNING_BYTES 48u

struct chosen_block {
	struct heap_block block;
	uint32_t number; /* SPACE_NONE: it is not in use */
};
DEFINE_VEC(chosen_blocks, struct chosen_block)

struct listing {
	const struct heap_page *page;
	const struct sink *sink;
	struct text out; /* of text; NULL in `json` then */
	struct json *json;
	uint8_t *sites; /* bit set of the recording's that were shown; NULL without one */
	struct heap_rows rows;
	struct chosen_blocks found; /* if they are sorted */
	uint64_t blocks, bytes;     /* that match */
	size_t left;
	bool stopped;
};

static const char *const states[BLOCK_STATES] = {"used", "free", "cached", "allocator"};
static const char *const kinds[SEARCH_KINDS] = {"definite", "indirect", "possible", "reachable"};

enum { COLUMN_ADDRESS, COLUMN_SIZE, COLUMN_STATE, COLUMN_LEAK, COLUMN_TYPE };
static const struct rows_column columns[] = {{"address", ROWS_PLACE}, {"size", ROWS_AMOUNT},
	{"state", ROWS_TEXT}, {"leak", ROWS_TEXT}, {"type", ROWS_TEXT}, {NULL, ROWS_TEXT}};

static void fill_cell(const struct survey *s, const struct chosen_block *found, unsigned column,
	struct rows_cell *ret)
{
	bool used = found->number != SPACE_NONE;
	switch (column) {
	case COLUMN_ADDRESS:
		ret->number = found->block.address;
		break;
	case COLUMN_SIZE:
		ret->number = found->block.size;
		break;
	case COLUMN_STATE:
		ret->text = states[found->block.state];
		break;
	case COLUMN_LEAK:
		ret->text = used ? kinds[search_kind(s->search, found->number)] : NULL;
		break;
	default:
		if (used) {
			const struct heap_type *type =
				&s->types.types.data[survey_type_of(s, found->number)];
			ret->text = type->name;
			ret->is_makeshift = type->kind == HEAP_TYPE_GROUP;
		}
	}
}

/* Of those that were kept; or of the one that `context` is. */
struct cells {
	const struct survey *survey;
	const struct chosen_block *blocks;
};

static void cell_of(const void *context, size_t row, unsigned column, struct rows_cell *ret)
{
	const struct cells *cells = context;
	fill_cell(cells->survey, &cells->blocks[row], column, ret);
}

/* The number of a block in use; SPACE_NONE: it is not. */
static uint32_t number_of(const struct survey *survey, const struct heap_block *block)
{
	uint64_t offset;
	return block->state == BLOCK_USED ? search_block_at(survey->search, block->address, &offset)
					  : SPACE_NONE;
}

/* The place of a block in the recording; SURVEY_NO_PLACE. */
static uint32_t place_of(const struct listing *l, uint32_t number)
{
	const struct survey *s = l->page->survey;
	return s->sites.len ? s->sites.data[search_block_site(s->search, number)].place
			    : SURVEY_NO_PLACE;
}

/* Of a block that the recording knows: its stack stands at the end, once. */
static void put_allocation(struct listing *l, const struct heap_block *block, uint32_t number)
{
	uint32_t place = l->sites ? place_of(l, number) : SURVEY_NO_PLACE;
	const struct live_block *known =
		place == SURVEY_NO_PLACE
			? NULL
			: joined_find(l->page->joined, block->address, block->size);
	if (!known)
		return;
	json_put_u64(l->json, "requested", known->size);
	json_put_u64(l->json, "site", place);
	l->sites[place / 8] |= (uint8_t)(1u << place % 8);
}

static void put_json(
	struct listing *l, const struct heap_block *block, const char *beginning, uint32_t number)
{
	const struct survey *s = l->page->survey;
	json_object_begin(l->json);
	json_put_hexadecimal(l->json, "address", block->address, true);
	json_put_u64(l->json, "size", block->size);
	json_put_string(l->json, "state", states[block->state]);
	if (number != SPACE_NONE) {
		uint32_t type = survey_type_of(s, number);
		const char *by = inferred_basis_name(s, number);
		json_put_string(l->json, "type", s->types.types.data[type].name);
		if (by)
			json_put_string(l->json, "by", by);
		if (beginning)
			json_put_string(l->json, "text", beginning);
		json_put_string(l->json, "leak", kinds[search_kind(s->search, number)]);
		heuristic_put(l->json, search_heuristic_of(s->search, number));
		put_allocation(l, block, number);
	}
	json_object_end(l->json);
	l->stopped = l->json->failed;
}

static void flush(struct listing *l)
{
	if (l->out.len && !l->sink->write(l->sink->ctx, l->out.data, l->out.len))
		l->stopped = true;
	text_clear(&l->out);
}

static void put_text(
	struct listing *l, const struct heap_block *block, const char *beginning, uint32_t number)
{
	const struct survey *s = l->page->survey;
	text_printf(&l->out, "0x%012" PRIx64 " %12" PRIu64 "  %-9s", block->address, block->size,
		states[block->state]);
	if (number != SPACE_NONE) {
		uint32_t type = survey_type_of(s, number);
		text_printf(&l->out, "  %-9s  ", kinds[search_kind(s->search, number)]);
		text_add_shown(&l->out, s->types.types.data[type].name, 200);
		if (beginning) {
			text_add(&l->out, " \"");
			text_add_shown(&l->out, beginning, BEGINNING_BYTES);
			text_add_char(&l->out, '"');
		}
		enum search_heuristic heuristic = search_heuristic_of(s->search, number);
		if (heuristic)
			text_printf(&l->out, " (held by %s)", heuristic_name(heuristic));
	}
	text_add_char(&l->out, '\n');
	if (l->out.len >= PIECE_BYTES)
		flush(l);
}

/* bytes: what of the block is at hand; NULL: nothing is. */
static void put(struct listing *l, const struct heap_block *block, uint32_t number,
	const uint8_t *bytes, size_t len)
{
	if (!l->left || l->stopped)
		return;
	l->left--;
	const struct survey *s = l->page->survey;
	_cleanup_(text_deinit) struct text beginning;
	text_init(&beginning);
	if (number != SPACE_NONE)
		texts_add_beginning(s, number, bytes, len, BEGINNING_BYTES, &beginning);
	if (l->json)
		put_json(l, block, beginning.data, number);
	else
		put_text(l, block, beginning.data, number);
}

static struct error *take(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct listing *l = context;
	const struct survey *s = l->page->survey;
	bool counts = heap_page_is_choosy(l->page) || l->rows.is_sorted;
	if (l->stopped || (!counts && !l->left))
		return NULL;
	struct chosen_block found = {*block, number_of(s, block)};
	const struct cells cells = {s, &found};
	if (!heap_chosen_takes(l->page->chosen, s, block, found.number) ||
		!heap_rows_take(&l->rows, &cells, 0))
		return NULL;
	l->blocks++;
	l->bytes += block->size;
	if (l->rows.is_sorted && !l->page->rows->count_only)
		return chosen_blocks_push(&l->found, found) ? NULL : error_no_memory();
	put(l, block, found.number, bytes, len);
	return l->out.failed ? error_no_memory() : NULL;
}

static struct error *put_sorted(struct listing *l)
{
	const struct cells cells = {l->page->survey, l->found.data};
	_cleanup_free_ size_t *order = NULL;
	size_t count;
	struct error *error = heap_rows_choose(&l->rows, &cells, l->found.len, &order, &count);
	for (size_t i = 0; i < count && !error && l->left && !l->stopped; i++)
		put(l, &l->found.data[order[i]].block, l->found.data[order[i]].number, NULL, 0);
	return error;
}

static struct error *walk(struct listing *l)
{
	struct heap_sink sink = {l, take};
	struct error *error = heap_walk(&l->page->survey->heap, &sink);
	return error || !l->rows.is_sorted ? error : put_sorted(l);
}

static struct error *put_sites(struct listing *l)
{
	size_t count;
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	struct error *error = resolver_create(l->page->joined->recording, false, &resolver);
	model_sites(l->page->joined->recording, &count);
	json_key(l->json, "sites");
	json_array_begin(l->json);
	for (uint32_t i = 0; i < count && !error; i++) {
		if (!(l->sites[i / 8] >> i % 8 & 1))
			continue;
		json_object_begin(l->json);
		json_put_u64(l->json, "site", i);
		error = heap_site_put(l->page, resolver, i, l->json);
		json_object_end(l->json);
	}
	json_array_end(l->json);
	return error;
}

/* With a recording: room for its sites. */
static struct error *prepare_sites(struct listing *l)
{
	size_t count;
	if (!l->page->joined)
		return NULL;
	model_sites(l->page->joined->recording, &count);
	l->sites = calloc(count / 8 + 1, 1);
	return l->sites ? NULL : error_no_memory();
}

static struct error *write_json(struct listing *l)
{
	struct json json;
	struct error *no_room = prepare_sites(l);
	if (no_room)
		return no_room;
	json_init(&json, l->sink->write, l->sink->ctx);
	l->json = &json;
	json_object_begin(&json);
	heap_document_put(&json, l->page->survey);
	json_key(&json, "blocks");
	json_array_begin(&json);
	struct error *error = walk(l);
	json_array_end(&json);
	if (heap_page_is_choosy(l->page))
		heap_matched_put(&json, l->blocks, l->bytes);
	if (l->page->joined) {
		heap_joined_put(l->page, &json);
		if (!error)
			error = put_sites(l);
	}
	json_object_end(&json);
	json_finish(&json);
	free(l->sites);
	return error;
}

static struct error *write_text(struct listing *l)
{
	text_init(&l->out);
	if (!l->page->rows->count_only)
		text_add(&l->out, "ADDRESS                SIZE  STATE      LEAK       TYPE\n");
	struct error *error = walk(l);
	if (!error && heap_page_is_choosy(l->page))
		heap_matched_text(&l->out, l->blocks, l->bytes);
	flush(l);
	text_deinit(&l->out);
	return error;
}

struct error *heap_blocks_write(const struct heap_page *page, const struct sink *sink)
{
	struct listing l = {.page = page,
		.sink = sink,
		.left = page->limit == VIEW_DEFAULT_LIMIT ? SIZE_MAX : page->limit};
	if (page->rows->count_only)
		l.left = 0;
	struct error *error = heap_rows_open(columns, cell_of, page->rows, &l.rows);
	if (error)
		return error;
	error = page->json ? write_json(&l) : write_text(&l);
	chosen_blocks_deinit(&l.found);
	heap_rows_close(&l.rows);
	return error;
}
