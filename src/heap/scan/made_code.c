/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/made_code.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc_info.h"

void made_code_init(struct made_code *code)
{
	made_functions_init(&code->functions);
	arena_init(&code->arena);
	code->state = PERF_MAP_UNSOUGHT;
	*code->words = '\0';
}

void made_code_deinit(struct made_code *code)
{
	made_functions_deinit(&code->functions);
	arena_deinit(&code->arena);
}

struct error *made_code_want(struct made_code *code, uint64_t address)
{
	const struct made_function wanted = {.address = address};
	return made_functions_push(&code->functions, wanted) ? NULL : error_no_memory();
}

static int made_functions_order(const void *a, const void *b)
{
	uint64_t x = ((const struct made_function *)a)->address;
	uint64_t y = ((const struct made_function *)b)->address;
	return x < y ? -1 : x > y;
}

static void functions_sort(struct made_functions *functions)
{
	size_t kept = 0;
	qsort(functions->data, functions->len, sizeof(*functions->data), made_functions_order);
	for (size_t i = 0; i < functions->len; i++)
		if (!kept || functions->data[i].address != functions->data[kept - 1].address)
			functions->data[kept++] = functions->data[i];
	functions->len = kept;
}

/* The first function from `start` on. */
static size_t functions_first(const struct made_functions *functions, uint64_t start)
{
	size_t low = 0, high = functions->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (functions->data[middle].address < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct made_reading {
	struct made_code *code;
	bool has_failed; /* there is no memory */
};

/* A later line is valid instead of an earlier one. */
static bool made_line_take(void *context, const struct perf_map_line *line)
{
	struct made_reading *reading = context;
	struct made_functions *functions = &reading->code->functions;
	size_t i = functions_first(functions, line->start);
	if (i == functions->len || functions->data[i].address - line->start >= line->bytes)
		return true;
	const char *name = arena_strndup(&reading->code->arena, line->name, line->name_bytes);
	reading->has_failed = !name;
	for (; name && i < functions->len && functions->data[i].address - line->start < line->bytes;
		i++)
		functions->data[i].name = name;
	return name;
}

/* A core's map is where the program would have put it outside of containers. */
static void core_place(const struct address_space *space, struct perf_map_place *ret)
{
	*ret = (struct perf_map_place){.folder = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.pid = space->owner.pid,
		.user = space->owner.uid};
}

static void words_make(struct made_code *code, const struct address_space *space, pid_t pid)
{
	char what[PERF_MAP_WORDS_BYTES];
	bool is_read = code->state == PERF_MAP_READ || code->state == PERF_MAP_CUT;
	perf_map_words(code->state, pid, what);
	snprintf(code->words, sizeof(code->words),
		"Threads are in code that was made at run time: %s%s.", what,
		is_read && !space->is_live
			? ", which may be that of another process with this number"
			: "");
}

struct error *made_code_read(struct made_code *code, const struct address_space *space)
{
	struct perf_map_place place = PERF_MAP_PLACE_NONE;
	struct made_reading reading = {.code = code};
	FILE *map = NULL;
	pid_t pid = space->owner.pid;
	if (!code->functions.len)
		return NULL;
	functions_sort(&code->functions);
	if (space->is_live)
		pid = process_inner_pid(space->owner.pid);
	if (space->is_live)
		(void)perf_map_place_open(space->owner.pid, pid, &place);
	else
		core_place(space, &place);
	code->state = perf_map_open(&place, &map);
	if (map) {
		code->state = perf_map_each(map, made_line_take, &reading);
		fclose(map);
	}
	perf_map_place_close(&place);
	words_make(code, space, pid);
	return reading.has_failed ? error_no_memory() : NULL;
}

const char *made_code_name(const struct made_code *code, uint64_t address)
{
	size_t i = functions_first(&code->functions, address);
	bool is_there = i < code->functions.len && code->functions.data[i].address == address;
	return is_there ? code->functions.data[i].name : NULL;
}
