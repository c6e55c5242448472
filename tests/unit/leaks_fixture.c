/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/leaks_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "unit/fake_symbols.h"

#define APP "/opt/demo/app"
#define CXX "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"

enum {
	AT_MAIN = 0x1000,
	AT_LOAD = 0x1100,
	AT_LOAD_AGAIN = 0x1180,
	AT_NODE = 0x1200,
	AT_BUCKET = 0x1300,
	AT_BUFFER = 0x1400,
	AT_STDIO = 0x1500,
	AT_QUEUE = 0x1600,
};

static const struct fake_symbol symbols[] = {
	{APP, AT_MAIN, {"main", "main", "/src/demo/main.c", 12, false}},
	{APP, AT_LOAD, {"load_config", "load_config", "/src/demo/config.c", 41, false}},
	{APP, AT_LOAD_AGAIN, {"load_config", "load_config", "/src/demo/config.c", 41, false}},
	{APP, AT_NODE, {"node", "node", "/src/demo/list.c", 9, false}},
	{APP, AT_BUCKET, {"table_add", "table_add", "/src/demo/table.c", 77, false}},
	{APP, AT_BUFFER, {"main", "main", "/src/demo/main.c", 30, false}},
	{CXX, AT_STDIO, {"_IO_file_doallocate", "_IO_file_doallocate", NULL, 0, false}},
	{APP, AT_QUEUE,
		{"std::__new_allocator<int>::allocate", "_ZNSt15__new_allocatorIiE8allocateEmPKv",
			"/usr/include/c++/12/bits/new_allocator.h", 137, true}},
	{APP, AT_QUEUE, {"Queue::add", "_ZN5Queue3addEi", "/srv/src/queue & co.cc", 30, false}},
	{0},
};

static const struct fake_variable variables[] = {
	{APP, 0x60000, 8, "g_list", "/src/demo/list.c", 5},
	{APP, 0x60100, 512, "g_table", "/src/demo/table.c", 7},
	{0},
};

static const struct fake_file files[] = {{"/opt/demo/libgone.so", SYMBOLS_MISSING}, {0}};

bool leaks_fixture_moved;
static struct fake_symbol moved_symbols[ARRAY_SIZE(symbols)];

static void choose_symbols(void)
{
	memcpy(moved_symbols, symbols, sizeof(symbols));
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		moved_symbols[i].symbol.line += 1000;
	fake_symbols = leaks_fixture_moved ? moved_symbols : symbols;
}

static void must(struct error *error)
{
	if (!error)
		return;
	fprintf(stderr, "fixture: %s\n", error->message);
	abort();
}

static void add_sites(struct fixture *fixture)
{
	static const struct {
		uint64_t at;
		enum alloc_kind kind;
	} sites[LEAKS_SITES] = {
		[SITE_LOAD] = {AT_LOAD, KIND_MALLOC},
		[SITE_LOAD_AGAIN] = {AT_LOAD_AGAIN, KIND_MALLOC},
		[SITE_NODE] = {AT_NODE, KIND_CALLOC},
		[SITE_BUCKET] = {AT_BUCKET, KIND_MALLOC},
		[SITE_BUFFER] = {0, KIND_MALLOC},
		[SITE_STDIO] = {AT_STDIO, KIND_MALLOC},
		[SITE_QUEUE] = {AT_QUEUE, KIND_NEW},
	};
	uint32_t main_node = fixture_stack(fixture, 0, MODULE_APP, AT_MAIN);
	for (size_t i = 0; i < LEAKS_SITES; i++) {
		uint32_t stack =
			sites[i].at ? fixture_stack(fixture, main_node,
					      sites[i].at == AT_STDIO ? MODULE_CXX : MODULE_APP,
					      sites[i].at)
				    : fixture_stack(fixture, 0, MODULE_APP, AT_BUFFER);
		fixture_site(fixture, stack, &(struct site){.kind = sites[i].kind});
	}
}

void leaks_fixture_init(struct fixture *fixture)
{
	choose_symbols();
	fake_variables = variables;
	fake_files = files;
	fake_aliases = NULL;
	fixture_init(fixture);
	must(build_argument(fixture->model, "demo", 4));
	struct target *target = build_target(fixture->model);
	target->pid = 4711;
	target->cwd = "/srv/src";
	target->exe = target->host = "";
	build_recording(fixture->model)->duration_ns = 3210000000;
	add_sites(fixture);
	const struct thread threads[] = {{.tid = 4711}, {.tid = 4712}};
	must(build_thread(fixture->model, &threads[0], "demo", 4));
	must(build_thread(fixture->model, &threads[1], "worker", 6));
	*build_leak_search(fixture->model) = (struct leak_search){
		.moment = LEAK_AT_EXIT,
		.way = LEAK_WAY_HELD,
		.time_ns = 3200000000,
		.pause_ns = 15000000,
		.search_ns = 16000000,
		.alignment = 8,
		.heuristics = 15,
		.threads = 2,
		.root_bytes = 65536,
		.pointers = 99,
		.allocations = 1234,
		.frees = 1149,
		.allocated_bytes = 9876543,
		.heuristic_blocks = {[1] = 2},
		.heuristic_bytes = {[1] = 48},
	};
}

uint32_t leaks_root(struct fixture *fixture, const struct leak_root *root, const char *name)
{
	size_t number;
	model_leak_roots(fixture->model, &number);
	must(build_leak_root(fixture->model, root, name, strlen(name)));
	return (uint32_t)number;
}

uint32_t leaks_group(struct fixture *fixture, uint32_t parent, uint32_t root, uint64_t word,
	enum leaks_site site)
{
	size_t number;
	model_leak_groups(fixture->model, &number);
	struct leak_group group = {
		.parent = parent,
		.root = root,
		.root_address = word,
		.site = {(uint32_t)site},
		.offset = parent == LEAK_NO_GROUP ? 0 : 16,
	};
	must(build_leak_group(fixture->model, &group));
	return (uint32_t)number;
}

void leaks_record(struct fixture *fixture, enum leaks_site site, enum leak_kind kind,
	uint32_t group, uint64_t blocks, uint64_t size)
{
	size_t number;
	model_leak_records(fixture->model, &number);
	struct leak_record record = {
		.site = {(uint32_t)site},
		.kind = kind,
		.group = group,
		.blocks = blocks,
		.bytes = blocks * size,
		.example = {.address = 0x7f2000000000 + 0x1000 * number,
			.size = size,
			.thread = {site == SITE_QUEUE}},
		.example_ns = 1200000000,
	};
	if (site == SITE_LOAD && kind == LEAK_DEFINITE) {
		record.indirect_blocks = 2;
		record.indirect_bytes = 128;
	}
	must(build_leak_record(fixture->model, &record));
	struct totals *totals = build_totals(fixture->model);
	totals->allocations += blocks;
	totals->allocated_bytes += blocks * size;
	totals->live_blocks += blocks;
	totals->live_bytes += blocks * size;
}

/* What globals, a register and a stack hold. */
static void add_held(struct fixture *fixture)
{
	struct leak_root data = {.place = LEAK_PLACE_DATA,
		.start = 0x460000,
		.size = 0x1000,
		.module = {MODULE_APP}};
	uint32_t root = leaks_root(fixture, &data, APP);
	uint32_t list = leaks_group(fixture, LEAK_NO_GROUP, root, 0x460000, SITE_NODE);
	leaks_record(fixture, SITE_NODE, LEAK_REACHABLE, list, 1, 64);
	uint32_t rest = leaks_group(fixture, list, root, 0x460000, SITE_NODE);
	leaks_record(fixture, SITE_NODE, LEAK_REACHABLE, rest, 9, 64);
	for (uint64_t word = 0; word < 64; word++) {
		uint32_t bucket =
			leaks_group(fixture, LEAK_NO_GROUP, root, 0x460100 + 8 * word, SITE_BUCKET);
		leaks_record(fixture, SITE_BUCKET, LEAK_REACHABLE, bucket, 1, 32 + (word == 3));
	}
	leaks_record(fixture, SITE_STDIO, LEAK_REACHABLE, LEAK_NO_GROUP, 1, 4096);
	struct leak_root registers = {.place = LEAK_PLACE_REGISTERS, .tid = 4712};
	root = leaks_root(fixture, &registers, "");
	uint32_t inner = leaks_group(fixture, LEAK_NO_GROUP, root, 1, SITE_BUFFER);
	leaks_record(fixture, SITE_BUFFER, LEAK_POSSIBLE, inner, 1, 4000);
	struct leak_root stack = {
		.place = LEAK_PLACE_STACK, .start = 0x7ffe0000, .size = 0x2000, .tid = 4711};
	root = leaks_root(fixture, &stack, "[stack]");
	uint32_t queue = leaks_group(fixture, LEAK_NO_GROUP, root, 0x7ffe0100, SITE_QUEUE);
	leaks_record(fixture, SITE_QUEUE, LEAK_REACHABLE, queue, 2, 1 << 20);
}

void leaks_fixture_demo(struct fixture *fixture)
{
	leaks_fixture_init(fixture);
	leaks_record(fixture, SITE_LOAD, LEAK_DEFINITE, LEAK_NO_GROUP, 5, 102);
	leaks_record(fixture, SITE_LOAD_AGAIN, LEAK_DEFINITE, LEAK_NO_GROUP, 1, 90);
	leaks_record(fixture, SITE_NODE, LEAK_INDIRECT, LEAK_NO_GROUP, 2, 64);
	add_held(fixture);
	struct totals *totals = build_totals(fixture->model);
	totals->allocations += 1000;
	totals->allocated_bytes += 123456;
	totals->frees = 1000;
}
