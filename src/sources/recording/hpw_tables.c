/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/hpw_tables.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "format/code_list.h"
#include "format/kinds.h"
#include "process/perf_map.h"
#include "sources/events/hpw_columns.h"
#include "sources/events/hpw_estimate.h"
#include "sources/recording/hpw_names.h"
#include "sources/recording/hpw_target.h"

/* The kernel lets arguments take 6 MiB. */
#define TARGET_BYTES_MAX (16u << 20)
/* How far site numbers may jump over what a lost chunk named. */
#define SITES_GAP (1u << 16)
#define BUILD_ID_BYTES_MAX 64u

enum target_value { VALUE_NUMBER, VALUE_TEXT, VALUE_ARGUMENT };

/* Keys that are numbers; the place of each is taken from the table below. */
struct target_numbers {
	uint64_t pid, ppid, outer_pid, outer_ppid, wall_start_ns, tsc_start, tsc_hz, forked,
		reset_ns, sample_bytes, forked_at, mappings, mode_changes, attached_ns, watched;
};

static const struct {
	enum hpw_target_key key;
	enum target_value value;
	size_t place; /* in target_numbers, target or recording */
	bool of_recording;
} target_keys[] = {
	{HPW_TARGET_PID, VALUE_NUMBER, offsetof(struct target_numbers, pid), false},
	{HPW_TARGET_PPID, VALUE_NUMBER, offsetof(struct target_numbers, ppid), false},
	{HPW_TARGET_OUTER_PID, VALUE_NUMBER, offsetof(struct target_numbers, outer_pid), false},
	{HPW_TARGET_OUTER_PPID, VALUE_NUMBER, offsetof(struct target_numbers, outer_ppid), false},
	{HPW_TARGET_ARG, VALUE_ARGUMENT, 0, false},
	{HPW_TARGET_EXE, VALUE_TEXT, offsetof(struct target, exe), false},
	{HPW_TARGET_CWD, VALUE_TEXT, offsetof(struct target, cwd), false},
	{HPW_TARGET_HOST, VALUE_TEXT, offsetof(struct target, host), false},
	{HPW_TARGET_WALL_START_NS, VALUE_NUMBER, offsetof(struct target_numbers, wall_start_ns),
		false},
	{HPW_TARGET_TSC_START, VALUE_NUMBER, offsetof(struct target_numbers, tsc_start), false},
	{HPW_TARGET_TSC_HZ, VALUE_NUMBER, offsetof(struct target_numbers, tsc_hz), false},
	{HPW_TARGET_FORKED, VALUE_NUMBER, offsetof(struct target_numbers, forked), false},
	{HPW_TARGET_SAMPLE_BYTES, VALUE_NUMBER, offsetof(struct target_numbers, sample_bytes),
		false},
	{HPW_TARGET_MAPPINGS, VALUE_NUMBER, offsetof(struct target_numbers, mappings), false},
	{HPW_TARGET_FORKED_AT, VALUE_NUMBER, offsetof(struct target_numbers, forked_at), false},
	{HPW_TARGET_PARENT_FILE, VALUE_TEXT, offsetof(struct target, parent_file), false},
	{HPW_TARGET_MODE, VALUE_TEXT, offsetof(struct recording, mode), true},
	{HPW_TARGET_WRITER, VALUE_TEXT, offsetof(struct recording, writer), true},
	{HPW_TARGET_RESET_NS, VALUE_NUMBER, offsetof(struct target_numbers, reset_ns), false},
	{HPW_TARGET_MODE_CHANGES, VALUE_NUMBER, offsetof(struct target_numbers, mode_changes),
		false},
	{HPW_TARGET_EARLIER_FILE, VALUE_TEXT, offsetof(struct recording, earlier_file), true},
	{HPW_TARGET_ATTACHED_NS, VALUE_NUMBER, offsetof(struct target_numbers, attached_ns), false},
	{HPW_TARGET_WATCHED, VALUE_NUMBER, offsetof(struct target_numbers, watched), false},
	{HPW_TARGET_DUMP, VALUE_TEXT, offsetof(struct recording, dump), true},
	{HPW_TARGET_INSTRUCTIONS, VALUE_TEXT, offsetof(struct recording, instructions), true},
};

static struct error *target_value(
	struct model *model, struct target_numbers *numbers, const struct hpw_target_pair *pair)
{
	for (size_t i = 0; i < ARRAY_SIZE(target_keys); i++) {
		if (target_keys[i].key != pair->key)
			continue;
		if (target_keys[i].value == VALUE_ARGUMENT)
			return build_argument(model, (const char *)pair->bytes, pair->len);
		if (target_keys[i].value == VALUE_TEXT) {
			void *base = target_keys[i].of_recording ? (void *)build_recording(model)
								 : (void *)build_target(model);
			const char **place = (const char **)((char *)base + target_keys[i].place);
			return build_string(model, (const char *)pair->bytes, pair->len, place);
		}
		if (pair->len != sizeof(uint64_t))
			return error_create(ERROR_INPUT, "key %" PRIu64 " has %zu bytes, not 8",
				pair->key, pair->len);
		uint64_t value = hpw_target_number(pair);
		memcpy((char *)numbers + target_keys[i].place, &value, sizeof(value));
	}
	return NULL;
}

static struct error *decode_target(struct hpw_tables *tables, const struct hpw_payload *payload)
{
	if (tables->has_target)
		return NULL;
	if (payload->len > TARGET_BYTES_MAX)
		return error_create(ERROR_INPUT, "it is too large");
	struct target_numbers numbers = {0};
	struct cursor c = hpw_payload_cursor(payload);
	while (cursor_left(&c)) {
		struct hpw_target_pair pair;
		struct error *error = hpw_target_next(&c, &pair);
		if (!error)
			error = target_value(tables->model, &numbers, &pair);
		if (error)
			return error;
	}
	struct target *target = build_target(tables->model);
	target->pid = (uint32_t)numbers.pid;
	target->ppid = (uint32_t)numbers.ppid;
	target->outer_pid = (uint32_t)(numbers.outer_pid ? numbers.outer_pid : numbers.pid);
	target->outer_ppid = (uint32_t)(numbers.outer_pid ? numbers.outer_ppid : numbers.ppid);
	target->forked = numbers.forked == 1;
	target->forked_at = numbers.forked_at;
	build_recording(tables->model)->reset_ns = numbers.reset_ns;
	build_recording(tables->model)->sample_bytes = numbers.sample_bytes;
	if (numbers.sample_bytes)
		build_recording(tables->model)->unknown |= hpw_estimate_unknown();
	build_recording(tables->model)->mappings = numbers.mappings;
	build_recording(tables->model)->mode_changes = numbers.mode_changes;
	build_recording(tables->model)->attached_ns = numbers.attached_ns;
	build_recording(tables->model)->watched = numbers.watched == 1;
	target->wall_start_ns = numbers.wall_start_ns;
	tables->clock.tsc_start = numbers.tsc_start;
	tables->clock.hz = numbers.tsc_hz;
	tables->has_target = true;
	return NULL;
}

static struct error *decode_module(struct hpw_tables *tables, struct cursor *c)
{
	uint64_t number[5]; /* id, start, end, bias, length of the build-id */
	struct error *error = NULL;
	for (size_t i = 0; !error && i < ARRAY_SIZE(number); i++)
		error = cursor_varint(c, &number[i]);
	if (error)
		return error;
	const uint8_t *build_id, *path;
	uint64_t path_len;
	if (number[4] > BUILD_ID_BYTES_MAX)
		return error_create(ERROR_INPUT, "a build-id has %" PRIu64 " bytes", number[4]);
	error = cursor_bytes(c, number[4], &build_id);
	if (!error)
		error = cursor_varint(c, &path_len);
	if (!error)
		error = cursor_bytes(c, path_len, &path);
	if (error)
		return error;
	if (number[0] >= BUILD_MODULES_MAX)
		return error_create(ERROR_INPUT, "module %" PRIu64 " is out of range", number[0]);
	struct module module = {
		.build_id = build_id,
		.build_id_len = (size_t)number[4],
		.start = number[1],
		.end = number[2],
		.bias = number[3],
	};
	return build_module(tables->model, (struct module_id){(uint32_t)number[0]}, &module,
		(const char *)path, (size_t)path_len);
}

static struct error *decode_modules(struct hpw_tables *tables, const struct hpw_payload *payload)
{
	struct cursor c = hpw_payload_cursor(payload);
	struct error *error = NULL;
	while (!error && cursor_left(&c))
		error = decode_module(tables, &c);
	return error;
}

/* A module whose chunk was lost still gives its frames an address. */
static struct error *stand_in_module(struct model *model, uint64_t module)
{
	if (module >= BUILD_MODULES_MAX)
		return error_create(ERROR_INPUT, "module %" PRIu64 " is out of range", module);
	if (module < model_module_limit(model))
		return NULL;
	static const struct module unknown;
	return build_module(model, (struct module_id){(uint32_t)module}, &unknown, "", 0);
}

/* An instruction that no code has is not known, and a name has none. */
static uint64_t instruction_of(const struct model *model, uint32_t code, uint64_t stored)
{
	bool has_any = model_code(model, (struct code_id){code})->kind != FRAME_NAME;
	return has_any && stored <= UINT32_MAX ? stored : 0;
}

/* Rows of a chunk of stacks on their way into the model. */
struct stack_batch {
	struct hpw_tables *tables;
	struct hpw_column columns[5];
	uint64_t next, address; /* of the next row; of the last one */
	uint64_t up[BUILD_STACK_BATCH], module_of[BUILD_STACK_BATCH];
	uint64_t steps[BUILD_STACK_BATCH], code_of[BUILD_STACK_BATCH];
	uint32_t parent[BUILD_STACK_BATCH], code[BUILD_STACK_BATCH];
	uint16_t module[BUILD_STACK_BATCH];
	uint64_t addresses[BUILD_STACK_BATCH];
};

static struct error *read_parents(struct stack_batch *batch, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t id = batch->next + i;
		if (batch->up[i] > id)
			return error_create(
				ERROR_INPUT, "stack %" PRIu64 " has an impossible parent", id);
		batch->parent[i] = (uint32_t)(id - batch->up[i]);
	}
	return NULL;
}

/* Frames in loaded files alone: an address is a difference from the one before. */
static struct error *read_native(struct stack_batch *batch, size_t count)
{
	uint64_t most = 0;
	for (size_t i = 0; i < count; i++) {
		most |= batch->module_of[i];
		batch->module[i] = (uint16_t)batch->module_of[i];
		batch->addresses[i] = batch->address += (uint64_t)zigzag_decode(batch->steps[i]);
	}
	/* None is larger than all of their bits together. */
	struct error *error = NULL;
	if (most >= model_module_limit(batch->tables->model))
		for (size_t i = 0; !error && i < count; i++)
			error = stand_in_module(batch->tables->model, batch->module_of[i]);
	return error;
}

/* A node's frame: as above, or an instruction of code. */
static struct error *read_frame(struct stack_batch *batch, size_t i)
{
	struct hpw_tables *tables = batch->tables;
	uint64_t code = batch->code_of[i];
	struct error *error =
		code ? hpw_code_find(&tables->code, tables->model, code, &batch->code[i])
		     : stand_in_module(tables->model, batch->module_of[i]);
	if (error)
		return error;
	batch->module[i] = code ? 0 : (uint16_t)batch->module_of[i];
	if (code) {
		batch->addresses[i] =
			instruction_of(tables->model, batch->code[i], batch->steps[i]);
	} else {
		batch->code[i] = 0;
		batch->addresses[i] = batch->address += (uint64_t)zigzag_decode(batch->steps[i]);
	}
	return NULL;
}

static struct error *next_stacks(void *context, size_t count, struct stack_columns *ret)
{
	struct stack_batch *batch = context;
	uint64_t *const into[] = {batch->up, batch->module_of, batch->steps, batch->code_of};
	bool code = batch->columns[4].present;
	struct error *error = NULL;
	for (size_t i = 0; !error && i < ARRAY_SIZE(into) - !code; i++)
		error = hpw_column_read(&batch->columns[1 + i], into[i], count);
	if (!error)
		error = read_parents(batch, count);
	if (!error && !code)
		error = read_native(batch, count);
	for (size_t i = 0; !error && code && i < count; i++)
		error = read_frame(batch, i);
	batch->next += count;
	*ret = (struct stack_columns){
		batch->parent, batch->module, batch->addresses, code ? batch->code : NULL};
	return error;
}

static struct error *decode_stacks(struct hpw_tables *tables, const struct hpw_payload *payload)
{
	struct stack_batch batch;
	size_t count;
	batch.tables = tables;
	batch.address = 0;
	struct error *error = hpw_columns_open(payload, batch.columns, ARRAY_SIZE(batch.columns));
	if (!error)
		error = hpw_columns_rows(batch.columns, ARRAY_SIZE(batch.columns), 0x1e, &count);
	if (!error)
		error = hpw_column_next(&batch.columns[0], &batch.next);
	if (error)
		return error;
	if (batch.next >= BUILD_STACKS_MAX || count > BUILD_STACKS_MAX - batch.next)
		return error_create(
			ERROR_INPUT, "stacks from %" PRIu64 " on are too many", batch.next);
	/* Most stacks take a byte or two of a file: their table need not move as it grows. */
	build_expect_stacks(tables->model, tables->file_bytes);
	const struct stack_feed feed = {&batch, next_stacks};
	return build_stacks_fed(
		tables->model, (struct stack_id){(uint32_t)batch.next}, count, &feed);
}

static struct error *decode_code(struct hpw_tables *tables, const struct hpw_payload *payload)
{
	return hpw_code_decode(&tables->code, tables->model, payload);
}

static struct error *decode_traced_lines(
	struct hpw_tables *tables, const struct hpw_payload *payload)
{
	return hpw_code_decode_traced(&tables->code, tables->model, payload, &tables->traced_lines);
}

enum alloc_kind hpw_tables_kind_of(uint8_t stored)
{
	static const enum alloc_kind kinds[HW_ALLOC_KINDS] = {
		[HW_MALLOC] = KIND_MALLOC,
		[HW_CALLOC] = KIND_CALLOC,
		[HW_REALLOC] = KIND_REALLOC,
		[HW_POSIX_MEMALIGN] = KIND_POSIX_MEMALIGN,
		[HW_ALIGNED_ALLOC] = KIND_ALIGNED_ALLOC,
		[HW_MEMALIGN] = KIND_MEMALIGN,
		[HW_VALLOC] = KIND_VALLOC,
		[HW_PVALLOC] = KIND_PVALLOC,
		[HW_NEW] = KIND_NEW,
		[HW_NEW_ARRAY] = KIND_NEW_ARRAY,
		[HW_NEW_NOTHROW] = KIND_NEW_NOTHROW,
		[HW_NEW_ARRAY_NOTHROW] = KIND_NEW_ARRAY_NOTHROW,
		[HW_NEW_ALIGNED] = KIND_NEW_ALIGNED,
		[HW_NEW_ARRAY_ALIGNED] = KIND_NEW_ARRAY_ALIGNED,
		[HW_NEW_ALIGNED_NOTHROW] = KIND_NEW_ALIGNED_NOTHROW,
		[HW_NEW_ARRAY_ALIGNED_NOTHROW] = KIND_NEW_ARRAY_ALIGNED_NOTHROW,
		[HW_PYTHON_RAW] = KIND_PYTHON_RAW,
		[HW_PYTHON_MEM] = KIND_PYTHON_MEM,
		[HW_PYTHON_OBJ] = KIND_PYTHON_OBJ,
	};
	return stored < HW_ALLOC_KINDS ? kinds[stored] : KIND_UNKNOWN;
}

static struct error *put_site(
	struct hpw_tables *tables, uint64_t site, uint64_t stack, enum alloc_kind kind)
{
	if (stack >= model_stack_limit(tables->model)) {
		stack = 0;
		tables->sites_unknown_stack++;
	}
	struct error *error = build_site(tables->model, (struct site_id){(uint32_t)site},
		(struct stack_id){(uint32_t)stack}, kind);
	if (!error && site >= tables->sites)
		tables->sites = site + 1;
	return error;
}

#define SITES_BATCH 512u

static struct error *read_sites(
	struct hpw_tables *tables, struct hpw_column *columns, uint64_t first, size_t count)
{
	uint64_t stacks[SITES_BATCH];
	const uint8_t *kinds = NULL;
	struct error *error = hpw_column_read(&columns[1], stacks, count);
	if (!error && columns[2].present)
		error = cursor_bytes(&columns[2].cursor, count, &kinds);
	for (size_t i = 0; !error && i < count; i++)
		error = put_site(
			tables, first + i, stacks[i], hpw_tables_kind_of(kinds ? kinds[i] : 0));
	return error;
}

static struct error *decode_sites(struct hpw_tables *tables, const struct hpw_payload *payload)
{
	struct hpw_column columns[3];
	size_t count;
	uint64_t first;
	struct error *error = hpw_columns_open(payload, columns, 3);
	if (!error)
		error = hpw_columns_rows(columns, 3, 2, &count);
	if (!error)
		error = hpw_column_next(&columns[0], &first);
	if (error)
		return error;
	if (first > 2 * tables->sites + SITES_GAP || first >= BUILD_SITES_MAX ||
		count > BUILD_SITES_MAX - first)
		return error_create(
			ERROR_INPUT, "site numbers jump to %" PRIu64 " and %zu more", first, count);
	for (size_t done = 0, some; !error && done < count; done += some) {
		some = min(count - done, (size_t)SITES_BATCH);
		error = read_sites(tables, columns, first + done, some);
	}
	return error;
}

_Static_assert((int)PERF_MAP_CUT == HPW_CODE_LIST_CUT && (int)PERF_MAP_ODD == HPW_CODE_LIST_ODD &&
		       (int)PERF_MAP_STATES == HPW_CODE_LIST_KINDS,
	"enum hpw_code_list has the states of process/perf_map.h");

/* Says where names of code that was made at run time are from; nothing of a kind that this reader
 * does not know. */
static struct error *code_list_say(struct model *model, uint64_t list)
{
	char words[PERF_MAP_WORDS_BYTES] = "", remark[PERF_MAP_WORDS_BYTES + 64];
	if (list < HPW_CODE_LIST_KINDS)
		perf_map_words((enum perf_map_state)list, (pid_t)build_target(model)->pid, words);
	if (!*words)
		return NULL;
	int len = snprintf(remark, sizeof(remark),
		"Stacks go through code that was made at run time: %s.", words);
	return build_string(model, remark, (size_t)len, &build_recording(model)->remark);
}

static struct error *decode_code_names(struct hpw_tables *tables, const struct hpw_payload *payload)
{
	struct hpw_column columns[HPW_CODE_NAMES_COLUMNS];
	size_t count;
	uint64_t list = HPW_CODE_LIST_UNSOUGHT;
	if (tables->has_code_names)
		return NULL;
	tables->has_code_names = true;
	struct error *error = hpw_columns_open(payload, columns, HPW_CODE_NAMES_COLUMNS);
	if (!error)
		error = hpw_columns_rows(columns, HPW_CODE_NAMES_COLUMNS, 3, &count);
	if (!error && count > HPW_CODE_NAMES_MAX)
		error = error_create(ERROR_INPUT, "%zu names of code are too many", count);
	uint64_t address = 0;
	for (size_t i = 0; !error && i < count; i++) {
		uint64_t step, len;
		const uint8_t *name = NULL;
		error = hpw_column_next(&columns[HPW_CODE_NAMES_ADDRESS], &step);
		if (!error)
			error = hpw_column_next(&columns[HPW_CODE_NAMES_LENGTH], &len);
		if (!error)
			error = cursor_bytes(&columns[HPW_CODE_NAMES_BYTES].cursor, len, &name);
		if (!error && step > UINT64_MAX - address)
			error = error_create(ERROR_INPUT, "addresses of code overflow");
		if (error)
			break;
		address += step;
		error = build_code_name(tables->model, address, (const char *)name, (size_t)len);
	}
	if (!error)
		error = hpw_column_next(&columns[HPW_CODE_NAMES_LIST], &list);
	return error ? error : code_list_say(tables->model, list);
}

static struct error *decode_names(struct hpw_tables *tables, const struct hpw_payload *payload)
{
	return hpw_names_decode(tables->model, payload);
}

static const struct {
	enum hpw_chunk_type type;
	struct error *(*decode)(struct hpw_tables *tables, const struct hpw_payload *payload);
} decoders[] = {
	{HPW_TARGET, decode_target},
	{HPW_MODULES, decode_modules},
	{HPW_CODE, decode_code},
	{HPW_TRACED_LINES, decode_traced_lines},
	{HPW_STACKS, decode_stacks},
	{HPW_SITES, decode_sites},
	{HPW_CODE_NAMES, decode_code_names},
	{HPW_NAMES, decode_names},
};

void hpw_tables_deinit(struct hpw_tables *tables)
{
	hpw_code_deinit(&tables->code);
}

bool hpw_tables_has(uint16_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(decoders); i++)
		if (decoders[i].type == type)
			return true;
	return false;
}

struct error *hpw_tables_decode(
	struct hpw_tables *tables, uint16_t type, const struct hpw_payload *payload)
{
	for (size_t i = 0; i < ARRAY_SIZE(decoders); i++)
		if (decoders[i].type == type)
			return decoders[i].decode(tables, payload);
	return NULL;
}
