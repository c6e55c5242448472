/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which stacks a filter keeps, and which of their frames; frames as spots of each grain. */
#include "analysis/filter.h"
#include "analysis/grain.h"
#include "analysis/profile.h"
#include "base/cleanup.h"
#include "lib/tap.h"
#include "unit/model_fixture.h"

struct setting {
	struct fixture fixture;
	struct filter filter;
	struct profile profile;
};

static void set_up(struct setting *s)
{
	*s = (struct setting){.filter = {.by_kind = false}};
	fixture_demo(&s->fixture);
	profile_init(&s->profile);
}

static void tear_down(struct setting *s)
{
	profile_deinit(&s->profile);
	filter_deinit(&s->filter);
	fixture_deinit(&s->fixture);
}

static void build(struct setting *s)
{
	CHECK_OK(profile_build(s->fixture.model, false, &s->filter, &s->profile));
}

static uint64_t sum(const struct setting *s)
{
	const struct rows *rows = profile_rows(&s->profile);
	uint64_t bytes = 0;
	for (size_t i = 0; i < rows->rows.len; i++)
		bytes += rows->rows.data[i].sums->allocated_bytes;
	return bytes;
}

static uint64_t sum_with(enum filter_part part, const char *pattern)
{
	struct setting s;
	set_up(&s);
	CHECK_OK(filter_set(&s.filter, part, pattern));
	build(&s);
	uint64_t bytes = sum(&s);
	tear_down(&s);
	return bytes;
}

#define CONFIG_BYTES (280000 + 66880)
#define CHURN_BYTES ((30 * 1000 + 29 * 30 / 2) * 48)
#define ALL_BYTES (CONFIG_BYTES + 16777216 + CHURN_BYTES + 400000 + 7000 + 3 * 24)

CASE(filter_none, "without a filter all rows are there")
{
	struct setting s;
	set_up(&s);
	build(&s);
	CHECK(!filter_is_given(&s.filter));
	CHECK(profile_rows(&s.profile) == &s.profile.all);
	CHECK_U64(sum(&s), ALL_BYTES);
	tear_down(&s);
}

CASE(filter_focus, "focus keeps stacks with a frame whose function, file or module fits")
{
	CHECK_U64(sum_with(FILTER_FOCUS, "^load_config$"), CONFIG_BYTES);
	CHECK_U64(sum_with(FILTER_FOCUS, "demo/config[.]c"), CONFIG_BYTES);
	CHECK_U64(sum_with(FILTER_FOCUS, "libstdc"), 7000);
	CHECK_U64(sum_with(FILTER_FOCUS, "(?i)QUEUE::"), 407000);
	CHECK_U64(sum_with(FILTER_FOCUS, "onfig"), CONFIG_BYTES);
	CHECK_U64(sum_with(FILTER_FOCUS, "^onfig"), 0);
}

CASE(filter_ignore, "ignore drops stacks with a frame that fits, and no others")
{
	CHECK_U64(sum_with(FILTER_IGNORE, "^load_config$"), ALL_BYTES - CONFIG_BYTES);
	CHECK_U64(sum_with(FILTER_IGNORE, "^main$"), 48); /* a cut stack, and none at all */
	CHECK_U64(sum_with(FILTER_IGNORE, "nowhere"), ALL_BYTES);
}

/* The row whose innermost frame has that name. */
static const struct row *row_of(const struct setting *s, const char *function)
{
	const struct rows *rows = profile_rows(&s->profile);
	for (size_t i = 0; i < rows->rows.len; i++) {
		const struct row *row = &rows->rows.data[i];
		if (row->depth && row->frames[0]->function &&
			strcmp(row->frames[0]->function, function) == 0)
			return row;
	}
	return NULL;
}

CASE(filter_hide, "hide takes frames out, and what reads the same then is one row")
{
	struct setting s;
	set_up(&s);
	CHECK_OK(filter_set(&s.filter, FILTER_HIDE, "^step$"));
	build(&s);
	const struct row *row = row_of(&s, "temp_name");
	CHECK(row);
	CHECK_U64(row->depth, 2);
	CHECK_U64(row->stacks, 30);
	CHECK_U64(row->sums->allocated_bytes, CHURN_BYTES);
	CHECK_U64(sum(&s), ALL_BYTES);
	tear_down(&s);
	CHECK_U64(sum_with(FILTER_HIDE, "."), 24); /* what never had a stack */
}

CASE(filter_hide_module, "hide by module takes inlined frames too; figures stay")
{
	struct setting s;
	set_up(&s);
	CHECK_OK(filter_set(&s.filter, FILTER_HIDE, "demo/app$"));
	build(&s);
	CHECK_U64(sum(&s), 7000 + 24 + 24); /* libstdc++, libgone, and no stack at all */
	const struct row *row = row_of(&s, "std::string::reserve");
	CHECK(row);
	CHECK_U64(row->depth, 1);
	tear_down(&s);
}

CASE(filter_show, "show leaves frames that fit alone")
{
	struct setting s;
	set_up(&s);
	CHECK_OK(filter_set(&s.filter, FILTER_SHOW, "^(main|xmalloc)$"));
	build(&s);
	const struct row *row = row_of(&s, "xmalloc");
	CHECK(row);
	CHECK_U64(row->depth, 2);
	CHECK_STR(row->frames[1]->function, "main");
	CHECK_U64(sum(&s), ALL_BYTES - 48);
	tear_down(&s);
}

CASE(filter_show_from, "show-from cuts what is outward of the outermost frame that fits")
{
	struct setting s;
	set_up(&s);
	CHECK_OK(filter_set(&s.filter, FILTER_SHOW_FROM, "^(load_config|xmalloc)$"));
	build(&s);
	CHECK_U64(sum(&s), CONFIG_BYTES);
	const struct row *row = row_of(&s, "xmalloc");
	CHECK(row);
	CHECK_U64(row->depth, 2);
	CHECK_STR(row->frames[1]->function, "load_config");
	tear_down(&s);
}

CASE(filter_kind, "by the function that was called, whatever the form of an operator")
{
	struct setting s;
	set_up(&s);
	CHECK(!filter_add_kind(&s.filter, "mallocator"));
	CHECK(!filter_is_given(&s.filter));
	CHECK(filter_add_kind(&s.filter, "operator new[]"));
	CHECK(filter_add_kind(&s.filter, "calloc"));
	build(&s);
	CHECK_U64(sum(&s), 48);
	_cleanup_(text_deinit) struct text options;
	text_init(&options);
	filter_add_options(&s.filter, &options);
	CHECK_STR(options.data, "--kind 'calloc' --kind 'operator new[]'");
	tear_down(&s);
}

CASE(filter_notes, "what fits nothing is said")
{
	struct setting s;
	set_up(&s);
	CHECK_OK(filter_set(&s.filter, FILTER_IGNORE, "nowhere"));
	CHECK_OK(filter_set(&s.filter, FILTER_FOCUS, "step"));
	build(&s);
	CHECK_CONTAINS(s.profile.notes.data,
		"Showing --focus 'step' --ignore 'nowhere': 30 of 37 allocation sites;");
	CHECK_CONTAINS(s.profile.notes.data, "No frame matches --ignore 'nowhere'.\n");
	CHECK(!strstr(s.profile.notes.data, "No frame matches --focus"));
	tear_down(&s);
}

CASE(filter_wrong, "a pattern that is none is refused, with the place")
{
	struct filter filter = {.by_kind = false};
	_cleanup_error_ struct error *error = filter_set(&filter, FILTER_SHOW, "ab(c");
	CHECK(error && error->code == ERROR_USAGE);
	CHECK_CONTAINS(error->message, "--show: invalid regular expression 'ab(c': ");
	CHECK_CONTAINS(error->message, ", at byte 5");
	filter_deinit(&filter);
}

CASE(filter_wild, "a pattern that would take forever fits nothing, and that is said")
{
	struct pattern *pattern;
	CHECK_OK(pattern_create("^(a+)+$", &pattern));
	CHECK(pattern_match(pattern, "aaaa"));
	CHECK_OK(pattern_check(pattern));
	CHECK(!pattern_match(
		pattern, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
	CHECK(!pattern_match(pattern, NULL));
	_cleanup_error_ struct error *error = pattern_check(pattern);
	CHECK(error && error->code == ERROR_USAGE);
	CHECK_CONTAINS(error->message, "'^(a+)+$' takes more than 100000 steps");
	pattern_destroy(pattern);
}

/* All spots of the demo, by name. */
static size_t count_spots(enum grain grain, const char *name)
{
	struct setting s;
	set_up(&s);
	build(&s);
	struct spots *spots;
	CHECK_OK(spots_create(grain, &spots));
	struct spot_vec stack;
	spot_vec_init(&stack);
	for (size_t i = 0; i < s.profile.all.rows.len; i++) {
		const struct row *row = &s.profile.all.rows.data[i];
		CHECK_OK(spots_stack(spots, row->frames, row->depth, &stack));
	}
	size_t found = 0;
	for (size_t i = 0; i < spots_count(spots); i++)
		found += strcmp(spots_at(spots, i)->name, name) == 0;
	spot_vec_deinit(&stack);
	spots_destroy(spots);
	tear_down(&s);
	return found;
}

CASE(grain_spots, "frames are told apart by function, line, file, address or module")
{
	CHECK_U64(count_spots(GRAIN_FUNCTIONS, "step"), 1);
	CHECK_U64(count_spots(GRAIN_LINES, "step"), 30);
	CHECK_U64(count_spots(GRAIN_LINES, "load_config"), 1);
	/* The second call instruction of a line is in a row of its own only by address; rows of one
	 * line have merged before. */
	CHECK_U64(count_spots(GRAIN_ADDRESSES, "step"), 30);
	CHECK_U64(count_spots(GRAIN_FILES, "/src/demo/steps.c"), 1);
	CHECK_U64(count_spots(GRAIN_FILES, "libgone.so"), 1);
	CHECK_U64(count_spots(GRAIN_MODULES, "app"), 1);
	CHECK_U64(count_spots(GRAIN_MODULES, "libstdc++.so.6"), 1);
	CHECK_U64(count_spots(GRAIN_FUNCTIONS, "(the stack was cut here: too deep)"), 1);
	CHECK_U64(count_spots(GRAIN_FUNCTIONS, "<signal handler called>"), 1);
}

CASE(no_line, "a file whose line is not known stands alone")
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	shown_frame_add_line(&text, &(struct shown_frame){.file = "/src/a.c"});
	text_add(&text, " ");
	shown_frame_add_line(&text, &(struct shown_frame){.file = "/src/a.c", .line = 7});
	CHECK_STR(text.data, "a.c a.c:7");
}

TAP_MAIN
