/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of lines of CPython's code: the first byte is the format, the next four the first line.
 * Whatever comes, rows ascend, and neighbours differ in their line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/python/line_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct event_line_vec rows;
	uint32_t first;
	if (size < 5)
		return 0;
	memcpy(&first, data + 1, sizeof(first));
	event_line_vec_init(&rows);
	enum hw_line_table format = (enum hw_line_table)(data[0] % HW_LINE_TABLES);
	if (line_table_decode(format, data + 5, size - 5, first, &rows)) {
		for (size_t i = 1; i < rows.len; i++) {
			if (rows.data[i].instruction <= rows.data[i - 1].instruction)
				abort();
		}
	}
	event_line_vec_deinit(&rows);
	return 0;
}
