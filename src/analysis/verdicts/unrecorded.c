/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/unrecorded.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Groups that a sentence names. */
#define NAMED_MAX 5

static int compare_identity(const struct unrecorded_group *a, const struct unrecorded_group *b)
{
	if (a->itself != b->itself)
		return a->itself ? -1 : 1;
	if (a->reason != b->reason)
		return a->reason < b->reason ? -1 : 1;
	return strcmp(a->path, b->path);
}

static int by_identity(const void *a, const void *b)
{
	return compare_identity(a, b);
}

static int by_count(const void *left, const void *right)
{
	const struct unrecorded_group *a = left, *b = right;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return compare_identity(a, b);
}

/* Sorted rows of one each become groups, in place. */
static void unrecorded_fold(struct unrecorded_groups *groups)
{
	size_t len = 0;
	for (size_t i = 0; i < groups->len; i++) {
		if (len && !compare_identity(&groups->data[len - 1], &groups->data[i]))
			groups->data[len - 1].count++;
		else
			groups->data[len++] = groups->data[i];
	}
	groups->len = len;
}

struct error *unrecorded_group(const struct model *model, struct unrecorded_groups *ret)
{
	size_t count;
	const struct unrecorded_program *programs = model_unrecorded(model, &count);
	unrecorded_groups_init(ret);
	for (size_t i = 0; i < count; i++) {
		struct unrecorded_group one = {.path = programs[i].path,
			.reason = programs[i].reason,
			.itself = programs[i].pid == model_target(model)->pid,
			.count = 1};
		if (!unrecorded_groups_push(ret, one))
			return error_no_memory();
	}
	if (!ret->len)
		return NULL;
	qsort(ret->data, ret->len, sizeof(*ret->data), by_identity);
	unrecorded_fold(ret);
	qsort(ret->data, ret->len, sizeof(*ret->data), by_count);
	return NULL;
}

/* "/usr/bin/foo (static)", with "3 × " before it. */
static void unrecorded_add_group(struct text *text, const struct unrecorded_group *group)
{
	if (group->count > 1) {
		text_add_count(text, group->count);
		text_add(text, " × ");
	}
	text_add_shown(text, *group->path ? group->path : "an unnamed program", SIZE_MAX);
	text_printf(text, " (%s)", unrecorded_reason_text(group->reason));
}

void unrecorded_add_groups(
	struct text *text, const struct unrecorded_groups *groups, bool itself, uint64_t total)
{
	unsigned named = 0;
	for (size_t i = 0; i < groups->len && named < NAMED_MAX; i++) {
		if (groups->data[i].itself != itself)
			continue;
		text_add(text, named++ ? ", " : "");
		unrecorded_add_group(text, &groups->data[i]);
		total -= groups->data[i].count;
	}
	if (!total)
		return;
	text_add(text, named ? " and " : "");
	text_add_count(text, total);
	text_add(text, named ? " more" : total == 1 ? " program" : " programs");
}

static void add_sentences(
	struct text *text, const struct unrecorded_groups *groups, uint64_t itself, uint64_t others)
{
	if (itself) {
		text_add(text, "After exec, the process ran unrecorded as ");
		unrecorded_add_groups(text, groups, true, itself);
		text_add(text, ".\n");
	}
	if (others) {
		text_add_count(text, others);
		text_add(text, others == 1 ? " child process" : " child processes");
		text_add(text, " ran unrecorded");
		if (groups->len) {
			text_add(text, ": ");
			unrecorded_add_groups(text, groups, false, others);
		}
		text_add(text, ".\n");
	}
}

uint64_t unrecorded_itself(const struct unrecorded_groups *groups)
{
	uint64_t count = 0;
	for (size_t i = 0; i < groups->len; i++)
		count += groups->data[i].itself ? groups->data[i].count : 0;
	return count;
}

void unrecorded_add_sentences(const struct model *model, struct text *text)
{
	_cleanup_(unrecorded_groups_deinit) struct unrecorded_groups groups;
	struct error *error = unrecorded_group(model, &groups);
	uint64_t itself = unrecorded_itself(&groups);
	text->failed = text->failed || error;
	error_destroy(error);
	add_sentences(text, &groups, itself, model_recording(model)->children_unrecorded - itself);
}
