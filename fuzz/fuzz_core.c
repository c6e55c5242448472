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
static struct error *look_at_python(struct survey *survey)
{
	const struct python_limits limits = {8, 32, 3, 4096};
	struct python *python = &survey->heap.python;
	struct python_stacks stacks;
	struct python_frames frames;
	struct text text;
	bool cut;
	text_init(&text);
	uint32_t count = search_block_count(survey->search);
	for (uint32_t i = 0; i < count && i < OBJECTS; i++) {
		uint64_t object = python_object_at(python, search_block_address(survey->search, i));
		if (object)
			python_describe(python, object, &limits, &text, &cut);
	}
	text_deinit(&text);
	python_frames_init(&frames);
	struct error *error = python_stacks_open(survey->heap.space, &stacks);
	for (size_t i = 0; i < survey->heap.space->threads.len && i < OBJECTS && !error; i++)
		error = python_stack_make(&stacks, i, &frames);
	python_stacks_close(&stacks);
	python_frames_deinit(&frames);
	return error;
}

/* What threads have of their own. */
static struct error *look_at_threads(const struct survey *survey)
{
	const struct thread_blocks *blocks = &survey->thread_blocks;
	struct heap_where where;
	struct text text;
	struct error *error = NULL;
	text_init(&text);
	for (size_t i = 0; i < blocks->blocks.len && i < OBJECTS && !error; i++) {
		error = heap_where(survey, blocks->blocks.data[i].end - 1, &where);
		if (!error)
			heap_where_describe(&where, &text);
	}
	for (size_t i = 0; i < blocks->areas.len && i < OBJECTS && !error; i++) {
		if (blocks->areas.data[i].start > blocks->areas.data[i].end)
			abort();
		error = heap_where(survey, blocks->areas.data[i].start, &where);
	}
	text_deinit(&text);
	return error;
}

/* One block, without the types of all others. */
static void look_at_one(const struct address_space *space)
{
	struct heap_names names;
	struct survey survey;
	struct reverse reverse = {.heads = NULL};
	struct why why;
	struct error *error = heap_names_open(NULL, NULL, &names);
	if (error)
		abort();
	error = survey_open(space, &names, POINTERS_ALIGNED, SEARCH_HEURISTICS_ALL, &survey);
	uint32_t count = error ? 0 : search_block_count(survey.search);
	if (count)
		error = leads_to_block_type(
			&survey, search_block_address(survey.search, count / 2), &reverse);
	if (!error && count) {
		error = heap_why(
			&survey, count / 2, NULL, NULL, 4, reverse.heads ? &reverse : NULL, &why);
		heap_why_deinit(&why);
	}
	error_destroy(error);
	reverse_free(&reverse);
	survey_close(&survey);
	heap_names_close(&names);
}

static void look(const struct address_space *space)
{
	struct heap_names names;
	struct survey survey;
	struct why why;
	struct error *error = heap_names_open(NULL, NULL, &names);
	if (error)
		abort();
	error = survey_open(space, &names, POINTERS_ALIGNED, SEARCH_HEURISTICS_ALL, &survey);
	if (!error)
		error = survey_type(&survey);
	if (!error)
		error = survey_judge(&survey);
	if (!error && search_block_count(survey.search)) {
		error = heap_why(&survey, 0, NULL, NULL, 4, NULL, &why);
		heap_why_deinit(&why);
	}
	struct retained retained = {.shared_bytes = 0};
	if (!error) {
		error = heap_retained(&survey, 4, &retained);
		heap_retained_deinit(&retained);
	}
	if (!error)
		error = look_at_threads(&survey);
	if (!error)
		error = look_at_python(&survey);
	struct model *model = NULL;
	if (!error)
		error = heap_model_make(&survey, "core", NULL, &model);
	if (!error)
		check_model(model);
	model_destroy(model);
	error_destroy(error);
	survey_close(&survey);
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
