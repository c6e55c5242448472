/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of docs/schema that describes a kind of document: made from its columns, in Markdown. */
#ifndef TABLE_SCHEMA_H
#define TABLE_SCHEMA_H

#include "table/answer.h"

/* Adds the name of its file, without a folder: "heap-maps-1.md". */
void schema_add_page(const struct answer_type *type, struct text *out);
/* Adds the whole page. */
void schema_describe(const struct answer_type *type, struct text *out);

#endif
