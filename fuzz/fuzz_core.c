/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Core dumps: headers and notes, and all that is found in the memory that they bring. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check_model.h"
#include "heap/why.h"
#include "sources/heap_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct address_space *space)
{
	struct heap_names names;
	struct survey survey;
	struct why why;
	struct error *error = heap_names_open(NULL, NULL, &names);
	if (error)
		abort();
	error = survey_open(space, &names, &survey);
	if (!error)
		error = survey_type(&survey);
	if (!error)
		error = survey_judge(&survey);
	if (!error && search_block_count(survey.search)) {
		error = heap_why(&survey, 0, HEAP_TYPE_NONE, 4, &why);
		heap_why_deinit(&why);
	}
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
		if (!error)
			look(&space);
		address_space_close(&space);
	}
	core_file_close(&core);
	error_destroy(error);
	return 0;
}
