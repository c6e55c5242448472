/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes core dumps, piece by piece: for programs that were never run. */
#ifndef TESTS_LIB_CORE_BUILDER_H
#define TESTS_LIB_CORE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORE_PIECES_MAX 64u

struct core_piece {
	uint64_t start, bytes; /* of memory */
	uint8_t *data;         /* zeros at first; NULL: left out of the core */
	uint32_t flags;        /* PF_* */
	const char *path;      /* NULL: of no file */
	uint64_t offset;       /* in it */
};

struct core_builder {
	struct core_piece pieces[CORE_PIECES_MAX]; /* added in ascending order */
	unsigned count;
	uint64_t thread_pointers[8]; /* 0: not told */
	/* Of threads of x86-64: rip, rbx, and the signal that it has got. */
	uint64_t pcs[8], rbxs[8];
	uint16_t signals[8];
	unsigned threads;
	uint64_t auxv[16];  /* pairs; the first that is 0 ends it */
	uint16_t machine;   /* EM_X86_64 if 0 */
	bool without_files; /* no NT_FILE */
};

/* Adds memory; NULL path: of no file. Aborts when there is no room. */
struct core_piece *core_builder_add(struct core_builder *builder, uint64_t start, uint64_t bytes,
	uint32_t flags, const char *path, uint64_t offset);
/* An ELF header at the beginning of a piece, of a module of x86-64 with one segment of so many
 * bytes. */
void core_builder_module(struct core_piece *piece, uint64_t bytes);
/* Sets a word at an address that was added. */
void core_builder_word(struct core_builder *builder, uint64_t address, uint64_t value);
uint64_t core_builder_read(const struct core_builder *builder, uint64_t address);
void core_builder_bytes(
	struct core_builder *builder, uint64_t address, const void *bytes, size_t len);

/* The finished core: a file without a name. */
int core_builder_file(const struct core_builder *builder);
void core_builder_deinit(struct core_builder *builder);

#endif
