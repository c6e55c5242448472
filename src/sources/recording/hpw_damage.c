/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/hpw_damage.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"

static struct error *hpw_damage_add_add(struct hpw_damage *damage, const char *sentence)
{
	return damage->count++ < HPW_DAMAGE_SENTENCES ? build_damage(damage->model, sentence)
						      : NULL;
}

struct error *hpw_damage_add(struct hpw_damage *damage, const char *fmt, ...)
{
	_cleanup_free_ char *sentence = NULL;
	va_list args;
	va_start(args, fmt);
	int len = vasprintf(&sentence, fmt, args);
	va_end(args);
	if (len < 0) {
		sentence = NULL;
		return error_no_memory();
	}
	return hpw_damage_add_add(damage, sentence);
}

struct error *hpw_damage_take(struct hpw_damage *damage, struct error *error, const char *fmt, ...)
{
	if (!error || error->code != ERROR_INPUT)
		return error;
	_cleanup_error_ struct error *taken = error;
	_cleanup_free_ char *prefix = NULL;
	va_list args;
	va_start(args, fmt);
	int len = vasprintf(&prefix, fmt, args);
	va_end(args);
	if (len < 0) {
		prefix = NULL;
		return error_no_memory();
	}
	return hpw_damage_add(damage, "%s: %s", prefix, taken->message);
}

struct error *hpw_damage_finish(struct hpw_damage *damage)
{
	if (damage->count <= HPW_DAMAGE_SENTENCES)
		return NULL;
	uint64_t more = damage->count - HPW_DAMAGE_SENTENCES;
	_cleanup_free_ char *sentence = NULL;
	if (asprintf(&sentence, "and %" PRIu64 " more damaged places", more) < 0) {
		sentence = NULL;
		return error_no_memory();
	}
	return build_damage(damage->model, sentence);
}
