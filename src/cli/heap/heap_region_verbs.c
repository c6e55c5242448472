/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_region_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "process/core_write.h"
#include "query/inputs.h"
#include "views/heap_regions.h"

/* "0x…", or a decimal number. False, after saying so. */
bool heap_verb_address(const char *word, uint64_t *ret)
{
	char *end;
	errno = 0;
	*ret = strtoull(word, &end, 0);
	if (!errno && end != word && !*end && *word != '-')
		return true;
	if (errno == ERANGE)
		message("invalid address '%s': it has more than 64 bits", word);
	else
		message("invalid address '%s': expected 0x…", word);
	return false;
}

/* A view of memory as it lies there. */
static int show_region(struct heap_look *look, struct region_options *options,
	struct error *(*write)(const struct address_space *space,
		const struct region_options *options, const struct sink *sink,
		uint64_t *ret_lacking))
{
	struct output output;
	uint64_t lacking = REGION_ALL_THERE;
	struct sink sink = heap_look_sink(look, &output);
	options->json = look->json;
	options->json_before = look->json_before;
	options->csv = look->csv;
	options->limit = look->limit;
	int code = heap_look_shown(&output, write(&look->heap.space, options, &sink, &lacking));
	if (!code && lacking != REGION_ALL_THERE)
		message("not all of the memory from 0x%llx on (%llu bytes) is available (`maps` "
			"shows what is)",
			(unsigned long long)lacking, (unsigned long long)(options->end - lacking));
	return code;
}

/* "ADDR BYTES", or "ADDR-ADDR". */
static bool take_range(int count, char **words, struct region_options *ret)
{
	char *dash = strchr(words[1], '-');
	if (dash && count == 2) {
		*dash = 0;
		if (!heap_verb_address(words[1], &ret->start) ||
			!heap_verb_address(dash + 1, &ret->end))
			return false;
		if (ret->end > ret->start)
			return true;
		message("invalid range %s-%s: the end must be after the start", words[1], dash + 1);
		return false;
	}
	uint64_t bytes = 256;
	if (!heap_verb_address(words[1], &ret->start) ||
		(count > 2 && !heap_verb_address(words[2], &bytes)))
		return false;
	ret->end = ret->start + bytes < ret->start ? UINT64_MAX : ret->start + bytes;
	return true;
}

int heap_verb_hexdump(struct heap_look *look, int count, char **words)
{
	struct region_options options = {.start = 0};
	return take_range(count, words, &options) ? show_region(look, &options, heap_hexdump_write)
						  : ERROR_USAGE;
}

#define STRING_LEAST 8u

int heap_verb_strings(struct heap_look *look, int count, char **words)
{
	struct region_options options = {
		.start = UINT64_MAX, .end = UINT64_MAX, .least = STRING_LEAST};
	if (count > 1 && !take_range(count, words, &options))
		return ERROR_USAGE;
	return show_region(look, &options, heap_strings_write);
}

/* A file for its owner alone, made beside its place. Returns 0, or the exit code after saying why
 * there is none. */
static int file_open(const char *path, struct output_file *ret)
{
	struct error *error = output_file_open(path, 0600, ret);
	if (!error)
		error = inputs_check(cli_context(), ret);
	if (!error)
		return 0;
	output_file_discard(ret);
	return message_error(error);
}

/* Ends a file: what failed is not put in its place. */
static int file_end(struct output_file *file, struct error *error)
{
	if (!error)
		return output_file_end(file);
	output_file_discard(file);
	return message_error(error);
}

static struct error *copy_range(const struct address_space *space, uint64_t start, uint64_t end,
	int fd, const char *path, uint64_t *ret_lacks)
{
	const size_t piece_bytes = 1u << 20;
	_cleanup_free_ uint8_t *piece = malloc(piece_bytes);
	struct error *error = piece ? NULL : error_no_memory();
	for (uint64_t at = start; at < end && !error;) {
		size_t wanted = end - at < piece_bytes ? (size_t)(end - at) : piece_bytes;
		size_t got = address_space_read(space, at, piece, wanted);
		if (!got) { /* a page that is not there is zero */
			uint64_t page = (at / 4096 + 1) * 4096;
			got = page - at < wanted ? (size_t)(page - at) : wanted;
			memset(piece, 0, got);
			*ret_lacks += got;
		}
		error = write_all(fd, path, piece, got);
		at += got;
	}
	return error;
}

static const char *replaced_words(bool replaced)
{
	return replaced ? ", replacing the old file" : "";
}

#define DUMP_BYTES_MAX (1ull << 40)

int heap_verb_dump(struct heap_look *look, int count, char **words)
{
	struct region_options options = {.start = 0};
	const char *path = words[count - 1];
	uint8_t byte;
	if (!take_range(count - 1, words, &options))
		return ERROR_USAGE;
	if (options.end <= options.start || options.end - options.start > DUMP_BYTES_MAX) {
		message("dump: expected a range of 1 byte to 1 TiB");
		return ERROR_USAGE;
	}
	if (!address_space_read(&look->heap.space, options.start, &byte, 1)) {
		message("0x%llx: memory can't be read", (unsigned long long)options.start);
		return ERROR_INPUT;
	}
	struct output_file file = OUTPUT_FILE_NONE;
	int code = file_open(path, &file);
	if (code)
		return code;
	const bool replaced = file.exists && file.there.st_size;
	uint64_t lacks = 0;
	struct error *error =
		copy_range(&look->heap.space, options.start, options.end, file.fd, path, &lacks);
	if (!error && lacks)
		message("%llu bytes of the range can't be read and are zeros in %s",
			(unsigned long long)lacks, path);
	code = file_end(&file, error);
	if (!code)
		message("%llu bytes from 0x%llx to 0x%llx written to %s%s",
			(unsigned long long)(options.end - options.start),
			(unsigned long long)options.start, (unsigned long long)options.end, path,
			replaced_words(replaced));
	return code;
}

int heap_verb_save(struct heap_look *look, int count, char **words)
{
	(void)count;
	if (look->heap.core) {
		message("save: this is a core already");
		return ERROR_USAGE;
	}
	struct output_file file = OUTPUT_FILE_NONE;
	int code = file_open(words[1], &file);
	if (code)
		return code;
	const bool replaced = file.exists && file.there.st_size;
	code = file_end(&file, core_write(&look->heap.space, file.fd, words[1]));
	if (!code)
		message("a core of process %d written to %s%s", (int)look->heap.pid, words[1],
			replaced_words(replaced));
	return code;
}
