/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/model_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "unit/fake_symbols.h"

static void must(struct error *error)
{
	if (!error)
		return;
	fprintf(stderr, "fixture: %s\n", error->message);
	abort();
}

static const struct module modules[] = {
	[MODULE_APP] = {.path = "/opt/demo/app",
		.start = 0x400000,
		.end = 0x480000,
		.bias = 0x400000},
	[MODULE_CXX] = {.path = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		.start = 0x7f0000000000,
		.end = 0x7f0000200000,
		.bias = 0x7f0000000000},
	[MODULE_GONE] = {.path = "/opt/demo/libgone.so",
		.start = 0x7f1000000000,
		.end = 0x7f1000010000,
		.bias = 0x7f1000000000},
};

void fixture_init(struct fixture *fixture)
{
	*fixture = (struct fixture){.stacks = 1};
	must(build_create(&fixture->model));
	for (uint32_t id = MODULE_APP; id < ARRAY_SIZE(modules); id++)
		must(build_module(fixture->model, (struct module_id){id}, &modules[id],
			modules[id].path, strlen(modules[id].path)));
	build_recording(fixture->model)->complete = true;
	build_recording(fixture->model)->path = "demo.hpw";
	build_target(fixture->model)->exit_kind = EXIT_KIND_STATUS;
}

void fixture_deinit(struct fixture *fixture)
{
	model_destroy(fixture->model);
}

static uint32_t add_node(struct fixture *fixture, uint32_t outer, uint16_t module, uint64_t address)
{
	struct stack_columns row = {.parent = &outer, .module = &module, .address = &address};
	must(build_stacks(fixture->model, (struct stack_id){fixture->stacks}, &row, 1));
	return fixture->stacks++;
}

uint32_t fixture_stack(
	struct fixture *fixture, uint32_t outer, enum fixture_module module, uint64_t elf)
{
	return add_node(fixture, outer, (uint16_t)module, modules[module].bias + elf + 1);
}

uint32_t fixture_mark(struct fixture *fixture, uint32_t outer, enum stack_mark mark)
{
	return add_node(fixture, outer, MODULE_NONE, (uint64_t)mark);
}

void fixture_site(struct fixture *fixture, uint32_t stack, const struct site *counts)
{
	struct site_id id = {fixture->sites++};
	must(build_site(fixture->model, id, (struct stack_id){stack}, counts->kind));
	struct site *site = build_site_at(fixture->model, id);
	struct stack_id kept = site->stack;
	*site = *counts;
	site->stack = kept;
	struct totals *totals = build_totals(fixture->model);
	totals->allocations += counts->allocations;
	totals->allocated_bytes += counts->allocated_bytes;
	totals->live_blocks += counts->live_blocks;
	totals->live_bytes += counts->live_bytes;
	totals->peak_blocks += counts->peak_blocks;
	totals->peak_bytes += counts->peak_bytes;
	totals->temporary += counts->temporary;
	totals->failed += counts->failed;
	totals->frees = totals->allocations - totals->live_blocks;
}

#define APP "/opt/demo/app"
#define CXX "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"

/* Addresses in the app, and what stands there. */
enum {
	AT_MAIN = 0x1000,
	AT_LOAD = 0x1100,
	AT_LOAD_AGAIN = 0x1180, /* another call instruction of the same line */
	AT_XMALLOC = 0x1200,
	AT_TABLE = 0x1300,
	AT_TEMP_NAME = 0x1400,
	AT_PUSH = 0x1500, /* three frames: two inlined */
	AT_OWN_NEW = 0x1600,
	AT_HANDLER = 0x1700,
	AT_CALLERS = 0x2000, /* thirty, 16 bytes apart */
	CALLERS = 30,
};

#define CALLER(n)                                                                                  \
	{                                                                                          \
		APP, AT_CALLERS + 16 * (n),                                                        \
		{                                                                                  \
			"step", "_step", "/src/demo/steps.c", 100 + (n), false                     \
		}                                                                                  \
	}
#define CALLERS_10(n)                                                                              \
	CALLER(n), CALLER(n + 1), CALLER(n + 2), CALLER(n + 3), CALLER(n + 4), CALLER(n + 5),      \
		CALLER(n + 6), CALLER(n + 7), CALLER(n + 8), CALLER(n + 9)

static const struct fake_symbol demo_symbols[] = {
	{APP, AT_MAIN, {"main", "main", "/src/demo/main.c", 12, false}},
	{APP, AT_LOAD, {"load_config", "load_config", "/src/demo/config.c", 41, false}},
	{APP, AT_LOAD_AGAIN, {"load_config", "load_config", "/src/demo/config.c", 41, false}},
	{APP, AT_XMALLOC, {"xmalloc", "xmalloc", "/src/demo/util.c", 9, false}},
	{APP, AT_TABLE, {"table_grow", "table_grow", "/src/demo/table.c", 77, false}},
	{APP, AT_TEMP_NAME, {"temp_name", "temp_name", "/src/demo/name.c", 7, false}},
	{APP, AT_PUSH,
		{"std::__new_allocator<int>::allocate", "_a",
			"/usr/include/c++/12/bits/new_allocator.h", 137, true}},
	{APP, AT_PUSH,
		{"std::vector<int>::push_back", "_b", "/usr/include/c++/12/bits/stl_vector.h", 1287,
			true}},
	{APP, AT_PUSH, {"Queue::add", "_c", "/src/demo/queue.cc", 30, false}},
	{APP, AT_OWN_NEW, {"operator new", "_Znwm", "/src/demo/new.cc", 5, false}},
	{APP, AT_HANDLER, {"on_signal", "on_signal", "/src/demo/signal.c", 20, false}},
	{CXX, 0x500, {"std::string::reserve", "_d", NULL, 0, false}},
	CALLERS_10(0),
	CALLERS_10(10),
	CALLERS_10(20),
	{0},
};

static const struct fake_file demo_files[] = {
	{"/opt/demo/libgone.so", SYMBOLS_MISSING},
	{0},
};

static void describe(struct model *model)
{
	static const char *const command[] = {"demo", "--loop", "it's here"};
	for (size_t i = 0; i < ARRAY_SIZE(command); i++)
		must(build_argument(model, command[i], strlen(command[i])));
	struct target *target = build_target(model);
	target->exe = "/opt/demo/app";
	target->cwd = "/home/user";
	target->host = "box";
	target->pid = 4711;
	target->ppid = 4710;
	target->wall_start_ns = 1700000000000000000;
	struct recording *recording = build_recording(model);
	recording->writer = "heapwise 0.1.0";
	recording->events = 123456;
	recording->duration_ns = 3210000000;
	struct totals *totals = build_totals(model);
	totals->peak_time_ns = 1200000000;
	totals->threads = 2;
}

/* Blocks of config.c that stay, half of them from a second call instruction of the same line. */
static void add_leak(struct fixture *fixture, uint32_t main_node)
{
	uint32_t first = fixture_stack(fixture, main_node, MODULE_APP, AT_LOAD);
	uint32_t second = fixture_stack(fixture, main_node, MODULE_APP, AT_LOAD_AGAIN);
	fixture_site(fixture, fixture_stack(fixture, first, MODULE_APP, AT_XMALLOC),
		&(struct site){.kind = KIND_MALLOC,
			.allocations = 1000,
			.allocated_bytes = 280000,
			.live_blocks = 900,
			.live_bytes = 252000,
			.peak_blocks = 500,
			.peak_bytes = 140000,
			.min_size = 280,
			.max_size = 280});
	fixture_site(fixture, fixture_stack(fixture, second, MODULE_APP, AT_XMALLOC),
		&(struct site){.kind = KIND_MALLOC,
			.allocations = 304,
			.allocated_bytes = 66880,
			.live_blocks = 300,
			.live_bytes = 66000,
			.min_size = 200,
			.max_size = 220,
			.failed = 2,
			.max_failed_size = 6442451033});
}

static void add_peak(struct fixture *fixture, uint32_t main_node)
{
	fixture_site(fixture, fixture_stack(fixture, main_node, MODULE_APP, AT_TABLE),
		&(struct site){.kind = KIND_REALLOC,
			.allocations = 12,
			.allocated_bytes = 16777216,
			.peak_blocks = 1,
			.peak_bytes = 8388608,
			.min_size = 4096,
			.max_size = 8388608});
}

static void add_churn(struct fixture *fixture, uint32_t main_node)
{
	for (uint32_t i = 0; i < CALLERS; i++) {
		uint32_t step = fixture_stack(fixture, main_node, MODULE_APP, AT_CALLERS + 16 * i);
		fixture_site(fixture, fixture_stack(fixture, step, MODULE_APP, AT_TEMP_NAME),
			&(struct site){.kind = KIND_MALLOC,
				.allocations = 1000 + i,
				.allocated_bytes = (1000 + i) * 48,
				.temporary = 1000 + i,
				.same_frame = 1000 + i,
				.min_size = 48,
				.max_size = 48});
	}
}

static void add_cxx(struct fixture *fixture, uint32_t main_node)
{
	uint32_t push = fixture_stack(fixture, main_node, MODULE_APP, AT_PUSH);
	fixture_site(fixture, push,
		&(struct site){.kind = KIND_NEW,
			.allocations = 5000,
			.allocated_bytes = 400000,
			.live_blocks = 1,
			.live_bytes = 4096,
			.peak_blocks = 10,
			.peak_bytes = 40960,
			.temporary = 2500,
			.min_size = 4,
			.max_size = 4096});
	uint32_t reserve = fixture_stack(fixture, push, MODULE_CXX, 0x500);
	fixture_site(fixture, fixture_stack(fixture, reserve, MODULE_APP, AT_OWN_NEW),
		&(struct site){.kind = KIND_MALLOC,
			.allocations = 7,
			.allocated_bytes = 7000,
			.min_size = 1000,
			.max_size = 1000});
}

/* A cut stack, a signal handler, a library without a file, no stack at all. */
static void add_oddities(struct fixture *fixture, uint32_t main_node)
{
	uint32_t cut = fixture_mark(fixture, 0, MARK_DEPTH_LIMIT);
	struct site one = {.kind = KIND_CALLOC,
		.allocations = 1,
		.allocated_bytes = 24,
		.live_blocks = 1,
		.live_bytes = 24,
		.min_size = 24,
		.max_size = 24};
	fixture_site(fixture, fixture_stack(fixture, cut, MODULE_GONE, 0x77), &one);
	uint32_t mark = fixture_mark(fixture, main_node, MARK_SIGNAL);
	/* Interrupted at exactly AT_TABLE: no return address, so not one more. */
	uint32_t interrupted = fixture_stack(fixture, mark, MODULE_APP, AT_TABLE - 1);
	one.kind = KIND_NEW_ARRAY_NOTHROW;
	uint32_t trampoline = fixture_stack(fixture, interrupted, MODULE_GONE, 0x88);
	fixture_site(fixture, fixture_stack(fixture, trampoline, MODULE_APP, AT_HANDLER), &one);
	one.kind = KIND_UNKNOWN;
	fixture_site(fixture, 0, &one);
}

/* One program twice, others once, what the process went on as, and one without a name. */
static void add_unrecorded(struct model *model)
{
	static const struct {
		struct unrecorded_program row;
		const char *path;
	} programs[] = {
		{{.pid = 4720, .reason = UNRECORDED_STATIC, .start_ns = 1000}, "/bin/busybox"},
		{{.pid = 4721, .reason = UNRECORDED_SETUID, .start_ns = 2000}, "/usr/bin/sudo"},
		{{.pid = 4722, .reason = UNRECORDED_STATIC, .start_ns = 3000}, "/bin/busybox"},
		{{.pid = 4711, .reason = UNRECORDED_MUSL, .start_ns = 3200000000}, "./last"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		must(build_unrecorded(
			model, &programs[i].row, programs[i].path, strlen(programs[i].path)));
	build_recording(model)->children_unrecorded++;
}

void fixture_demo(struct fixture *fixture)
{
	fake_symbols = demo_symbols;
	fake_files = demo_files;
	fixture_init(fixture);
	describe(fixture->model);
	uint32_t main_node = fixture_stack(fixture, 0, MODULE_APP, AT_MAIN);
	add_leak(fixture, main_node);
	add_peak(fixture, main_node);
	add_churn(fixture, main_node);
	add_cxx(fixture, main_node);
	add_oddities(fixture, main_node);
	static const struct thread threads[] = {
		{.tid = 4711,
			.last_ns = 3200000000,
			.allocations = 30000,
			.allocated_bytes = 17000000,
			.frees = 29000,
			.temporary = 30000},
		{.tid = 4712,
			.first_ns = 1000000,
			.last_ns = 2000000000,
			.allocations = 6762,
			.allocated_bytes = 1973000,
			.frees = 6000,
			.temporary = 2935,
			.ended = true},
	};
	must(build_thread(fixture->model, &threads[0], "demo", 4));
	must(build_thread(fixture->model, &threads[1], "worker", 6));
	static const struct size_count sizes[] = {
		{4, 2500}, {24, 3}, {48, 30435}, {280, 1000}, {4096, 2500}, {8388608, 1}};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		must(build_size(fixture->model, sizes[i].size, sizes[i].allocations));
	add_unrecorded(fixture->model);
	build_finish(fixture->model);
}
