/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What elements of Go's spans are called: by their sizes. Their types no element says, and what
 * points to them is not looked for. */
#include <inttypes.h>
#include <stdio.h>

#include "heap/allocators/go_spans.h"
#include "heap/heap_scan.h"
#include "heap/types/recognisers.h"

#define SPAN_CLASSES 256u

static struct error *type_of_span(struct heap_scan *s, const struct go_span *span, uint32_t *known)
{
	char name[96];
	uint32_t *type = &known[span->class];
	if (*type != HEAP_TYPE_NONE)
		return NULL;
	const char *pointers = span->class & 1 ? "noscan" : "scan";
	if (span->class / 2)
		snprintf(name, sizeof(name), "Go object, %" PRIu64 " bytes (size class %u, %s)",
			span->size, span->class / 2u, pointers);
	else
		snprintf(name, sizeof(name), "Go object, large (a span of its own, %s)", pointers);
	return heap_types_add(&s->types, HEAP_TYPE_GO, name, type);
}

struct error *go_elements_recognise(struct heap_scan *scan, struct inferred_subset *subset)
{
	(void)subset;
	struct heap_scan *s = scan;
	const struct go_spans *go = &s->heap.go_spans;
	uint32_t known[SPAN_CLASSES], count = search_block_count(s->search);
	struct error *error = NULL;
	for (size_t i = 0; i < SPAN_CLASSES; i++)
		known[i] = HEAP_TYPE_NONE;
	size_t at = 0;
	for (uint32_t block = 0; go->spans.len && block < count && !error; block++) {
		uint64_t address = search_block_address(s->search, block);
		while (at < go->spans.len && go->spans.data[at].end <= address)
			at++;
		if (at == go->spans.len)
			break;
		const struct go_span *span = &go->spans.data[at];
		if (address < span->start)
			continue;
		error = type_of_span(s, span, known);
		if (!error)
			block_set_label(
				s->search, block, heap_types_label(&s->types, known[span->class]));
	}
	return error;
}

void go_types_sum(const struct heap_scan *scan, uint64_t *ret_blocks, uint64_t *ret_bytes)
{
	*ret_blocks = *ret_bytes = 0;
	for (size_t i = 0; i < scan->types.types.len; i++) {
		const struct heap_type *type = &scan->types.types.data[i];
		if (type->kind == HEAP_TYPE_GO) {
			*ret_blocks += type->blocks;
			*ret_bytes += type->bytes;
		}
	}
}
