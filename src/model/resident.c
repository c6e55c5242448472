/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/resident.h"

#include "model/build.h"
#include "model/model_impl.h"

#define PARTS_MAX (1u << 20)

const struct resident_sample *model_resident(const struct model *model)
{
	return model->has_resident ? &model->resident : NULL;
}

const struct resident_part *model_resident_parts(const struct model *model, size_t *ret_count)
{
	*ret_count = model->resident_parts.len;
	return model->resident_parts.data;
}

void build_resident(struct model *model, const struct resident_sample *sample)
{
	model->has_resident = true;
	model->resident = *sample;
}

struct error *build_resident_part(
	struct model *model, const struct resident_part *row, size_t file_len)
{
	struct resident_part part = *row;
	if (model->resident_parts.len >= PARTS_MAX || part.kind >= RESIDENT_KINDS ||
		part.stack.value >= model_stack_limit(model))
		return error_create(ERROR_INPUT, "a part of the resident memory is out of range");
	struct error *error = build_string(model, row->file, file_len, &part.file);
	if (error)
		return error;
	return resident_part_vec_push(&model->resident_parts, part) ? NULL : error_no_memory();
}
