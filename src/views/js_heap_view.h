/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of `heapwise node` about heaps of JavaScript. */
#ifndef VIEWS_JS_HEAP_VIEW_H
#define VIEWS_JS_HEAP_VIEW_H

#include "base/sink.h"
#include "heap/js_heap.h"
#include "table/answer.h"

struct js_page {
	const struct js_heap *heap; /* with what its classes retain, for js_heap_classes_answer() */
	const char *path, *base_path;
	size_t limit; /* rows; 0: none asked */
};

/* Classes by what they retain. */
struct error *js_heap_classes_answer(const struct js_page *page, struct answer *answer) must_check_;
/* How the objects of a class are held. */
struct error *js_heap_why_answer(const struct js_page *page, const struct js_class *class,
	const struct js_ways *ways, struct answer *answer) must_check_;
/* What is new and gone since base_path. */
struct error *js_heap_changes_answer(const struct js_page *page, const struct js_changes *changes,
	struct answer *answer) must_check_;

extern const struct answer_type js_heap_classes_type, js_heap_why_type, js_heap_changes_type;

#endif
