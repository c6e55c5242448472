/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "table/schema.h"

#include <string.h>

#include "base/cleanup.h"

static const char *const type_names[] = {[COLUMN_INTEGER] = "integer",
	[COLUMN_SIGNED] = "integer, may be negative",
	[COLUMN_REAL] = "number",
	[COLUMN_BOOLEAN] = "true or false",
	[COLUMN_ADDRESS] = "address, as \"0x…\"",
	[COLUMN_TEXT] = "text",
	[COLUMN_RECORD] = "object",
	[COLUMN_TABLE] = "array of objects",
	[COLUMN_LIST] = "array"};
static const char *const units[] = {[UNIT_NONE] = "",
	[UNIT_BYTES] = "bytes",
	[UNIT_COUNT] = "count",
	[UNIT_NS] = "nanoseconds",
	[UNIT_PERCENT] = "percent"};

static bool is_among(const struct table_type *const *types, const struct table_type *type)
{
	while (types && *types && *types != type)
		types++;
	return types && *types;
}

static bool has_section(const struct answer_type *document, const struct table_type *type)
{
	return is_among(document->tables, type) || is_among(document->parts, type);
}

/* The document whose page has a section about a type; NULL: none. */
static const struct answer_type *document_with(
	const struct answer_type *document, const struct table_type *type)
{
	while (document && !has_section(document, type))
		document = document->beside;
	return document;
}

void schema_add_page(const struct answer_type *type, struct text *out)
{
	const char *name = strchr(type->schema, '.') + 1;
	if (type->page)
		text_printf(out, "%s.md", type->page);
	else /* "heapwise.heap-maps/1" */
		text_printf(
			out, "%.*s-%s.md", (int)strcspn(name, "/"), name, strchr(name, '/') + 1);
}

static void add_columns(const struct answer_type *document, const struct table_type *type,
	const char *before, struct text *out);

/* Columns of what is nested, unless they have a section of their own. */
static void add_inner(const struct answer_type *document, const struct column *column,
	const char *before, struct text *out)
{
	struct text inner;
	text_init(&inner);
	text_printf(
		&inner, "%s%s%s.", before, column->name, column->type == COLUMN_TABLE ? "[]" : "");
	add_columns(document, column->nested, inner.data ? inner.data : "", out);
	out->failed |= inner.failed;
	text_deinit(&inner);
}

/* To the section of a type, on the page of a document. */
static void add_reference(const struct answer_type *document, const struct answer_type *with,
	const struct table_type *type, struct text *out)
{
	const char *name = type->name ? type->name : type->within;
	text_printf(out, "as [`%s`](", name);
	if (with != document)
		schema_add_page(with, out);
	text_printf(out, "#%s)", name);
}

static void add_column(const struct answer_type *document, const struct column *column,
	const char *before, const struct answer_type *with, struct text *out)
{
	text_printf(out, "| `%s%s` | %s", before, column->name, type_names[column->type]);
	if (column->nested && table_is_of_values(column->nested))
		text_printf(out, " of %s", type_names[column->nested->columns[0].type]);
	text_printf(out, " | %s | %s%s", units[column->unit], column->says ? column->says : "",
		column->optional ? "; left out where it does not apply" : "");
	if (with) {
		text_add(out, "; ");
		add_reference(document, with, column->nested, out);
	}
	text_add(out, " |\n");
	if (column->nested && !with && !table_is_of_values(column->nested))
		add_inner(document, column, before, out);
}

static void add_columns(const struct answer_type *document, const struct table_type *type,
	const char *before, struct text *out)
{
	for (const struct column *column = type->columns; column->name; column++) {
		const struct table_type *nested = column->nested;
		const struct answer_type *with = nested ? document_with(document, nested) : NULL;
		if (!column_is_for_programs(column))
			continue;
		if (!column_is_spliced(column)) {
			add_column(document, column, before, with, out);
		} else if (with) {
			text_printf(out,
				*before ? "| `%s…` | | | all members, "
					: "| %s… | | | all members, ",
				before);
			add_reference(document, with, nested, out);
			text_add(out, " |\n");
		} else {
			add_columns(document, nested, before, out);
		}
	}
	if (type->below)
		text_printf(out,
			"| `%s%s` | array of objects |  | such rows that are below it%s |\n",
			before, type->below,
			type->is_rooted ? "" : "; left out where it can't have any");
}

/* An array of values has no columns of its own. */
static void add_list(const struct table_type *type, const char *before, struct text *out)
{
	text_printf(out, "\n## `%s%s`\n\nAn array of %s: %s.\n", before, type->name,
		type_names[type->columns[0].type], type->says);
	if (type->columns[0].says)
		text_printf(out, "Each is %s.\n", type->columns[0].says);
}

static void add_says(const struct table_type *type, struct text *out)
{
	if (!type->says)
		return;
	text_add_char(out, (char)(*type->says >= 'a' && *type->says <= 'z' ? *type->says - 'a' + 'A'
									   : *type->says));
	text_printf(out, "%s.\n", type->says + 1);
}

/* Whether the members of both stand side by side: they are one section. */
static bool is_same_place(const struct table_type *a, const struct table_type *b)
{
	const char *of_a = a->within ? a->within : "", *of_b = b->within ? b->within : "";
	return !a->name && !b->name && !strcmp(of_a, of_b);
}

static bool is_described(const struct answer_type *document, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (is_same_place(document->tables[i], document->tables[number]))
			return true;
	return false;
}

/* `before`: the groups that it is in, "leaks.". */
static void add_table(const struct answer_type *document, const struct table_type *type,
	const char *before, struct text *out)
{
	if (type->name && type->columns && table_is_of_values(type)) {
		add_list(type, before, out);
		return;
	}
	if (type->within && type->name)
		text_printf(out, "\n## `%s.%s`\n\n", type->within, type->name);
	else if (type->name || type->within)
		text_printf(out, "\n## `%s%s`\n\n", before, type->name ? type->name : type->within);
	else if (*before)
		text_printf(
			out, "\n## Members of `%.*s` itself\n\n", (int)strlen(before) - 1, before);
	else
		text_add(out, "\n## Members of the document itself\n\n");
	add_says(type, out);
	if (!type->columns) {
		_cleanup_(text_deinit) struct text inner;
		text_init(&inner);
		text_printf(&inner, "%s%s.", before, type->name);
		for (const struct table_type *const *part = type->parts; *part; part++)
			add_table(document, *part, inner.data ? inner.data : "", out);
		out->failed |= inner.failed;
		return;
	}
	text_add(out, type->says ? "\n" : "");
	if (type->total)
		text_printf(out, "`%s` before it says how many there are, beyond a limit too.\n\n",
			type->total);
	text_add(out, "| member | type | unit | what it is |\n|---|---|---|---|\n");
	add_columns(document, type, "", out);
	for (size_t i = 0; !*before && !type->name && document->tables[i]; i++) {
		if (document->tables[i] != type && is_same_place(document->tables[i], type))
			add_columns(document, document->tables[i], "", out);
	}
}

/* Of CSV that is one row. */
static void add_row(const struct table_type *type, struct text *out)
{
	text_add(out, "`--csv` writes one row: ");
	for (const struct column *column = type->columns; column->name; column++)
		text_printf(out, "%s`%s`", column == type->columns ? "" : ", ", column->name);
	text_add(out, ".\n");
}

void schema_describe(const struct answer_type *type, struct text *out)
{
	text_add(out, "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n");
	text_printf(out, "# %s\n\nFrom `%s`: %s.\n", type->title ? type->title : type->schema,
		type->from, type->says);
	if (!type->beside)
		text_add(out, "\n`schema` is that name. Null: not known. Members may be added; "
			      "those that are here stay as they are.\n");
	if (type->before)
		text_printf(out,
			"`--json=1` writes the same under the name that it had before, "
			"`%s`.\n",
			type->before);
	if (type->main && type->main->name)
		text_printf(out, "`--csv` writes `%s` alone%s%s.\n", type->main->name,
			type->main->depth ? ", with the level of each row first: " : "",
			type->main->depth ? type->main->depth : "");
	else if (type->main)
		add_row(type->main, out);
	for (size_t i = 0; type->tables[i]; i++)
		if (!is_described(type, i))
			add_table(type, type->tables[i], "", out);
	for (const struct table_type *const *part = type->parts; part && *part; part++)
		add_table(type, *part, "", out);
}
