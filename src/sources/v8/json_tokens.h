/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON of any size, token by token: for files of which no reader wants a tree in memory (jansson
 * needs up to 24 times the text). Only RFC 8259 is taken, and a file that ends before its value
 * does is said to be cut off.
 */
#ifndef SOURCES_JSON_TOKENS_H
#define SOURCES_JSON_TOKENS_H

#include "base/buf.h"
#include "sources/recording/stream.h"

#define JSON_NESTS_MAX 16384u
/* Of a longer string the beginning is kept. */
#define JSON_TEXT_BYTES_MAX (1u << 20)

enum json_token {
	TOKEN_OBJECT,
	TOKEN_OBJECT_END,
	TOKEN_ARRAY,
	TOKEN_ARRAY_END,
	TOKEN_KEY, /* `text`; its value comes next */
	TOKEN_STRING,
	TOKEN_NUMBER,
	TOKEN_WORD, /* true, false, null */
	TOKEN_END,  /* of the file, after its value */
};

enum json_place { PLACE_VALUE, PLACE_FIRST_VALUE, PLACE_KEY, PLACE_FIRST_KEY, PLACE_AFTER };

struct json_tokens {
	struct stream stream;
	const uint8_t *at, *end;
	uint64_t end_offset; /* in the unpacked file, of `end` */
	enum json_place place;
	unsigned depth;
	uint8_t objects[JSON_NESTS_MAX / 8]; /* a bit for each that is open: an object, no array */
	struct buf text; /* of the last key or string, as UTF-8 and with a NUL */
	size_t text_len;
	bool text_is_cut;
	/* Of the last number: the number itself if it is from 0 to 2^64 - 1 and whole, else only
	 * that it is not. */
	uint64_t number;
	bool is_whole;
	bool is_negative;
};

/* Opens the file; `input` must outlive it. `limit` as of stream_open(). Close it even then. */
struct error *json_tokens_open(
	struct json_tokens *tokens, const struct input *input, uint64_t limit) must_check_;
void json_tokens_close(struct json_tokens *tokens);
/* Finds the next token. */
struct error *json_tokens_next(struct json_tokens *tokens, enum json_token *ret) must_check_;
/* Passes over the value that `token` begins. */
struct error *json_tokens_skip(struct json_tokens *tokens, enum json_token token) must_check_;
/* Passes over the value that comes next. */
struct error *json_tokens_skip_next(struct json_tokens *tokens) must_check_;
/* Takes the next value, a whole number from 0 on; `what` says of what in the error. */
struct error *json_tokens_number(
	struct json_tokens *tokens, const char *what, uint64_t *ret) must_check_;
/* Takes the next token, which is to be `token`: "expected WHAT" otherwise. */
struct error *json_tokens_expect(
	struct json_tokens *tokens, enum json_token token, const char *what) must_check_;
/* An ERROR_INPUT if `seen`: the object that is open has the last key a second time. */
struct error *json_tokens_once(const struct json_tokens *tokens, bool seen) must_check_;
/* Returns whether the last key is this. */
bool json_tokens_key_is(const struct json_tokens *tokens, const char *key);
/* An ERROR_INPUT "NAME: offset N: …". */
struct error *json_tokens_error(const struct json_tokens *tokens, const char *format, ...)
	__attribute__((format(printf, 2, 3))) must_check_;

#endif
