/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See mtrace.h; written by malloc/mtrace-impl.c of glibc:
 *
 *	= Start
 *	@ FILE:(FUNCTION+OFFSET)[ADDRESS] + BLOCK SIZE
 *	@ FILE:[ADDRESS] - BLOCK
 *	@ FILE:[ADDRESS] < BLOCK         both lines are of one realloc
 *	@ FILE:[ADDRESS] > BLOCK SIZE
 *	@ FILE:[ADDRESS] ! BLOCK SIZE    a realloc that failed
 *
 * An allocation that failed has the block (nil). Addresses of callers are those in the file
 * (glibc 2.29 and later), or in memory.
 */
#include "sources/foreign/mtrace.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "sources/events/event_adapter.h"
#include "sources/events/event_lines.h"
#include "sources/events/event_sums.h"
#include "sources/events/hpw_replay.h"
#include "sources/foreign/foreign.h"
#include "sources/foreign/foreign_query.h"

/* No file has code at higher addresses; then it is one in memory. */
#define FILE_ADDRESS_MAX (UINT64_C(1) << 40)
#define THREAD 0u /* which one it was is not said */
/* What a caller takes besides its name, about. */
#define CALLER_BYTES 100u

struct caller_key {
	const char *data; /* "FILE:(FUNCTION+OFFSET)[ADDRESS]" */
	size_t len;
	enum alloc_kind kind;
};

static inline uint64_t caller_hash(struct caller_key key)
{
	return hash_bytes(key.data, key.len) ^ (uint64_t)key.kind;
}

static inline bool caller_equal(struct caller_key a, struct caller_key b)
{
	return a.len == b.len && a.kind == b.kind && memcmp(a.data, b.data, a.len) == 0;
}

DEFINE_MAP(caller_sites, struct caller_key, uint32_t, caller_hash, caller_equal)

/* One line, taken apart; its strings live as long as the line. */
struct record {
	char what; /* '+', '-', '<', '>', '!', '=' */
	struct foreign_text caller;
	uint64_t block, size;
	bool failed;
};

struct log {
	const struct input *input;
	struct foreign foreign;
	struct arena arena;
	struct caller_sites sites;
	uint64_t callers, callers_limit; /* bytes of different ones */
	uint64_t allocated_bytes, events;
	bool begun; /* a line was read */
	bool cut;
};

static void log_deinit(struct log *log)
{
	foreign_deinit(&log->foreign);
	arena_deinit(&log->arena);
	caller_sites_deinit(&log->sites);
}

static bool mtrace_take_word(const char **at, const char *end, const char *word)
{
	size_t len = strlen(word);
	if ((size_t)(end - *at) < len || memcmp(*at, word, len) != 0)
		return false;
	*at += len;
	return true;
}

/* "0x55d0a2c0" and a space, "(nil)". */
static bool mtrace_take_number(const char **at, const char *end, uint64_t *ret)
{
	*ret = 0;
	if (mtrace_take_word(at, end, "(nil)"))
		return *at == end || *(*at)++ == ' ';
	/* printf has no 0x for 0. */
	return (mtrace_take_word(at, end, "0x") || **at == '0') && event_lines_hex(at, end, ret);
}

/* After "@ ": what comes before the last "] ". */
static bool take_caller(const char **at, const char *end, struct foreign_text *ret)
{
	const char *last = NULL;
	if (!mtrace_take_word(at, end, "@ "))
		return true;
	for (const char *pos = *at; pos + 1 < end; pos++)
		if (pos[0] == ']' && pos[1] == ' ')
			last = pos;
	if (!last)
		return false;
	*ret = (struct foreign_text){.data = *at, .len = (size_t)(last + 1 - *at)};
	*at = last + 2;
	return true;
}

static bool mtrace_parse(const char *line, size_t len, struct record *ret)
{
	const char *at = line, *end = line + len;
	*ret = (struct record){.what = '='};
	if (line[0] == '=')
		return true;
	if (!take_caller(&at, end, &ret->caller) || end - at < 3 || at[1] != ' ' ||
		!strchr("+-<>!", at[0]))
		return false;
	ret->what = at[0];
	at += 2;
	ret->failed = ret->what == '!' || (ret->what == '+' && *at == '(');
	bool sized = ret->what == '+' || ret->what == '>' || ret->what == '!';
	return mtrace_take_number(&at, end, &ret->block) &&
	       (!sized || mtrace_take_number(&at, end, &ret->size)) && at == end;
}

/* mtrace() writes it once, into a file that it has emptied. */
static bool is_start(const char *line, size_t len)
{
	static const char start[] = "= Start";
	return len == strlen(start) && memcmp(line, start, len) == 0;
}

static enum alloc_kind mtrace_kind_of(const struct record *record)
{
	return record->what == '>' || record->what == '!' ? KIND_REALLOC : KIND_UNKNOWN;
}

static bool mtrace_allocates(const struct record *record)
{
	return record->what == '+' || record->what == '>' || record->what == '!';
}

/* "FILE:(FUNCTION+OFFSET)[ADDRESS]"; what it does not say is left empty. */
struct caller {
	struct foreign_text file, function;
	uint64_t address;
};

static void parse_caller(struct foreign_text text, struct caller *ret)
{
	const char *end = text.data + text.len;
	const char *bracket = text.data ? memrchr(text.data, '[', text.len) : NULL;
	*ret = (struct caller){.address = 0};
	if (!bracket)
		return;
	const char *at = bracket + 1, *stop = end - 1;
	if (mtrace_take_word(&at, stop, "0x") && !event_lines_hex(&at, stop, &ret->address))
		ret->address = 0;
	size_t len = (size_t)(bracket - text.data);
	const char *open = memrchr(text.data, '(', len);
	if (open && len && text.data[len - 1] == ')') {
		const char *sign = memrchr(open, '+', (size_t)(bracket - open));
		if (!sign)
			sign = memrchr(open, '-', (size_t)(bracket - open));
		if (sign)
			ret->function = (struct foreign_text){
				.data = open + 1, .len = (size_t)(sign - open) - 1};
		len = (size_t)(open - text.data);
	}
	if (len && text.data[len - 1] == ':')
		ret->file = (struct foreign_text){.data = text.data, .len = len - 1};
}

static bool is_there(const char *root, struct foreign_text path)
{
	_cleanup_free_ char *copy = foreign_locate(root, path);
	_cleanup_(input_close) struct input input = {.fd = -1};
	if (!copy)
		return false;
	struct error *error = input_open_file(&input, copy);
	if (!error)
		return true;
	error_destroy(error);
	input.fd = -1;
	return false;
}

/* Addresses count from the file's first byte, as it is mapped. */
static uint64_t bias_of(const char *root, struct foreign_text file)
{
	/* Programs are named as they were called. */
	static const char here[] = "/proc/self/cwd/";
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	if (file.data[0] != '/' && !root)
		text_add(&path, here);
	text_add_n(&path, file.data, file.len);
	const struct foreign_text found = {.data = path.data, .len = path.len};
	return path.failed ? 0 : foreign_bias(root, found, 0, 0);
}

/* Whether what the log calls so is the program, and no library. */
static bool is_program(struct foreign_text file)
{
	static const char library[] = ".so";
	const char *slash = file.len ? memrchr(file.data, '/', file.len) : NULL;
	const char *name = slash ? slash + 1 : file.data;
	return !file.len ||
	       !memmem(name, (size_t)(file.data + file.len - name), library, strlen(library));
}

/* The file that the log means: of the program the one that the user names. */
static struct foreign_text file_of(const struct log *log, const struct caller *caller)
{
	const char *program = log->foreign.root ? NULL : log->input->program;
	if (!program || caller->address >= FILE_ADDRESS_MAX || !is_program(caller->file))
		return caller->file;
	return (struct foreign_text){.data = program, .len = strlen(program)};
}

/* A file that is there says more of its code than the log does. */
static struct error *make_frame(
	struct log *log, const struct caller *caller, struct foreign_frame *ret)
{
	struct foreign *foreign = &log->foreign;
	struct module_id module = {0};
	struct foreign_line line = {.function = caller->function};
	const struct foreign_text file = file_of(log, caller);
	bool look_up = false;
	if (file.len) {
		struct module about = {.bias = bias_of(foreign->root, file)};
		struct error *error = foreign_module(foreign, file, &about, &module);
		if (error)
			return error;
		look_up = caller->address < FILE_ADDRESS_MAX && is_there(foreign->root, file);
	}
	return foreign_frame(foreign, module, caller->address, false, look_up ? NULL : &line,
		look_up ? 0 : 1, ret);
}

static struct error *mtrace_make_site(struct log *log, struct caller_key key, uint32_t *ret)
{
	struct caller caller;
	struct foreign_frame frame;
	struct stack_id stack = {0};
	struct site_id site;
	struct error *error = NULL;
	const struct foreign_text text = {.data = key.data, .len = key.len};
	parse_caller(text, &caller);
	if (key.len) {
		error = make_frame(log, &caller, &frame);
		if (!error)
			error = foreign_push(&log->foreign, stack, frame, &stack);
	}
	if (!error)
		error = foreign_site(&log->foreign, stack, key.kind, &site);
	if (!error)
		*ret = site.value;
	return error;
}

static struct error *meet_caller(
	struct log *log, const struct stream *stream, const struct record *record)
{
	struct caller_key key = {.data = record->caller.data ? record->caller.data : "",
		.len = record->caller.len,
		.kind = mtrace_kind_of(record)};
	if (caller_sites_find(&log->sites, key))
		return NULL;
	log->callers += key.len + CALLER_BYTES;
	if (log->callers > log->callers_limit)
		return stream_error(stream,
			"exceeds %" PRIu64 " MiB of callers, too many for a log of that size",
			log->callers_limit >> 20);
	key.data = arena_strndup(&log->arena, key.data, key.len);
	uint32_t site;
	if (!key.data)
		return error_no_memory();
	struct error *error = mtrace_make_site(log, key, &site);
	uint32_t *value = error ? NULL : caller_sites_insert(&log->sites, key, NULL);
	if (!error && !value)
		error = error_no_memory();
	if (!error)
		*value = site;
	return error;
}

/* Shows what of a line that is none. */
#define SHOWN_MAX 60

static struct error *mtrace_read_line(
	struct log *log, const struct stream *stream, const char *line, size_t len)
{
	struct record record;
	if (!len)
		return NULL;
	if (!mtrace_parse(line, len, &record))
		return stream_error(stream, "invalid mtrace line: %.*s",
			(int)min(len, (size_t)SHOWN_MAX), line);
	if (log->begun && is_start(line, len))
		return stream_error(stream,
			"begins another log, whose blocks have the same addresses: put "
			"each into its own file; 'heapwise report --merge' adds them up");
	log->begun = true;
	log->events += record.what != '=';
	if (!mtrace_allocates(&record))
		return NULL;
	if (!record.failed &&
		__builtin_add_overflow(log->allocated_bytes, record.size, &log->allocated_bytes))
		return stream_error(stream, "makes more than 2^64 bytes of allocations");
	return meet_caller(log, stream, &record);
}

static struct error *read_callers(struct log *log)
{
	_cleanup_(event_lines_close) struct event_lines lines;
	struct error *error = event_lines_open(&lines, log->input);
	while (!error) {
		char *line;
		size_t len;
		error = event_lines_next(&lines, &line, &len);
		if (error || !line)
			break;
		error = mtrace_read_line(log, &lines.stream, line, len);
	}
	log->cut = lines.cut;
	return error;
}

static uint32_t site_of(const struct log *log, const struct record *record)
{
	const struct caller_key key = {.data = record->caller.data ? record->caller.data : "",
		.len = record->caller.len,
		.kind = mtrace_kind_of(record)};
	const uint32_t *site = caller_sites_find(&log->sites, key);
	return site ? *site : UINT32_MAX;
}

static struct error *replay_record(
	const struct log *log, struct event_adapter *feed, const struct record *record)
{
	switch (record->what) {
	case '+':
	case '>':
	case '!':
		if (record->failed)
			return event_adapter_failed(
				feed, THREAD, record->size, site_of(log, record));
		return event_adapter_alloc(
			feed, THREAD, record->block, record->size, site_of(log, record));
	case '-':
		/* free(NULL) is none. */
		return record->block ? event_adapter_free(feed, THREAD, record->block, HW_FREE)
				     : NULL;
	case '<':
		return event_adapter_free(feed, THREAD, record->block, HW_FREE_REALLOC);
	default:
		return NULL;
	}
}

static struct error *replay_lines(const struct log *log, struct event_adapter *feed,
	struct event_lines *lines, const bool *enough)
{
	struct error *error = NULL;
	while (!error && !(enough && *enough)) {
		struct record record;
		char *line;
		size_t len;
		error = event_lines_next(lines, &line, &len);
		if (error || !line)
			break;
		if (len && mtrace_parse(line, len, &record))
			error = replay_record(log, feed, &record);
		if (!error && feed->blocks.len > event_lines_blocks_max(log->input->bytes))
			error = stream_error(&lines->stream,
				"makes more live blocks than a file of this size has");
	}
	return error;
}

static struct error *mtrace_replay(
	const void *context, const struct hpw_visitor *visitor, const bool *enough)
{
	const struct log *log = context;
	_cleanup_(event_adapter_deinit) struct event_adapter feed;
	_cleanup_(event_lines_close) struct event_lines lines = {.cut = false};
	struct error *error = event_adapter_init(&feed, visitor);
	if (!error)
		error = event_lines_open(&lines, log->input);
	if (!error)
		error = replay_lines(log, &feed, &lines, enough);
	return error;
}

#define UNKNOWN (UNKNOWN_THREADS | UNKNOWN_TIMES)

static struct event_replay story_of(const struct log *log)
{
	return (struct event_replay){.context = log,
		.each = mtrace_replay,
		.blocks_max = event_lines_blocks_max(log->input->bytes)};
}

static struct error *open_log(struct log *log, const struct input *input)
{
	*log = (struct log){.input = input, .callers_limit = event_lines_defined_limit(input)};
	arena_init(&log->arena);
	struct error *error = foreign_create(&log->foreign, "mtrace", input);
	return error ? error : read_callers(log);
}

bool mtrace_recognise(const uint8_t *head, size_t len)
{
	const uint8_t *end = len ? memchr(head, '\n', len) : NULL;
	struct record record;
	if (!end)
		return false;
	len = (size_t)(end - head);
	len -= len && head[len - 1] == '\r';
	if (is_start((const char *)head, len))
		return true;
	return len > 2 && head[0] == '@' && head[1] == ' ' &&
	       mtrace_parse((const char *)head, len, &record);
}

struct error *mtrace_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	struct error *error = foreign_refuse(
		input, query, FOREIGN_MOMENTS | FOREIGN_BY_SIZE | FOREIGN_BY_LIFE, "an mtrace log");
	if (error)
		return error;
	_cleanup_(log_deinit) struct log log;
	error = open_log(&log, input);
	const struct event_replay story = story_of(&log);
	return error ? error
		     : event_sums_finish(
			       &story, UNKNOWN, flags, query, log.cut, &log.foreign.model, ret);
}

struct error *mtrace_events(
	const struct input *input, const struct source_query *query, const struct event_sink *sink)
{
	_cleanup_(log_deinit) struct log log;
	struct error *error = open_log(&log, input);
	const struct event_replay story = story_of(&log);
	return error ? error : event_sums_events(&story, UNKNOWN, query, log.foreign.model, sink);
}
