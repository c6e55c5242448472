/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reader of another tool's files: fuzz/meson.build builds this once for each, which it names by
 * READER. It is called by itself, so that a changed beginning is no other format's.
 */
#include <stdint.h>
#include <stdlib.h>

#include READER_HEADER
#include "check_model.h"
#include "check_queries.h"

#define JOIN_BOTH(a, b) a##b
#define JOIN(a, b) JOIN_BOTH(a, b)

static const struct asked asked = {
	.open = JOIN(READER, _open),
#ifdef READER_TELLS
	.tell = JOIN(READER, _events),
	.exact = true,
#endif
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input;
	struct model *model = NULL;
	input_of_buffer(&input, "input", data, size);
	JOIN(READER, _recognise)(data, size);
	struct error *error = JOIN(READER, _open)(&input, 0, NULL, &model);
	if (!error == !model || (error && error->code != ERROR_INPUT))
		abort();
	if (model) {
		check_model(model);
		check_queries(&asked, &input, model);
	}
	model_destroy(model);
	error_destroy(error);
	return 0;
}
