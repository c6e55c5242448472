/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members by name, for formats of others that are JSON; heapwise's own documents are tables. */
#ifndef VIEWS_JSON_PARTS_H
#define VIEWS_JSON_PARTS_H

#include "base/json.h"

void json_put_u64(struct json *json, const char *key, uint64_t value);
void json_put_bool(struct json *json, const char *key, bool value);
/* NULL gives null. */
void json_put_string(struct json *json, const char *key, const char *value);

#endif
