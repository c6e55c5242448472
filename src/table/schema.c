/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "table/schema.h"

#include <string.h>

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

static bool is_value(const struct table_type *type)
{
	return !*type->columns[0].name;
}

static void add_columns(const struct table_type *type, const char *before, struct text *out)
{
	for (const struct column *column = type->columns; column->name; column++) {
		if (column->for_people)
			continue;
		text_printf(out, "| `%s%s` | %s", before, column->name, type_names[column->type]);
		if (column->nested && is_value(column->nested))
			text_printf(out, " of %s", type_names[column->nested->columns[0].type]);
		text_printf(out, " | %s | %s%s |\n", units[column->unit],
			column->says ? column->says : "",
			column->optional ? "; left out where it does not apply" : "");
		if (!column->nested || is_value(column->nested))
			continue;
		struct text inner;
		text_init(&inner);
		text_printf(&inner, "%s%s%s.", before, column->name,
			column->type == COLUMN_TABLE ? "[]" : "");
		add_columns(column->nested, inner.data ? inner.data : "", out);
		out->failed |= inner.failed;
		text_deinit(&inner);
	}
}

/* An array of values has no columns of its own. */
static void add_list(const struct table_type *type, struct text *out)
{
	text_printf(out, "\n## `%s`\n\nAn array of %s: %s.\n", type->name,
		type_names[type->columns[0].type], type->says);
	if (type->columns[0].says)
		text_printf(out, "Each is %s.\n", type->columns[0].says);
}

static void add_table(const struct table_type *type, struct text *out)
{
	if (type->name && is_value(type)) {
		add_list(type, out);
		return;
	}
	if (type->name)
		text_printf(out, "\n## `%s`\n\n", type->name);
	else
		text_add(out, "\n## Members of the document itself\n\n");
	if (type->says) {
		text_add_char(out,
			(char)(*type->says >= 'a' && *type->says <= 'z' ? *type->says - 'a' + 'A'
									: *type->says));
		text_printf(out, "%s.\n\n", type->says + 1);
	}
	text_add(out, "| member | type | unit | what it is |\n|---|---|---|---|\n");
	add_columns(type, "", out);
}

void schema_describe(const struct answer_type *type, struct text *out)
{
	text_add(out, "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n");
	text_printf(out, "# %s\n\nFrom `%s`: %s.\n\n", type->schema, type->from, type->says);
	text_add(out,
		"`schema` is that name. Null: not known. Members may be added; those that are "
		"here stay as they are.\n");
	if (type->before)
		text_printf(out,
			"`--json=1` writes the same under the name that it had before, "
			"`%s`.\n",
			type->before);
	if (type->main)
		text_printf(out, "`--csv` writes `%s` alone.\n", type->main->name);
	for (const struct table_type *const *table = type->tables; *table; table++)
		add_table(*table, out);
}
