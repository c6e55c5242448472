/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/errors/hpw_errors.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "sources/errors/error_words.h"
#include "sources/events/hpw_columns.h"

#define NUMBERS HPW_ERRORS_TEXT /* columns of numbers */

_Static_assert(HPW_ERRORS_TEXT_MAX < HW_ERROR_TEXT, "there is room for the NUL");

bool hpw_errors_takes(uint16_t type)
{
	return type == HPW_ERRORS || type == HPW_CHECK;
}

void hpw_errors_deinit(struct hpw_errors *errors)
{
	hpw_errors_map_deinit(&errors->rows);
}

static uint32_t known_stack(const struct model *model, uint64_t stack)
{
	return stack < model_stack_limit(model) ? (uint32_t)stack : 0;
}

static void row_fill(const struct model *model, const uint64_t values[static NUMBERS],
	const uint8_t *text, struct error_row *ret)
{
	*ret = (struct error_row){.stamp = values[HPW_ERRORS_STAMP],
		.thread = values[HPW_ERRORS_THREAD],
		.tid = values[HPW_ERRORS_TID],
		.kind = values[HPW_ERRORS_KIND],
		.flags = values[HPW_ERRORS_FLAGS],
		.count = values[HPW_ERRORS_COUNT],
		.report = {.address = values[HPW_ERRORS_ADDRESS],
			.access_bytes = values[HPW_ERRORS_ACCESS_BYTES],
			.source = values[HPW_ERRORS_SOURCE],
			.block = values[HPW_ERRORS_BLOCK],
			.block_bytes = values[HPW_ERRORS_BLOCK_BYTES],
			.stack = known_stack(model, values[HPW_ERRORS_STACK]),
			.allocated_at = known_stack(model, values[HPW_ERRORS_ALLOCATED_AT]),
			.freed_at = known_stack(model, values[HPW_ERRORS_FREED_AT]),
			.allocated_by = (uint32_t)values[HPW_ERRORS_ALLOCATED_BY],
			.freed_by = (uint32_t)values[HPW_ERRORS_FREED_BY],
			.alloc_kind = (uint8_t)values[HPW_ERRORS_ALLOC_KIND],
			.free_kind = (uint8_t)values[HPW_ERRORS_FREE_KIND]}};
	memcpy(ret->report.text, text, values[HPW_ERRORS_TEXT_BYTES]);
}

/* What is between the error's thread and the other one, if they differ: " by thread 7". */
static void add_thread(uint64_t tid, uint32_t by, struct text *out)
{
	if (by && by != tid)
		text_printf(out, " by thread %" PRIu32, by);
}

/* What stands before each stack of an error, and the stacks. */
struct stack_texts {
	struct text words[3];
	uint32_t stacks[3];
	size_t count;
};

static struct text *stack_texts_add(struct stack_texts *texts, uint32_t stack)
{
	texts->stacks[texts->count] = stack;
	return &texts->words[texts->count++];
}

static void stack_texts_deinit(struct stack_texts *texts)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts->words); i++)
		text_deinit(&texts->words[i]);
}

/*
 * First where the error was made; then where the address is, with the stack at which the block was
 * freed, or else allocated; then where a freed one was allocated.
 */
static void describe_stacks(const struct error_row *row, struct stack_texts *ret)
{
	const struct hw_error_report *report = &row->report;
	struct text *words = stack_texts_add(ret, report->stack);
	if (!report->stack)
		text_add(words,
			row->flags & HW_ERROR_AT_EXIT
				? "it is not known where: it was found when the program ended"
				: "it is not known where");
	else if (row->flags & HW_ERROR_LATE)
		text_add(words, "it was found here, after it was made");
	bool freed = row->flags & HW_ERROR_FREED, block = row->flags & HW_ERROR_HAS_BLOCK;
	words = stack_texts_add(ret, !block ? 0 : freed ? report->freed_at : report->allocated_at);
	error_words_where(row, words);
	if (!block)
		return;
	text_add(words, freed ? ", freed" : ", allocated");
	add_thread(row->tid, freed ? report->freed_by : report->allocated_by, words);
	if (!ret->stacks[1])
		text_add(words, " (it is not known where)");
	if (!freed)
		return;
	words = stack_texts_add(ret, report->allocated_at);
	text_add(words, "the block was allocated");
	add_thread(row->tid, report->allocated_by, words);
	if (!report->allocated_at)
		text_add(words, " (it is not known where)");
}

static const char *thread_name(const struct model *model, const struct error_row *row)
{
	size_t count;
	const struct thread *threads = model_threads(model, &count);
	bool known = row->thread < count && threads[row->thread].tid == row->tid;
	return known ? threads[row->thread].name : "";
}

static struct error *add_error(struct model *model, const struct error_row *row)
{
	_cleanup_(text_deinit) struct text what;
	_cleanup_(stack_texts_deinit) struct stack_texts texts = {.count = 0};
	text_init(&what);
	for (size_t i = 0; i < ARRAY_SIZE(texts.words); i++)
		text_init(&texts.words[i]);
	error_words_what(row, &what);
	describe_stacks(row, &texts);
	struct error_stack stacks[ARRAY_SIZE(texts.words)];
	size_t count = 0;
	bool failed = what.failed;
	for (size_t i = 0; i < texts.count; i++) {
		const struct text *words = &texts.words[i];
		failed |= words->failed;
		if (i && !words->len)
			continue;
		stacks[count++] = (struct error_stack){
			.what = words->len ? words->data : "", .stack = texts.stacks[i]};
	}
	if (failed)
		return error_no_memory();
	struct program_error error = {.kind = hw_error_kind_name(row->kind),
		.what = what.data,
		.thread = thread_name(model, row),
		.tid = (uint32_t)row->tid,
		.count = row->count,
		.ends = row->flags & HW_ERROR_ENDS};
	error_words_facts(row, &error);
	if (error.block.known) {
		error.block.allocated_at = row->report.allocated_at;
		error.block.freed_at = row->report.freed_at;
	}
	return build_program_error(model, &error, stacks, count);
}

static uint64_t key_of(const struct error_row *row)
{
	struct {
		uint64_t kind;
		uint32_t stack, allocated_at, freed_at, padding;
		char text[HW_ERROR_TEXT];
	} key;
	memset(&key, 0, sizeof(key));
	key.kind = row->kind;
	key.stack = row->report.stack;
	key.allocated_at = row->report.allocated_at;
	key.freed_at = row->report.freed_at;
	memcpy(key.text, row->report.text, sizeof(key.text));
	return hash_bytes(&key, sizeof(key));
}

/* The same again counts more of what there is. */
static struct error *take_row(struct hpw_errors *errors, const struct error_row *row)
{
	bool is_new;
	size_t *place = hpw_errors_map_insert(&errors->rows, key_of(row), &is_new);
	if (!place)
		return error_no_memory();
	size_t count;
	const struct program_error *known = model_errors(errors->model, &count);
	if (is_new) {
		*place = count;
		return add_error(errors->model, row);
	}
	build_program_error_count(errors->model, *place, known[*place].count + row->count);
	return NULL;
}

static struct error *read_row(
	struct hpw_errors *errors, struct hpw_column columns[static HPW_ERRORS_COLUMNS])
{
	uint64_t values[NUMBERS];
	const uint8_t *text = NULL;
	struct error *error = NULL;
	for (size_t k = 0; !error && k < NUMBERS; k++)
		error = hpw_column_next(&columns[k], &values[k]);
	if (error)
		return error;
	uint64_t count = values[HPW_ERRORS_COUNT], length = values[HPW_ERRORS_TEXT_BYTES];
	if (!count || count > UINT64_MAX / HPW_ERRORS_MAX)
		return error_create(ERROR_INPUT, "%" PRIu64 " errors in a row", count);
	if (length > HPW_ERRORS_TEXT_MAX)
		return error_create(
			ERROR_INPUT, "the text of an error has %" PRIu64 " bytes", length);
	error = cursor_bytes(&columns[HPW_ERRORS_TEXT].cursor, length, &text);
	if (error)
		return error;
	struct error_row row;
	row_fill(errors->model, values, text, &row);
	return take_row(errors, &row);
}

static struct error *decode_rows(struct hpw_errors *errors, const struct hpw_payload *payload)
{
	struct hpw_column columns[HPW_ERRORS_COLUMNS];
	size_t rows = 0;
	struct error *error = hpw_columns_open(payload, columns, HPW_ERRORS_COLUMNS);
	if (!error)
		error = hpw_columns_rows(columns, HPW_ERRORS_COLUMNS, (1u << NUMBERS) - 1, &rows);
	if (!error && rows > HPW_ERRORS_MAX - errors->rows_read)
		error = error_create(ERROR_INPUT, "more than %u rows of errors", HPW_ERRORS_MAX);
	for (size_t i = 0; !error && i < rows; i++)
		error = read_row(errors, columns);
	errors->rows_read += rows;
	return error;
}

static const char *backend_name(uint64_t backend)
{
	static const char *const names[HW_BACKENDS] = {
		[HW_BACKEND_NONE] = "none",
		[HW_BACKEND_MADVISE] = "madvise",
		[HW_BACKEND_UFFD] = "userfaultfd",
		[HW_BACKEND_MPROTECT] = "mprotect",
	};
	return backend < HW_BACKENDS ? names[backend] : "unknown";
}

/* The library counts while it is read: a part is never more than its whole. */
static struct check_coverage coverage_of(const uint64_t values[static HPW_CHECK_KEYS])
{
	return (struct check_coverage){.is_there = values[HPW_CHECK_IS_THERE],
		.backend = backend_name(values[HPW_CHECK_BACKEND]),
		.seed = values[HPW_CHECK_SEED],
		.blocks = values[HPW_CHECK_BLOCKS],
		.bytes = values[HPW_CHECK_BYTES],
		.guarded_blocks = min(values[HPW_CHECK_GUARDED_BLOCKS], values[HPW_CHECK_BLOCKS]),
		.guarded_bytes = min(values[HPW_CHECK_GUARDED_BYTES], values[HPW_CHECK_BYTES]),
		.stacks = values[HPW_CHECK_STACKS],
		.guarded_stacks = min(values[HPW_CHECK_GUARDED_STACKS], values[HPW_CHECK_STACKS]),
		.stacks_uncounted = values[HPW_CHECK_STACKS_UNCOUNTED],
		.dropped = values[HPW_CHECK_DROPPED],
		.left_out = values[HPW_CHECK_LEFT_OUT],
		.limits = (uint32_t)values[HPW_CHECK_LIMITS]};
}

static struct error *decode_check(struct hpw_errors *errors, const struct hpw_payload *payload)
{
	struct cursor c = hpw_payload_cursor(payload);
	uint64_t values[HPW_CHECK_KEYS] = {0};
	while (cursor_left(&c)) {
		uint64_t key, value;
		struct error *error = cursor_varint(&c, &key);
		if (!error)
			error = cursor_varint(&c, &value);
		if (error)
			return error;
		if (key < HPW_CHECK_KEYS)
			values[key] = value;
	}
	const struct check_coverage coverage = coverage_of(values);
	errors->guarded = coverage.is_there;
	build_check_coverage(errors->model, &coverage);
	return NULL;
}

struct error *hpw_errors_decode(
	struct hpw_errors *errors, uint16_t type, const struct hpw_payload *payload)
{
	return type == HPW_CHECK ? decode_check(errors, payload) : decode_rows(errors, payload);
}
