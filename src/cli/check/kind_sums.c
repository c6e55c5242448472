/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/kind_sums.h"

#include <stdlib.h>
#include <string.h>

#include "model/errors.h"

void kind_sums_free(struct kind_sums *sums)
{
	for (size_t i = 0; i < sums->len; i++)
		free(sums->data[i].name);
	kind_sums_deinit(sums);
}

static struct kind_sum *kind_sums_find(const struct kind_sums *sums, const char *name)
{
	for (size_t i = 0; i < sums->len; i++)
		if (!strcmp(sums->data[i].name, name))
			return &sums->data[i];
	return NULL;
}

static struct error *kind_sums_add_error(struct kind_sums *sums, const struct program_error *error)
{
	const char *name = *error->kind ? error->kind : "error";
	struct kind_sum *known = kind_sums_find(sums, name);
	if (known) {
		known->errors++;
		known->times += error->count;
		return NULL;
	}
	const struct kind_sum one = {strdup(name), 1, error->count};
	if (one.name && kind_sums_push(sums, one))
		return NULL;
	free(one.name);
	return error_no_memory();
}

struct error *kind_sums_add(struct kind_sums *sums, const struct model *model)
{
	size_t count;
	const struct program_error *errors = model_errors(model, &count);
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++)
		error = kind_sums_add_error(sums, &errors[i]);
	return error;
}

uint64_t kind_sums_times(const struct kind_sums *sums)
{
	uint64_t times = 0;
	for (size_t i = 0; i < sums->len; i++)
		times += sums->data[i].times;
	return times;
}

void kind_sums_text(const struct kind_sums *sums, struct text *out)
{
	for (size_t i = 0; i < sums->len; i++) {
		text_add(out, i ? ", " : "");
		text_add_count(out, sums->data[i].errors);
		text_add(out, " ");
		text_add_shown(out, sums->data[i].name, SIZE_MAX);
	}
}

uint64_t kind_sums_missing(
	const struct kind_sums *all, const struct kind_sums *left, size_t *ret_kinds)
{
	uint64_t times = 0;
	*ret_kinds = 0;
	for (size_t i = 0; i < all->len; i++) {
		const struct kind_sum *rest = kind_sums_find(left, all->data[i].name);
		uint64_t missing = all->data[i].times - (rest ? rest->times : 0);
		times += missing;
		*ret_kinds += missing > 0;
	}
	return times;
}
