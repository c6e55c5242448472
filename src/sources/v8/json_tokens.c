/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/v8/json_tokens.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"

#define NUMBER_BYTES_MAX 64u

static uint64_t current_offset(const struct json_tokens *tokens)
{
	return tokens->end_offset - (uint64_t)(tokens->end - tokens->at);
}

struct error *json_tokens_error(const struct json_tokens *tokens, const char *format, ...)
{
	_cleanup_(text_deinit) struct text what;
	char buffer[512];
	va_list args;
	va_start(args, format);
	vsnprintf(buffer, sizeof(buffer), format, args);
	va_end(args);
	text_init(&what);
	text_add_shown(&what, buffer, sizeof(buffer));
	return error_create(ERROR_INPUT, "%s: offset %" PRIu64 ": %s", tokens->stream.input->name,
		current_offset(tokens), what.data ? what.data : "");
}

struct error *json_tokens_open(
	struct json_tokens *tokens, const struct input *input, uint64_t limit)
{
	*tokens = (struct json_tokens){.place = PLACE_VALUE};
	buf_init(&tokens->text);
	return stream_open(&tokens->stream, input, limit);
}

void json_tokens_close(struct json_tokens *tokens)
{
	stream_close(&tokens->stream);
	buf_deinit(&tokens->text);
}

/* The next byte, without taking it; -1: there is none. */
static struct error *byte_peek(struct json_tokens *tokens, int *ret)
{
	if (tokens->at == tokens->end) {
		size_t len;
		struct error *error = stream_take(&tokens->stream, &tokens->at, &len);
		if (error) {
			tokens->at = tokens->end = NULL;
			return error;
		}
		tokens->end = tokens->at + len;
		tokens->end_offset += len;
		if (!len) {
			*ret = -1;
			return NULL;
		}
	}
	*ret = *tokens->at;
	return NULL;
}

static struct error *cut_off(const struct json_tokens *tokens)
{
	return json_tokens_error(tokens, "the file ends inside its JSON: it is cut off");
}

/* A byte that must be there. */
static struct error *byte_take(struct json_tokens *tokens, int *ret)
{
	if (tokens->at < tokens->end) {
		*ret = *tokens->at++;
		return NULL;
	}
	struct error *error = byte_peek(tokens, ret);
	if (error)
		return error;
	if (*ret < 0)
		return cut_off(tokens);
	tokens->at++;
	return NULL;
}

static struct error *space_skip(struct json_tokens *tokens, int *ret)
{
	for (;;) {
		while (tokens->at < tokens->end) {
			*ret = *tokens->at;
			if (*ret != ' ' && *ret != '\n' && *ret != '\r' && *ret != '\t')
				return NULL;
			tokens->at++;
		}
		struct error *error = byte_peek(tokens, ret);
		if (error || *ret < 0)
			return error;
	}
}

static bool text_put(struct json_tokens *tokens, const void *bytes, size_t len)
{
	tokens->text_is_cut |= tokens->text.len + len > JSON_TEXT_BYTES_MAX;
	return tokens->text_is_cut || buf_bytes(&tokens->text, bytes, len);
}

static bool text_put_point(struct json_tokens *tokens, uint32_t point)
{
	uint8_t bytes[4];
	size_t len = 0;
	if (point < 0x80) {
		bytes[len++] = (uint8_t)point;
	} else if (point < 0x800) {
		bytes[len++] = (uint8_t)(0xc0 | point >> 6);
	} else if (point < 0x10000) {
		bytes[len++] = (uint8_t)(0xe0 | point >> 12);
		bytes[len++] = (uint8_t)(0x80 | (point >> 6 & 0x3f));
	} else {
		bytes[len++] = (uint8_t)(0xf0 | point >> 18);
		bytes[len++] = (uint8_t)(0x80 | (point >> 12 & 0x3f));
		bytes[len++] = (uint8_t)(0x80 | (point >> 6 & 0x3f));
	}
	if (point >= 0x80)
		bytes[len++] = (uint8_t)(0x80 | (point & 0x3f));
	return text_put(tokens, bytes, len);
}

static struct error *take_unit(struct json_tokens *tokens, uint32_t *ret)
{
	*ret = 0;
	for (int i = 0; i < 4; i++) {
		int c;
		struct error *error = byte_take(tokens, &c);
		if (error)
			return error;
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
				 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
							: 16;
		if (digit == 16)
			return json_tokens_error(
				tokens, "invalid JSON: expected four hexadecimal digits after \\u");
		*ret = *ret << 4 | digit;
	}
	return NULL;
}

/* What follows "\u": half of a pair that stands alone becomes U+FFFD, as JavaScript's strings may
 * have such; so does U+0000, which would end a string of C. `*high` is the first half of a pair
 * that was last, or 0. */
static struct error *take_escaped_unit(struct json_tokens *tokens, uint32_t *high)
{
	uint32_t unit, first = *high;
	struct error *error = take_unit(tokens, &unit);
	if (error)
		return error;
	*high = 0;
	bool is_low = unit >= 0xdc00 && unit <= 0xdfff, good = true;
	if (first && is_low) {
		uint32_t point = 0x10000 + ((first - 0xd800) << 10) + (unit - 0xdc00);
		return text_put_point(tokens, point) ? NULL : error_no_memory();
	}
	if (first)
		good = text_put_point(tokens, 0xfffd);
	if (unit >= 0xd800 && unit <= 0xdbff)
		*high = unit;
	else
		good = good && text_put_point(tokens, is_low || !unit ? 0xfffd : unit);
	return good ? NULL : error_no_memory();
}

static struct error *take_escape(struct json_tokens *tokens, uint32_t *high)
{
	static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	int c;
	struct error *error = byte_take(tokens, &c);
	if (error)
		return error;
	if (c == 'u')
		return take_escaped_unit(tokens, high);
	const char *letter = c ? strchr(letters, c) : NULL;
	if (!letter)
		return json_tokens_error(tokens, "invalid JSON: unknown escape in a string");
	bool good = !*high || text_put_point(tokens, 0xfffd);
	*high = 0;
	good = good && text_put(tokens, &bytes[letter - letters], 1);
	return good ? NULL : error_no_memory();
}

/* What is after the first quotation mark. */
static struct error *take_string(struct json_tokens *tokens)
{
	uint32_t high = 0;
	buf_clear(&tokens->text);
	tokens->text_is_cut = false;
	for (;;) {
		const uint8_t *from = tokens->at;
		while (tokens->at < tokens->end && *tokens->at != '"' && *tokens->at != '\\' &&
			*tokens->at >= 0x20)
			tokens->at++;
		size_t len = (size_t)(tokens->at - from);
		if (high && (len || tokens->at == tokens->end || *tokens->at == '"')) {
			/* At the end of what is there it is not known yet what comes. */
			if (len || tokens->at < tokens->end) {
				high = 0;
				if (!text_put_point(tokens, 0xfffd))
					return error_no_memory();
			}
		}
		if (len && !text_put(tokens, from, len))
			return error_no_memory();
		int c;
		struct error *error = byte_peek(tokens, &c);
		if (error)
			return error;
		if (c < 0)
			return cut_off(tokens);
		if (c < 0x20)
			return json_tokens_error(
				tokens, "invalid JSON: a control character in a string");
		if (c != '"' && c != '\\')
			continue;
		tokens->at++;
		if (c == '"')
			break;
		error = take_escape(tokens, &high);
		if (error)
			return error;
	}
	if (high && !text_put_point(tokens, 0xfffd))
		return error_no_memory();
	tokens->text_len = tokens->text.len;
	return buf_u8(&tokens->text, 0) ? NULL : error_no_memory();
}

/* Digits of a number without its trailing zeros, and how many of these there are: 1.50e3 is 15 with
 * 2 zeros. */
struct number_digits {
	uint64_t value;
	int64_t zeros;
	bool is_too_large;
};

static void number_add_digit(struct number_digits *digits, unsigned digit)
{
	digits->zeros++;
	if (!digit || digits->is_too_large)
		return;
	for (; digits->zeros && !digits->is_too_large; digits->zeros--)
		digits->is_too_large = __builtin_mul_overflow(digits->value, 10u, &digits->value);
	digits->is_too_large |= __builtin_add_overflow(digits->value, digit, &digits->value);
}

static const char *number_add_digits(struct number_digits *digits, const char *at)
{
	while (*at >= '0' && *at <= '9')
		number_add_digit(digits, (unsigned)(*at++ - '0'));
	return at;
}

/* The number itself, if it is whole and there is room for it. */
static bool number_settle(const struct number_digits *digits, uint64_t *ret)
{
	*ret = digits->value;
	if (!digits->value && !digits->is_too_large)
		return true;
	if (digits->is_too_large || digits->zeros < 0)
		return false;
	for (int64_t i = 0; i < digits->zeros; i++)
		if (__builtin_mul_overflow(*ret, 10u, ret))
			return false;
	return true;
}

/* What is after "e", at most so much that no sum overflows. */
static const char *number_exponent(const char *at, int64_t *ret)
{
	bool is_negative = *at == '-';
	at += *at == '+' || *at == '-';
	for (*ret = 0; *at >= '0' && *at <= '9'; at++)
		*ret = min(*ret * 10 + (*at - '0'), INT64_C(1000000));
	*ret = is_negative ? -*ret : *ret;
	return at;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns whether `text` is a number of JSON, and sets what it is: 1e3 and 1000.0 are 1000. */
static bool number_scan(struct json_tokens *tokens, const char *text)
{
	struct number_digits digits = {.value = 0};
	int64_t exponent = 0;
	tokens->is_negative = *text == '-';
	const char *at = text + tokens->is_negative;
	if (!is_digit(*at) || (*at == '0' && is_digit(at[1])))
		return false;
	at = number_add_digits(&digits, at);
	if (*at == '.') {
		const char *fraction = at + 1;
		at = number_add_digits(&digits, fraction);
		if (at == fraction)
			return false;
		digits.zeros -= at - fraction;
	}
	if (*at == 'e' || *at == 'E') {
		at = number_exponent(at + 1, &exponent);
		if (!is_digit(at[-1]))
			return false;
	}
	digits.zeros += exponent;
	tokens->is_whole = number_settle(&digits, &tokens->number) &&
			   (!tokens->is_negative || !tokens->number);
	return !*at;
}

static struct error *take_number(struct json_tokens *tokens)
{
	char text[NUMBER_BYTES_MAX + 1];
	size_t len = 0;
	int c = 0;
	for (;;) {
		struct error *error = byte_peek(tokens, &c);
		if (error)
			return error;
		bool goes_on = (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' ||
			       c == 'e' || c == 'E';
		if (!goes_on)
			break;
		if (len == NUMBER_BYTES_MAX)
			return json_tokens_error(
				tokens, "a number has more than %u characters", NUMBER_BYTES_MAX);
		text[len++] = (char)c;
		tokens->at++;
	}
	text[len] = '\0';
	if (c < 0 && tokens->depth)
		return cut_off(tokens);
	if (!number_scan(tokens, text))
		return json_tokens_error(tokens, "invalid JSON: '%s' is no number", text);
	return NULL;
}

static struct error *take_word(struct json_tokens *tokens)
{
	static const char *const words[] = {"true", "false", "null"};
	char text[8];
	size_t len = 0;
	int c = 0;
	for (;;) {
		struct error *error = byte_peek(tokens, &c);
		if (error)
			return error;
		if (c < 'a' || c > 'z' || len + 1 == sizeof(text))
			break;
		text[len++] = (char)c;
		tokens->at++;
	}
	text[len] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(text, words[i]) == 0)
			return NULL;
	if (c < 0 && tokens->depth)
		return cut_off(tokens);
	return json_tokens_error(tokens, "invalid JSON: expected a value");
}

static bool in_object(const struct json_tokens *tokens)
{
	unsigned level = tokens->depth - 1;
	return tokens->objects[level / 8] >> level % 8 & 1;
}

static struct error *nest_open(struct json_tokens *tokens, bool is_object, enum json_token *ret)
{
	if (tokens->depth == JSON_NESTS_MAX)
		return json_tokens_error(
			tokens, "objects and arrays are nested more than %u deep", JSON_NESTS_MAX);
	unsigned level = tokens->depth++;
	uint8_t bit = (uint8_t)(1u << level % 8);
	if (is_object)
		tokens->objects[level / 8] |= bit;
	else
		tokens->objects[level / 8] &= (uint8_t)~bit;
	tokens->place = is_object ? PLACE_FIRST_KEY : PLACE_FIRST_VALUE;
	*ret = is_object ? TOKEN_OBJECT : TOKEN_ARRAY;
	return NULL;
}

static struct error *nest_close(struct json_tokens *tokens, bool is_object, enum json_token *ret)
{
	if (!tokens->depth || in_object(tokens) != is_object)
		return json_tokens_error(
			tokens, "invalid JSON: '%c' closes nothing", is_object ? '}' : ']');
	tokens->depth--;
	tokens->place = PLACE_AFTER;
	*ret = is_object ? TOKEN_OBJECT_END : TOKEN_ARRAY_END;
	return NULL;
}

static struct error *take_key(struct json_tokens *tokens, enum json_token *ret)
{
	int c;
	struct error *error = take_string(tokens);
	if (!error)
		error = space_skip(tokens, &c);
	if (error)
		return error;
	if (c < 0)
		return cut_off(tokens);
	if (c != ':')
		return json_tokens_error(tokens, "invalid JSON: expected ':' after a name");
	tokens->at++;
	tokens->place = PLACE_VALUE;
	*ret = TOKEN_KEY;
	return NULL;
}

static struct error *take_value(struct json_tokens *tokens, int c, enum json_token *ret)
{
	if (c == '{' || c == '[') {
		tokens->at++;
		return nest_open(tokens, c == '{', ret);
	}
	tokens->place = PLACE_AFTER;
	if (c == '"') {
		tokens->at++;
		*ret = TOKEN_STRING;
		return take_string(tokens);
	}
	bool is_number = c == '-' || (c >= '0' && c <= '9');
	*ret = is_number ? TOKEN_NUMBER : TOKEN_WORD;
	return is_number ? take_number(tokens) : take_word(tokens);
}

/* What is after a value: a comma, the end of what it is in, or that of the file. */
static struct error *pass_value(struct json_tokens *tokens, int *c, bool *ret_end)
{
	*ret_end = !tokens->depth;
	if (*ret_end)
		return *c < 0 ? NULL
			      : json_tokens_error(tokens, "invalid JSON: text after its end");
	if (*c != ',')
		return NULL;
	tokens->at++;
	tokens->place = in_object(tokens) ? PLACE_KEY : PLACE_VALUE;
	struct error *error = space_skip(tokens, c);
	return error ? error : *c < 0 ? cut_off(tokens) : NULL;
}

struct error *json_tokens_next(struct json_tokens *tokens, enum json_token *ret)
{
	int c;
	bool at_end = false;
	struct error *error = space_skip(tokens, &c);
	if (!error && tokens->place == PLACE_AFTER)
		error = pass_value(tokens, &c, &at_end);
	if (error)
		return error;
	if (at_end) {
		*ret = TOKEN_END;
		return NULL;
	}
	if (c < 0)
		return cut_off(tokens);
	bool may_close = tokens->place == PLACE_AFTER || tokens->place == PLACE_FIRST_KEY ||
			 tokens->place == PLACE_FIRST_VALUE;
	if (may_close && (c == '}' || c == ']')) {
		error = nest_close(tokens, c == '}', ret);
		if (!error)
			tokens->at++;
		return error;
	}
	if (tokens->place == PLACE_AFTER)
		return json_tokens_error(tokens, "invalid JSON: expected ',' or an end");
	if (tokens->place == PLACE_VALUE || tokens->place == PLACE_FIRST_VALUE)
		return take_value(tokens, c, ret);
	if (c != '"')
		return json_tokens_error(tokens, "invalid JSON: expected a name in an object");
	tokens->at++;
	return take_key(tokens, ret);
}

struct error *json_tokens_skip(struct json_tokens *tokens, enum json_token token)
{
	if (token != TOKEN_OBJECT && token != TOKEN_ARRAY)
		return NULL;
	unsigned outer = tokens->depth - 1;
	struct error *error = NULL;
	while (!error && tokens->depth > outer)
		error = json_tokens_next(tokens, &token);
	return error;
}

struct error *json_tokens_skip_next(struct json_tokens *tokens)
{
	enum json_token token;
	struct error *error = json_tokens_next(tokens, &token);
	return error ? error : json_tokens_skip(tokens, token);
}

struct error *json_tokens_number(struct json_tokens *tokens, const char *what, uint64_t *ret)
{
	enum json_token token;
	struct error *error = json_tokens_next(tokens, &token);
	if (error)
		return error;
	if (token != TOKEN_NUMBER || !tokens->is_whole)
		return json_tokens_error(
			tokens, "%s is not a whole number from 0 to 2^64 - 1", what);
	*ret = tokens->number;
	return NULL;
}

struct error *json_tokens_expect(
	struct json_tokens *tokens, enum json_token token, const char *what)
{
	enum json_token found;
	struct error *error = json_tokens_next(tokens, &found);
	if (error || found == token)
		return error;
	return json_tokens_error(tokens, "expected %s", what);
}

struct error *json_tokens_once(const struct json_tokens *tokens, bool seen)
{
	return seen ? json_tokens_error(tokens, "an object has \"%.100s\" twice",
			      (const char *)tokens->text.data)
		    : NULL;
}

bool json_tokens_key_is(const struct json_tokens *tokens, const char *key)
{
	return strcmp((const char *)tokens->text.data, key) == 0;
}
