/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of other tools that tests write down themselves. */
#ifndef TESTS_UNIT_FOREIGN_FILES_H
#define TESTS_UNIT_FOREIGN_FILES_H

#include <sys/resource.h>
#include <time.h>

#include "base/buf.h"
#include "base/packing.h"
#include "lib/tap.h"
#include "sources/source.h"

static inline void foreign_model_cleanup(struct model **model)
{
	model_destroy(*model);
}
#define _cleanup_model_ __attribute__((cleanup(foreign_model_cleanup), unused))

static inline struct model *open_good(const char *text)
{
	struct model *model = NULL;
	CHECK_OK(source_open_bytes("file", text, strlen(text), 0, &model));
	return model;
}

/* The file is refused, by a message that has `part` in it. */
static inline void check_refused_bytes(const void *data, size_t len, const char *part)
{
	struct model *model = NULL;
	CHECK_ERROR(source_open_bytes("file", data, len, 0, &model), ERROR_INPUT, part);
}

static inline void check_refused(const char *text, const char *part)
{
	check_refused_bytes(text, strlen(text), part);
}

/* Opens, with a sentence of damage that has `part`. */
static inline void check_incomplete(const char *text, const char *part)
{
	_cleanup_model_ struct model *model = open_good(text);
	size_t count;
	const char *const *damage = model_damage(model, &count);
	CHECK(count > 0 && !model_recording(model)->complete);
	CHECK_CONTAINS(damage[0], part);
}

/* Cut anywhere, it is refused by name or read as far as it goes. */
static inline void check_cut_anywhere(const char *text)
{
	for (size_t len = 0; len < strlen(text); len += TAP_STRIDE) {
		struct model *model = NULL;
		struct error *error = source_open_bytes("file", text, len, 0, &model);
		CHECK(!error != !model);
		if (error) {
			CHECK(error->code == ERROR_INPUT);
			CHECK_CONTAINS(error->message, "file: ");
		}
		error_destroy(error);
		model_destroy(model);
	}
}

/* Changed anywhere to any of some bytes, likewise. */
static inline void check_changed_anywhere(const char *text)
{
	size_t len = strlen(text);
	char *copy = malloc(len + 1);
	CHECK(copy);
	for (size_t at = 0; at < len * 8; at += TAP_STRIDE) {
		memcpy(copy, text, len + 1);
		copy[at / 8] = "\0\n -9[<\xff"[at % 8];
		struct model *model = NULL;
		struct error *error = source_open_bytes("file", copy, len, 0, &model);
		CHECK(!error != !model && (!error || error->code == ERROR_INPUT));
		error_destroy(error);
		model_destroy(model);
	}
	free(copy);
}

#define BOMB_RUN 131072u /* bytes of a block that is one character */

static inline void bomb_text(struct buf *file, const char *text, bool last)
{
	uint32_t raw = (uint32_t)strlen(text) << 3 | last;
	if (!*text && !last)
		return;
	buf_bytes(file, &raw, 3);
	buf_bytes(file, text, strlen(text));
}

static inline void bomb_runs(struct buf *file, char fill, unsigned blocks)
{
	const uint32_t repeat = BOMB_RUN << 3 | 1 << 1;
	while (blocks--) {
		buf_bytes(file, &repeat, 3);
		buf_bytes(file, &fill, 1);
	}
}

/* Of zstd: magic, no options, a window of 128 KiB; see RFC 8878. */
static inline void bomb_begin(struct buf *file, const char *text)
{
	buf_init(file);
	buf_bytes(file, "\x28\xb5\x2f\xfd\x00\x38", 6);
	bomb_text(file, text, false);
}

/* A sanitizer maps terabytes for itself. */
static inline void limit_address_space(rlim_t bytes)
{
	const struct rlimit limit = {bytes, bytes};
	CHECK(TAP_SANITIZED || !setrlimit(RLIMIT_AS, &limit));
}

/* Refused, with `part` in the message, in bounded memory and time. */
static inline void bomb_end(struct buf *file, const char *part)
{
	bomb_text(file, "", true);
	CHECK(!file->failed && file->len < 400000);
	limit_address_space(UINT64_C(3) << 30);
	check_refused_bytes(file->data, file->len, part);
	CHECK(clock() < 60 * CLOCKS_PER_SEC);
	buf_deinit(file);
}

/* So many kilobytes of zstd that unpack to 10 GB: `text`, then blocks of one character. */
static inline void check_bomb(const char *text, char fill)
{
	struct buf file;
	bomb_begin(&file, text);
	bomb_runs(&file, fill, TAP_SOME(80000));
	bomb_end(&file, "file: ");
}

/* The same of lines, each almost as long as lines may be: `format` with the line's number, blocks
 * of one character, `after`. */
__attribute__((format(printf, 2, 0))) static inline void check_bomb_lines(const char *text,
	const char *format, char fill, const char *after, unsigned lines, const char *part)
{
	struct buf file;
	bomb_begin(&file, text);
	for (unsigned i = 0; i < lines; i++) {
		char before[64];
		snprintf(before, sizeof(before), format, i);
		bomb_text(&file, before, false);
		bomb_runs(&file, fill, 7);
		bomb_text(&file, after, false);
	}
	bomb_end(&file, part);
}

static inline void keep_packed(void *file, const char *data, size_t len)
{
	buf_bytes(file, data, len);
}

/* `text`, then so many times `line`, packed by zstd: refused in 1 GiB by a message with `part`. */
static inline void check_repeated(
	const char *text, const char *line, size_t times, const char *part)
{
	struct packer *packer;
	struct buf file;
	buf_init(&file);
	CHECK_OK(packer_create(PACKING_ZSTD, &packer));
	CHECK_OK(packer_run(packer, text, strlen(text), false, keep_packed, &file));
	for (size_t i = 0; i < times; i++)
		CHECK_OK(packer_run(packer, line, strlen(line), false, keep_packed, &file));
	CHECK_OK(packer_run(packer, NULL, 0, true, keep_packed, &file));
	packer_destroy(packer);
	CHECK(!file.failed && file.len < 100000);
	limit_address_space(UINT64_C(1) << 30);
	check_refused_bytes(file.data, file.len, part);
	buf_deinit(&file);
}

/* The site whose innermost frame the file names so, or that has this return address. */
static inline const struct site *site_at(const struct model *model, uint64_t address)
{
	size_t count;
	const struct site *sites = model_sites(model, &count);
	for (size_t i = 0; i < count; i++)
		if (model_stack(model, sites[i].stack).address == address)
			return &sites[i];
	tap_fail("no site at 0x%" PRIx64, address);
	return NULL;
}

static inline const char *innermost_function(const struct model *model, const struct site *site)
{
	struct stack_node node = model_stack(model, site->stack);
	const struct embedded_run *run = model_embedded(model, node);
	return run && run->frames[0].function ? run->frames[0].function : "";
}

static inline const struct site *site_of(const struct model *model, const char *function)
{
	size_t count;
	const struct site *sites = model_sites(model, &count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(innermost_function(model, &sites[i]), function) == 0)
			return &sites[i];
	tap_fail("no site in %s", function);
	return NULL;
}

#endif
