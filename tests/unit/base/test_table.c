/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One table in each form, chosen and sorted. */
#include "table/answer.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "lib/tap.h"
#include "table/schema.h"
#include "table/select.h"

struct fruit {
	const char *name;
	uint64_t bytes;
	uint32_t count;
	double share;
	bool ripe;
};

static const struct fruit fruits[] = {{"apple", 2048, 1200, 12.5, true},
	{"pear, \"red\"", 3u << 20, 3, 80, false}, {NULL, 512, 0, 7.5, true}};

static const struct column seed_columns[] = {
	{"", COLUMN_INTEGER, UNIT_COUNT, .says = "weight"}, COLUMNS_END};

static void seed_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)context, (void)column;
	ret->number = 10 * (row + 1);
}

static const struct table_type seed_type = {.columns = seed_columns, .cell = seed_cell};
static const struct table_type seed_type_named = {
	.name = "seeds", .columns = seed_columns, .cell = seed_cell};

static const struct column tree_columns[] = {{"height", COLUMN_INTEGER, .says = "in metres"},
	{"kind", COLUMN_TEXT, .says = "of it"}, COLUMNS_END};

static void tree_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)context;
	ret->number = row;
	ret->text = column ? "oak" : NULL;
}

static const struct table_type tree_type = {
	.name = "tree", .columns = tree_columns, .cell = tree_cell};

enum { NAME, BYTES, COUNT, CHANGE, AT, SHARE, RIPE, TREE, SEEDS };
static const struct column columns[] = {
	[NAME] = {"name", COLUMN_TEXT, .title = "NAME", .width = -12, COLUMN_OF(fruit, name)},
	[BYTES] = {"all_bytes", COLUMN_INTEGER, UNIT_BYTES, .key = "bytes", .title = "BYTES",
		.gap = 1, .width = 9, COLUMN_OF(fruit, bytes)},
	[COUNT] = {"count", COLUMN_INTEGER, UNIT_COUNT, .title = "COUNT", .gap = 2, .width = 6,
		COLUMN_OF(fruit, count)},
	[CHANGE] = {"change", COLUMN_SIGNED, UNIT_BYTES, .title = "CHANGE", .gap = 1, .width = 10},
	[AT] = {"at", COLUMN_ADDRESS, .title = "AT", .gap = 1, .width = 6, .plain = true},
	[SHARE] = {"share", COLUMN_REAL, UNIT_PERCENT, .title = "SHARE", .gap = 1, .width = 6,
		COLUMN_OF(fruit, share)},
	[RIPE] = {"ripe", COLUMN_BOOLEAN, .title = "RIPE", .gap = 1, COLUMN_OF(fruit, ripe)},
	[TREE] = {"tree", COLUMN_RECORD, .optional = true, .nested = &tree_type},
	[SEEDS] = {"seeds", COLUMN_LIST, .nested = &seed_type},
	COLUMNS_END};

static void cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct fruit *fruit = &((const struct fruit *)context)[row];
	switch (column) {
	case CHANGE:
		ret->signed_number = 1024 - (int64_t)fruit->bytes;
		break;
	case AT:
		ret->number = 0x10 * row;
		ret->state = row ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	case TREE:
		ret->nested = (struct table){&tree_type, NULL, 1, .limit = 1};
		ret->row = row;
		ret->state = row == 1 ? CELL_ABSENT : CELL_KNOWN;
		break;
	case SEEDS:
		ret->nested = (struct table){&seed_type, NULL, row, .limit = TABLE_NO_LIMIT};
		break;
	default:
		table_member(&columns[column], fruit, ret);
	}
}

static const struct table_type fruit_type = {.name = "fruits",
	.says = "a row a fruit",
	.columns = columns,
	.cell = cell,
	.one = "fruit",
	.many = "fruits"};

static const struct answer_type answer_type = {.schema = "heapwise.fruits/2",
	.before = "heapwise.food/1",
	.from = "market",
	.says = "what there is",
	.tables = (const struct table_type *const[]){&fruit_type, NULL},
	.main = &fruit_type};

static bool add_to_text(void *ctx, const char *data, size_t len)
{
	text_add_n(ctx, data, len);
	return true;
}

/* What a form makes of the table. */
static void check_form(struct answer *answer, const struct table *table, const struct text *out,
	const char *expected)
{
	CHECK(answer);
	answer_begin(answer, &answer_type);
	answer_table(answer, table);
	struct text *prose = answer_prose(answer);
	if (prose)
		text_add(prose, "That is all.\n");
	CHECK_OK(answer_end(answer));
	answer_destroy(answer);
	CHECK_STR(out->data, expected);
}

static struct table all_fruits(void)
{
	return (struct table){&fruit_type, fruits, 3, .limit = TABLE_NO_LIMIT};
}

CASE(table_text, "text has columns of their width, units, and what is unknown")
{
	struct text out;
	text_init(&out);
	const struct sink sink = {add_to_text, &out};
	struct table table = all_fruits();
	check_form(answer_text_create(&sink), &table, &out,
		"NAME             BYTES   COUNT     CHANGE     AT  SHARE RIPE\n"
		"apple         2.00 KiB   1,200  -1.00 KiB      ?  12.5% yes\n"
		"pear, \"red\"   3.00 MiB       3  -3.00 MiB   0x10  80.0% no\n"
		"?                512 B       0     +512 B   0x20   7.5% yes\n"
		"That is all.\n");
	text_deinit(&out);
}

CASE(table_text_cut, "a table that is cut says how much is left, hidden columns are left out")
{
	struct text out;
	text_init(&out);
	const struct sink sink = {add_to_text, &out};
	struct table table = all_fruits();
	table.limit = 2;
	table.hidden = ~(1ull << NAME | 1ull << COUNT);
	check_form(answer_text_create(&sink), &table, &out,
		"NAME           COUNT\n"
		"apple          1,200\n"
		"pear, \"red\"        3\n"
		"… and 1 more fruit (--limit)\n"
		"That is all.\n");
	text_deinit(&out);
}

CASE(table_json, "JSON has all columns, null for what is unknown, nothing for what is absent")
{
	struct text out;
	text_init(&out);
	const struct sink sink = {add_to_text, &out};
	struct table table = all_fruits();
	check_form(answer_json_create(&sink, false), &table, &out,
		"{\n \"schema\": \"heapwise.fruits/2\",\n \"fruits\": [\n"
		"  {\"name\": \"apple\", \"all_bytes\": 2048, \"count\": 1200, \"change\": -1024, "
		"\"at\": null, \"share\": 12.5, \"ripe\": true, "
		"\"tree\": {\"height\": 0, \"kind\": \"oak\"}, \"seeds\": []},\n"
		"  {\"name\": \"pear, \\\"red\\\"\", \"all_bytes\": 3145728, \"count\": 3, "
		"\"change\": -3144704, \"at\": \"0x10\", \"share\": 80, \"ripe\": false, "
		"\"seeds\": [10]},\n"
		"  {\"name\": null, \"all_bytes\": 512, \"count\": 0, \"change\": 512, "
		"\"at\": \"0x20\", \"share\": 7.5, \"ripe\": true, "
		"\"tree\": {\"height\": 2, \"kind\": \"oak\"}, \"seeds\": [10, 20]}]\n}\n");
	text_clear(&out);
	table.limit = 0;
	check_form(answer_json_create(&sink, true), &table, &out,
		"{\n \"schema\": \"heapwise.food/1\",\n \"fruits\": []\n}\n");
	text_deinit(&out);
}

/* A tree: a branch, in it a twig and a bare branch, behind it a root. */
static const struct branch {
	const char *name;
	unsigned level;
	bool opens;
} branches[] = {{"branch", 0, true}, {"twig", 1, false}, {"bare", 1, true}, {"root", 0, false}};
static const struct column branch_columns[] = {
	{"name", COLUMN_TEXT, .title = "NAME", .says = "of it", COLUMN_OF(branch, name)},
	COLUMNS_END};

static unsigned branch_level(const void *context, size_t row, bool *ret_opens)
{
	const struct branch *branch = &((const struct branch *)context)[row];
	*ret_opens = branch->opens;
	return branch->level;
}

static const struct table_type branch_type = {.name = "branches",
	.columns = branch_columns,
	.row_bytes = sizeof(struct branch),
	.level = branch_level,
	.below = "on_it"};
static const struct table_type group_type = {
	.name = "wood", .parts = (const struct table_type *const[]){&branch_type, NULL}};

CASE(table_tree, "rows that are a tree are in one another in JSON, in their order in text; groups "
		 "are objects")
{
	const struct table table = {&branch_type, branches, 4, .limit = TABLE_NO_LIMIT};
	const char *const expected[] = {"NAME\nbranch\ntwig\nbare\nroot\n",
		"{\n \"schema\": \"heapwise.fruits/2\",\n \"wood\": {\"branches\": [\n"
		"   {\"name\": \"branch\", \"on_it\": [\n"
		"     {\"name\": \"twig\"},\n     {\"name\": \"bare\", \"on_it\": []}]},\n"
		"   {\"name\": \"root\"}]}\n}\n"};
	for (unsigned i = 0; i < 2; i++) {
		struct text out;
		text_init(&out);
		const struct sink sink = {add_to_text, &out};
		struct answer *answer =
			i ? answer_json_create(&sink, false) : answer_text_create(&sink);
		CHECK(answer);
		answer_begin(answer, &answer_type);
		answer_group_begin(answer, &group_type);
		answer_table(answer, &table);
		answer_group_end(answer);
		CHECK_OK(answer_end(answer));
		answer_destroy(answer);
		CHECK_STR(out.data, expected[i]);
		text_deinit(&out);
	}
}

static const struct table_type plant_type = {.name = "plant",
	.columns = branch_columns,
	.row_bytes = sizeof(struct branch),
	.level = branch_level,
	.below = "on_it",
	.is_rooted = true,
	.depth = "depth"};
static const struct answer_type plant_answer = {.schema = "heapwise.plant/1", .main = &plant_type};

CASE(table_rooted, "a tree with one root is an object in JSON, and has levels in CSV")
{
	const struct table table = {&plant_type, branches, 3, .limit = TABLE_NO_LIMIT};
	const char *const expected[] = {"depth,name\n0,branch\n1,twig\n1,bare\n",
		"{\n \"schema\": \"heapwise.plant/1\",\n \"plant\": {\"name\": \"branch\", "
		"\"on_it\": [\n   {\"name\": \"twig\"},\n"
		"   {\"name\": \"bare\", \"on_it\": []}]}\n}\n"};
	for (unsigned i = 0; i < 2; i++) {
		struct text out;
		text_init(&out);
		const struct sink sink = {add_to_text, &out};
		struct answer *answer =
			i ? answer_json_create(&sink, false) : answer_csv_create(&sink);
		CHECK(answer);
		answer_begin(answer, &plant_answer);
		answer_table(answer, &table);
		CHECK_OK(answer_end(answer));
		answer_destroy(answer);
		CHECK_STR(out.data, expected[i]);
		text_deinit(&out);
	}
}

static const struct column word_columns[] = {{"word", COLUMN_TEXT, .says = "one"}, COLUMNS_END};

static void word_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)context, (void)column;
	ret->text = row ? "b" : "a;\\";
}

static const struct table_type word_type = {
	.name = "words", .columns = word_columns, .cell = word_cell};

/* Fruits in a basket: an object, of which each row has the members of a fruit. */
static void basket_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	ret->nested = (struct table){column ? &word_type : &tree_type, context, 2, .limit = 2};
	ret->row = row;
}

static const struct column basket_columns[] = {{"", COLUMN_RECORD, .nested = &tree_type},
	{"words", COLUMN_TABLE, .says = "of it", .nested = &word_type}, COLUMNS_END};
static const struct table_type basket_type = {.name = "trees",
	.within = "basket",
	.total = "trees_total",
	.says = "what grew there",
	.columns = basket_columns,
	.cell = basket_cell};
static const struct answer_type basket_answer = {.schema = "heapwise.basket/1",
	.from = "market",
	.says = "a basket",
	.tables = (const struct table_type *const[]){&basket_type, NULL},
	.main = &basket_type,
	.parts = (const struct table_type *const[]){&tree_type, NULL}};

static void check_basket(struct answer *answer, const struct text *out, const char *expected)
{
	const struct table trees = {&basket_type, fruits, 2, .limit = 2};
	const struct table rest = {&seed_type_named, NULL, 1, .limit = 1};
	CHECK(answer);
	answer_begin(answer, &basket_answer);
	answer_table(answer, &trees);
	answer_table(answer, &rest);
	CHECK_OK(answer_end(answer));
	answer_destroy(answer);
	CHECK_STR(out->data, expected);
}

CASE(table_within, "tables stand in an object, rows have the members of what is nested in them")
{
	struct text json, csv, page;
	text_init(&json);
	text_init(&csv);
	text_init(&page);
	const struct sink sinks[] = {{add_to_text, &json}, {add_to_text, &csv}};
	check_basket(answer_json_create(&sinks[0], false), &json,
		"{\n \"schema\": \"heapwise.basket/1\",\n"
		" \"basket\": {\"trees_total\": 2, \"trees\": [\n"
		"   {\"height\": 0, \"kind\": \"oak\", \"words\": [\n"
		"     {\"word\": \"a;\\\\\"},\n"
		"     {\"word\": \"b\"}]},\n"
		"   {\"height\": 1, \"kind\": \"oak\", \"words\": [\n"
		"     {\"word\": \"a;\\\\\"},\n"
		"     {\"word\": \"b\"}]}]},\n"
		" \"seeds\": [10]\n}\n");
	check_basket(answer_csv_create(&sinks[1]), &csv,
		"height,kind,words\n0,oak,a\\;\\\\;b\n1,oak,a\\;\\\\;b\n");
	schema_describe(&basket_answer, &page);
	CHECK(strstr(page.data, "## `basket.trees`"));
	CHECK(strstr(page.data, "`trees_total` before it says how many there are"));
	CHECK(strstr(page.data, "all members, as [`tree`](#tree)"));
	CHECK(strstr(page.data, "## `tree`"));
	text_deinit(&json);
	text_deinit(&csv);
	text_deinit(&page);
}

CASE(table_csv, "CSV quotes, and has records as columns")
{
	struct text out;
	text_init(&out);
	const struct sink sink = {add_to_text, &out};
	struct table table = all_fruits();
	check_form(answer_csv_create(&sink), &table, &out,
		"name,all_bytes,count,change,at,share,ripe,tree.height,tree.kind,seeds\n"
		"apple,2048,1200,-1024,,12.5,true,0,oak,\n"
		"\"pear, \"\"red\"\"\",3145728,3,-3144704,0x10,80,false,,,10\n"
		",512,0,512,0x20,7.5,true,2,oak,10;20\n");
	text_deinit(&out);
}

static const struct column step_columns[] = {
	{"", COLUMN_SIGNED, UNIT_COUNT, .says = "how far"}, COLUMNS_END};

static void step_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)context, (void)column;
	ret->signed_number = -(int64_t)row - 1;
}

static const struct table_type step_type = {.columns = step_columns, .cell = step_cell};
static const struct column way_columns[] = {{"steps", COLUMN_LIST, .nested = &step_type},
	{"to", COLUMN_TEXT, .says = "where"}, COLUMNS_END};

static void way_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)context, (void)row;
	if (column)
		ret->text = "-1;-2";
	else
		ret->nested = (struct table){&step_type, NULL, 2, .limit = TABLE_NO_LIMIT};
}

static const struct table_type way_type = {
	.name = "ways", .columns = way_columns, .cell = way_cell, .one = "way", .many = "ways"};

CASE(table_csv_numbers, "numbers in lists are no formulas, as texts may be")
{
	const struct answer_type ways = {.schema = "heapwise.ways/1",
		.tables = (const struct table_type *const[]){&way_type, NULL},
		.main = &way_type};
	struct text out;
	text_init(&out);
	const struct sink sink = {add_to_text, &out};
	const struct table table = {&way_type, NULL, 1, .limit = TABLE_NO_LIMIT};
	struct answer *answer = answer_csv_create(&sink);
	CHECK(answer);
	answer_begin(answer, &ways);
	answer_table(answer, &table);
	CHECK_OK(answer_end(answer));
	answer_destroy(answer);
	CHECK_STR(out.data, "steps,to\n-1;-2,\"'-1;-2\"\n");
	text_deinit(&out);
}

struct span {
	const char *name;
	uint64_t low, high;
};
static const struct span spans[] = {{"a", 1, 2}, {"b", 3, 4}};
static const struct table_type span_type = {
	.columns = (const struct column[]){{"low", COLUMN_INTEGER, COLUMN_OF(span, low)},
		{"high", COLUMN_INTEGER, COLUMN_OF(span, high)}, COLUMNS_END},
	.row_bytes = sizeof(struct span)};

static void side_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	ret->nested = (struct table){&span_type, context, 1, .limit = 1};
	ret->row = row;
	ret->state = column ? CELL_UNKNOWN : CELL_KNOWN;
}

static const struct table_type side_type = {
	.columns = (const struct column[]){{"flat", COLUMN_RECORD, .nested = &span_type},
		{"cum", COLUMN_RECORD, .nested = &span_type}, COLUMNS_END},
	.cell = side_cell};

static void pair_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	ret->text = spans[row].name;
	ret->nested = (struct table){&side_type, context, 1, .limit = 1};
	ret->row = row;
	(void)column;
}

static const struct table_type pair_type = {.name = "pairs",
	.columns = (const struct column[]){{"name", COLUMN_TEXT, .says = "of it"},
		{"base", COLUMN_RECORD, .nested = &side_type}, COLUMNS_END},
	.cell = pair_cell};
static const struct answer_type pair_answer = {.schema = "heapwise.pairs/1", .main = &pair_type};

/* A row, as a table or as the record that is all of an answer. */
static void add_part(const struct sink *sink, const struct csv_part *part, size_t row)
{
	const struct table table = {&pair_type, spans, 1, .first = row, .limit = 1};
	struct answer *answer = answer_csv_part_create(sink, part);
	CHECK(answer);
	answer_begin(answer, &pair_answer);
	if (row)
		answer_table(answer, &table);
	else
		answer_record(answer, &table);
	CHECK_OK(answer_end(answer));
	answer_destroy(answer);
}

CASE(table_csv_parts, "CSV of several answers has one heading; records in records have columns")
{
	struct text out;
	bool has_heading = false;
	text_init(&out);
	const struct sink sink = {add_to_text, &out};
	for (size_t i = 0; i < 2; i++) {
		const struct csv_part part = {
			"recording", i ? "two, 2" : "one", .has_heading = &has_heading};
		add_part(&sink, &part, i);
	}
	CHECK_STR(out.data,
		"recording,name,base.flat.low,base.flat.high,base.cum.low,base.cum.high\n"
		"one,a,1,2,,\n\"two, 2\",b,3,4,,\n");
	CHECK(has_heading);
	text_deinit(&out);
}

/* The rows that are left, by the numbers that they had. */
static void check_chosen(const struct table_asked *asked, const char *expected)
{
	struct table_select select;
	struct table table = all_fruits();
	_cleanup_free_ size_t *order = NULL;
	_cleanup_(text_deinit) struct text found;
	text_init(&found);
	CHECK_OK(table_select_open(&fruit_type, asked, &select));
	CHECK_OK(table_select_order(&select, &table, &order));
	table_select_close(&select);
	for (size_t i = 0; i < table.count; i++)
		text_printf(&found, "%zu", table_row(&table, i));
	CHECK_STR(found.data ? found.data : "", expected);
}

static struct table_asked asked_where(const char *first, const char *second)
{
	struct table_asked asked = {.sort = NULL};
	CHECK(table_words_push(&asked.where, first));
	CHECK(!second || table_words_push(&asked.where, second));
	return asked;
}

static void check_where(const char *first, const char *second, const char *expected)
{
	struct table_asked asked = asked_where(first, second);
	check_chosen(&asked, expected);
	table_words_deinit(&asked.where);
}

CASE(table_sort, "amounts fall, addresses and texts rise, what is unknown comes last")
{
	check_chosen(&(struct table_asked){.sort = "bytes"}, "102");
	check_chosen(&(struct table_asked){.sort = "-all_bytes"}, "201");
	check_chosen(&(struct table_asked){.sort = "at"}, "120");
	check_chosen(&(struct table_asked){.sort = "-at"}, "210");
	check_chosen(&(struct table_asked){.sort = "name"}, "012");
	check_chosen(&(struct table_asked){.sort = "-name"}, "102");
}

CASE(table_where, "conditions hold together; what is unknown fits none")
{
	check_where("bytes>=2k", NULL, "01");
	check_where("bytes<2k", NULL, "2");
	check_where("bytes=1k..2k", NULL, "0");
	check_where("bytes!=1k..2k", NULL, "12");
	check_where("name=*e*", "count>3", "0");
	check_where("name~ar,", NULL, "1");
	check_where("at<1k", NULL, "12");
	check_where("at!=16", NULL, "2");
}

CASE(table_where_wrong, "a condition that is none, and a column that there is not, are said")
{
	static const char *const wrong[] = {"bytes", "bytes>>3", "change>3", "ripe=true", "bytes~3",
		"name<a", "bytes>1..2", "size=3", "=3"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct table_select select;
		struct table_asked asked = asked_where(wrong[i], NULL);
		struct error *error = table_select_open(&fruit_type, &asked, &select);
		CHECK(error && error->code == ERROR_USAGE);
		error_destroy(error);
		table_words_deinit(&asked.where);
	}
}

CASE(table_schema, "a schema's page names all members")
{
	struct text out;
	text_init(&out);
	schema_describe(&answer_type, &out);
	static const char *const has[] = {"# heapwise.fruits/2", "`heapwise.food/1`",
		"| `all_bytes` | integer | bytes |", "| `tree.kind` | text |",
		"| `seeds` | array of integer |", "left out where it does not apply"};
	for (size_t i = 0; i < sizeof(has) / sizeof(*has); i++) {
		if (!strstr(out.data, has[i]))
			tap_fail("'%s' is not in\n%s", has[i], out.data);
	}
	text_deinit(&out);
}

TAP_MAIN
