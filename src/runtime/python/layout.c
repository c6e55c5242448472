/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see layout.h. May touch: the same. */
#include "runtime/python/layout.h"

#include "format/shm.h"

#include <stddef.h>

#define FRAME_OBJECTS(at)                                                                          \
	.thread_frame = 24, .previous = 24, .code = 32, .instruction = (at), .file = 104,          \
	.name = 112, .first_line = 40, .lines = 120, .ascii = 48, .compact = 72

static const struct rt_python_layout layouts[] = {
	{.minor = 8, .lasti_unit = 1, .table = HW_LINES_LNOTAB, FRAME_OBJECTS(104)},
	{.minor = 9, .lasti_unit = 1, .table = HW_LINES_LNOTAB, FRAME_OBJECTS(104)},
	{.minor = 10, .lasti_unit = 2, .table = HW_LINES_LINETABLE, FRAME_OBJECTS(96)},
	{.minor = 11,
		.has_cframe = true,
		.has_pointer = true,
		.table = HW_LINES_LOCATIONS,
		.thread_frame = 56,
		.cframe_frame = 8,
		.previous = 48,
		.code = 32,
		.instruction = 56,
		.owner = 69,
		.entry = 68,
		.file = 112,
		.name = 128,
		.first_line = 72,
		.lines = 136,
		.bytes = 184,
		.traced = 168,
		.ascii = 48,
		.compact = 72},
	{.minor = 12,
		.has_cframe = true,
		.has_pointer = true,
		.shim = 3,
		.table = HW_LINES_LOCATIONS,
		.thread_frame = 56,
		.cframe_frame = 0,
		.previous = 8,
		.code = 0,
		.instruction = 56,
		.owner = 70,
		.file = 112,
		.name = 128,
		.first_line = 68,
		.lines = 136,
		.bytes = 192,
		.traced = 176,
		.ascii = 40,
		.compact = 56},
	{.minor = 13,
		.has_pointer = true,
		.shim = 3,
		.table = HW_LINES_LOCATIONS,
		.thread_frame = 72,
		.previous = 8,
		.code = 0,
		.instruction = 56,
		.owner = 70,
		.file = 112,
		.name = 128,
		.first_line = 68,
		.lines = 136,
		.bytes = 200,
		.traced = 184,
		.ascii = 40,
		.compact = 56},
};

const struct rt_python_layout *rt_python_layout(unsigned minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].minor == minor)
			return &layouts[i];
	}
	return NULL;
}
