/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table describes the elements: of which parents each is read, and what becomes of its text when
 * it ends. expat reads the XML piece by piece, so that a file whose end is missing shows what is
 * there. A checker writes that way too: when the program is killed, its file just ends.
 *
 * Protocols 4, 5 and 6 (docs/internals/xml-output-protocol4.txt … of Valgrind) are treated alike:
 * later ones only add elements. Passed over is what says nothing of the heap or of errors
 * (preamble, ppid, tool, usercomment, logfilequalifier, state, clientmsg), is elsewhere as well (fd
 * and path of descriptors: the sentence has them; error_summary: errorcounts and suppcounts), or
 * has no place in the model (offered suppressions, numbers and beginnings of Helgrind's threads).
 */
#include "sources/foreign/valgrind_xml.h"

#include <assert.h>
#include <expat.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/library.h"
#include "base/text.h"
#include "base/util.h"
#include "sources/foreign/foreign_query.h"
#include "sources/foreign/foreign_scan.h"
#include "sources/foreign/valgrind_xml_build.h"
#include "sources/recording/stream.h"

#define DEPTH_MAX 64u
#define TEXT_MAX (1u << 20)
#define FRAMES_MAX 4096u
#define PARTS_MAX 4096u
#define PROTOCOL_LEAST 4u

#define XML_FUNCTIONS(X)                                                                           \
	X(XML_ErrorString)                                                                         \
	X(XML_GetCurrentLineNumber)                                                                \
	X(XML_GetErrorCode)                                                                        \
	X(XML_Parse)                                                                               \
	X(XML_ParserCreate)                                                                        \
	X(XML_ParserFree)                                                                          \
	X(XML_SetCharacterDataHandler)                                                             \
	X(XML_SetElementHandler)                                                                   \
	X(XML_SetStartDoctypeDeclHandler)                                                          \
	X(XML_SetUserData)                                                                         \
	X(XML_StopParser)

/* libexpat: recording needs none. */
struct xml_library {
	XML_FUNCTIONS(LIBRARY_MEMBER)
};

static const char *const xml_names[] = {XML_FUNCTIONS(LIBRARY_NAME)};

static_assert(sizeof(struct xml_library) == sizeof(xml_names), "one pointer a name");

enum element {
	OTHER, /* passed over with all that is in it */
	TOP,   /* outside of everything */
	OUTPUT,
	PROTOCOL,
	PROTOCOL_TOOL,
	PID,
	ARGS,
	VARGV,
	ARGV,
	VARGV_EXE,
	VARGV_ARG,
	ARGV_WORD,
	STATUS,
	STATUS_TIME,
	STATUS_STATE,
	SIGNAL,
	SIGNAL_NUMBER,
	ERROR,
	ERROR_UNIQUE,
	ERROR_TID,
	ERROR_THREAD,
	ERROR_KIND,
	ERROR_WHAT,
	XWHAT,
	LEAKED_BYTES,
	LEAKED_BLOCKS,
	AUXWHAT,
	XAUXWHAT,
	STACK,
	FRAME,
	FRAME_IP,
	FRAME_OBJECT,
	FRAME_FUNCTION,
	FRAME_FOLDER,
	FRAME_FILE,
	FRAME_LINE,
	COUNTS,
	SUPPRESSED,
	COUNTS_PAIR,
	SUPPRESSED_PAIR,
	PAIR_COUNT,
	PAIR_NAME,
	HEAP_SUMMARY,
	HEAP_IN_USE,
	HEAP_USAGE,
	SUMMARY_ALLOCATIONS,
	SUMMARY_FREES,
	SUMMARY_ALLOCATED,
	ALL_FREED,
	LEAK_SUMMARY,
	LEAK_SUM,
	HEURISTIC,
	HEURISTIC_KIND,
	AMOUNT_BYTES,
	AMOUNT_BLOCKS,
};

static const struct {
	const char *name;
	enum element parent, element;
} elements[] = {
	{"valgrindoutput", TOP, OUTPUT},
	{"protocolversion", OUTPUT, PROTOCOL},
	{"protocoltool", OUTPUT, PROTOCOL_TOOL},
	{"pid", OUTPUT, PID},
	{"args", OUTPUT, ARGS},
	{"vargv", ARGS, VARGV},
	{"argv", ARGS, ARGV},
	{"exe", VARGV, VARGV_EXE},
	{"arg", VARGV, VARGV_ARG},
	{"exe", ARGV, ARGV_WORD},
	{"arg", ARGV, ARGV_WORD},
	{"status", OUTPUT, STATUS},
	{"time", STATUS, STATUS_TIME},
	{"state", STATUS, STATUS_STATE},
	{"fatal_signal", OUTPUT, SIGNAL},
	{"signo", SIGNAL, SIGNAL_NUMBER},
	{"error", OUTPUT, ERROR},
	{"unique", ERROR, ERROR_UNIQUE},
	{"tid", ERROR, ERROR_TID},
	{"threadname", ERROR, ERROR_THREAD},
	{"kind", ERROR, ERROR_KIND},
	{"what", ERROR, ERROR_WHAT},
	{"xwhat", ERROR, XWHAT},
	{"text", XWHAT, ERROR_WHAT},
	{"leakedbytes", XWHAT, LEAKED_BYTES},
	{"leakedblocks", XWHAT, LEAKED_BLOCKS},
	{"auxwhat", ERROR, AUXWHAT},
	{"xauxwhat", ERROR, XAUXWHAT},
	{"text", XAUXWHAT, AUXWHAT},
	{"stack", ERROR, STACK},
	{"frame", STACK, FRAME},
	{"ip", FRAME, FRAME_IP},
	{"obj", FRAME, FRAME_OBJECT},
	{"fn", FRAME, FRAME_FUNCTION},
	{"dir", FRAME, FRAME_FOLDER},
	{"file", FRAME, FRAME_FILE},
	{"line", FRAME, FRAME_LINE},
	{"errorcounts", OUTPUT, COUNTS},
	{"suppcounts", OUTPUT, SUPPRESSED},
	{"pair", COUNTS, COUNTS_PAIR},
	{"pair", SUPPRESSED, SUPPRESSED_PAIR},
	{"count", COUNTS_PAIR, PAIR_COUNT},
	{"unique", COUNTS_PAIR, PAIR_NAME},
	{"count", SUPPRESSED_PAIR, PAIR_COUNT},
	{"name", SUPPRESSED_PAIR, PAIR_NAME},
	{"heap_summary", OUTPUT, HEAP_SUMMARY},
	{"memory_in_use_at_exit", HEAP_SUMMARY, HEAP_IN_USE},
	{"bytes", HEAP_IN_USE, AMOUNT_BYTES},
	{"blocks", HEAP_IN_USE, AMOUNT_BLOCKS},
	{"total_heap_usage", HEAP_SUMMARY, HEAP_USAGE},
	{"allocs", HEAP_USAGE, SUMMARY_ALLOCATIONS},
	{"frees", HEAP_USAGE, SUMMARY_FREES},
	{"bytes_allocated", HEAP_USAGE, SUMMARY_ALLOCATED},
	{"all_heap_blocks_freed", OUTPUT, ALL_FREED},
	{"leak_summary", OUTPUT, LEAK_SUMMARY},
	{"definitely_lost", LEAK_SUMMARY, LEAK_SUM},
	{"indirectly_lost", LEAK_SUMMARY, LEAK_SUM},
	{"possibly_lost", LEAK_SUMMARY, LEAK_SUM},
	{"still_reachable", LEAK_SUMMARY, LEAK_SUM},
	{"suppressed", LEAK_SUMMARY, LEAK_SUM},
	{"bytes", LEAK_SUM, AMOUNT_BYTES},
	{"blocks", LEAK_SUM, AMOUNT_BLOCKS},
	{"in_blocks", LEAK_SUM, AMOUNT_BLOCKS}, /* as the document has it, but no Valgrind */
	{"reachable_heuristic", LEAK_SUM, HEURISTIC},
	{"kind", HEURISTIC, HEURISTIC_KIND},
	{"bytes", HEURISTIC, AMOUNT_BYTES},
	{"blocks", HEURISTIC, AMOUNT_BLOCKS},
};

struct reading {
	struct stream stream;
	struct xml_library library;
	XML_Parser parser;
	struct error *error; /* that stopped the parser */
	struct xml_build build;
	struct xml_error found;
	enum element path[DEPTH_MAX];
	size_t depth;
	struct text text; /* of the innermost element so far */
	struct xml_frame frame;
	uint64_t pair_count;
	const char *pair_name;
	struct xml_amount *amount; /* that numbers of a summary are for */
};

static void valgrind_xml_reading_deinit(struct reading *reading)
{
	stream_close(&reading->stream);
	if (reading->parser)
		reading->library.XML_ParserFree(reading->parser);
	foreign_deinit(&reading->build.foreign);
	xml_numbers_deinit(&reading->build.numbers);
	xml_leaks_deinit(&reading->build.leaks);
	xml_error_deinit(&reading->found);
	text_deinit(&reading->text);
	error_destroy(reading->error);
}

bool valgrind_xml_recognise(const uint8_t *head, size_t len)
{
	static const char top[] = "<valgrindoutput>";
	size_t at = 0;
	while (at < len && head[at] && strchr(" \t\r\n", head[at]))
		at++;
	return at < len && head[at] == '<' && memmem(head, len, top, strlen(top));
}

/* Remembers the first error and has the parser stop. */
static void valgrind_xml_stop(struct reading *reading, struct error *error)
{
	if (!error)
		return;
	if (reading->error) {
		error_destroy(error);
		return;
	}
	reading->error = error;
	reading->library.XML_StopParser(reading->parser, XML_FALSE);
}

static struct error *valgrind_xml_wrong(const struct reading *reading, const char *what)
{
	return error_create(ERROR_INPUT, "%s: line %lu: %s", reading->stream.input->name,
		(unsigned long)reading->library.XML_GetCurrentLineNumber(reading->parser), what);
}

static void XMLCALL on_start(void *context, const XML_Char *name, const XML_Char **attributes)
{
	struct reading *reading = context;
	(void)attributes;
	enum element parent = reading->path[reading->depth], element = OTHER;
	if (reading->depth + 1 == DEPTH_MAX) {
		valgrind_xml_stop(
			reading, valgrind_xml_wrong(reading, "elements are nested too deeply"));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(elements); i++)
		if (elements[i].parent == parent && strcmp(elements[i].name, name) == 0)
			element = elements[i].element;
	reading->path[++reading->depth] = element;
	text_clear(&reading->text);
	switch (element) {
	case ERROR:
		xml_error_clear(&reading->found);
		break;
	case FRAME:
		reading->frame =
			(struct xml_frame){.object = "", .function = "", .folder = "", .file = ""};
		break;
	case COUNTS_PAIR:
	case SUPPRESSED_PAIR:
		reading->pair_count = 0;
		reading->pair_name = "";
		break;
	case HEAP_IN_USE:
		reading->amount = &reading->build.summary.in_use;
		break;
	case LEAK_SUMMARY:
		xml_summary_clear_leaks(&reading->build.summary);
		break;
	case LEAK_SUM:
		reading->amount = xml_summary_leaks(&reading->build.summary, name);
		break;
	case HEURISTIC:
		reading->amount = NULL; /* until its kind is known */
		break;
	default:
		break;
	}
}

static void XMLCALL on_text(void *context, const XML_Char *data, int len)
{
	struct reading *reading = context;
	if (reading->path[reading->depth] == OTHER || reading->error)
		return;
	if (reading->text.len + (size_t)len > TEXT_MAX)
		valgrind_xml_stop(reading,
			valgrind_xml_wrong(reading, "an element has more than 1 MiB of text"));
	else
		text_add_n(&reading->text, data, (size_t)len);
}

/* Documents of Valgrind have no types, and with them no entities that grow. */
static void XMLCALL on_doctype(void *context, const XML_Char *name, const XML_Char *system,
	const XML_Char *public_id, int has_subset)
{
	struct reading *reading = context;
	(void)name, (void)system, (void)public_id, (void)has_subset;
	valgrind_xml_stop(reading,
		valgrind_xml_wrong(reading, "has a <!DOCTYPE>, which Valgrind never writes"));
}

static const char *valgrind_xml_text_of(const struct reading *reading)
{
	return reading->text.data ? reading->text.data : "";
}

static struct error *valgrind_xml_keep(struct reading *reading, const char **ret)
{
	/* Valgrind ends some sentences with a newline. */
	struct text *text = &reading->text;
	while (text->len && text->data[text->len - 1] == '\n')
		text->data[--text->len] = '\0';
	return reading->text.failed ? error_no_memory()
				    : strings_keep(&reading->build.foreign.names,
					      valgrind_xml_text_of(reading), ret);
}

/* Decimal, or after 0x. */
static struct error *valgrind_xml_take_number(struct reading *reading, uint64_t *ret)
{
	struct foreign_scan scan =
		foreign_scan_of(valgrind_xml_text_of(reading), reading->text.len);
	foreign_scan_blanks(&scan);
	bool taken = foreign_scan_text(&scan, "0x") ? foreign_scan_hex(&scan, ret)
						    : foreign_scan_u64(&scan, ret);
	return taken && foreign_scan_at_end(&scan)
		       ? NULL
		       : valgrind_xml_wrong(reading,
				 "an element does not contain a number from 0 to 2^64 - 1");
}

static struct error *end_protocol(struct reading *reading)
{
	uint64_t version = 0;
	struct error *error = valgrind_xml_take_number(reading, &version);
	return error ? error
	       : version < PROTOCOL_LEAST
		       ? valgrind_xml_wrong(reading,
				 "uses a protocol before 4; Valgrind 3.4 and later write newer "
				 "ones")
		       : NULL;
}

static struct error *end_pid(struct reading *reading)
{
	uint64_t pid = 0;
	struct error *error = valgrind_xml_take_number(reading, &pid);
	if (!error && pid <= INT32_MAX)
		build_target(reading->build.foreign.model)->pid = (uint32_t)pid;
	return error;
}

static struct error *end_signal(struct reading *reading)
{
	uint64_t number = 0;
	struct error *error = valgrind_xml_take_number(reading, &number);
	struct target *target = build_target(reading->build.foreign.model);
	if (!error && number < 128) {
		target->exit_kind = EXIT_KIND_SIGNAL;
		target->exit_value = (int)number;
	}
	return error;
}

/* "00:00:01:12.345": days, hours, minutes, seconds; what else may be there is no duration. */
static struct error *end_time(struct reading *reading)
{
	unsigned days, hours, minutes;
	double seconds;
	if (sscanf(valgrind_xml_text_of(reading), "%4u:%2u:%2u:%lf", &days, &hours, &minutes,
		    &seconds) != 4 ||
		!(seconds >= 0 && seconds < 100))
		return NULL;
	struct recording *recording = build_recording(reading->build.foreign.model);
	uint64_t whole = ((days * 24ull + hours) * 60 + minutes) * 60;
	recording->duration_ns = whole * 1000000000 + (uint64_t)(seconds * 1e9);
	recording->unknown &= ~(uint32_t)UNKNOWN_TIMES;
	return NULL;
}

static struct error *too_large(const struct reading *reading)
{
	return valgrind_xml_wrong(reading, "an error has more than 4096 frames or sentences");
}

static struct error *end_frame(struct reading *reading)
{
	if (reading->found.frames.len >= FRAMES_MAX)
		return too_large(reading);
	return xml_frames_push(&reading->found.frames, reading->frame) ? NULL : error_no_memory();
}

static struct error *valgrind_xml_add_part(struct reading *reading, const struct xml_part *part)
{
	if (reading->found.parts.len >= PARTS_MAX)
		return too_large(reading);
	return xml_parts_push(&reading->found.parts, *part) ? NULL : error_no_memory();
}

static struct error *end_auxwhat(struct reading *reading)
{
	struct xml_part part = {.what = ""};
	struct error *error = valgrind_xml_keep(reading, &part.what);
	return error ? error : valgrind_xml_add_part(reading, &part);
}

/* A stack belongs to the sentence before it. */
static struct error *end_stack(struct reading *reading)
{
	struct xml_parts *parts = &reading->found.parts;
	size_t first = 0;
	for (size_t i = 0; i < parts->len; i++)
		first += parts->data[i].count;
	struct xml_part part = {.what = "",
		.first = first,
		.count = reading->found.frames.len - first,
		.has_stack = true};
	if (!parts->len || parts->data[parts->len - 1].has_stack)
		return valgrind_xml_add_part(reading, &part);
	part.what = parts->data[parts->len - 1].what;
	parts->data[parts->len - 1] = part;
	return NULL;
}

static struct error *end_error(struct reading *reading)
{
	struct error *error = xml_build_error(&reading->build, &reading->found);
	return error_prefix(error, "%s: line %lu", reading->stream.input->name,
		(unsigned long)reading->library.XML_GetCurrentLineNumber(reading->parser));
}

static struct error *end_amount(struct reading *reading, enum element element)
{
	uint64_t unused, *number = &unused;
	if (reading->amount)
		number = element == AMOUNT_BYTES ? &reading->amount->bytes
						 : &reading->amount->blocks;
	return valgrind_xml_take_number(reading, number);
}

/* Elements that protocol 6 has more. */
static struct error *end_of_summary(struct reading *reading, enum element element)
{
	struct xml_summary *summary = &reading->build.summary;
	switch (element) {
	case HEAP_SUMMARY:
		summary->has_heap = true;
		return NULL;
	case SUMMARY_ALLOCATIONS:
		return valgrind_xml_take_number(reading, &summary->allocations);
	case SUMMARY_FREES:
		return valgrind_xml_take_number(reading, &summary->frees);
	case SUMMARY_ALLOCATED:
		return valgrind_xml_take_number(reading, &summary->allocated_bytes);
	case ALL_FREED:
		reading->build.all_freed = strcmp(valgrind_xml_text_of(reading), "true") == 0;
		if (reading->build.all_freed)
			xml_build_search(&reading->build);
		return NULL;
	case HEURISTIC_KIND:
		reading->amount = xml_summary_heuristic(summary, valgrind_xml_text_of(reading));
		return NULL;
	case AMOUNT_BYTES:
	case AMOUNT_BLOCKS:
		return end_amount(reading, element);
	default:
		return NULL;
	}
}

static struct error *valgrind_xml_end_of(struct reading *reading, enum element element)
{
	struct xml_error *found = &reading->found;
	struct xml_frame *frame = &reading->frame;
	struct model *model = reading->build.foreign.model;
	switch (element) {
	case PROTOCOL:
		return end_protocol(reading);
	case PROTOCOL_TOOL:
		reading->build.is_memcheck = strcmp(valgrind_xml_text_of(reading), "memcheck") == 0;
		return NULL;
	case PID:
		return end_pid(reading);
	case VARGV_EXE:
		xml_build_writer(&reading->build, valgrind_xml_text_of(reading));
		return NULL;
	case VARGV_ARG:
		xml_build_option(&reading->build, valgrind_xml_text_of(reading));
		return NULL;
	case ARGV_WORD:
		return build_argument(model, valgrind_xml_text_of(reading), reading->text.len);
	case STATUS_TIME:
		return end_time(reading);
	case STATUS_STATE:
		if (strcmp(valgrind_xml_text_of(reading), "FINISHED") == 0)
			xml_build_ended(&reading->build);
		return NULL;
	case SIGNAL_NUMBER:
		return end_signal(reading);
	case ERROR:
		return end_error(reading);
	case ERROR_UNIQUE:
		return valgrind_xml_keep(reading, &found->unique);
	case ERROR_TID:
		return valgrind_xml_take_number(reading, &found->tid);
	case ERROR_THREAD:
		return valgrind_xml_keep(reading, &found->thread);
	case ERROR_KIND:
		return valgrind_xml_keep(reading, &found->kind);
	case ERROR_WHAT:
		return valgrind_xml_keep(reading, &found->what);
	case LEAKED_BYTES:
		found->has_leaked = true;
		return valgrind_xml_take_number(reading, &found->leaked_bytes);
	case LEAKED_BLOCKS:
		found->has_leaked = true;
		return valgrind_xml_take_number(reading, &found->leaked_blocks);
	case AUXWHAT:
		return end_auxwhat(reading);
	case STACK:
		return end_stack(reading);
	case FRAME:
		return end_frame(reading);
	case FRAME_IP:
		return valgrind_xml_take_number(reading, &frame->ip);
	case FRAME_OBJECT:
		return valgrind_xml_keep(reading, &frame->object);
	case FRAME_FUNCTION:
		return valgrind_xml_keep(reading, &frame->function);
	case FRAME_FOLDER:
		return valgrind_xml_keep(reading, &frame->folder);
	case FRAME_FILE:
		return valgrind_xml_keep(reading, &frame->file);
	case FRAME_LINE:
		return valgrind_xml_take_number(reading, &frame->line);
	case PAIR_COUNT:
		return valgrind_xml_take_number(reading, &reading->pair_count);
	case PAIR_NAME:
		return valgrind_xml_keep(reading, &reading->pair_name);
	case COUNTS_PAIR:
		xml_build_count(&reading->build, reading->pair_name, reading->pair_count);
		return NULL;
	case SUPPRESSED_PAIR:
		return build_error_suppression(model, reading->pair_name, reading->pair_count);
	default:
		return end_of_summary(reading, element);
	}
}

static void XMLCALL on_end(void *context, const XML_Char *name)
{
	struct reading *reading = context;
	(void)name;
	if (reading->error)
		return;
	valgrind_xml_stop(reading, valgrind_xml_end_of(reading, reading->path[reading->depth]));
	reading->depth--;
	text_clear(&reading->text);
}

/* What expat does not like; the end of a file that is cut off is none of it. */
static struct error *not_parsed(struct reading *reading)
{
	if (reading->error)
		return steal_ptr(reading->error);
	return error_create(ERROR_INPUT, "%s: line %lu: invalid Valgrind XML: %s",
		reading->stream.input->name,
		(unsigned long)reading->library.XML_GetCurrentLineNumber(reading->parser),
		reading->library.XML_ErrorString(
			reading->library.XML_GetErrorCode(reading->parser)));
}

static struct error *note_cut(struct reading *reading)
{
	char sentence[160];
	snprintf(sentence, sizeof(sentence),
		"the file is cut off at line %lu: the program, or Valgrind, was killed, or is "
		"still running",
		(unsigned long)reading->library.XML_GetCurrentLineNumber(reading->parser));
	return build_damage(reading->build.foreign.model, sentence);
}

/* Valgrind's DRD writes stacks of some errors after the end. */
static struct error *end_early(struct reading *reading)
{
	char sentence[120];
	if (reading->error || reading->library.XML_GetErrorCode(reading->parser) !=
				      XML_ERROR_JUNK_AFTER_DOC_ELEMENT)
		return not_parsed(reading);
	snprintf(sentence, sizeof(sentence),
		"it has data after its end, at line %lu, which is ignored",
		(unsigned long)reading->library.XML_GetCurrentLineNumber(reading->parser));
	return build_damage(reading->build.foreign.model, sentence);
}

static struct error *valgrind_xml_parse(struct reading *reading)
{
	struct error *error = NULL;
	/* An end of line is passed on with the next one: the last may be cut off without it. */
	for (int ends = 0;; ends = 1) {
		char *line;
		size_t len;
		error = stream_line(&reading->stream, STREAM_LINE_MAX, &line, &len);
		if (error || !line)
			break;
		if (reading->library.XML_Parse(reading->parser, "\n", ends, 0) != XML_STATUS_OK ||
			reading->library.XML_Parse(reading->parser, line, (int)len, 0) !=
				XML_STATUS_OK)
			return end_early(reading);
	}
	if (error)
		return error;
	reading->build.whole =
		reading->library.XML_Parse(reading->parser, "", 0, 1) == XML_STATUS_OK;
	if (reading->build.whole)
		return NULL;
	return reading->error ? not_parsed(reading) : note_cut(reading);
}

static struct error *xml_library_load(struct xml_library *ret)
{
	const struct library library = {.file = "libexpat.so.1",
		.package = "libexpat1",
		.names = xml_names,
		.len = ARRAY_SIZE(xml_names)};
	return library_load(&library, ret);
}

static struct error *valgrind_xml_prepare(struct reading *reading, const struct input *input)
{
	xml_error_clear(&reading->found);
	text_init(&reading->text);
	reading->path[0] = TOP;
	struct error *error = xml_library_load(&reading->library);
	if (error)
		return error;
	reading->parser = reading->library.XML_ParserCreate(NULL);
	if (!reading->parser)
		return error_no_memory();
	reading->library.XML_SetUserData(reading->parser, reading);
	reading->library.XML_SetElementHandler(reading->parser, on_start, on_end);
	reading->library.XML_SetCharacterDataHandler(reading->parser, on_text);
	reading->library.XML_SetStartDoctypeDeclHandler(reading->parser, on_doctype);
	error = foreign_create(&reading->build.foreign, "valgrind", input);
	if (error)
		return error;
	build_recording(reading->build.foreign.model)->mode = "exact";
	build_errors(reading->build.foreign.model);
	return stream_open(&reading->stream, input, stream_whole_limit(input));
}

struct error *valgrind_xml_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	(void)flags;
	struct error *error = foreign_refuse(input, query, 0, "a Valgrind XML file");
	if (error)
		return error;
	_cleanup_(valgrind_xml_reading_deinit) struct reading reading = {
		.depth = 0, .build.shown = XML_SHOWN};
	error = valgrind_xml_prepare(&reading, input);
	if (!error)
		error = valgrind_xml_parse(&reading);
	if (error)
		return error;
	error = xml_build_finish(&reading.build);
	if (error)
		return error_prefix(error, "%s", input->name);
	build_finish(reading.build.foreign.model);
	*ret = steal_ptr(reading.build.foreign.model);
	return NULL;
}
