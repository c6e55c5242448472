/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/code_copy.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

struct error *code_copy_string(struct model *into, const char **string)
{
	return *string ? build_string(into, *string, strlen(*string), string) : NULL;
}

struct error *code_copy_run(
	struct model *into, const struct embedded_run *run, struct embedded_frame **ret)
{
	_cleanup_free_ struct embedded_frame *frames = calloc(run->count + 1u, sizeof(*frames));
	if (!frames)
		return error_no_memory();
	struct error *error = NULL;
	for (uint32_t i = 0; i < run->count && !error; i++) {
		frames[i] = run->frames[i];
		const char **strings[] = {
			&frames[i].function, &frames[i].raw_name, &frames[i].file};
		for (size_t k = 0; k < ARRAY_SIZE(strings) && !error; k++)
			error = code_copy_string(into, strings[k]);
	}
	if (error)
		return error;
	*ret = steal_ptr(frames);
	return NULL;
}

static struct error *copy_code(
	struct model *into, const struct code *from, uint32_t modules, uint32_t *ret)
{
	struct code copy = *from;
	const char **const strings[] = {
		&copy.language, &copy.name, &copy.outer, &copy.signature, &copy.file, &copy.module};
	_cleanup_free_ struct embedded_frame *frames = NULL;
	struct error *error = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(strings) && !error; i++)
		error = code_copy_string(into, strings[i]);
	if (!error)
		error = code_copy_run(into, &from->run, &frames);
	if (error)
		return error;
	struct code_id id;
	copy.run.frames = frames;
	copy.home.value += copy.home.value ? modules : 0;
	error = build_code(into, &copy, &id);
	if (!error)
		*ret = id.value;
	return error;
}

struct error *code_copy_all(
	struct model *into, const struct model *from, uint32_t modules, uint32_t **ret)
{
	size_t limit = model_code_limit(from);
	*ret = NULL;
	if (limit <= 1)
		return NULL;
	_cleanup_free_ uint32_t *ids = calloc(limit, sizeof(*ids));
	if (!ids)
		return error_no_memory();
	for (uint32_t i = 1; i < limit; i++) {
		struct error *error =
			copy_code(into, model_code(from, (struct code_id){i}), modules, &ids[i]);
		if (error)
			return error;
	}
	*ret = steal_ptr(ids);
	return NULL;
}
