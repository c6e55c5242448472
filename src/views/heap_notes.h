/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an answer about a heap lacks: damage of its books, and bounds that were reached. */
#ifndef VIEWS_HEAP_NOTES_H
#define VIEWS_HEAP_NOTES_H

#include "base/json.h"
#include "base/text.h"
#include "heap/survey.h"

/* Adds a place with damage as a sentence without an end: "damage at 0x55…: …, 48 bytes were passed
 * over". */
void heap_damage_describe(const struct heap_damage *damage, struct text *out);

/* Adds what a document of one verb about blocks begins with, in an open object, for answers that
 * are no tables yet: "schema" (or what it was called in the release before), "partial", "damage".
 */
struct heap_page;
void heap_document_put(struct json *json, const struct heap_page *page, const char *schema);

/* Adds "partial" of a verb that rests on no block: names of what the core lacks, and of a bound
 * that was reached; NULL: none was. */
void heap_core_limits_put(
	struct json *json, const struct address_space *space, const char *reached);

#endif
