/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each form of the leaks view of the demo search, byte for byte as in tests/data/golden/leaks/;
 * HEAPWISE_GOLDEN=update writes these files anew.
 */
#include "base/cleanup.h"
#include "lib/tap.h"
#include "unit/golden.h"
#include "unit/leaks_fixture.h"
#include "views/leaks_view.h"

static bool collect(void *ctx, const char *data, size_t len)
{
	text_add_n(ctx, data, len);
	return true;
}

static struct leaks_view_options plain(enum leaks_form form)
{
	return (struct leaks_view_options){
		.form = form,
		.detail = LEAKS_FULL,
		.show_kinds = 1u << LEAK_DEFINITE | 1u << LEAK_POSSIBLE,
		.error_kinds = 1u << LEAK_DEFINITE | 1u << LEAK_POSSIBLE,
		.separate_libraries = true,
		.limit = VIEW_DEFAULT_LIMIT,
		.version = "0.0.0",
	};
}

/* The view of the demo search; the caller frees it. */
static char *render(struct leaks_view_options options, uint64_t *ret_errors)
{
	struct fixture fixture;
	leaks_fixture_demo(&fixture);
	build_errors(fixture.model);
	build_finish(fixture.model);
	struct text text;
	text_init(&text);
	struct sink sink = {collect, &text};
	struct leaks_outcome outcome;
	CHECK_OK(leaks_view_write(fixture.model, &options, &sink, &outcome));
	*ret_errors = outcome.errors;
	fixture_deinit(&fixture);
	return text_steal(&text);
}

static void check_leaks(const char *name, struct leaks_view_options options)
{
	uint64_t errors;
	_cleanup_free_ char *is = render(options, &errors);
	char path[256];
	snprintf(path, sizeof(path), "leaks/%s", name);
	check_golden(path, is);
}

#define SUPPRESSIONS                                                                               \
	"{\nlost & <known>\nMemcheck:Leak\nmatch-leak-kinds: definite\nfun:malloc\n"               \
	"fun:load_config\n}\n{\nunused\nMemcheck:Leak\nfun:nothing\n}\n"

/* Everything: all kinds, with an entry that fits and one that does not, and written ones. */
static void check_full(const char *name, enum leaks_form form)
{
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	CHECK_OK(suppressions_create(&set));
	CHECK_OK(suppressions_parse(set, "known.supp", SUPPRESSIONS, strlen(SUPPRESSIONS)));
	struct leaks_view_options options = plain(form);
	options.show_kinds = 15;
	options.suppressions = set;
	options.list_suppressed = options.write_suppressions = true;
	check_leaks(name, options);
}

CASE(text, "as text")
{
	check_leaks("plain.txt", plain(LEAKS_TEXT));
	check_full("full.txt", LEAKS_TEXT);
}

CASE(json, "as JSON")
{
	check_leaks("plain.json", plain(LEAKS_JSON));
	check_full("full.json", LEAKS_JSON);
}

CASE(csv, "as CSV: records alone")
{
	check_leaks("plain.csv", plain(LEAKS_CSV));
}

CASE(memcheck, "as memcheck")
{
	check_leaks("plain.memcheck", plain(LEAKS_MEMCHECK));
	check_full("full.memcheck", LEAKS_MEMCHECK);
}

CASE(sarif, "as SARIF")
{
	check_leaks("plain.sarif", plain(LEAKS_SARIF));
	check_full("full.sarif", LEAKS_SARIF);
}

CASE(junit, "as JUnit XML")
{
	check_leaks("plain.junit", plain(LEAKS_JUNIT));
	check_full("full.junit", LEAKS_JUNIT);
}

CASE(github, "as annotations")
{
	check_leaks("plain.github", plain(LEAKS_GITHUB));
	check_full("full.github", LEAKS_GITHUB);
}

CASE(details, "summary and no leave places out, and errors are counted of places alone")
{
	uint64_t errors;
	struct leaks_view_options options = plain(LEAKS_TEXT);
	_cleanup_free_ char *full = render(options, &errors);
	CHECK_U64(errors, 2);
	CHECK_CONTAINS(full, "load_config  config.c:41");
	options.detail = LEAKS_SUMMARY;
	_cleanup_free_ char *summary = render(options, &errors);
	CHECK_U64(errors, 0);
	CHECK(!strstr(summary, "load_config"));
	CHECK_CONTAINS(summary, "definitely lost               6 blocks  600 B");
	options = plain(LEAKS_MEMCHECK);
	options.detail = LEAKS_SUMMARY;
	_cleanup_free_ char *memcheck = render(options, &errors);
	CHECK_CONTAINS(memcheck, "Rerun with --leak-check=full to see details of leaked memory\n");
	options.detail = LEAKS_NOTHING;
	_cleanup_free_ char *nothing = render(options, &errors);
	CHECK(!strstr(nothing, "LEAK SUMMARY"));
	CHECK_CONTAINS(nothing, "For a detailed leak analysis, rerun with: --leak-check=full\n");
}

CASE(errors, "errors are of the kinds that are errors, shown or not")
{
	uint64_t errors;
	struct leaks_view_options options = plain(LEAKS_TEXT);
	options.show_kinds = 0;
	options.error_kinds = 15;
	_cleanup_free_ char *text = render(options, &errors);
	CHECK_U64(errors, 6);
	CHECK(!strstr(text, "from malloc at"));
	CHECK_CONTAINS(text,
		"Allocation sites of what is definitely lost, indirectly lost, possibly lost, "
		"still reachable: --show-leak-kinds=all\n");
	options.error_kinds = 0;
	_cleanup_free_ char *none = render(options, &errors);
	CHECK_U64(errors, 0);
	CHECK_STR(none, text);
}

CASE(quiet, "-q shows places alone, and nothing if there are none")
{
	uint64_t errors;
	struct leaks_view_options options = plain(LEAKS_TEXT);
	options.quiet = true;
	_cleanup_free_ char *text = render(options, &errors);
	CHECK(strncmp(text, "  definitely lost", 17) == 0);
	options.show_kinds = 0;
	_cleanup_free_ char *none = render(options, &errors);
	CHECK_STR(none, "");
	options.form = LEAKS_MEMCHECK;
	_cleanup_free_ char *memcheck = render(options, &errors);
	CHECK_STR(memcheck, "");
}

CASE(limit, "a limit leaves places out and says so")
{
	uint64_t errors;
	struct leaks_view_options options = plain(LEAKS_TEXT);
	options.show_kinds = 15;
	options.limit = 2;
	_cleanup_free_ char *text = render(options, &errors);
	CHECK_CONTAINS(text, "  … 4 more allocation sites (--limit)\n");
	CHECK(!strstr(text, "possibly lost  3.91"));
}

/* The same row keeps its fingerprint when its lines move, and another one has another. */
static void first_fingerprint(char ret[17], struct leaks_view_options options)
{
	uint64_t errors;
	_cleanup_free_ char *is = render(options, &errors);
	const char *at = strstr(is, "\"heapwiseStack/v1\": \"");
	CHECK(at);
	memcpy(ret, at + strlen("\"heapwiseStack/v1\": \""), 16);
	ret[16] = '\0';
}

CASE(fingerprints, "fingerprints are of kind and functions, not of lines")
{
	char first[17], moved[17], other[17];
	struct leaks_view_options options = plain(LEAKS_SARIF);
	first_fingerprint(first, options);
	leaks_fixture_moved = true;
	first_fingerprint(moved, options);
	leaks_fixture_moved = false;
	CHECK_STR(moved, first);
	options.show_kinds = 1u << LEAK_REACHABLE;
	first_fingerprint(other, options);
	CHECK(strcmp(other, first) != 0);
}

TAP_MAIN
