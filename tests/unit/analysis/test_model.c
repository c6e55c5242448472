/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/util.h"
#include "lib/tap.h"
#include "unit/model_fixture.h"

CASE(model_empty, "an empty model answers everything")
{
	struct model *model;
	CHECK_OK(build_create(&model));
	size_t count;
	CHECK_U64(model_target(model)->command_len, 0);
	CHECK(model_target(model)->command && !model_target(model)->command[0]);
	CHECK_STR(model_target(model)->exe, "");
	CHECK_STR(model_recording(model)->mode, "exact");
	CHECK(!model_recording(model)->complete);
	CHECK_U64(model_stack_limit(model), 1);
	CHECK_U64(model_module_limit(model), 1);
	model_sites(model, &count);
	CHECK_U64(count, 0);
	CHECK(!model_live(model, &count));
	build_finish(model);
	CHECK_U64(model_stack(model, (struct stack_id){0}).address, 0);
	model_destroy(model);
	model_destroy(NULL);
}

CASE(model_copies, "strings and build-ids are copied")
{
	struct model *model;
	CHECK_OK(build_create(&model));
	char argument[] = "first\0hidden", path[] = "/lib/x.so-and-more";
	uint8_t build_id[] = {1, 2, 3, 4};
	CHECK_OK(build_argument(model, argument, sizeof(argument) - 1));
	CHECK_OK(build_argument(model, "", 0));
	struct module module = {
		.build_id = build_id, .build_id_len = 4, .start = 16, .end = 32, .bias = 8};
	CHECK_OK(build_module(model, (struct module_id){3}, &module, path, 9));
	memset(argument, 'x', sizeof(argument));
	memset(path, 'x', sizeof(path));
	memset(build_id, 0, sizeof(build_id));
	CHECK_U64(model_target(model)->command_len, 2);
	CHECK_STR(model_target(model)->command[0], "first");
	CHECK_STR(model_target(model)->command[1], "");
	CHECK(!model_target(model)->command[2]);
	const struct module *kept = model_module(model, (struct module_id){3});
	CHECK_STR(kept->path, "/lib/x.so");
	CHECK_U64(kept->build_id_len, 4);
	CHECK_MEM(kept->build_id, ((uint8_t[]){1, 2, 3, 4}), 4);
	CHECK_STR(model_module(model, (struct module_id){2})->path, "");
	model_destroy(model);
}

CASE(model_stacks, "stack nodes keep gaps, and a row that is wrong keeps all rows out")
{
	struct model *model;
	CHECK_OK(build_create(&model));
	struct module module = {.start = 0, .end = 1 << 20};
	CHECK_OK(build_module(model, (struct module_id){1}, &module, "m", 1));
	const uint32_t parents[] = {0, 11, 10, 12};
	const uint16_t modules[] = {1, 1, 0, 1};
	const uint64_t addresses[] = {100, 200, 1, UINT64_MAX};
	struct stack_columns rows = {parents, modules, addresses, NULL};
	CHECK_OK(build_stacks(model, (struct stack_id){10}, &rows, ARRAY_SIZE(parents)));
	CHECK_U64(model_stack_limit(model), 14);
	/* 11 is its own parent: unused. */
	CHECK_U64(model_stack(model, (struct stack_id){11}).address, 0);
	CHECK_U64(model_stack(model, (struct stack_id){12}).parent.value, 10);
	CHECK(stack_node_mark(model_stack(model, (struct stack_id){12})) == MARK_DEPTH_LIMIT);
	CHECK(stack_node_mark(model_stack(model, (struct stack_id){10})) == MARK_NONE);
	CHECK_U64(model_stack(model, (struct stack_id){13}).address, UINT64_MAX);

	const uint32_t larger[] = {0, 22};
	struct stack_columns wrong = {larger, modules, addresses, NULL};
	CHECK_ERROR(build_stacks(model, (struct stack_id){20}, &wrong, 2), ERROR_INPUT,
		"stack 21 has a parent with a larger number");
	CHECK_U64(model_stack_limit(model), 14);
	const uint16_t unknown[] = {1, 2};
	wrong = (struct stack_columns){parents, unknown, addresses, NULL};
	CHECK_ERROR(build_stacks(model, (struct stack_id){20}, &wrong, 2), ERROR_INPUT, "module 2");
	model_destroy(model);
}

/* Rows of one chain, from id `first` on; that of `wrong` names a module that is not there. */
struct chain {
	uint32_t next, wrong;
	uint32_t parent[BUILD_STACK_BATCH];
	uint16_t module[BUILD_STACK_BATCH];
	uint64_t address[BUILD_STACK_BATCH];
};

static struct error *next_of_chain(void *context, size_t count, struct stack_columns *ret)
{
	struct chain *chain = context;
	for (size_t i = 0; i < count; i++, chain->next++) {
		chain->parent[i] = chain->next - 1;
		chain->module[i] = chain->next == chain->wrong;
		chain->address[i] = 1000 + chain->next % 7;
	}
	*ret = (struct stack_columns){chain->parent, chain->module, chain->address, NULL};
	return NULL;
}

CASE(model_fed, "stacks that are fed are set as a whole, or not at all")
{
	enum { ROWS = 3 * BUILD_STACK_BATCH + 5 };
	struct model *model;
	struct chain chain = {.next = 1};
	const struct stack_feed feed = {&chain, next_of_chain};
	CHECK_OK(build_create(&model));
	build_expect_stacks(model, 10);
	CHECK_OK(build_stacks_fed(model, (struct stack_id){1}, ROWS, &feed));
	CHECK_U64(model_stack_limit(model), ROWS + 1);
	for (uint32_t id = 1; id <= ROWS; id++) {
		struct stack_node node = model_stack(model, (struct stack_id){id});
		CHECK_U64(node.parent.value, id - 1);
		CHECK_U64(node.address, 1000 + id % 7);
	}
	CHECK_U64(model_frame_limit(model), 1 + 7);
	chain.wrong = 2 * ROWS;
	CHECK_ERROR(build_stacks_fed(model, (struct stack_id){ROWS + 1}, ROWS, &feed), ERROR_INPUT,
		"module 1, which is not known");
	CHECK_U64(model_stack_limit(model), ROWS + 1);
	model_destroy(model);
}

CASE(model_absurd, "numbers that would ask for absurd memory are refused")
{
	struct model *model;
	CHECK_OK(build_create(&model));
	const uint32_t parent = 0;
	const uint16_t module = 0;
	const uint64_t address = 100;
	struct stack_columns row = {&parent, &module, &address, NULL};
	CHECK_ERROR(build_stacks(model, (struct stack_id){UINT32_MAX}, &row, 1), ERROR_INPUT,
		"too many");
	CHECK_ERROR(
		build_stacks(model, (struct stack_id){1}, &row, SIZE_MAX), ERROR_INPUT, "too many");
	CHECK_ERROR(build_stacks(model, (struct stack_id){1 << 22}, &row, 1), ERROR_INPUT, "jump");
	CHECK_ERROR(
		build_site(model, (struct site_id){UINT32_MAX}, (struct stack_id){0}, KIND_MALLOC),
		ERROR_INPUT, "out of range");
	CHECK_ERROR(build_site(model, (struct site_id){0}, (struct stack_id){77}, KIND_MALLOC),
		ERROR_INPUT, "stack 77");
	CHECK_ERROR(build_site(model, (struct site_id){0}, (struct stack_id){0}, ALLOC_KINDS),
		ERROR_INPUT, "kind");
	struct module none = {0};
	CHECK_ERROR(build_module(model, (struct module_id){0}, &none, "", 0), ERROR_INPUT,
		"out of range");
	CHECK_ERROR(build_module(model, (struct module_id){70000}, &none, "", 0), ERROR_INPUT,
		"out of range");
	model_destroy(model);
}

CASE(model_order, "sizes and live blocks must ascend and name what is there")
{
	struct model *model;
	CHECK_OK(build_create(&model));
	CHECK_OK(build_size(model, 8, 1));
	CHECK_ERROR(build_size(model, 8, 1), ERROR_INPUT, "ascend");
	CHECK_OK(build_site(model, (struct site_id){0}, (struct stack_id){0}, KIND_MALLOC));
	CHECK_OK(build_thread(model, &(struct thread){.tid = 5}, "main-and-more", 4));
	struct live_block blocks[] = {{.address = 16}, {.address = 8}};
	CHECK_ERROR(build_live(model, blocks, 2), ERROR_INPUT, "ascend");
	CHECK_OK(build_live(model, blocks, 1));
	CHECK_ERROR(build_live(model, blocks + 1, 1), ERROR_INPUT, "ascend");
	blocks[0].site.value = 1;
	CHECK_ERROR(build_live(model, blocks, 1), ERROR_INPUT, "not known");
	size_t count;
	CHECK_U64(model_live(model, &count)->address, 16);
	CHECK_U64(count, 1);
	CHECK_STR(model_threads(model, &count)->name, "main");
	model_destroy(model);
}

CASE(model_code_names, "frames at addresses with names become names; addresses must ascend")
{
	struct model *model;
	const uint32_t parents[] = {0, 1, 2, 3};
	const uint16_t modules[] = {0, 0, 0, 0};
	const uint64_t addresses[] = {0x1000, UINT64_MAX, 0x1001, MARK_GUESSED};
	const struct stack_columns rows = {parents, modules, addresses, NULL};
	CHECK_OK(build_create(&model));
	CHECK_OK(build_stacks(model, (struct stack_id){1}, &rows, 4));
	CHECK_OK(build_code_name(model, 0x1000, "first one", 5));
	CHECK_OK(build_code_name(model, UINT64_MAX, "last", 4));
	CHECK_ERROR(build_code_name(model, UINT64_MAX, "again", 5), ERROR_INPUT, "ascend");
	build_finish(model);
	struct stack_node node = model_stack(model, (struct stack_id){1});
	CHECK(node.kind == FRAME_NAME && node.address == 0x1000);
	CHECK_STR(model_code(model, node.code)->name, "first");
	node = model_stack(model, (struct stack_id){2});
	CHECK_STR(model_code(model, node.code)->name, "last");
	CHECK(model_stack(model, (struct stack_id){3}).kind == FRAME_NATIVE);
	CHECK(model_stack(model, (struct stack_id){4}).kind == FRAME_MARK);
	model_destroy(model);
}

CASE(model_code, "code has a kind and lines that ascend, and frames name code that is there")
{
	struct model *model;
	const struct code_line lines[] = {{0, 10}, {8, 12}, {20, 11}};
	const struct code_line wrong[] = {{8, 10}, {8, 12}};
	struct code code = {.kind = FRAME_CODE_OBJECT,
		.language = "python",
		.name = "read",
		.file = "/src/app.py",
		.first_line = 9,
		.lines = lines,
		.line_count = 3};
	struct code_id id;
	CHECK_OK(build_create(&model));
	CHECK_OK(build_code(model, &code, &id));
	const struct code *kept = model_code(model, id);
	CHECK_U64(code_line_at(kept, 0), 10);
	CHECK_U64(code_line_at(kept, 7), 10);
	CHECK_U64(code_line_at(kept, 8), 12);
	CHECK_U64(code_line_at(kept, 1u << 20), 11);
	code.lines = wrong;
	code.line_count = 2;
	CHECK_ERROR(build_code(model, &code, &id), ERROR_INPUT, "ascend");
	code.line_count = 0;
	code.kind = FRAME_MARK;
	CHECK_ERROR(build_code(model, &code, &id), ERROR_INPUT, "kind");
	code.kind = FRAME_NAME;
	code.home.value = 7;
	CHECK_ERROR(build_code(model, &code, &id), ERROR_INPUT, "not known");
	const uint32_t parent = 0;
	const uint16_t module = 0;
	const uint64_t instruction = 3;
	uint32_t number = id.value + 1;
	const struct stack_columns row = {&parent, &module, &instruction, &number};
	CHECK_ERROR(build_stacks(model, (struct stack_id){1}, &row, 1), ERROR_INPUT, "not known");
	number = id.value;
	CHECK_OK(build_stacks(model, (struct stack_id){1}, &row, 1));
	/* An instruction of a small number is no mark. */
	struct stack_node node = model_stack(model, (struct stack_id){1});
	CHECK(node.kind == FRAME_CODE_OBJECT && stack_node_mark(node) == MARK_NONE);
	model_destroy(model);
}

CASE(model_damage, "damage makes a recording incomplete")
{
	struct fixture fixture;
	fixture_init(&fixture);
	CHECK(model_recording(fixture.model)->complete);
	CHECK_OK(build_damage(fixture.model, "Chunk 3 is damaged."));
	CHECK(!model_recording(fixture.model)->complete);
	size_t count;
	CHECK_STR(model_damage(fixture.model, &count)[0], "Chunk 3 is damaged.");
	CHECK_U64(count, 1);
	fixture_deinit(&fixture);
}

CASE(model_live_empty, "no live blocks and live blocks left out are told apart")
{
	struct model *model;
	CHECK_OK(build_create(&model));
	size_t count;
	CHECK(!model_live(model, &count));
	CHECK_OK(build_live(model, NULL, 0));
	CHECK(model_live(model, &count));
	CHECK_U64(count, 0);
	model_destroy(model);
}

TAP_MAIN
