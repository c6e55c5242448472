/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/manifest.h"

static struct error *check_schema(const char *schema)
{
	if (!schema || strncmp(schema, BUNDLE_SCHEMA, strlen(BUNDLE_SCHEMA)) != 0)
		return error_create(ERROR_INPUT, "its " BUNDLE_MANIFEST " is not of a bundle");
	if (atoi(schema + strlen(BUNDLE_SCHEMA)) != 1)
		return error_create(ERROR_INPUT,
			"it is a bundle as of %.40s, and this version reads " BUNDLE_SCHEMA
			"1; a newer heapwise may read it",
			schema);
	return NULL;
}

struct error *bundle_manifest_recording(const char *text, size_t len, char **ret)
{
	json_error_t why;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		return error_create(ERROR_INPUT, "its " BUNDLE_MANIFEST " is not JSON: line %d: %s",
			why.line, why.text);
	struct error *error = check_schema(json_string_value(json_object_get(root, "schema")));
	const char *place = json_string_value(json_object_get(root, "recording"));
	if (!error && (!place || strncmp(place, BUNDLE_RECORDING "/", 10) != 0 ||
			      !bundle_place_is_good(place)))
		error = error_create(ERROR_INPUT,
			"its " BUNDLE_MANIFEST " does not contain the path of its recording");
	char *copy = error ? NULL : strdup(place);
	json_decref(root);
	if (copy)
		*ret = copy;
	return error || copy ? error : error_no_memory();
}
