/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of Python's (Include/cpython/longintrepr.h, floatobject.h, complexobject.h; intobject.h
 * of Python 2). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/python_content.h"

#define DIGIT_BITS 30u
#define DIGITS_MAX 256u
#define NUMBER 16u /* byte */
#define DIGITS 24u

/* sizeof of a class's own type, from 3.12 on: then a number's sign is in the last bits. */
#define TYPE_BYTES_3_12 912u
#define TAG_SIGN 3u
#define TAG_ZERO 1u
#define TAG_NEGATIVE 2u
#define TAG_SHIFT 3u

bool python_is_since_3_12(struct python *python)
{
	const struct python_type *type =
		python->roots.len ? python_type(python, python->roots.data[0]) : NULL;
	return type && type->own_bytes >= TYPE_BYTES_3_12;
}

/* Divides by a billion; returns the rest. */
static uint32_t python_numbers_divide(uint32_t *digits, size_t count)
{
	uint64_t rest = 0;
	for (size_t i = count; i-- > 0;) {
		rest = rest << DIGIT_BITS | digits[i];
		digits[i] = (uint32_t)(rest / 1000000000);
		rest %= 1000000000;
	}
	return (uint32_t)rest;
}

static void add_decimal(uint32_t *digits, size_t count, struct text *ret)
{
	uint32_t parts[DIGITS_MAX + DIGITS_MAX / 8];
	size_t n = 0;
	while (count) {
		parts[n++] = python_numbers_divide(digits, count);
		while (count && !digits[count - 1])
			count--;
	}
	text_printf(ret, "%" PRIu32, n ? parts[n - 1] : 0);
	while (n-- > 1)
		text_printf(ret, "%09" PRIu32, parts[n - 1]);
}

static bool add_int(struct python *python, uint64_t object, struct text *ret, bool *ret_cut)
{
	uint64_t head, count;
	uint32_t digits[DIGITS_MAX];
	if (!address_space_word(python->space, object + NUMBER, &head))
		return false;
	bool negative = (int64_t)head < 0;
	count = negative ? 0 - head : head;
	if (python_is_since_3_12(python)) {
		negative = (head & TAG_SIGN) == TAG_NEGATIVE;
		count = head & TAG_ZERO ? 0 : head >> TAG_SHIFT;
	}
	if (count > DIGITS_MAX) {
		*ret_cut = true;
		text_printf(ret, "<int of about %" PRIu64 " bits>", count * DIGIT_BITS);
		return count < UINT32_MAX;
	}
	if (address_space_read(python->space, object + DIGITS, digits, 4 * count) != 4 * count)
		return false;
	for (size_t i = 0; i < count; i++)
		digits[i] &= (1u << DIGIT_BITS) - 1;
	if (negative)
		text_add_char(ret, '-');
	add_decimal(digits, (size_t)count, ret);
	return true;
}

/* The fewest digits that give the same number again. */
static void add_float(double number, bool point, struct text *ret)
{
	char digits[40];
	int count = 1;
	if (isnan(number) || isinf(number)) {
		text_add(ret, isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
		return;
	}
	do
		snprintf(digits, sizeof(digits), "%.*e", count - 1, number);
	while (count++ < 17 && strtod(digits, NULL) != number);
	int exponent = atoi(strchr(digits, 'e') + 1);
	count = (int)strspn(digits + (*digits == '-'), "0123456789.");
	count -= count > 1; /* the point */
	if (exponent < -4 || exponent >= 16) {
		*strchr(digits, 'e') = 0;
		text_printf(ret, "%se%c%02d", digits, exponent < 0 ? '-' : '+', abs(exponent));
		return;
	}
	int after = count - 1 - exponent;
	text_printf(ret, "%.*f", after > 0 ? after : point ? 1 : 0, number);
}

static bool add_complex(struct python *python, uint64_t object, struct text *ret)
{
	double parts[2];
	if (address_space_read(python->space, object + NUMBER, parts, sizeof(parts)) !=
		sizeof(parts))
		return false;
	bool both = parts[0] != 0 || signbit(parts[0]);
	if (both) {
		text_add_char(ret, '(');
		add_float(parts[0], false, ret);
		if (!signbit(parts[1]) || isnan(parts[1]))
			text_add_char(ret, '+');
	}
	add_float(parts[1], false, ret);
	text_add(ret, both ? "j)" : "j");
	return true;
}

bool python_number_add(struct python *python, uint64_t object, const struct python_type *type,
	struct text *ret, bool *ret_cut)
{
	uint64_t address = type->address, word;
	bool is_int = type->flags & PYTHON_FLAG_INT;
	/* The flag has come to stand for something else. */
	bool is_old = type->flags & PYTHON_FLAG_OLD_INT && python_type_is(python, address, "int");
	if ((is_int || is_old) && !strcmp(type->name, "bool")) {
		uint64_t at = is_old ? NUMBER : DIGITS;
		if (!address_space_word(python->space, object + at, &word))
			return false;
		text_add(ret, word & 1 ? "True" : "False");
		return true;
	}
	if (is_old) {
		if (!address_space_word(python->space, object + NUMBER, &word))
			return false;
		text_printf(ret, "%" PRId64, (int64_t)word);
		return true;
	}
	if (is_int) {
		/* Of Python 2 what is called long. */
		bool is_long = python_type_is(python, address, "long");
		if (!add_int(python, object, ret, ret_cut))
			return false;
		text_add(ret, is_long ? "L" : "");
		return true;
	}
	if (python_type_is(python, address, "float")) {
		double number;
		if (!address_space_word(python->space, object + NUMBER, &word))
			return false;
		memcpy(&number, &word, sizeof(number));
		add_float(number, true, ret);
		return true;
	}
	return python_type_is(python, address, "complex") && add_complex(python, object, ret);
}
