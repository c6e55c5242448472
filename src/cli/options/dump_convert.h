/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dumps in other formats than heapwise's own: by `heapwise export`. */
#ifndef CLI_DUMP_CONVERT_H
#define CLI_DUMP_CONVERT_H

#include "capture/dump_plan.h"

/*
 * Sets what struct dump_plan has for a format: `text` is "hpw" or "", a format of `heapwise
 * export`, or gperftools/all and gperftools/mapping, with what the program maps. The context lives
 * as long as this process. Returns false, and sets nothing, if there is no such format.
 */
bool dump_convert_find(
	const char *text, dump_convert_function **ret_function, const void **ret_context);

#endif
