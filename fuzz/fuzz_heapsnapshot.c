/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heap snapshots of V8: read, and everything asked of them that the command asks. */
#include <stdint.h>
#include <stdlib.h>

#include "check_model.h"
#include "sources/v8/heapsnapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Failures of memory aside there are none: the reader has checked all numbers. */
static void heap_ask(struct managed_heap *heap)
{
	struct managed_changes changes;
	if (managed_heap_retain(heap) || managed_heap_compare(heap, heap, &changes))
		abort();
	if (changes.rows.len && !changes.renamed_objects &&
		changes.common_objects == heap->objects.len)
		abort();
	managed_changes_deinit(&changes);
	for (size_t i = 0; i < heap->objects.len; i++)
		if (heap->retained[i] < heap->objects.data[i].bytes)
			abort();
	for (size_t i = 0; i < heap->classes.len && i < 4; i++) {
		struct managed_ways ways;
		if (managed_heap_ways(heap, &heap->classes.data[i], &ways))
			abort();
		managed_ways_deinit(&ways);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input;
	struct model *model = NULL;
	struct managed_heap *heap = NULL;
	input_of_buffer(&input, "input", data, size);
	heapsnapshot_recognise(data, size);
	struct error *error = heapsnapshot_read(&input, &heap);
	if (!error == !heap || (error && error->code != ERROR_INPUT))
		abort();
	if (heap)
		heap_ask(heap);
	managed_heap_destroy(heap);
	error_destroy(error);
	error = heapsnapshot_open(&input, 0, NULL, &model);
	if (model)
		check_model(model);
	model_destroy(model);
	error_destroy(error);
	return 0;
}
