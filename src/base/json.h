/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON as a stream: output goes to a callback in pieces of some 64 KiB, so that its size does not
 * matter. Members of the outermost object and objects in arrays start a line of their own.
 *
 * Calls must come in an order that makes a document (a key before each member's value); that is
 * asserted. Strings are UTF-8; what is not becomes U+FFFD. Numbers that JSON has no form for (NaN,
 * infinities) become null.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 1024u
#define JSON_BUFFER_BYTES ((size_t)64 << 10)

/* Writes `len` bytes. Returns false to stop the output. */
typedef bool json_write_fn(void *ctx, const char *data, size_t len);

struct json {
	json_write_fn *write;
	void *ctx;
	bool failed;    /* write() has returned false */
	bool has_key;   /* the next value belongs to it */
	unsigned depth; /* of open objects and arrays */
	struct json_level {
		bool is_object, is_filled;
	} levels[JSON_DEPTH_MAX]; /* the open ones, the outermost first */
	size_t len;
	size_t flushed;               /* how often the buffer was handed over */
	struct json_repeats *repeats; /* NULL: nothing is kept to be written again */
	char buffer[JSON_BUFFER_BYTES];
};

void json_init(struct json *json, json_write_fn *write, void *ctx);
/* Ends the document with a newline and writes the rest. Returns false if write() has returned
 * false. */
bool json_finish(struct json *json);

/*
 * Objects that occur again and again are kept as text, up to JSON_REPEATS_BYTES of it:
 *
 *	if (!json_again(json, number)) {
 *		json_object_begin(json);
 *		…members, but no objects…
 *		json_object_end(json);
 *		json_keep(json, number);
 *	}
 *
 * Equal numbers stand for equal objects. Nothing is kept before json_repeats_begin(), which may
 * lack the memory for it: then, too, all is written anew.
 */
#define JSON_REPEATS_BYTES ((size_t)16 << 20)
void json_repeats_begin(struct json *json);
void json_repeats_end(struct json *json);
/* Writes the kept object of that number. Returns false if none is kept. */
bool json_again(struct json *json, uint64_t number);
/* Keeps what was written since json_again() returned false. */
void json_keep(struct json *json, uint64_t number);

void json_object_begin(struct json *json);
void json_object_end(struct json *json);
void json_array_begin(struct json *json);
void json_array_end(struct json *json);
void json_key(struct json *json, const char *key);

void json_string(struct json *json, const char *string);
void json_string_n(struct json *json, const char *bytes, size_t len);
void json_u64(struct json *json, uint64_t value);
void json_i64(struct json *json, int64_t value);
void json_double(struct json *json, double value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);
/* A value that is JSON already: `len` bytes of one document, which is not checked. White space at
 * its end may be there. */
void json_raw(struct json *json, const char *document, size_t len);

#endif
