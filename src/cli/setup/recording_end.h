/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `run` and `attach` say when a recording is complete. */
#ifndef CLI_RECORDING_END_H
#define CLI_RECORDING_END_H

#include <stdbool.h>

#include "capture/launch.h"

/* Returns the file's name as it is shortest to type from here. */
const char *recording_short_name(const char *file);

/* Says what of an interpreter of Python in the program is recorded: bits of HPW_NOTES_PYTHON. */
void recording_describe_python(void *context, uint32_t notes);

/* Says what was recorded, with `quiet` only what is wrong. Returns the recording to look at first;
 * NULL: there is none. */
const struct collector_recording *recording_describe_end(
	const struct launch_result *result, const struct dump_plan *plan, bool quiet);

/* Adds which programs were not recorded: ": busybox (static), 3 × sudo (set-user-ID) and 2 more".
 */
struct text;
void recording_add_unrecorded(struct text *text, const struct collector_end *end);

#endif
