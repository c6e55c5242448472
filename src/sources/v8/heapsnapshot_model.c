/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heap snapshot as a model: what is live, by class, as a heap that was not recorded. If V8
 * tracked allocations (DevTools' "Allocation instrumentation"), the calls that allocated an object
 * are its stack, and its class is the innermost frame.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "sources/foreign/foreign.h"
#include "sources/foreign/foreign_query.h"
#include "sources/v8/heapsnapshot.h"

struct making {
	const struct managed_heap *heap;
	struct foreign foreign;
	uint32_t *traces; /* stack of each call */
};

static void heapsnapshot_making_deinit(struct making *making)
{
	foreign_deinit(&making->foreign);
	free(making->traces);
}

static struct foreign_text heapsnapshot_text_of(const char *string)
{
	return (struct foreign_text){string, strlen(string)};
}

static struct error *frame_push(struct making *making, const char *name, const char *file,
	uint32_t line, struct stack_id *stack)
{
	struct foreign_line row = {.function = heapsnapshot_text_of(name), .line = line};
	struct foreign_frame frame;
	if (*file)
		row.file = heapsnapshot_text_of(file);
	struct error *error =
		foreign_frame(&making->foreign, (struct module_id){0}, 0, true, &row, 1, &frame);
	return error ? error : foreign_push(&making->foreign, *stack, frame, stack);
}

/* Callers come before those they call. The outermost one is V8's "(root)". */
static struct error *calls_make(struct making *making)
{
	const struct managed_heap *heap = making->heap;
	struct error *error = NULL;
	making->traces = calloc(heap->traces.len + 1, sizeof(*making->traces));
	if (!making->traces)
		return error_no_memory();
	for (size_t i = 0; i < heap->traces.len && !error; i++) {
		const struct managed_trace *trace = &heap->traces.data[i];
		const struct managed_function *function = &heap->functions.data[trace->function];
		const char *name = managed_heap_string(heap, function->name);
		struct stack_id stack = {0};
		if (!trace->parent)
			continue;
		stack.value = making->traces[trace->parent - 1];
		error = frame_push(making, *name ? name : "(anonymous)",
			managed_heap_string(heap, function->file), function->line, &stack);
		making->traces[i] = stack.value;
	}
	return error;
}

static struct error *objects_add(struct making *making)
{
	const struct managed_heap *heap = making->heap;
	struct error *error = NULL;
	/* Objects of a class come in runs: their site is looked up once. */
	struct site_id site = {0};
	uint64_t last = UINT64_MAX;
	for (size_t i = 0; i < heap->objects.len && !error; i++) {
		const struct managed_object *object = &heap->objects.data[i];
		uint64_t key = (uint64_t)heap->class_of[i] << 32 | object->trace;
		struct stack_id stack = {object->trace ? making->traces[object->trace - 1] : 0};
		if (!object->bytes)
			continue;
		if (key != last)
			error = frame_push(
				making, heap->classes.data[heap->class_of[i]].name, "", 0, &stack);
		if (!error && key != last)
			error = foreign_site(&making->foreign, stack, KIND_UNKNOWN, &site);
		if (error)
			break;
		last = key;
		struct site *row = build_site_at(making->foreign.model, site);
		row->live_blocks++;
		row->live_bytes += object->bytes;
	}
	return error;
}

static void facts_set(const struct making *making)
{
	struct recording *recording = build_recording(making->foreign.model);
	bool has_stacks = making->heap->traces.len > 1;
	recording->whole_stacks = recording->snapshot = true;
	recording->types = !has_stacks;
	recording->mode = "exact";
	recording->unknown &= ~(uint32_t)(UNKNOWN_LIVE_BLOCKS | UNKNOWN_LIVE_BYTES);
	recording->remark =
		has_stacks ? "Objects of V8's heap: the innermost frame is their constructor. "
			     "'heapwise node FILE' shows what constructors retain."
			   : "Objects of V8's heap by constructor: the snapshot has no call "
			     "stacks. 'heapwise node FILE' shows what constructors retain.";
}

struct error *heapsnapshot_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	(void)flags;
	struct error *error = foreign_refuse(input, query, 0, "a heap snapshot of V8");
	if (error)
		return error;
	struct managed_heap *heap;
	error = heapsnapshot_read(input, &heap);
	if (error)
		return error;
	_cleanup_(heapsnapshot_making_deinit) struct making making = {.heap = heap};
	error = foreign_create(&making.foreign, "heapsnapshot", input);
	if (!error)
		error = calls_make(&making);
	if (!error)
		error = objects_add(&making);
	if (!error)
		facts_set(&making);
	managed_heap_destroy(heap);
	if (!error)
		error = foreign_total(&making.foreign);
	if (error)
		return error_prefix(error, "%s", input->name);
	build_finish(making.foreign.model);
	*ret = steal_ptr(making.foreign.model);
	return NULL;
}
