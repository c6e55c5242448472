/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap_notes.h"

#include <inttypes.h>

#include "heap/limits.h"
#include "views/heap_answers.h"
#include "views/report/json_parts.h"

void heap_damage_describe(const struct heap_damage *damage, struct text *out)
{
	text_printf(out, "%s at 0x%" PRIx64 ": %s",
		damage->amid ? "a thread is in the middle of a change, or damage" : "damage",
		damage->address, damage->what);
	static const char *const hows[] = {[HEAP_PASSED_OVER] = "were passed over",
		[HEAP_MISSING] = "are missing",
		[HEAP_TOO_MANY] = "are too many"};
	if (damage->bytes)
		text_printf(out, ", %" PRIu64 " bytes %s", damage->bytes, hows[damage->how]);
	if (damage->blocks)
		text_printf(out, ": up to %" PRIu64 " blocks that count as used may be free",
			damage->blocks);
	if (damage->before && !damage->amid)
		text_printf(out,
			"; the block before it, at 0x%" PRIx64 " of %" PRIu64
			" bytes, may have been written beyond its end",
			damage->before, damage->before_size);
}

/* What a core itself lacks. */
static void put_core(struct json *json, const struct address_space *space)
{
	const struct core_file *core = &space->core;
	if (space->is_live)
		return;
	if (core->missing_bytes || core->unpacked_cut)
		json_string(json, "core-cut");
	if (core->notes_damaged || core->overlapping)
		json_string(json, "core-damaged");
	if (address_space_lacks_private(space))
		json_string(json, "no-private-memory");
}

static void put_limits(struct json *json, const struct survey *survey)
{
	json_key(json, "partial");
	json_array_begin(json);
	put_core(json, survey->heap.space);
	for (enum survey_limit limit = 0; limit < SURVEY_LIMITS; limit++) {
		if (survey_has_reached(survey, limit))
			json_string(json, survey_limit_name(limit));
	}
	json_array_end(json);
}

void heap_core_limits_put(struct json *json, const struct address_space *space, const char *reached)
{
	json_key(json, "partial");
	json_array_begin(json);
	put_core(json, space);
	if (reached)
		json_string(json, reached);
	json_array_end(json);
}

static void put_damage(struct json *json, const struct survey *survey)
{
	static const char *const hows[] = {[HEAP_PASSED_OVER] = "passed-over",
		[HEAP_MISSING] = "missing",
		[HEAP_TOO_MANY] = "too-many"};
	const struct heap_damage_vec *damage = &survey->heap.damage;
	json_key(json, "damage");
	json_array_begin(json);
	for (size_t i = 0; i < damage->len; i++) {
		const struct heap_damage *one = &damage->data[i];
		json_object_begin(json);
		json_put_hexadecimal(json, "address", one->address, true);
		json_put_u64(json, "bytes", one->bytes);
		json_put_string(json, "how", hows[one->how]);
		json_put_string(json, "what", one->what);
		json_put_bool(json, "amid_change", one->amid);
		json_put_u64(json, "maybe_free_blocks", one->blocks);
		json_put_hexadecimal(json, "block_before", one->before, one->before && !one->amid);
		json_object_end(json);
	}
	json_array_end(json);
}

void heap_document_put(struct json *json, const struct heap_page *page, const char *schema)
{
	json_put_string(json, "schema", page->json_before ? HEAP_SCHEMA_BEFORE : schema);
	put_limits(json, page->survey);
	put_damage(json, page->survey);
}
