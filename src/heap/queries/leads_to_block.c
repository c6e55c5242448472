/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/leads_to_block.h"

#include "heap/cxx.h"
#include "heap/false_pointers.h"
#include "heap/inferred/inferred_subset.h"

/* With more it is no question about a few any more. */
#define LEADING_MOST 4096u

/* Python
 * objects and contents of C++ containers are recognised by more than their references; only types
 * tell what counts as a start. */
static bool is_plain(const struct heap_scan *s)
{
	return s->pointers != POINTERS_START && !python_is_there(&s->heap.python) &&
	       !cxx_is_there(s->heap.space);
}

struct error *leads_to_block_type(
	struct heap_scan *scan, uint64_t address, struct reverse *ret_reverse)
{
	uint64_t offset;
	uint32_t block = search_block_at(scan->search, address, &offset);
	bool is_subset = false;
	*ret_reverse = (struct reverse){.heads = NULL};
	struct error *error = NULL;
	if (block != SPACE_NONE && is_plain(scan))
		error = reverse_make_subset(
			search_graph(scan->search), block, LEADING_MOST, ret_reverse, &is_subset);
	if (error)
		return error;
	struct inferred_subset subset = {.reverse = ret_reverse};
	error = heap_scan_find_types_of(scan, is_subset ? &subset : NULL);
	if (!error && subset.is_complete)
		error = false_pointers_find(scan, &ret_reverse->blocks);
	if (error || !subset.is_complete)
		reverse_free(ret_reverse);
	else
		reverse_drop_false(search_graph(scan->search), ret_reverse);
	return error;
}
