/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/types/recognisers.h"

#include <stddef.h>

#include "base/util.h"

/* The surest first: containers are found by what references them, declared types by what they lead
 * to, and a text is what nothing else is. */
static recognise_blocks *const recognisers[] = {
	python_objects_recognise,
	python_parts_recognise,
	system_blocks_recognise,
	system_pool_recognise,
	go_elements_recognise,
	cxx_objects_recognise,
	containers_recognise,
	inferred_recognise,
	held_recognise,
	texts_recognise,
};

struct error *recognisers_ask(struct heap_scan *scan, struct inferred_subset *subset)
{
	struct error *error = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(recognisers) && !error; i++)
		error = recognisers[i](scan, subset);
	return error;
}
