/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	24 bytes, pointers at 0 8: 3,000 blocks, 32 of them looked at
 *	  1  struct node, 24 bytes
 *	     for: pointers in next name; name points to what it says
 *	     against: …
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "views/heap_layout_view.h"
#include "views/heap_notes.h"
#include "views/report/json_parts.h"

#define ROWS 10u
#define MEMBERS_SHOWN 6u

struct reason {
	const char *json, *text;
	uint64_t words;
};
#define REASONS_FOR 2u
#define REASONS 7u

static void list_reasons(const struct candidate *c, struct reason ret[REASONS])
{
	ret[0] = (struct reason){"pointers", "pointers in", c->pointers};
	ret[1] =
		(struct reason){"agreeing", "what is pointed to is what is declared:", c->agreeing};
	ret[2] = (struct reason){"nulls", "never a pointer in", c->nulls};
	ret[3] = (struct reason){"strays", "pointers where it has none:", c->strays};
	ret[4] = (struct reason){"numbers", "no pointers in", c->numbers};
	ret[6] = (struct reason){"broken", "values that no other has:", c->broken};
	ret[5] = (struct reason){"denied", "what is pointed to is something else:", c->denied};
}

/* The member that a word of the block is. */
static void add_word(
	struct types *types, const struct candidate *c, unsigned word, struct text *text)
{
	struct types_place place;
	uint64_t at = 8ull * word;
	if (at < c->header) {
		text_add(text, "(number of elements)");
		return;
	}
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	at -= c->header;
	types_locate(types, c->type, at % c->size, &place, &path);
	if (c->is_array)
		text_printf(text, "[%" PRIu64 "]%s", at / c->size, path.len ? "." : "");
	text_add_shown(text, path.data ? path.data : "", 120);
}

static void add_words(
	struct types *types, const struct candidate *c, uint64_t words, struct text *text)
{
	unsigned shown = 0;
	for (unsigned i = 0; i < CLASS_WORDS; i++) {
		if (!(words >> i & 1))
			continue;
		if (shown++ == MEMBERS_SHOWN) {
			text_printf(text, " … (%d)", __builtin_popcountll(words));
			return;
		}
		text_add_char(text, ' ');
		add_word(types, c, i, text);
	}
}

static void add_name(struct types *types, const struct candidate *c, struct text *text)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	types_declare(types, c->type, "", &name);
	text_add_shown(text, name.data ? name.data : "", 300);
	if (c->is_array)
		text_printf(text, "[%" PRIu64 "]", c->count);
}

static void put_reasons(struct types *types, const struct candidate *c, const char *title,
	const struct reason *reasons, unsigned count, struct text *out)
{
	bool any = false;
	for (unsigned i = 0; i < count; i++) {
		if (!reasons[i].words)
			continue;
		text_add(out, any ? "; " : title);
		text_add(out, reasons[i].text);
		add_words(types, c, reasons[i].words, out);
		any = true;
	}
	if (any)
		text_add_char(out, '\n');
}

static void put_text(struct types *types, const struct candidate *c, size_t rank, struct text *out)
{
	struct reason reasons[REASONS];
	list_reasons(c, reasons);
	text_printf(out, "%3zu  ", rank);
	add_name(types, c, out);
	text_printf(out, ", %" PRIu64 " bytes", c->header + c->size * c->count);
	if (c->header)
		text_printf(out, " with %" PRIu64 " before the first", c->header);
	text_add_char(out, '\n');
	put_reasons(types, c, "     for: ", reasons, REASONS_FOR, out);
	put_reasons(types, c, "     against: ", reasons + REASONS_FOR, REASONS - REASONS_FOR, out);
	if (c->declared_by)
		text_printf(out,
			"     for: %u pointer%s that lead%s there %s declared to lead to such, or "
			"to "
			"what it begins with\n",
			c->declared_by, c->declared_by == 1 ? "" : "s",
			c->declared_by == 1 ? "s" : "", c->declared_by == 1 ? "is" : "are");
	if (c->known)
		text_printf(out,
			"     for: %u block%s known to be that %s pointers at the same places\n",
			c->known, c->known == 1 ? "" : "s", c->known == 1 ? "has" : "have");
	if (!c->pointers && !c->known && !c->declared_by)
		text_add(out, "     only its size speaks for it\n");
}

static void put_json(struct types *types, const struct candidate *c, struct json *json)
{
	struct reason reasons[REASONS];
	list_reasons(c, reasons);
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	types_declare(types, c->type, "", &name);
	json_object_begin(json);
	json_put_string(json, "type", name.data);
	json_put_u64(json, "size", c->size);
	json_put_bool(json, "is_array", c->is_array);
	json_put_u64(json, "count", c->count);
	json_put_u64(json, "header", c->header);
	json_key(json, "score");
	json_i64(json, c->score);
	json_put_u64(json, "declared_by", c->declared_by);
	json_put_u64(json, "known", c->known);
	for (unsigned i = 0; i < REASONS; i++) {
		json_key(json, reasons[i].json);
		json_array_begin(json);
		for (unsigned k = 0; k < CLASS_WORDS; k++) {
			_cleanup_(text_deinit) struct text member;
			text_init(&member);
			if (!(reasons[i].words >> k & 1))
				continue;
			add_word(types, c, k, &member);
			json_string(json, member.data ? member.data : "");
		}
		json_array_end(json);
	}
	json_object_end(json);
}

struct error *heap_candidates_write(const struct heap_page *page, const char *what,
	const struct candidate_vec *found, uint32_t sampled, bool has_blocks,
	const struct sink *sink)
{
	struct types *types = page->survey->layouts.types;
	size_t most = page->limit == VIEW_DEFAULT_LIMIT ? ROWS : page->limit;
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	if (page->json) {
		struct json json;
		json_init(&json, sink->write, sink->ctx);
		json_object_begin(&json);
		heap_document_put(&json, page, "heapwise.heap-candidates/1");
		json_put_string(&json, "of", what);
		json_put_u64(&json, "sampled", sampled);
		json_key(&json, "candidates");
		json_array_begin(&json);
		for (size_t i = 0; i < found->len && i < most; i++)
			put_json(types, &found->data[i], &json);
		json_array_end(&json);
		json_object_end(&json);
		json_finish(&json);
		return NULL;
	}
	text_add_shown(&out, what, 300);
	if (sampled)
		text_printf(&out, " may be (by %u block%s):\n", sampled, sampled == 1 ? "" : "s");
	else
		text_printf(&out, ": %s, so nothing says what it may be\n",
			has_blocks ? "its memory can't be read" : "no block is one");
	for (size_t i = 0; i < found->len && i < most; i++)
		put_text(types, &found->data[i], i + 1, &out);
	if (sampled && !found->len)
		text_add(&out, "  no type of the debug information: none has that size, and "
			       "pointers where these blocks have them\n");
	if (found->len > most)
		text_printf(&out, "… and %zu more (--limit)\n", found->len - most);
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

struct error *heap_holders_write(const struct heap_page *page, const char *what, uint32_t layout,
	const struct holding_members *found, const struct sink *sink)
{
	struct types *types = page->survey->layouts.types;
	size_t most = page->limit == VIEW_DEFAULT_LIMIT ? (size_t)4 * ROWS : page->limit;
	_cleanup_(text_deinit) struct text out;
	_cleanup_(text_deinit) struct text name;
	struct json json;
	text_init(&out);
	text_init(&name);
	types_declare(types, layout, "", &name);
	if (page->json) {
		json_init(&json, sink->write, sink->ctx);
		json_object_begin(&json);
		heap_document_put(&json, page, "heapwise.heap-holders/1");
		json_put_string(&json, "of", what);
		json_put_string(&json, "type", name.data);
		json_key(&json, "members");
		json_array_begin(&json);
	} else {
		text_add_shown(&out, what, 300);
		text_add(&out, " is ");
		text_add_shown(&out, name.data ? name.data : "", 300);
		text_add(&out, found->len ? "; what may point to it, by its declaration:\n"
					  : "; no member of any type is declared to point to it\n");
	}
	for (size_t i = 0; i < found->len && i < most; i++) {
		_cleanup_(text_deinit) struct text member;
		text_init(&member);
		struct types_place place;
		types_declare(types, found->data[i].owner, "", &member);
		text_add(&member, ".");
		_cleanup_(text_deinit) struct text path;
		text_init(&path);
		types_locate(types, found->data[i].owner, found->data[i].offset, &place, &path);
		text_add(&member, path.data ? path.data : "");
		if (page->json) {
			json_string(&json, member.data ? member.data : "");
		} else {
			text_add(&out, "  ");
			text_add_shown(&out, member.data ? member.data : "", 300);
			text_add_char(&out, '\n');
		}
	}
	if (page->json) {
		json_array_end(&json);
		json_object_end(&json);
		json_finish(&json);
		return NULL;
	}
	if (found->len > most)
		text_printf(&out, "… and %zu more (--limit)\n", found->len - most);
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

struct error *heap_pool_write(
	const struct heap_page *page, const char *what, uint32_t block, const struct sink *sink)
{
	const struct survey *survey = page->survey;
	const char *name = survey->types.types.data[survey_type_of(survey, block)].name;
	struct json json;
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	if (page->json) {
		json_init(&json, sink->write, sink->ctx);
		json_object_begin(&json);
		heap_document_put(&json, page, "heapwise.heap-pool/1");
		json_put_string(&json, "of", what);
		json_put_string(&json, "type", name);
		heap_pool_put(survey, block, &json);
		json_object_end(&json);
		json_finish(&json);
		return NULL;
	}
	text_printf(&out, "0x%" PRIx64 " is a ", search_block_address(survey->search, block));
	text_add_shown(&out, name, 300);
	pools_add_evidence(survey, block, &out);
	text_add_char(&out, '\n');
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}
