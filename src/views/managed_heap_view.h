/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of `heapwise node` about heaps of JavaScript, and of `heapwise java` about heap dumps. */
#ifndef VIEWS_MANAGED_HEAP_VIEW_H
#define VIEWS_MANAGED_HEAP_VIEW_H

#include "base/sink.h"
#include "heap/managed_heap.h"
#include "table/answer.h"

/* Whose words are used: V8's (constructors, snapshots) or Java's (classes, heap dumps). */
enum managed_words { MANAGED_OF_V8, MANAGED_OF_JAVA };

struct managed_page {
	enum managed_words words;
	const struct managed_heap
		*heap; /* with what its classes retain, for managed_heap_classes_answer() */
	const char *path, *base_path;
	size_t limit; /* rows; 0: none asked */
};

/* Classes by what they retain. */
struct error *managed_heap_classes_answer(
	const struct managed_page *page, struct answer *answer) must_check_;
/* How the objects of a class are held. */
struct error *managed_heap_why_answer(const struct managed_page *page,
	const struct managed_class *class, const struct managed_ways *ways,
	struct answer *answer) must_check_;
/* What is new and gone since base_path. */
struct error *managed_heap_changes_answer(const struct managed_page *page,
	const struct managed_changes *changes, struct answer *answer) must_check_;

extern const struct answer_type managed_heap_classes_type, managed_heap_why_type,
	managed_heap_changes_type, java_classes_type, java_why_type, java_changes_type;

#endif
