/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The readers: which one recognises a file by its first bytes, and reads it. */
#include "sources/source.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/packing.h"
#include "base/text.h"
#include "base/util.h"
#include "process/core_file.h"
#include "sources/foreign/dhat.h"
#include "sources/foreign/folded.h"
#include "sources/foreign/foreign_query.h"
#include "sources/foreign/gperftools.h"
#include "sources/foreign/heaptrack.h"
#include "sources/foreign/jemalloc.h"
#include "sources/foreign/massif.h"
#include "sources/foreign/mtrace.h"
#include "sources/foreign/pprof.h"
#include "sources/foreign/valgrind_xml.h"
#include "sources/heap_model.h"
#include "sources/java/jfr.h"
#include "sources/recording/hpw.h"
#include "sources/recording/input.h"
#include "sources/recording/stream.h"
#include "sources/v8/heapprofile.h"
#include "sources/v8/heapsnapshot.h"

static bool core_recognise(const uint8_t *head, size_t len)
{
	return core_file_is(head, len);
}

static struct error *core_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	(void)flags;
	struct error *error = foreign_refuse(input, query, 0, "a core dump");
	return error ? error : heap_model_of_core(input, ret);
}

/* Formats of others, which may be packed; the order counts: the last ones take what nothing in
 * them forbids. */
static const struct foreign_source {
	const char *name;
	bool (*recognise)(const uint8_t *head, size_t len); /* of the unpacked file */
	struct error *(*open)(const struct input *input, unsigned flags,
		const struct source_query *query, struct model **ret);
	/* NULL: it has no events. */
	struct error *(*events)(const struct input *input, const struct source_query *query,
		const struct event_sink *sink);
} foreign_sources[] = {
	{"core", core_recognise, core_open, NULL},
	{"jemalloc", jemalloc_recognise, jemalloc_open, NULL},
	{"gperftools", gperftools_recognise, gperftools_open, NULL},
	{"dhat", dhat_recognise, dhat_open, NULL},
	{"massif", massif_recognise, massif_open, NULL},
	{"valgrind", valgrind_xml_recognise, valgrind_xml_open, NULL},
	{"heaptrack", heaptrack_recognise, heaptrack_open, heaptrack_events},
	{"mtrace", mtrace_recognise, mtrace_open, mtrace_events},
	{"jfr", jfr_recognise, jfr_open, NULL},
	{"heapprofile", heapprofile_recognise, heapprofile_open, NULL},
	{"heapsnapshot", heapsnapshot_recognise, heapsnapshot_open, NULL},
	{"pprof", pprof_recognise, pprof_open, NULL},
	{"folded", folded_recognise, folded_open, NULL},
};

#define HEAD_BYTES 4096u

#define SANITIZER_LOG(name)                                                                        \
	"is a log of " name ", which can't be read; 'heapwise run --leak-check PROGRAM' records "  \
	"leaks with stacks of a build without -fsanitize"
#define VALGRIND_LOG                                                                               \
	"is a text log of Valgrind; use 'valgrind --leak-check=full --xml=yes --xml-file=OUT "     \
	"PROGRAM'"

/* What people give by mistake: by how it begins, or by words in its head. */
static const struct mistaken {
	const char *magic;
	size_t len;       /* 0: anywhere in the head */
	const char *what; /* and what to do instead */
} mistaken[] = {
	{"\x7f"
	 "ELF",
		4, "is an ELF file (a program or library), not a recording or heap profile"},
	{"\xfd"
	 "7zXZ",
		5, "is compressed with xz; unpack it first with xz -d"},
	{"BZh", 3, "is compressed with bzip2; unpack it first with bzip2 -d"},
	{"\x04\x22\x4d\x18", 4, "is compressed with lz4; unpack it first with lz4 -d"},
	{"PK\x03\x04", 4, "is a zip archive; unpack it first with unzip"},
	{"\xff\xfe", 2,
		"is text in UTF-16, as written by PowerShell's '>'; convert it with iconv -f "
		"UTF-16 -t UTF-8"},
	{"#!", 2, "is a script, not a recording or heap profile"},
	{"--- heapz ", 10,
		"is a heap profile of Java; convert it with 'go tool pprof -proto -output OUT "
		"FILE'"},
	{"JAVA PROFILE 1.0.", 17,
		"is a heap dump of a JVM; 'heapwise java FILE' shows its classes and what holds "
		"them"},
	{"\"hitCount\"", 0,
		"is a CPU profile of V8, which contains no heap data; use node --heap-prof, which "
		"writes a .heapprofile"},
	{"ERROR: AddressSanitizer", 0, SANITIZER_LOG("AddressSanitizer")},
	{"ERROR: LeakSanitizer", 0, SANITIZER_LOG("LeakSanitizer")},
	{"WARNING: MemorySanitizer", 0, SANITIZER_LOG("MemorySanitizer")},
	{"WARNING: ThreadSanitizer", 0, SANITIZER_LOG("ThreadSanitizer")},
	{"== Memcheck, a memory error detector", 0, VALGRIND_LOG},
	{"== HEAP SUMMARY:", 0, VALGRIND_LOG},
	{"== LEAK SUMMARY:", 0, VALGRIND_LOG},
	{"== Massif, a heap profiler", 0,
		"is the log of Valgrind's Massif; read its output file massif.out.PID "
		"(--massif-out-file) instead"},
	{"== DHAT, a dynamic heap analysis tool", 0,
		"is the log of Valgrind's DHAT; read its output file dhat.out.PID "
		"(--dhat-out-file) instead"},
};

/* NULL: it is like none of them. */
static const char *mistake_find(const char *head, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(mistaken); i++) {
		const struct mistaken *one = &mistaken[i];
		if (one->len ? len >= one->len && !memcmp(head, one->magic, one->len)
			     : memmem(head, len, one->magic, strlen(one->magic)) != NULL)
			return one->what;
	}
	return NULL;
}

static struct error *source_refuse(const struct input *input)
{
	char head[HEAD_BYTES + 1] = {0};
	size_t len = input->bytes < HEAD_BYTES ? (size_t)input->bytes : HEAD_BYTES;
	struct error *error = input->read(input, 0, head, len);
	if (error)
		return error;
	if (!len)
		return error_create(ERROR_INPUT, "%s: is empty, not a recording", input->name);
	if (strspn(head, " \t\r\n") == len)
		return error_create(
			ERROR_INPUT, "%s: contains only white space, not a recording", input->name);
	const char *what = mistake_find(head, len);
	if (what)
		return error_create(ERROR_INPUT, "%s: %s", input->name, what);
	_cleanup_(text_deinit) struct text known;
	text_init(&known);
	for (size_t i = 0; i < ARRAY_SIZE(foreign_sources); i++)
		text_printf(&known, ", %s", foreign_sources[i].name);
	return error_create(ERROR_INPUT,
		"%s: unrecognised file format; supported: heapwise recordings (.hpw)%s",
		input->name, known.data ? known.data : "");
}

/* The reader of a foreign file; NULL: none knows it. */
static struct error *find_foreign(const struct input *input, const struct foreign_source **ret)
{
	*ret = NULL;
	_cleanup_(stream_close) struct stream stream;
	struct error *error = stream_open(&stream, input, stream_whole_limit(input));
	const uint8_t *head;
	size_t len;
	if (!error)
		error = stream_peek(&stream, HEAD_BYTES, &head, &len);
	if (error)
		return error;
	for (size_t i = 0; i < ARRAY_SIZE(foreign_sources) && !*ret; i++)
		if (foreign_sources[i].recognise(head, len))
			*ret = &foreign_sources[i];
	enum packing inner = packing_of(head, len);
	if (!*ret && stream.packing != PACKING_NONE && inner != PACKING_NONE)
		return error_create(ERROR_INPUT,
			"%s: is compressed twice, %s inside %s: unpack it once", input->name,
			packing_name(inner), packing_name(stream.packing));
	if (*ret || len < HEAD_BYTES || memchr(head, '\n', len) || !folded_may_be(head, len))
		return NULL;
	/* A first line that is longer than the head tells its kind at its end. */
	error = stream_peek(&stream, STREAM_LINE_MAX + 1, &head, &len);
	if (error)
		return error;
	const uint8_t *line_end = memchr(head, '\n', len);
	if (!line_end && len > STREAM_LINE_MAX)
		return error_create(ERROR_INPUT,
			"%s: line 1 is longer than %u bytes, the limit for folded stacks",
			input->name, STREAM_LINE_MAX);
	if (folded_recognise(head, line_end ? (size_t)(line_end - head) : len))
		*ret = &foreign_sources[ARRAY_SIZE(foreign_sources) - 1];
	return NULL;
}

static struct error *open_input(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	bool matches = false;
	struct error *error = hpw_recognise(input, &matches);
	if (error)
		return error;
	if (matches)
		return hpw_open(input, flags, query, ret);
	const struct foreign_source *source;
	error = find_foreign(input, &source);
	if (error)
		return error;
	if (source && query && query->class >= SOURCE_MAPPINGS)
		return error_create(ERROR_INPUT,
			"%s: %s files don't say what a program mapped: record it with heapwise run "
			"--mmap",
			input->name, source->name);
	return source ? source->open(input, flags, query, ret) : source_refuse(input);
}

static struct error *open_place(struct input *input, const struct source_place *place)
{
	struct error *error = input_open_file(input, place->path);
	if (error) {
		input->fd = -1;
		return error;
	}
	input->name = place->name;
	input->root = place->root;
	input->program = place->program;
	return NULL;
}

struct error *source_open_place(const struct source_place *place, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	_cleanup_(input_close) struct input input;
	struct error *error = open_place(&input, place);
	return error ? error : open_input(&input, flags, query, ret);
}

struct error *source_open_query(
	const char *path, unsigned flags, const struct source_query *query, struct model **ret)
{
	const struct source_place place = {.path = path, .name = path};
	return source_open_place(&place, flags, query, ret);
}

struct error *source_open_with(const char *path, unsigned flags, struct model **ret)
{
	return source_open_query(path, flags, NULL, ret);
}

struct error *source_open(const char *path, struct model **ret)
{
	return source_open_with(path, 0, ret);
}

struct error *source_open_bytes_query(const char *name, const void *data, size_t len,
	unsigned flags, const struct source_query *query, struct model **ret)
{
	struct input input;
	input_of_buffer(&input, name, data, len);
	return open_input(&input, flags, query, ret);
}

struct error *source_open_bytes(
	const char *name, const void *data, size_t len, unsigned flags, struct model **ret)
{
	return source_open_bytes_query(name, data, len, flags, NULL, ret);
}

static struct error *events_of_input(
	const struct input *input, const struct source_query *query, const struct event_sink *sink)
{
	bool matches = false;
	struct error *error = hpw_recognise(input, &matches);
	if (error)
		return error;
	if (matches)
		return hpw_events(input, query, sink);
	const struct foreign_source *source;
	error = find_foreign(input, &source);
	if (error)
		return error;
	if (source && source->events)
		return source->events(input, query, sink);
	return source ? error_create(ERROR_INPUT,
				"%s: %s files contain sums, no events; expected a recording, or a "
				"heaptrack or mtrace file",
				input->name, source->name)
		      : source_refuse(input);
}

struct error *source_events(const struct source_place *place, const struct source_query *query,
	const struct event_sink *sink)
{
	_cleanup_(input_close) struct input input;
	struct error *error = open_place(&input, place);
	return error ? error : events_of_input(&input, query, sink);
}
