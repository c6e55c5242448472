/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap_answers.h"

const struct answer_type *const heap_answer_types[] = {&heap_isolated_type, &heap_candidates_type,
	&heap_holders_type, &heap_pool_type, &heap_block_type, &heap_refs_type, &heap_words_type,
	&heap_blocks_type, &heap_dominators_type, &heap_find_type, &heap_follow_type,
	&heap_fragments_type, &heap_hexdump_type, &heap_python_type, &heap_strings_type,
	&heap_maps_type, &heap_layout_type, &heap_show_type, &heap_why_type, &heap_summary_type,
	&heap_threads_type, &heap_types_type, NULL};

struct answer *heap_answer_create(const struct heap_page *page, const struct sink *sink)
{
	return page->csv    ? answer_csv_create(sink)
	       : page->json ? answer_json_create(sink, page->json_before)
			    : answer_text_create(sink);
}

struct error *heap_answer_write(
	const struct heap_page *page, heap_answer_fn *ask, const struct sink *sink)
{
	struct answer *answer = heap_answer_create(page, sink);
	if (answer && page->left_out)
		answer->asked_limit = page->limit;
	struct error *error = answer ? ask(page, answer) : error_no_memory();
	if (answer && page->left_out)
		*page->left_out += answer->left_out;
	answer_destroy(answer);
	return error;
}
