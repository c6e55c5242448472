/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The demo model as flame graphs: text and folded stacks byte for byte as in
 * tests/data/golden/flame/, and what the picture holds.
 */
#include "views/flame.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "lib/tap.h"
#include "unit/golden.h"
#include "unit/stack_setting.h"

/* One of the forms. */
typedef struct error *write_fn(const struct profile *profile, const struct calltree *tree,
	const struct flame_options *options, const struct sink *sink);

static struct error *write_folded(const struct profile *profile, const struct calltree *tree,
	const struct flame_options *options, const struct sink *sink)
{
	(void)options;
	return flame_write_folded(profile, tree, sink);
}

static char *render(const struct setting *s, write_fn *write, struct flame_options options)
{
	struct text text;
	text_init(&text);
	struct sink sink = {collect, &text};
	CHECK_OK(write(&s->profile, &s->tree, &options, &sink));
	return text_steal(&text);
}

static char *render_demo(enum calltree_way way, enum grain grain, write_fn *write,
	struct flame_options options, uint64_t before)
{
	struct setting s;
	set_up(&s);
	if (before)
		compare_with(&s, before);
	plant(&s, options.metric, way, grain);
	char *is = render(&s, write, options);
	tear_down(&s);
	return is;
}

#define OPTIONS(of, columns, ...)                                                                  \
	(struct flame_options)                                                                     \
	{                                                                                          \
		.metric = (of), .width = (columns), ##__VA_ARGS__                                  \
	}

CASE(flame_text, "as text, in UTF-8 and in ASCII")
{
	_cleanup_free_ char *utf8 = render_demo(CALLTREE_DOWN, GRAIN_FUNCTIONS, flame_write_text,
		OPTIONS(METRIC_ALLOCATIONS, 80, .utf8 = true), 0);
	check_golden("flame/down.txt", utf8);
	_cleanup_free_ char *ascii = render_demo(CALLTREE_UP, GRAIN_LINES, flame_write_text,
		OPTIONS(METRIC_ALLOCATIONS, 80, .utf8 = false), 0);
	check_golden("flame/up-ascii.txt", ascii);
	const char *graph = strstr(ascii, "\n[all");
	CHECK(graph);
	for (const char *c = graph; *c; c++)
		CHECK(!(*c & 0x80));
}

CASE(flame_width, "no line is wider than was asked for, and the root has all of it")
{
	for (size_t width = FLAME_WIDTH_MIN; width < 200; width += 7) {
		_cleanup_free_ char *text = render_demo(CALLTREE_DOWN, GRAIN_ADDRESSES,
			flame_write_text, OPTIONS(METRIC_ALLOCATIONS, width), 0);
		const char *line = strstr(text, "\n[all") + 1;
		CHECK_U64(strcspn(line, "\n"), width);
		for (; *line; line += strcspn(line, "\n"), line += *line == '\n')
			CHECK(strcspn(line, "\n") <= width);
	}
}

CASE(flame_colour, "with colours, each of which is ended")
{
	_cleanup_free_ char *text = render_demo(CALLTREE_DOWN, GRAIN_FUNCTIONS, flame_write_text,
		OPTIONS(METRIC_ALLOCATIONS, 80, .utf8 = true, .colour = true), 0);
	size_t begun = 0, ended = 0;
	for (const char *at = text; (at = strstr(at, "\033[")); at += 2) {
		begun += strncmp(at, "\033[30;48;5;", 10) == 0;
		ended += strncmp(at, "\033[0m", 4) == 0;
	}
	CHECK(begun > 5);
	CHECK_U64(begun, ended);
	CHECK(!strstr(text, "[main"));
}

CASE(flame_folded, "folded stacks, whose figures add up to the total either way")
{
	for (int way = CALLTREE_DOWN; way <= CALLTREE_UP; way++) {
		_cleanup_free_ char *folded = render_demo((enum calltree_way)way, GRAIN_FUNCTIONS,
			write_folded, OPTIONS(METRIC_ALLOCATIONS, 80), 0);
		uint64_t sum = 0;
		for (char *line = folded; *line; line += strcspn(line, "\n") + 1) {
			char *end = line + strcspn(line, "\n");
			while (end[-1] != ' ')
				end--;
			sum += strtoull(end, NULL, 10);
		}
		CHECK_U64(sum, 36761);
		check_golden(
			way == CALLTREE_DOWN ? "flame/down.folded" : "flame/up.folded", folded);
	}
}

CASE(flame_folded_both, "folded stacks of a comparison have both figures")
{
	_cleanup_free_ char *folded = render_demo(CALLTREE_DOWN, GRAIN_FUNCTIONS, write_folded,
		OPTIONS(METRIC_ALLOCATED_BYTES, 80), 1000);
	CHECK_CONTAINS(folded, "main;table_grow 1000 16777216\n");
}

CASE(flame_svg, "the picture has each frame, its figures, and needs no other file")
{
	_cleanup_free_ char *svg = render_demo(CALLTREE_DOWN, GRAIN_FUNCTIONS, flame_write_svg,
		OPTIONS(METRIC_ALLOCATED_BYTES, 80), 0);
	CHECK(strncmp(svg, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg ", 44) == 0);
	CHECK_CONTAINS(svg, ">demo --loop it's here</text>");
	CHECK_CONTAINS(svg, "<title>table_grow [app]: 16.0 MiB (88.34%), itself 16.0 MiB</title>");
	CHECK_CONTAINS(svg, "data-name=\"std::vector&lt;int&gt;::push_back\"");
	CHECK_CONTAINS(svg, "data-name=\"&lt;signal handler called&gt;\"");
	CHECK_CONTAINS(svg, "]]></script>\n</svg>\n");
	const char *url = strstr(svg, "http");
	CHECK(url && !strstr(url + 4, "http")); /* the name of SVG itself alone */
	_cleanup_free_ char *wide = render_demo(CALLTREE_DOWN, GRAIN_FUNCTIONS, flame_write_svg,
		OPTIONS(METRIC_ALLOCATED_BYTES, 80, .threshold = 50), 0);
	CHECK(!strstr(wide, "data-name=\"step\""));
	CHECK_CONTAINS(wide, "data-name=\"table_grow\"");
}

CASE(flame_svg_both, "of a comparison what is gone is drawn as well: blue, what is new: orange")
{
	_cleanup_free_ char *svg = render_demo(CALLTREE_DOWN, GRAIN_FUNCTIONS, flame_write_svg,
		OPTIONS(METRIC_ALLOCATED_BYTES, 80), 100000000);
	CHECK_CONTAINS(svg, "; widths are of both together, orange is more, blue is less");
	const char *gone = strstr(svg, "data-name=\"on_signal\"");
	CHECK_CONTAINS(gone, ": -95.4 MiB (");
	const char *colour = strstr(gone, "fill=\"") + 6;
	CHECK(strncmp(colour, "#6baef0\"", 8) == 0);
	_cleanup_free_ char *more = render_demo(CALLTREE_DOWN, GRAIN_FUNCTIONS, flame_write_svg,
		OPTIONS(METRIC_ALLOCATED_BYTES, 80), 1);
	colour = strstr(strstr(more, "data-name=\"table_grow\""), "fill=\"") + 6;
	CHECK(strncmp(colour, "#fd8d3c\"", 8) == 0);
}

CASE(flame_nothing, "of nothing, nothing is drawn")
{
	struct setting s;
	fixture_init(&s.fixture);
	profile_init(&s.profile);
	calltree_init(&s.tree);
	CHECK_OK(profile_build(s.fixture.model, false, NULL, &s.profile));
	plant(&s, METRIC_PEAK_BYTES, CALLTREE_DOWN, GRAIN_FUNCTIONS);
	_cleanup_free_ char *text = render(&s, flame_write_text, OPTIONS(METRIC_ALLOCATIONS, 80));
	CHECK_CONTAINS(text, "  nothing\n");
	_cleanup_free_ char *svg = render(&s, flame_write_svg, OPTIONS(METRIC_ALLOCATIONS, 80));
	CHECK_CONTAINS(svg, "data-name=\"all\"");
	_cleanup_free_ char *folded = render(&s, write_folded, OPTIONS(METRIC_ALLOCATIONS, 80));
	CHECK_STR(folded, "");
	tear_down(&s);
}

TAP_MAIN
