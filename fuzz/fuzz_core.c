/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Core dumps: headers and notes, and all that is found in the memory that they bring. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check_model.h"
#include "heap/leads_to_block.h"
#include "heap/python_content.h"
#include "heap/python_frames.h"
#include "heap/retained.h"
#include "heap/where.h"
#include "heap/why.h"
#include "sources/heap_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OBJECTS 64u

/* What the first objects hold, and where threads are. */
static struct error *look_at_python(struct heap_scan *scan)
{
	const struct python_limits limits = {8, 32, 3, 4096};
	struct python *python = &scan->heap.python;
	struct python_stacks stacks;
	struct python_frames frames;
	struct text text;
	bool cut;
	text_init(&text);
	uint32_t count = search_block_count(scan->search);
	for (uint32_t i = 0; i < count && i < OBJECTS; i++) {
		uint64_t object = python_object_at(python, search_block_address(scan->search, i));
		if (object)
			python_describe(python, object, &limits, &text, &cut);
	}
	text_deinit(&text);
	python_frames_init(&frames);
	struct error *error = python_stacks_open(scan->heap.space, &stacks);
	for (size_t i = 0; i < scan->heap.space->threads.len && i < OBJECTS && !error; i++)
		error = python_stack_make(&stacks, i, &frames);
	python_stacks_close(&stacks);
	python_frames_deinit(&frames);
	return error;
}

/* What threads have of their own. */
static struct error *look_at_threads(const struct heap_scan *scan)
{
	const struct thread_blocks *blocks = &scan->thread_blocks;
	struct heap_where where;
	struct text text;
	struct error *error = NULL;
	text_init(&text);
	for (size_t i = 0; i < blocks->blocks.len && i < OBJECTS && !error; i++) {
		error = heap_where(scan, blocks->blocks.data[i].end - 1, &where);
		if (!error)
			heap_where_describe(&where, &text);
	}
	for (size_t i = 0; i < blocks->areas.len && i < OBJECTS && !error; i++) {
		if (blocks->areas.data[i].start > blocks->areas.data[i].end)
			abort();
		error = heap_where(scan, blocks->areas.data[i].start, &where);
	}
	text_deinit(&text);
	return error;
}

/* One block, without the types of all others. */
static void look_at_one(const struct address_space *space)
{
	struct heap_names names;
	struct heap_scan scan;
	struct reverse reverse = {.heads = NULL};
	struct why why;
	struct error *error = heap_names_open(NULL, NULL, &names);
	if (error)
		abort();
	error = heap_scan_open(space, &names, POINTERS_ALIGNED, SEARCH_HEURISTICS_ALL, &scan);
	uint32_t count = error ? 0 : search_block_count(scan.search);
	if (count)
		error = leads_to_block_type(
			&scan, search_block_address(scan.search, count / 2), &reverse);
	if (!error && count) {
		error = heap_why(
			&scan, count / 2, NULL, NULL, 4, reverse.heads ? &reverse : NULL, &why);
		heap_why_deinit(&why);
	}
	error_destroy(error);
	reverse_free(&reverse);
	heap_scan_close(&scan);
	heap_names_close(&names);
}

static void look(const struct address_space *space)
{
	struct heap_names names;
	struct heap_scan scan;
	struct why why;
	struct error *error = heap_names_open(NULL, NULL, &names);
	if (error)
		abort();
	error = heap_scan_open(space, &names, POINTERS_ALIGNED, SEARCH_HEURISTICS_ALL, &scan);
	if (!error)
		error = heap_scan_find_types(&scan);
	if (!error)
		error = heap_scan_find_leaks(&scan);
	if (!error && search_block_count(scan.search)) {
		error = heap_why(&scan, 0, NULL, NULL, 4, NULL, &why);
		heap_why_deinit(&why);
	}
	struct retained retained = {.shared_bytes = 0};
	if (!error) {
		error = heap_retained(&scan, 4, &retained);
		heap_retained_deinit(&retained);
	}
	if (!error)
		error = look_at_threads(&scan);
	if (!error)
		error = look_at_python(&scan);
	struct model *model = NULL;
	if (!error)
		error = heap_model_make(&scan, "core", NULL, &model);
	if (!error)
		check_model(model);
	model_destroy(model);
	error_destroy(error);
	heap_scan_close(&scan);
	heap_names_close(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct core_file core;
	struct address_space space;
	int fd = memfd_create("core", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	struct error *error = core_file_open_fd(fd, "core", &core);
	if (!error) {
		error = address_space_of_core(&core, NULL, &space);
		if (!error) {
			look(&space);
			look_at_one(&space);
		}
		address_space_close(&space);
	}
	core_file_close(&core);
	error_destroy(error);
	return 0;
}
