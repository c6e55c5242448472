/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/foreign/foreign_query.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text.h"

#define PROGRAM_HEADERS_MAX 64u

static bool asks_moment(const struct source_query *query)
{
	return query->from.kind != SOURCE_START || query->to.kind != SOURCE_END;
}

static struct error *foreign_query_refuse(
	const struct input *input, const char *what, const char *lacks)
{
	return error_create(ERROR_INPUT, "%s: is %s, which %s", input->name, what, lacks);
}

static struct error *refuse_blocks(const struct input *input, const struct source_blocks *blocks,
	unsigned abilities, const char *what)
{
	if (blocks->thread && !(abilities & FOREIGN_BY_THREAD))
		return foreign_query_refuse(input, what, "does not record threads");
	if ((blocks->by_life || blocks->live_only) && !(abilities & FOREIGN_BY_LIFE))
		return foreign_query_refuse(input, what, "does not record lifetimes");
	if ((blocks->min_size || blocks->max_size) && !(abilities & FOREIGN_BY_SIZE))
		return foreign_query_refuse(input, what, "does not record block sizes");
	if (blocks->temporary_within > 1 && !(abilities & FOREIGN_BY_LIFE))
		return foreign_query_refuse(input, what, "does not record temporary allocations");
	if (blocks->hidden_frames)
		return foreign_query_refuse(input, what, "can't exclude functions");
	return NULL;
}

struct error *foreign_describe(struct foreign *foreign, const struct source_blocks *blocks)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (source_blocks_are_all(blocks))
		return NULL;
	if (blocks->min_size) {
		text_add(&text, ", of at least ");
		text_add_bytes(&text, blocks->min_size);
	}
	if (blocks->max_size) {
		text_add(&text, ", of at most ");
		text_add_bytes(&text, blocks->max_size);
	}
	if (blocks->thread)
		text_printf(&text, ", of thread %s", blocks->thread);
	if (text.failed)
		return error_no_memory();
	struct foreign_text words = {text.data ? text.data + 2 : NULL, text.len ? text.len - 2 : 0};
	return foreign_string(foreign, words, &build_recording(foreign->model)->blocks);
}

struct error *foreign_refuse(const struct input *input, const struct source_query *query,
	unsigned abilities, const char *what)
{
	if (!query)
		return NULL;
	if (asks_moment(query) && !(abilities & FOREIGN_MOMENTS))
		return foreign_query_refuse(input, what, "contains only one snapshot");
	if (query->series && !(abilities & (FOREIGN_MOMENTS | FOREIGN_SERIES)))
		return foreign_query_refuse(input, what, "contains no times");
	return query->blocks ? refuse_blocks(input, query->blocks, abilities, what) : NULL;
}

static bool foreign_query_read_header(const struct input *input, Elf64_Ehdr *ret)
{
	if (input->bytes < sizeof(*ret))
		return false;
	struct error *error = input->read(input, 0, ret, sizeof(*ret));
	if (!error)
		return memcmp(ret->e_ident, ELFMAG, SELFMAG) == 0 &&
		       ret->e_ident[EI_CLASS] == ELFCLASS64 &&
		       ret->e_phentsize == sizeof(Elf64_Phdr) &&
		       ret->e_phnum <= PROGRAM_HEADERS_MAX && ret->e_phoff < input->bytes &&
		       ret->e_phnum * sizeof(Elf64_Phdr) <= input->bytes - ret->e_phoff;
	error_destroy(error);
	return false;
}

/* What an address of a segment is above its offset in the file; of the one that holds `offset`. */
static uint64_t segment_shift(const struct input *input, uint64_t offset)
{
	Elf64_Ehdr header;
	Elf64_Phdr segments[PROGRAM_HEADERS_MAX];
	if (!foreign_query_read_header(input, &header))
		return 0;
	struct error *error =
		input->read(input, header.e_phoff, segments, header.e_phnum * sizeof(*segments));
	error_destroy(error);
	for (unsigned i = 0; !error && i < header.e_phnum; i++) {
		/* What is mapped begins at a page, before the segment itself. */
		uint64_t first = segments[i].p_offset & ~UINT64_C(0xfff);
		if (segments[i].p_type == PT_LOAD && offset >= first &&
			offset < segments[i].p_offset + segments[i].p_filesz)
			return segments[i].p_vaddr - segments[i].p_offset;
	}
	return 0;
}

char *foreign_locate(const char *root, struct foreign_text path)
{
	char *copy;
	if (!root)
		return strndup(path.data, path.len);
	/* Links are none of its business, and what climbs would leave the root. */
	if (memmem(path.data, path.len, "..", 2) ||
		asprintf(&copy, "%s/%.*s", root, (int)path.len, path.data) < 0)
		return NULL;
	return copy;
}

uint64_t foreign_bias(const char *root, struct foreign_text path, uint64_t start, uint64_t offset)
{
	_cleanup_free_ char *copy = foreign_locate(root, path);
	struct input input;
	uint64_t bias = start - offset;
	if (!copy || copy[0] != '/')
		return bias;
	struct error *error = input_open_file(&input, copy);
	if (error) {
		error_destroy(error);
		return bias;
	}
	bias -= segment_shift(&input, offset);
	input_close(&input);
	return bias;
}

bool foreign_is_newer(struct foreign_text path, const struct input *input)
{
	_cleanup_free_ char *copy = foreign_locate(input->root, path);
	struct stat code, dump;
	if (!copy || copy[0] != '/' || input->fd < 0 || stat(copy, &code) < 0 ||
		fstat(input->fd, &dump) < 0)
		return false;
	return code.st_mtim.tv_sec != dump.st_mtim.tv_sec
		       ? code.st_mtim.tv_sec > dump.st_mtim.tv_sec
		       : code.st_mtim.tv_nsec > dump.st_mtim.tv_nsec;
}
