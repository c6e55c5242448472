/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of the demo model, byte for byte as in tests/data/golden/list/, and what they add up to. */
#include "views/listing.h"

#include "analysis/names.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "unit/golden.h"
#include "unit/stack_setting.h"

static const char *const tried[] = {"/src/demo/config.c", "/sources/config.c"};

/* Forty lines, the n-th of which says so. */
static char *make_source(size_t lines)
{
	struct text text;
	text_init(&text);
	for (size_t i = 1; i <= lines; i++)
		text_printf(&text, "\tline(%zu);\n", i);
	return text_steal(&text);
}

struct asked {
	const char *wanted;
	enum grain grain;
	uint32_t line;
	const char *text; /* of the source, NULL: not found */
	bool newer, json, csv;
};

static void choose(struct setting *s, const struct asked *asked, struct listing *ret)
{
	struct spots *spots;
	CHECK_OK(spots_create(asked->grain, &spots));
	struct spot_vec stack;
	spot_vec_init(&stack);
	for (size_t i = 0; i < s->profile.all.rows.len; i++) {
		const struct row *row = &s->profile.all.rows.data[i];
		CHECK_OK(spots_stack(spots, row->frames, row->depth, &stack));
	}
	spot_vec_deinit(&stack);
	bool chosen[100];
	CHECK(spots_count(spots) < 100);
	CHECK(names_find_plain(spots, asked->wanted, chosen) > 0);
	CHECK_OK(listing_build(profile_rows(&s->profile), spots, chosen, ret));
	s->tree.spots = spots; /* the names are theirs */
}

static char *render(const struct asked *asked)
{
	struct setting s;
	set_up(&s);
	struct listing listing;
	listing_init(&listing);
	choose(&s, asked, &listing);
	struct listing_source source = {
		.found = asked->text ? "/here/source.c" : NULL,
		.text = asked->text,
		.len = asked->text ? strlen(asked->text) : 0,
		.tried = tried,
		.tried_count = 2,
		.newer = asked->newer,
	};
	struct listing_source sources[] = {source, source, source, source};
	CHECK(listing.parts.len <= 4);
	struct text text;
	text_init(&text);
	struct sink sink = {collect, &text};
	struct listing_options options = {.view = {.json = asked->json, .csv = asked->csv},
		.wanted = asked->wanted,
		.line = asked->line};
	CHECK_OK(listing_write(&s.profile, &listing, sources, &options, &sink));
	listing_deinit(&listing);
	tear_down(&s);
	return text_steal(&text);
}

static void check_list(const char *name, struct asked asked)
{
	for (size_t form = 0; form < ARRAY_SIZE(golden_forms); form++) {
		asked.json = form == 1;
		asked.csv = form == 2;
		_cleanup_free_ char *is = render(&asked);
		char path[64];
		snprintf(path, sizeof(path), "list/%s.%s", name, golden_forms[form]);
		check_golden(path, is);
	}
}

CASE(list_function, "a function, with lines around it")
{
	_cleanup_free_ char *text = make_source(43);
	check_list("function", (struct asked){.wanted = "load_config", .text = text});
}

CASE(list_file, "a file by the end of its path, all of it")
{
	_cleanup_free_ char *text = make_source(80);
	check_list("file",
		(struct asked){
			.wanted = "table.c", .grain = GRAIN_FILES, .text = text, .newer = true});
}

CASE(list_missing, "without the source lines with figures alone, and where it was looked for")
{
	check_list("missing", (struct asked){.wanted = "step"});
}

CASE(list_line, "around a line, whether it has figures or not")
{
	_cleanup_free_ char *text = make_source(80);
	_cleanup_free_ char *is = render(&(struct asked){
		.wanted = "table.c", .grain = GRAIN_FILES, .line = 30, .text = text});
	CHECK_CONTAINS(is, "     20          line(20);\n");
	CHECK_CONTAINS(is, "     40          line(40);\n");
	CHECK(!strstr(is, "line(19);") && !strstr(is, "line(41);"));
}

CASE(list_short, "a source that has become shorter: its lines, then those with figures")
{
	_cleanup_free_ char *text = make_source(3);
	_cleanup_free_ char *is =
		render(&(struct asked){.wanted = "table.c", .grain = GRAIN_FILES, .text = text});
	CHECK_CONTAINS(is, "      3          line(3);\n");
	CHECK_CONTAINS(is, "     77\n");
	CHECK(!strstr(is, "      4"));
	_cleanup_free_ char *none =
		render(&(struct asked){.wanted = "table.c", .grain = GRAIN_FILES, .text = ""});
	CHECK_CONTAINS(none, "     77\n");
}

CASE(list_sums, "flat of lines adds up to that of their part; a stack counts once in cum")
{
	struct setting s;
	set_up(&s);
	struct listing listing;
	listing_init(&listing);
	choose(&s, &(struct asked){.wanted = "step"}, &listing);
	CHECK_U64(listing.parts.len, 1);
	const struct listing_part *part = &listing.parts.data[0];
	CHECK_U64(part->lines.len, 30);
	uint64_t cum = 0;
	for (size_t i = 0; i < part->lines.len; i++) {
		cum += part->lines.data[i].cum.sums->allocations;
		CHECK_U64(part->lines.data[i].flat.sums->allocations, 0);
		CHECK(i == 0 || part->lines.data[i - 1].line < part->lines.data[i].line);
	}
	CHECK_U64(cum, 30435);
	CHECK_U64(part->cum.sums->allocations, 30435);
	CHECK_U64(part->flat.sums->allocations, 0);
	listing_deinit(&listing);
	tear_down(&s);
}

TAP_MAIN
