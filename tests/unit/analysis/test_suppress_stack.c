/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of a model as suppressions see them: names, aliases, inlined frames, marks. */
#include "analysis/leaks/suppress_stack.h"
#include "lib/tap.h"
#include "unit/fake_symbols.h"
#include "unit/model_fixture.h"

#define APP "/opt/demo/app"
#define REAL_APP "/opt/demo/app.1.2"

static const struct fake_symbol names[] = {
	{APP, 0x0fff,
		{.function = "strdup",
			.raw_name = "__strdup",
			.file = "/src/strdup.c",
			.line = 42}},
	{APP, 0x1fff,
		{.function = "app::Cache<a::b>::add<std::less>",
			.raw_name = "add<std::less>",
			.inlined = true}},
	{APP, 0x1fff, {.function = "run", .raw_name = "run"}},
	{0},
};

static const struct fake_alias aliases[] = {
	{APP, 0, {REAL_APP}},
	{APP, 0x0fff, {"__GI___strdup", "strdup@@V_1", "__strdup"}},
	{APP, 0x1fff, {"run.part.0"}},
	{0},
};

static void build(bool with_aliases, enum alloc_kind kind, struct suppress_frame_vec *frames,
	struct fixture *fixture, struct resolver **ret)
{
	fake_symbols = names;
	fake_aliases = aliases;
	fixture_init(fixture);
	uint32_t stack = fixture_stack(fixture, 0, MODULE_GONE, 0x3000);
	stack = fixture_stack(fixture, stack, MODULE_APP, 0x1fff);
	stack = fixture_mark(fixture, stack, MARK_GUESSED);
	stack = fixture_stack(fixture, stack, MODULE_APP, 0x0fff);
	CHECK_OK(resolver_create(fixture->model, true, ret));
	if (with_aliases)
		resolver_add_aliases(*ret);
	CHECK_OK(suppress_stack(*ret, (struct stack_id){stack}, kind, frames));
}

CASE(frames, "frames have the name that Valgrind shows, the others beside it, and no marks")
{
	struct fixture fixture;
	struct resolver *resolver;
	struct suppress_frame_vec frames;
	suppress_frame_vec_init(&frames);
	build(true, KIND_MALLOC, &frames, &fixture, &resolver);
	CHECK_U64(frames.len, 5);
	CHECK_STR(frames.data[0].function, "malloc");
	CHECK_STR(frames.data[1].function, "strdup@@V_1");
	CHECK_STR(frames.data[1].demangled, "strdup");
	CHECK_U64(frames.data[1].alias_count, 3);
	CHECK_STR(frames.data[1].object, REAL_APP);
	CHECK_STR(frames.data[1].object_alias, APP);
	CHECK_STR(frames.data[1].file, "/src/strdup.c");
	CHECK_U64(frames.data[1].line, 42);
	CHECK_STR(frames.data[2].function, "add<std::less>");
	CHECK_STR(frames.data[2].demangled, "app::Cache<a::b>::add<std::less>");
	CHECK(frames.data[2].inlined);
	CHECK_STR(frames.data[3].function, "run.part.0");
	CHECK(!frames.data[3].inlined);
	CHECK_STR(frames.data[4].function, NULL);
	CHECK(frames.data[4].object);
	suppress_frame_vec_deinit(&frames);
	resolver_destroy(resolver);
	fixture_deinit(&fixture);
}

CASE(kinds, "the allocation function comes first, whatever it was, and once")
{
	static const size_t counts[ALLOC_KINDS] = {[KIND_POSIX_MEMALIGN] = 6};
	/* Those after are of mappings, which no search finds leaked. */
	for (unsigned kind = 0; kind < KIND_MMAP; kind++) {
		struct fixture fixture;
		struct resolver *resolver;
		struct suppress_frame_vec frames;
		suppress_frame_vec_init(&frames);
		build(false, (enum alloc_kind)kind, &frames, &fixture, &resolver);
		CHECK_U64(frames.len, counts[kind] ? counts[kind] : 5);
		CHECK_STR(frames.data[frames.len - 4].function, "__strdup");
		CHECK(frames.data[frames.len - 5].function && !frames.data[frames.len - 5].object);
		suppress_frame_vec_deinit(&frames);
		resolver_destroy(resolver);
		fixture_deinit(&fixture);
	}
}

TAP_MAIN
