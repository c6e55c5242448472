/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pages of docs/schema are what the columns of answers say; HEAPWISE_GOLDEN=update writes them.
 */
#include "golden.h"
#include "table/schema.h"
#include "views/budget_view.h"
#include "views/diff_view.h"
#include "views/heap_answers.h"
#include "views/java_view.h"
#include "views/leaks_view.h"
#include "views/managed_heap_view.h"
#include "views/maps_view.h"
#include "views/report_documents.h"
#include "views/trend_view.h"

static const struct answer_type *const other_types[] = {&budget_answer_type, &diff_answer_type,
	&trend_answer_type, &maps_answer_type, &java_heap_answer_type, &managed_heap_classes_type,
	&managed_heap_why_type, &managed_heap_changes_type, &java_classes_type, &java_why_type,
	&java_changes_type, NULL};

static void check_page(const struct answer_type *type)
{
	_cleanup_(text_deinit) struct text page;
	_cleanup_(text_deinit) struct text path;
	text_init(&page);
	text_init(&path);
	schema_describe(type, &page);
	text_add(&path, "../../../docs/schema/");
	schema_add_page(type, &path);
	CHECK(!page.failed && !path.failed);
	check_golden(path.data, page.data);
}

CASE(answer_schemas_pages, "pages of answers are as their columns say")
{
	for (size_t i = 0; heap_answer_types[i]; i++)
		check_page(heap_answer_types[i]);
	for (size_t i = 0; other_types[i]; i++)
		check_page(other_types[i]);
}

CASE(answer_schemas_leaks, "the page of leaks is as its columns say")
{
	check_page(&leaks_answer_type);
}

CASE(answer_schemas_report, "pages of reports are as their columns say")
{
	for (size_t i = 0; report_document_types[i]; i++)
		check_page(report_document_types[i]);
}

/* A column that nobody explains would have an empty cell. */
static void check_says(const struct table_type *type, const char *schema)
{
	for (size_t i = 0; type->parts && type->parts[i]; i++)
		check_says(type->parts[i], schema);
	for (const struct column *column = type->columns; column && column->name; column++) {
		bool is_shown = column_is_for_programs(column) && !column_is_spliced(column);
		if (is_shown && (!column->says || !*column->says))
			tap_fail("%s: '%s' is not explained", schema, column->name);
		if (column->nested && column->nested != type)
			check_says(column->nested, schema);
	}
}

static void check_explained(const struct answer_type *const *types)
{
	for (; *types; types++) {
		const struct answer_type *type = *types;
		for (const struct table_type *const *table = type->tables; *table; table++)
			check_says(*table, type->schema);
	}
}

CASE(answer_schemas_explained, "each column is explained")
{
	check_explained(heap_answer_types);
	check_explained(other_types);
	check_explained(report_document_types);
	check_explained((const struct answer_type *const[]){&leaks_answer_type, NULL});
}

TAP_MAIN
