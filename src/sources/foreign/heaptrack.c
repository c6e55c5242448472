/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See heaptrack.h. The file is read twice: for what it defines (strings, frames, stacks, sizes),
 * which becomes the model's sites, and for the events, as often as they are asked for.
 */
#include "sources/foreign/heaptrack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "sources/events/event_lines.h"
#include "sources/events/event_sums.h"
#include "sources/events/hpw_replay.h"
#include "sources/foreign/foreign.h"
#include "sources/foreign/foreign_query.h"

#define VERSION_FIRST 1u
#define VERSION_LAST 3u
#define VERSION_NAMED_LENGTHS 3u /* strings have their length before them */
/* Written before files had a version of their own; they are of version 1. */
#define WRITER_UNVERSIONED 0x10200u
#define MS UINT64_C(1000000)
#define NO_INFO UINT32_MAX
#define END_REMARK "# strings: "
/* What a definition takes besides its line, about. */
#define DEFINED_BYTES 32u

struct trace {
	struct stack_id stack;
	enum alloc_kind kind; /* that its innermost frames were of; they are no part of it */
};

/* What was allocated: a size, at a site. */
struct info {
	uint64_t size;
	uint32_t site;
};

struct ip {
	struct foreign_frame frame;
	enum alloc_kind kind; /* an operator new itself */
};

DEFINE_VEC(text_vec, struct foreign_text)
DEFINE_VEC(ip_vec, struct ip)
DEFINE_VEC(trace_vec, struct trace)
DEFINE_VEC(info_vec, struct info)

struct tables {
	const struct input *input;
	struct foreign foreign;
	struct arena arena; /* strings */
	struct text_vec strings;
	struct ip_vec ips;
	struct trace_vec traces;
	struct info_vec infos;
	uint64_t version, allocated_bytes;
	uint64_t defined, defined_limit; /* bytes of what defines something */
	uint64_t last_ms, events;
	bool has_version, has_command, has_end, cut;
	const struct stream *stream; /* while it is read, for messages */
};

static void tables_deinit(struct tables *tables)
{
	foreign_deinit(&tables->foreign);
	arena_deinit(&tables->arena);
	text_vec_deinit(&tables->strings);
	ip_vec_deinit(&tables->ips);
	trace_vec_deinit(&tables->traces);
	info_vec_deinit(&tables->infos);
}

static struct error *heaptrack_malformed(const struct tables *tables, const char *what)
{
	return stream_error(tables->stream, "is not %s of heaptrack", what);
}

static struct error *heaptrack_missing(
	const struct tables *tables, const char *what, uint64_t index, size_t count)
{
	return stream_error(tables->stream,
		"names %s %" PRIu64 ", of which there are %zu at that place", what, index, count);
}

static struct error *read_version(struct tables *tables, const char *at, const char *end)
{
	uint64_t writer;
	if (!event_lines_hex(&at, end, &writer))
		return heaptrack_malformed(tables, "a version");
	if (!event_lines_hex(&at, end, &tables->version))
		tables->version = writer == WRITER_UNVERSIONED;
	if (tables->version < VERSION_FIRST)
		return stream_error(tables->stream,
			"is from a heaptrack before 1.0; heapwise reads versions 1 "
			"to 3 (a newer heaptrack_gui reads it)");
	if (tables->version > VERSION_LAST)
		return stream_error(tables->stream,
			"is of version %" PRIu64
			" of heaptrack's format, which is newer than 3, the latest supported",
			tables->version);
	tables->has_version = true;
	return NULL;
}

static struct error *count_defined(struct tables *tables, uint64_t bytes)
{
	tables->defined += bytes;
	if (tables->defined <= tables->defined_limit)
		return NULL;
	return stream_error(tables->stream,
		"exceeds %" PRIu64 " MiB of names and stacks, too many for a file of that size",
		tables->defined_limit >> 20);
}

/* Of version 3 with ends of lines in it, as long as it says. */
static struct error *read_long_string(struct tables *tables, struct event_lines *lines,
	const char *at, const char *end, uint64_t len, char **ret)
{
	if (len > STREAM_LINE_MAX)
		return stream_error(tables->stream, "has a string of %" PRIu64 " bytes", len);
	struct error *error = count_defined(tables, len);
	if (error)
		return error;
	char *copy = *ret = arena_alloc(&tables->arena, len + 1);
	if (!copy)
		return error_no_memory();
	copy[len] = '\0';
	size_t have = (size_t)(end - at);
	memcpy(copy, at, have);
	while (have < len) {
		char *line;
		size_t line_len, ended = lines->stream.carriage ? 2 : 1;
		error = event_lines_next(lines, &line, &line_len);
		if (error)
			return error;
		if (!line || len - have < ended || line_len > len - have - ended)
			return stream_error(tables->stream, "ends a string that is longer");
		if (ended > 1)
			copy[have++] = '\r';
		copy[have++] = '\n';
		memcpy(copy + have, line, line_len);
		have += line_len;
	}
	return NULL;
}

static struct error *read_string(
	struct tables *tables, struct event_lines *lines, const char *at, const char *end)
{
	uint64_t len = (uint64_t)(end - at);
	struct error *error = NULL;
	char *copy = NULL;
	if (tables->version >= VERSION_NAMED_LENGTHS) {
		if (!event_lines_hex(&at, end, &len) || len < (uint64_t)(end - at))
			return heaptrack_malformed(tables, "a string");
		error = read_long_string(tables, lines, at, end, len, &copy);
	} else {
		copy = arena_strndup(&tables->arena, at, len);
		error = copy ? NULL : error_no_memory();
	}
	const struct foreign_text text = {.data = copy, .len = (size_t)len};
	if (!error && !text_vec_push(&tables->strings, text))
		error = error_no_memory();
	return error;
}

static struct error *find_string(
	const struct tables *tables, uint64_t index, struct foreign_text *ret)
{
	*ret = (struct foreign_text){.data = NULL};
	if (index > tables->strings.len)
		return heaptrack_missing(tables, "string", index, tables->strings.len);
	if (index)
		*ret = tables->strings.data[index - 1];
	return NULL;
}

static enum alloc_kind operator_kind(struct foreign_text name)
{
	static const struct {
		const char *name;
		enum alloc_kind kind;
	} operators[] = {
		{"operator new(unsigned long)", KIND_NEW},
		{"operator new[](unsigned long)", KIND_NEW_ARRAY},
		{"operator new(unsigned int)", KIND_NEW},
		{"operator new[](unsigned int)", KIND_NEW_ARRAY},
	};
	for (size_t i = 0; name.data && i < ARRAY_SIZE(operators); i++)
		if (strlen(operators[i].name) == name.len &&
			!memcmp(operators[i].name, name.data, name.len))
			return operators[i].kind;
	return KIND_UNKNOWN;
}

#define LINES_MAX 256u

/* "function file line", as often as something was inlined, innermost first; the last one may have
 * neither file nor line. */
static struct error *heaptrack_read_lines(struct tables *tables, const char *at, const char *end,
	struct foreign_line *lines, size_t *ret)
{
	size_t count = 0;
	for (uint64_t function; event_lines_hex(&at, end, &function); count++) {
		uint64_t file = 0, line = 0;
		if (count == LINES_MAX)
			return stream_error(tables->stream, "has too many inlined functions");
		if (event_lines_hex(&at, end, &file) && !event_lines_hex(&at, end, &line))
			return heaptrack_malformed(tables, "a frame");
		struct error *error = find_string(tables, function, &lines[count].function);
		if (!error)
			error = find_string(tables, file, &lines[count].file);
		if (error)
			return error;
		lines[count].line = line < UINT32_MAX ? (uint32_t)line : 0;
	}
	*ret = count;
	return at == end ? NULL : heaptrack_malformed(tables, "a frame");
}

static struct error *read_ip(struct tables *tables, const char *at, const char *end)
{
	uint64_t address, module_name;
	struct foreign_line lines[LINES_MAX] = {{.line = 0}};
	struct foreign_text path;
	struct module_id module = {0};
	size_t count = 0;
	if (!event_lines_hex(&at, end, &address) || !event_lines_hex(&at, end, &module_name))
		return heaptrack_malformed(tables, "a frame");
	struct error *error = find_string(tables, module_name, &path);
	if (!error && path.len) {
		/* Where it was is not in the file; addresses are those in memory. */
		static const struct module anywhere = {.path = "", .end = UINT64_MAX};
		error = foreign_module(&tables->foreign, path, &anywhere, &module);
	}
	if (!error)
		error = heaptrack_read_lines(tables, at, end, lines, &count);
	/* No symbols can be looked up. */
	struct ip ip = {.kind = operator_kind(lines[0].function)};
	if (!error)
		error = foreign_frame(&tables->foreign, module, address, false, lines,
			max(count, (size_t)1), &ip.frame);
	if (!error && !ip_vec_push(&tables->ips, ip))
		error = error_no_memory();
	return error;
}

static struct error *read_trace(struct tables *tables, const char *at, const char *end)
{
	uint64_t ip_index, parent;
	struct trace trace = {.kind = KIND_UNKNOWN};
	if (!event_lines_hex(&at, end, &ip_index) || !event_lines_hex(&at, end, &parent))
		return heaptrack_malformed(tables, "a stack");
	if (!ip_index || ip_index > tables->ips.len)
		return heaptrack_missing(tables, "frame", ip_index, tables->ips.len);
	if (parent > tables->traces.len)
		return heaptrack_missing(tables, "stack", parent, tables->traces.len);
	const struct ip *ip = &tables->ips.data[ip_index - 1];
	if (parent)
		trace = tables->traces.data[parent - 1];
	struct error *error = NULL;
	if (ip->kind == KIND_UNKNOWN) {
		trace.kind = KIND_UNKNOWN;
		error = foreign_push(&tables->foreign, trace.stack, ip->frame, &trace.stack);
	} else if (trace.kind == KIND_UNKNOWN) {
		trace.kind = ip->kind;
	}
	if (!error && !trace_vec_push(&tables->traces, trace))
		error = error_no_memory();
	return error;
}

static struct error *read_info(struct tables *tables, const char *at, const char *end)
{
	uint64_t trace_index;
	struct info info;
	struct trace trace = {.kind = KIND_UNKNOWN};
	struct site_id site;
	if (!event_lines_hex(&at, end, &info.size) || !event_lines_hex(&at, end, &trace_index))
		return heaptrack_malformed(tables, "a size and stack");
	if (trace_index > tables->traces.len)
		return heaptrack_missing(tables, "stack", trace_index, tables->traces.len);
	if (tables->infos.len == NO_INFO)
		return stream_error(tables->stream, "has too many sizes and stacks");
	if (trace_index)
		trace = tables->traces.data[trace_index - 1];
	struct error *error = foreign_site(&tables->foreign, trace.stack, trace.kind, &site);
	info.site = site.value;
	if (!error && !info_vec_push(&tables->infos, info))
		error = error_no_memory();
	return error;
}

static struct error *read_event(struct tables *tables, char mode, const char *at, const char *end)
{
	uint64_t index;
	if (!event_lines_hex(&at, end, &index))
		return heaptrack_malformed(tables, "an event");
	if (index >= tables->infos.len)
		return heaptrack_missing(tables, "allocation", index, tables->infos.len);
	tables->events++;
	if (mode == '+' && __builtin_add_overflow(tables->allocated_bytes,
				   tables->infos.data[index].size, &tables->allocated_bytes))
		return stream_error(tables->stream, "makes more than 2^64 bytes of allocations");
	return NULL;
}

static struct error *read_time(struct tables *tables, const char *at, const char *end)
{
	uint64_t ms;
	if (!event_lines_hex(&at, end, &ms) || ms > UINT64_MAX / 2 / MS)
		return heaptrack_malformed(tables, "a time");
	tables->last_ms = max(tables->last_ms, ms);
	return NULL;
}

static struct error *read_command(struct tables *tables, const char *at, const char *end)
{
	struct error *error = NULL;
	if (tables->has_command)
		return stream_error(tables->stream, "has a second command");
	tables->has_command = true;
	while (!error && at < end) {
		const char *space = memchr(at, ' ', (size_t)(end - at));
		size_t len = (size_t)((space ? space : end) - at);
		error = build_argument(tables->foreign.model, at, len);
		at += len + (space != NULL);
	}
	return error;
}

static struct error *refuse_raw(const struct tables *tables)
{
	return stream_error(tables->stream,
		"is raw heaptrack data without names: 'zstd -dc FILE | "
		"/usr/lib/heaptrack/libexec/heaptrack_interpret | zstd > NEW.zst' converts it, on "
		"the machine where it was recorded");
}

static struct error *heaptrack_define(struct tables *tables, struct event_lines *lines, char mode,
	const char *at, const char *end)
{
	struct error *error = count_defined(tables, (uint64_t)(end - at) + DEFINED_BYTES);
	if (error)
		return error;
	switch (mode) {
	case 's':
		return read_string(tables, lines, at, end);
	case 'i':
		return read_ip(tables, at, end);
	case 't':
		return read_trace(tables, at, end);
	default:
		return read_info(tables, at, end);
	}
}

static bool starts_with(const char *line, size_t len, const char *word)
{
	return len >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

static struct error *heaptrack_read_line(
	struct tables *tables, struct event_lines *lines, const char *line, size_t len)
{
	const char *at = line + min(len, (size_t)2), *end = line + len;
	if (!len)
		return NULL;
	if (!tables->has_version && line[0] != 'v' && line[0] != '#')
		return heaptrack_malformed(tables, "the version of a file");
	switch (line[0]) {
	case 'v':
		return tables->has_version ? heaptrack_malformed(tables, "a second version")
					   : read_version(tables, at, end);
	case '+':
	case '-':
		return read_event(tables, line[0], at, end);
	case 's':
	case 'i':
	case 't':
	case 'a':
		return heaptrack_define(tables, lines, line[0], at, end);
	case 'c':
		return read_time(tables, at, end);
	case 'X':
		return read_command(tables, at, end);
	case 'x':
	case 'm':
		return refuse_raw(tables);
	case '#': /* a remark */
		tables->has_end |= starts_with(line, len, END_REMARK);
		return NULL;
	case 'A': /* it was attached to a running program */
	case 'I': /* pages of the machine */
	case 'R': /* resident memory */
	case 'S': /* a suppression of leaks */
		return NULL;
	default:
		return heaptrack_malformed(tables, "a record");
	}
}

static struct error *read_tables(struct tables *tables)
{
	_cleanup_(event_lines_close) struct event_lines lines;
	struct error *error = event_lines_open(&lines, tables->input);
	tables->stream = &lines.stream;
	while (!error) {
		char *line;
		size_t len;
		error = event_lines_next(&lines, &line, &len);
		if (error || !line)
			break;
		error = heaptrack_read_line(tables, &lines, line, len);
	}
	tables->cut = lines.cut;
	tables->stream = NULL;
	if (error || tables->events || tables->has_end)
		return error;
	/* heaptrack names the program at once, and ends what it writes with remarks; other writers,
	 * which do not, write events. */
	return build_damage(tables->foreign.model,
		tables->has_command
			? "the file ends before the first event: all events are missing"
			: "the file ends before it names a program: events are missing");
}

/* Live blocks of an info, the last one first. */
struct node {
	uint64_t number;
	uint32_t next; /* index + 1; 0: none */
};
DEFINE_VEC(node_vec, struct node)

struct replay {
	const struct tables *tables;
	const struct hpw_visitor *to;
	const struct stream *stream;
	uint32_t *heads; /* by info: index + 1 */
	struct node_vec nodes;
	uint32_t spare; /* index + 1 */
	uint64_t next, live, blocks_max, ms;
	uint32_t last; /* info of the last event, if that was an allocation */
};

static void emitter_deinit(struct replay *replay)
{
	free(replay->heads);
	node_vec_deinit(&replay->nodes);
}

static struct error *push_node(struct replay *replay, uint32_t info, uint64_t number)
{
	uint32_t at = replay->spare;
	if (replay->live++ >= replay->blocks_max)
		return stream_error(replay->stream,
			"makes more than %" PRIu64 " live blocks, too many for a file of this size",
			replay->blocks_max);
	if (at)
		replay->spare = replay->nodes.data[at - 1].next;
	else if (!node_vec_push(&replay->nodes, (struct node){.next = 0}))
		return error_no_memory();
	else
		at = (uint32_t)replay->nodes.len;
	replay->nodes.data[at - 1] = (struct node){.number = number, .next = replay->heads[info]};
	replay->heads[info] = at;
	return NULL;
}

static bool pop_node(struct replay *replay, uint32_t info, uint64_t *ret)
{
	uint32_t at = replay->heads[info];
	if (!at)
		return false;
	struct node *node = &replay->nodes.data[at - 1];
	*ret = node->number;
	replay->heads[info] = node->next;
	node->next = replay->spare;
	replay->spare = at;
	replay->live--;
	return true;
}

static struct error *replay_event(struct replay *replay, bool alloc, uint32_t index)
{
	const struct info *info = &replay->tables->infos.data[index];
	struct hpw_step step = {.kind = alloc ? HPW_STEP_ALLOC : HPW_STEP_FREE};
	if (alloc) {
		step.site = info->site;
		step.size = info->size;
		step.number = replay->next++;
		struct error *error = push_node(replay, index, step.number);
		if (error)
			return error;
	} else {
		step.known = pop_node(replay, index, &step.number);
		step.lasting = replay->last != index;
		step.free_kind = HPW_FREE_MATCHING;
	}
	replay->last = alloc ? index : NO_INFO;
	return replay->to->step ? replay->to->step(replay->to->context, &step) : NULL;
}

static void replay_time(struct replay *replay, uint64_t ms)
{
	/* Times that go back are left out, as heaptrack does. */
	if (ms < replay->ms)
		return;
	replay->ms = ms;
	if (replay->to->time)
		replay->to->time(replay->to->context, ms * MS);
}

static struct error *replay_line(struct replay *replay, const char *line, size_t len)
{
	const char *at = line + min(len, (size_t)2), *end = line + len;
	uint64_t value;
	switch (line[0]) {
	case '+':
	case '-':
		if (event_lines_hex(&at, end, &value) && value < replay->tables->infos.len)
			return replay_event(replay, line[0] == '+', (uint32_t)value);
		return NULL;
	case 'c':
		if (event_lines_hex(&at, end, &value))
			replay_time(replay, value);
		return NULL;
	default:
		return NULL;
	}
}

/* The rest of a string that goes on in the next lines must not be read as events. */
static struct error *skip_string(struct event_lines *lines, const char *line, size_t len)
{
	const char *at = line + min(len, (size_t)2), *end = line + len;
	uint64_t bytes;
	if (!event_lines_hex(&at, end, &bytes))
		return NULL;
	uint64_t have = (uint64_t)(end - at);
	while (have < bytes) {
		char *more;
		size_t more_len, ended = lines->stream.carriage ? 2 : 1;
		struct error *error = event_lines_next(lines, &more, &more_len);
		if (error || !more)
			return error;
		have += more_len + ended;
	}
	return NULL;
}

static struct error *replay_lines(
	struct replay *replay, struct event_lines *lines, const bool *enough)
{
	bool long_strings = replay->tables->version >= VERSION_NAMED_LENGTHS;
	struct error *error = NULL;
	while (!error && !(enough && *enough)) {
		char *line;
		size_t len;
		error = event_lines_next(lines, &line, &len);
		if (error || !line)
			break;
		if (len && line[0] == 's' && long_strings)
			error = skip_string(lines, line, len);
		else if (len)
			error = replay_line(replay, line, len);
	}
	return error;
}

static struct error *heaptrack_replay(
	const void *context, const struct hpw_visitor *visitor, const bool *enough)
{
	static const struct hpw_events_head head = {.slots = 0};
	static const struct hpw_slot_head slot = {.thread = 0};
	const struct tables *tables = context;
	_cleanup_(emitter_deinit) struct replay replay = {.tables = tables,
		.to = visitor,
		.blocks_max = event_lines_blocks_max(tables->input->bytes),
		.last = NO_INFO};
	replay.heads = calloc(tables->infos.len + 1, sizeof(*replay.heads));
	if (!replay.heads)
		return error_no_memory();
	_cleanup_(event_lines_close) struct event_lines lines;
	struct error *error = event_lines_open(&lines, tables->input);
	replay.stream = &lines.stream;
	if (!error && visitor->head)
		error = visitor->head(visitor->context, &head);
	if (!error && visitor->slot)
		error = visitor->slot(visitor->context, &slot);
	return error ? error : replay_lines(&replay, &lines, enough);
}

#define UNKNOWN (UNKNOWN_FAILED | UNKNOWN_THREADS | UNKNOWN_LIVES)

/* A file without a time stamp, or with none but 0, says nothing of when. */
static uint32_t unknown_of(const struct tables *tables)
{
	return UNKNOWN | (tables->last_ms ? 0u : (uint32_t)UNKNOWN_TIMES);
}

static struct event_replay story_of(const struct tables *tables)
{
	return (struct event_replay){.context = tables,
		.each = heaptrack_replay,
		.blocks_max = event_lines_blocks_max(tables->input->bytes)};
}

static struct error *open_tables(struct tables *tables, const struct input *input)
{
	*tables =
		(struct tables){.input = input, .defined_limit = event_lines_defined_limit(input)};
	arena_init(&tables->arena);
	struct error *error = foreign_create(&tables->foreign, "heaptrack", input);
	if (!error)
		error = read_tables(tables);
	if (error)
		return error;
	build_recording(tables->foreign.model)->duration_ns = tables->last_ms * MS;
	build_recording(tables->foreign.model)->whole_stacks = true;
	return NULL;
}

bool heaptrack_recognise(const uint8_t *head, size_t len)
{
	const char *at = (const char *)head + 2;
	const char *end = memchr(head, '\n', min(len, (size_t)40));
	uint64_t number;
	if (end > at && end[-1] == '\r')
		end--;
	if (!end || len < 4 || head[0] != 'v' || head[1] != ' ' ||
		!event_lines_hex(&at, end, &number))
		return false;
	return at == end || (event_lines_hex(&at, end, &number) && at == end);
}

struct error *heaptrack_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	struct error *error = foreign_refuse(input, query,
		FOREIGN_MOMENTS | FOREIGN_BY_SIZE | FOREIGN_SERIES, "a heaptrack file");
	if (error)
		return error;
	_cleanup_(tables_deinit) struct tables tables;
	error = open_tables(&tables, input);
	const struct event_replay story = story_of(&tables);
	return error ? error
		     : event_sums_finish(&story, unknown_of(&tables), flags, query, tables.cut,
			       &tables.foreign.model, ret);
}

struct error *heaptrack_events(
	const struct input *input, const struct source_query *query, const struct event_sink *sink)
{
	_cleanup_(tables_deinit) struct tables tables;
	struct error *error = open_tables(&tables, input);
	const struct event_replay story = story_of(&tables);
	return error ? error
		     : event_sums_events(
			       &story, unknown_of(&tables), query, tables.foreign.model, sink);
}
