/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/hpw_stories.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const arguments[] = {"./story", "--tell", "me more", NULL};

static const struct story_module modules[] = {
	{1, 0x400000, 0x480000, 0, "\xde\xad\xbe\xef", "/usr/bin/story"},
	{2, 0x7f0000000000, 0x7f0000200000, 0x7f0000000000, "", "/lib/libc.so.6"},
};

/* 1 main, 2 main → load, 3 main → load → signal mark, 4 unused, 5 main → work, 6 thread start. */
static const struct story_stack stacks[] = {
	{1, 1, 0x401136, 0},
	{1, 1, 0x401200, 0},
	{1, 0, 4, 0},
	{0, 0, 0, 0},
	{4, 1, 0x401300, 0},
	{6, 2, 0x7f0000012345, 0},
};

static const struct story_site sites[] = {
	{2, HW_MALLOC},
	{5, HW_REALLOC},
	{6, HW_NEW_ARRAY},
	{1, HW_CALLOC},
};

static const struct story_thread threads[] = {{4711, "story"}, {4712, "worker"}, {4713, ""}};

static const struct story_step small_steps[] = {
	{.op = STORY_START, .thread = 0},
	{.op = STORY_ALLOC, .thread = 0, .block = 0, .site = 0, .size = 100},
	{.op = STORY_ALLOC, .thread = 0, .block = 1, .site = 3, .size = 23},
	{.op = STORY_FREE, .thread = 0, .block = 1, .free_kind = -1, .same_frame = true},
};

const struct story story_small = {
	.arguments = arguments,
	.modules = modules,
	.modules_len = COUNT(modules),
	.first_stack = 1,
	.stacks = stacks,
	.stacks_len = COUNT(stacks),
	.sites = sites,
	.sites_len = COUNT(sites),
	.threads = threads,
	.threads_len = 1,
	.steps = small_steps,
	.steps_len = COUNT(small_steps),
	.exit_kind = HPW_EXIT_STATUS,
	.exit_value = 3,
};

static const struct story_step forked_steps[] = {
	{.op = STORY_START, .thread = 0},
	{.op = STORY_ALLOC, .thread = 0, .block = 0, .site = 0, .size = 100},
	{.op = STORY_MARK, .thread = 0, .name = "fork:f4300"},
	{.op = STORY_FREE, .thread = 0, .block = 0, .free_kind = -1},
};

const struct story story_forked = {
	.arguments = arguments,
	.forked_at = 0xf4200,
	.parent_file = "parent.hpw",
	.modules = modules,
	.modules_len = COUNT(modules),
	.first_stack = 1,
	.stacks = stacks,
	.stacks_len = COUNT(stacks),
	.sites = sites,
	.sites_len = COUNT(sites),
	.threads = threads,
	.threads_len = 1,
	.steps = forked_steps,
	.steps_len = COUNT(forked_steps),
	.exit_kind = HPW_EXIT_STATUS,
};

/* Blocks 0 and 1 are a list, 2 has 3, 4 is pointed into. */
static const struct story_step leaks_steps[] = {
	{.op = STORY_START, .thread = 0},
	{.op = STORY_ALLOC, .thread = 0, .block = 0, .site = 0, .size = 100},
	{.op = STORY_ALLOC, .thread = 0, .block = 1, .site = 0, .size = 100},
	{.op = STORY_START, .thread = 1},
	{.op = STORY_ALLOC, .thread = 1, .block = 2, .site = 3, .size = 24},
	{.op = STORY_ALLOC, .thread = 0, .block = 3, .site = 2, .size = 7},
	{.op = STORY_ALLOC, .thread = 1, .block = 4, .site = 2, .size = 4096},
};

static const uint64_t leaks_search[][2] = {
	{HPW_LEAK_MOMENT, HPW_LEAK_AT_MAIN_END}, {HPW_LEAK_TSC, BUILDER_TSC_START + 71},
	{HPW_LEAK_WAY, HPW_LEAK_HELD}, {HPW_LEAK_PAUSE_NS, 15000}, {HPW_LEAK_SEARCH_NS, 20000},
	{HPW_LEAK_ALIGNMENT, 8}, {HPW_LEAK_HEURISTICS, 15}, {HPW_LEAK_THREADS, 2},
	{HPW_LEAK_ROOT_BYTES, 8192}, {HPW_LEAK_POINTERS, 2},
	{HPW_LEAK_BLOCKS + HPW_LEAK_DEFINITE, 1}, {HPW_LEAK_BLOCKS + HPW_LEAK_INDIRECT, 1},
	{HPW_LEAK_BLOCKS + HPW_LEAK_POSSIBLE, 1}, {HPW_LEAK_BLOCKS + HPW_LEAK_REACHABLE, 2},
	{HPW_LEAK_BYTES + HPW_LEAK_DEFINITE, 24}, {HPW_LEAK_BYTES + HPW_LEAK_INDIRECT, 7},
	{HPW_LEAK_BYTES + HPW_LEAK_POSSIBLE, 4096}, {HPW_LEAK_BYTES + HPW_LEAK_REACHABLE, 200},
	{1000, 1}, /* a key that no version knows */
};

static const struct story_root leaks_roots[] = {
	{{HPW_LEAK_ROOT_DATA, 0x404000, 4096, 0, 1}, "/usr/bin/story"},
	{{HPW_LEAK_ROOT_REGISTERS, 0, 0, 4712, 0}, ""},
};

static const uint64_t leaks_groups[][9] = {
	{0, 0, 0x404018, 0, 1, 0, 0, 0x500000, 0},
	{1, 0, 0x404018, 0, 0, 0x500000, 16, 0x500100, 0},
	{0, 1, 1, 2, 0, 0, 0, 0x501000, 2048},
};

static const uint64_t leaks_records[][11] = {
	{0, HPW_LEAK_REACHABLE, 1, 1, 100, 0, 0, 0x500000, 100, 0, 0},
	{0, HPW_LEAK_REACHABLE, 2, 1, 100, 0, 0, 0x500100, 100, 0, 1},
	{2, HPW_LEAK_INDIRECT, 0, 1, 7, 0, 0, 0x500300, 7, 0, 2},
	{2, HPW_LEAK_POSSIBLE, 3, 1, 4096, 0, 0, 0x501000, 4096, 1, 1},
	{3, HPW_LEAK_DEFINITE, 0, 1, 24, 1, 7, 0x500200, 24, 1, 0},
};

const struct story_leaks leaks_small = {
	.search = leaks_search,
	.search_len = COUNT(leaks_search),
	.problem = "one thread was elsewhere",
	.roots = leaks_roots,
	.roots_len = COUNT(leaks_roots),
	.groups = leaks_groups,
	.groups_len = COUNT(leaks_groups),
	.records = leaks_records,
	.records_len = COUNT(leaks_records),
};

const struct story story_leaks = {
	.arguments = arguments,
	.modules = modules,
	.modules_len = COUNT(modules),
	.first_stack = 1,
	.stacks = stacks,
	.stacks_len = COUNT(stacks),
	.sites = sites,
	.sites_len = COUNT(sites),
	.threads = threads,
	.threads_len = 2,
	.leaks = &leaks_small,
	.steps = leaks_steps,
	.steps_len = COUNT(leaks_steps),
	.chunk_steps = 3,
	.exit_kind = HPW_EXIT_STATUS,
};

/* 1 main, 2 main → code of no file, 3 other code of no file, called by it. */
static const struct story_stack code_stacks[] = {
	{1, 1, 0x401136, 0},
	{1, 0, 0x7f0000400010, 0},
	{1, 0, 0x7f0000300020, 0},
};

static const struct story_site code_sites[] = {{3, HW_MALLOC}, {2, HW_CALLOC}};

static const struct story_code_name code_names[] = {
	{0x7f0000300020, "add /tmp/calc.js:7"},
	{0x7f0000400010, "caf\xc3\xa9"},
};

static const struct story_step code_steps[] = {
	{.op = STORY_START, .thread = 0},
	{.op = STORY_ALLOC, .thread = 0, .block = 0, .site = 0, .size = 27},
	{.op = STORY_ALLOC, .thread = 0, .block = 1, .site = 1, .size = 29},
};

const struct story story_code = {
	.arguments = arguments,
	.modules = modules,
	.modules_len = COUNT(modules),
	.first_stack = 1,
	.stacks = code_stacks,
	.stacks_len = COUNT(code_stacks),
	.sites = code_sites,
	.sites_len = COUNT(code_sites),
	.threads = threads,
	.threads_len = 1,
	.code_names = code_names,
	.code_names_len = COUNT(code_names),
	.steps = code_steps,
	.steps_len = COUNT(code_steps),
	.exit_kind = HPW_EXIT_STATUS,
};

/* A stack of all kinds: 1 main, 2 a code object at line 12, 3 a native frame, 4 a method at line
 * 31, 5 a name, 6 a native frame; 7 the code object at another line, 8 one whose row is not there.
 */
static const struct story_stack frames_stacks[] = {
	{1, 1, 0x401136, 0},
	{1, 0, 9, 1},
	{1, 1, 0x401300, 0},
	{1, 0, 3, 2},
	{1, 0, 0, 3},
	{1, 1, 0x401500, 0},
	{6, 0, 1, 1},
	{1, 0, 2, 9},
};

static const uint32_t python_lines[][2] = {{0, 10}, {8, 12}, {20, 11}};
static const uint32_t java_lines[][2] = {{0, 31}, {12, 33}};

static const struct story_code frames_code[] = {
	{HPW_FRAME_CODE_OBJECT, 9,
		{"python", "read", "Parser.read", NULL, "/srv/app/parse.py", "parse"}, python_lines,
		COUNT(python_lines)},
	{HPW_FRAME_METHOD, 0,
		{"java", "open", "com/example/Store", "(Ljava/lang/String;[I)V", "Store.java",
			NULL},
		java_lines, COUNT(java_lines)},
	{HPW_FRAME_NAME, 0, {NULL, "made at run time", NULL, NULL, NULL, NULL}, NULL, 0},
};

static const struct story_site frames_sites[] = {
	{6, HW_MALLOC}, {4, HW_CALLOC}, {7, HW_MALLOC}, {8, HW_MALLOC}};

static const struct story_step frames_steps[] = {
	{.op = STORY_START, .thread = 0},
	{.op = STORY_ALLOC, .thread = 0, .block = 0, .site = 0, .size = 27},
	{.op = STORY_ALLOC, .thread = 0, .block = 1, .site = 1, .size = 29},
	{.op = STORY_ALLOC, .thread = 0, .block = 2, .site = 2, .size = 31},
	{.op = STORY_ALLOC, .thread = 0, .block = 3, .site = 3, .size = 33},
};

const struct story story_frames = {
	.arguments = arguments,
	.modules = modules,
	.modules_len = COUNT(modules),
	.first_stack = 1,
	.stacks = frames_stacks,
	.stacks_len = COUNT(frames_stacks),
	.code = frames_code,
	.code_len = COUNT(frames_code),
	.sites = frames_sites,
	.sites_len = COUNT(frames_sites),
	.threads = threads,
	.threads_len = 1,
	.steps = frames_steps,
	.steps_len = COUNT(frames_steps),
	.exit_kind = HPW_EXIT_STATUS,
};

static const struct story_unrecorded unrecorded[] = {
	{BUILDER_TSC_START + 5, 4713, HW_UNRECORDED_STATIC, "/bin/busybox"},
	{BUILDER_TSC_START + 300, 4714, HW_UNRECORDED_SETUID, ""},
	{BUILDER_TSC_START + 11, 4715, HW_UNRECORDED_STATIC, "/bin/busybox"},
	{BUILDER_TSC_START + 400, 4716, 200, "a reason of a newer writer"},
	{BUILDER_TSC_START + 500, 4711, HW_UNRECORDED_MUSL, "./caf\xc3\xa9"},
};

const struct story story_unrecorded = {
	.arguments = arguments,
	.modules = modules,
	.modules_len = COUNT(modules),
	.first_stack = 1,
	.stacks = code_stacks,
	.stacks_len = COUNT(code_stacks),
	.sites = code_sites,
	.sites_len = COUNT(code_sites),
	.threads = threads,
	.threads_len = 1,
	.unrecorded = unrecorded,
	.unrecorded_len = COUNT(unrecorded),
	.steps = code_steps,
	.steps_len = COUNT(code_steps),
	.exit_kind = HPW_EXIT_STATUS,
};

static const struct story_step full_steps[] = {
	{.op = STORY_START, .thread = 0},
	{.op = STORY_ALLOC, .thread = 0, .block = 0, .site = 0, .size = 101},
	{.op = STORY_ALLOC, .thread = 0, .block = 1, .site = 3, .size = 4099},
	{.op = STORY_FREE, .thread = 0, .block = 1, .free_kind = -1, .same_frame = true},
	{.op = STORY_START, .thread = 1},
	/* the same sites in turn, same and other sizes: predictions of both sorts */
	{.op = STORY_ALLOC, .thread = 1, .block = 2, .site = 2, .size = 77},
	{.op = STORY_ALLOC, .thread = 1, .block = 3, .site = 0, .size = 33},
	{.op = STORY_ALLOC, .thread = 1, .block = 4, .site = 2, .size = 77},
	{.op = STORY_ALLOC, .thread = 1, .block = 5, .site = 0, .size = 35},
	{.op = STORY_ALLOC, .thread = 1, .block = 6, .site = 2, .size = 79},
	/* freed by another thread, with the wrong kind, by realloc */
	{.op = STORY_FREE, .thread = 0, .block = 2, .free_kind = -1},
	{.op = STORY_FREE, .thread = 0, .block = 4, .free_kind = HW_FREE},
	{.op = STORY_REALLOC, .thread = 0, .old = 0, .block = 7, .site = 1, .size = 1001},
	{.op = STORY_REALLOC, .thread = 0, .old = 7, .block = 8, .site = 1, .size = 2003},
	{.op = STORY_REALLOC, .thread = 1, .old = 6, .block = 9, .site = 1, .size = 5},
	{.op = STORY_FREE, .thread = 1, .block = 9, .free_kind = -1},
	{.op = STORY_FAILED, .thread = 1, .site = 0, .size = UINT64_MAX},
	{.op = STORY_UNKNOWN, .thread = 1, .free_kind = -1},
	{.op = STORY_UNKNOWN, .thread = 2, .free_kind = HW_DELETE},
	{.op = STORY_MARK, .thread = 0, .name = "half-time"},
	{.op = STORY_LOST, .thread = 0, .size = 7},
	/* a block of no bytes, a large one, and the peak */
	{.op = STORY_ALLOC, .thread = 2, .block = 10, .site = 2, .size = 0},
	{.op = STORY_ALLOC, .thread = 2, .block = 11, .site = 3, .size = 1ull << 33},
	{.op = STORY_FREE, .thread = 2, .block = 11, .free_kind = HW_FREE},
	{.op = STORY_FREE, .thread = 1, .block = 10, .free_kind = HW_DELETE_ARRAY},
	{.op = STORY_END, .thread = 2},
	{.op = STORY_ALLOC, .thread = 0, .block = 12, .site = 0, .size = 11},
	{.op = STORY_END, .thread = 1},
	{.op = STORY_FREE, .thread = 0, .block = 12, .free_kind = -1},
	/* realloc(p, 0) that frees: a call without a second half, then realloc(NULL, 3) */
	{.op = STORY_ALLOC, .thread = 0, .block = 13, .site = 0, .size = 12},
	{.op = STORY_FREE, .thread = 0, .block = 13, .free_kind = HW_FREE_REALLOC_ZERO},
	{.op = STORY_ALLOC, .thread = 0, .block = 14, .site = 0, .size = 13},
	{.op = STORY_ALLOC, .thread = 0, .block = 15, .site = 1, .size = 3},
};

const struct story story_full = {
	.arguments = arguments,
	.modules = modules,
	.modules_len = COUNT(modules),
	.first_stack = 1,
	.stacks = stacks,
	.stacks_len = COUNT(stacks),
	.sites = sites,
	.sites_len = COUNT(sites),
	.threads = threads,
	.threads_len = COUNT(threads),
	.steps = full_steps,
	.steps_len = COUNT(full_steps),
	.chunk_steps = 5,
	.exit_kind = HPW_EXIT_SIGNAL,
	.exit_value = 11,
};

static const char *const small_arguments[] = {"/bin/true", "of", "caf\xc3\xa9", NULL};
static const struct story_small_row small_rows[] = {
	{.pid = 4721,
		.ppid = 4711,
		.arguments = small_arguments,
		.allocations = 3,
		.allocated_bytes = 1025},
	{.pid = 4722, .ppid = 4721, .arguments = small_arguments + 3},
};

const struct story story_rows = {
	.arguments = arguments,
	.modules = modules,
	.modules_len = COUNT(modules),
	.first_stack = 1,
	.stacks = stacks,
	.stacks_len = COUNT(stacks),
	.sites = sites,
	.sites_len = COUNT(sites),
	.threads = threads,
	.threads_len = COUNT(threads),
	.steps = full_steps,
	.steps_len = COUNT(full_steps),
	.chunk_steps = 5,
	.site_stats_rows = 3,
	.small = small_rows,
	.small_len = COUNT(small_rows),
	.exit_kind = HPW_EXIT_STATUS,
};

/* xorshift64* */
static uint64_t draw(uint64_t *state, uint64_t below)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (*state * 0x2545f4914f6cdd1du >> 16) % below;
}

struct told {
	uint32_t *live;
	size_t len;
	uint32_t next;
};

/* A block that lives, taken out of the list; mostly the youngest. */
static uint32_t told_take(struct told *told, uint64_t *state)
{
	size_t at = draw(state, 3) ? told->len - 1 : draw(state, told->len);
	uint32_t block = told->live[at];
	told->live[at] = told->live[--told->len];
	return block;
}

static struct story_step random_step(struct told *told, uint64_t *state, size_t threads_len)
{
	static const uint64_t sizes[] = {0, 1, 24, 24, 24, 48, 127, 128, 4095, 4096, 70001};
	struct story_step step = {
		.thread = (uint32_t)draw(state, threads_len),
		.site = (uint32_t)draw(state, COUNT(sites)),
		.size = sizes[draw(state, COUNT(sizes))],
		.same_frame = draw(state, 2),
		.free_kind = -1,
	};
	uint64_t what = draw(state, 100);
	bool room = told->next < BUILDER_BLOCKS_MAX;
	if (what < 2) {
		step.op = STORY_FAILED;
	} else if (what < 4) {
		step.op = STORY_UNKNOWN;
	} else if (what < 45 && told->len) {
		step.op = STORY_FREE;
		step.block = told_take(told, state);
		if (draw(state, 10) == 0)
			step.free_kind = (int)draw(state, HW_FREE_KINDS);
	} else if (what < 55 && told->len && room) {
		step.op = STORY_REALLOC;
		step.old = told_take(told, state);
		step.site = 1;
		step.block = told->live[told->len++] = told->next++;
	} else if (room) {
		step.op = STORY_ALLOC;
		step.block = told->live[told->len++] = told->next++;
	} else {
		step.op = STORY_MARK;
		step.name = "full";
	}
	/* An explicit realloc would need its other half. */
	if (step.free_kind == HW_FREE_REALLOC)
		step.free_kind = HW_DELETE;
	return step;
}

struct story story_random(uint64_t seed, size_t steps)
{
	struct story_step *list = calloc(steps, sizeof(*list));
	struct told told = {.live = calloc(BUILDER_BLOCKS_MAX, sizeof(uint32_t))};
	if (!list || !told.live)
		abort();
	uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
	for (size_t i = 0; i < steps; i++)
		list[i] = i < COUNT(threads)
				  ? (struct story_step){.op = STORY_START, .thread = (uint32_t)i}
				  : random_step(&told, &state, COUNT(threads));
	free(told.live);
	struct story story = story_full;
	story.steps = list;
	story.steps_len = steps;
	story.chunk_steps = 1 + draw(&state, 1500);
	return story;
}

void story_random_free(struct story *story)
{
	free((void *)story->steps);
	story->steps = NULL;
}
