/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `heapwise maps --json` wrote (docs/schema/maps-1.md). */
#ifndef SOURCES_MAPS_LOOK_JSON_H
#define SOURCES_MAPS_LOOK_JSON_H

#include "sources/look_file.h"

struct error *look_json_read(const char *name, const char *text, size_t len,
	struct memory_look *look, size_t *ret_left_out) must_check_;

#endif
