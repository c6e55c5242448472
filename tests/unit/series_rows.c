/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series_rows FILE: a recording's series, one row a line: step, nanoseconds, live bytes, bytes of
 * stacks, instructions; then whether these are counted. */
#include <inttypes.h>
#include <stdio.h>

#include "sources/source.h"

int main(int argc, char **argv)
{
	const struct source_series series = {.rows = 64, .axis = SOURCE_BY_STEPS};
	const struct source_query query = {.to.kind = SOURCE_END, .series = &series};
	struct model *model;
	struct error *error = source_open_query(argc > 1 ? argv[1] : "", 0, &query, &model);
	if (error) {
		fprintf(stderr, "%s\n", error->message);
		error_destroy(error);
		return 1;
	}
	size_t count;
	const struct series_row *rows = model_series(model, &count);
	for (size_t i = 0; i < count; i++)
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			rows[i].step, rows[i].time_ns, rows[i].live_bytes, rows[i].stack_bytes,
			rows[i].instructions);
	const char *instructions = model_recording(model)->instructions;
	printf("instructions: %s\n", instructions ? instructions : "unknown");
	model_destroy(model);
	return 0;
}
