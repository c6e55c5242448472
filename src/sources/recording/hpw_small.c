/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/hpw_small.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/text.h"
#include "base/util.h"
#include "format/hpw.h"
#include "sources/recording/hpw_footer.h"
#include "sources/recording/hpw_target.h"

/* Of a command: more of it is not shown anywhere. */
#define COMMAND_BYTES_MAX 4096u
#define CUT "..."

bool hpw_small_takes(uint16_t type)
{
	return type == HPW_SMALL;
}

struct error *hpw_small_next(struct cursor *cursor, struct hpw_payload *ret)
{
	uint64_t bytes;
	const uint8_t *data;
	struct error *error = cursor_varint(cursor, &bytes);
	if (!error && bytes > HPW_SMALL_PART_MAX)
		error = cursor_error(cursor, "a part of a row is too large");
	if (!error)
		error = cursor_bytes(cursor, bytes, &data);
	if (!error) /* it is only read */
		*ret = (struct hpw_payload){.data = (uint8_t *)data, .len = (size_t)bytes};
	return error;
}

/* Adds an argument, as far as there is room. */
static void add_argument(struct text *command, const uint8_t *bytes, size_t len)
{
	const size_t most = COMMAND_BYTES_MAX;
	if (command->len > most)
		return;
	if (command->len)
		text_add_char(command, ' ');
	len = strnlen((const char *)bytes, len);
	size_t room = most - min(command->len, most);
	text_add_n(command, (const char *)bytes, min(len, room));
	if (len > room)
		text_add(command, CUT);
}

static void put_number(struct target *target, uint64_t key, uint64_t value)
{
	if (key == HPW_TARGET_PID)
		target->pid = (uint32_t)value;
	else if (key == HPW_TARGET_PPID)
		target->ppid = (uint32_t)value;
	else if (key == HPW_TARGET_OUTER_PID)
		target->outer_pid = (uint32_t)value;
	else if (key == HPW_TARGET_OUTER_PPID)
		target->outer_ppid = (uint32_t)value;
	else if (key == HPW_TARGET_FORKED)
		target->forked = value == 1;
	else if (key == HPW_TARGET_WALL_START_NS)
		target->wall_start_ns = value;
}

/* Who it was. A model for each row, which hpw_tables.h would fill, is too much of many rows. */
static struct error *decode_target(
	const struct hpw_payload *payload, struct target *ret, struct text *ret_command)
{
	struct cursor cursor = hpw_payload_cursor(payload);
	struct error *error = NULL;
	while (!error && cursor_left(&cursor)) {
		struct hpw_target_pair pair;
		error = hpw_target_next(&cursor, &pair);
		if (error)
			break;
		if (pair.key == HPW_TARGET_ARG)
			add_argument(ret_command, pair.bytes, pair.len);
		else if (pair.len == sizeof(uint64_t))
			put_number(ret, pair.key, hpw_target_number(&pair));
	}
	if (!error && !ret->pid)
		error = cursor_error(&cursor, "a row is of no process");
	if (ret->outer_pid)
		return error;
	ret->outer_pid = ret->pid;
	ret->outer_ppid = ret->ppid;
	return error;
}

static struct error *decode_summary(const struct hpw_payload *payload, struct small_process *ret)
{
	struct hpw_footer footer;
	hpw_footer_init(&footer);
	struct error *error = hpw_footer_decode(&footer, HPW_SUMMARY, payload);
	const uint64_t *sum = footer.summary;
	if (!error) {
		hpw_summary_exit(sum, &ret->target);
		ret->totals = hpw_summary_totals(sum);
		ret->lost_events = sum[HPW_SUM_LOST];
		ret->duration_ns = sum[HPW_SUM_NS_DURATION];
		ret->children_unrecorded = sum[HPW_SUM_CHILDREN];
	}
	hpw_footer_deinit(&footer);
	return error;
}

static struct error *decode_row(struct model *model, struct cursor *cursor)
{
	_cleanup_(text_deinit) struct text command;
	struct hpw_payload target, summary;
	struct small_process row = {.lost_events = 0};
	size_t before;
	model_small(model, &before);
	text_init(&command);
	struct error *error = hpw_small_next(cursor, &target);
	if (!error)
		error = hpw_small_next(cursor, &summary);
	if (!error && before >= HPW_SMALL_MAX)
		error = error_create(ERROR_INPUT, "more than %u processes are rows", HPW_SMALL_MAX);
	if (!error)
		error = decode_target(&target, &row.target, &command);
	if (!error)
		error = decode_summary(&summary, &row);
	if (!error && command.failed)
		error = error_no_memory();
	return error ? error
		     : build_small(model, &row, command.len ? command.data : "", command.len);
}

struct error *hpw_small_decode(struct model *model, const struct hpw_payload *payload)
{
	struct cursor cursor;
	cursor_init(&cursor, "SMALL", payload->data, payload->len, 0);
	struct error *error = NULL;
	while (!error && cursor_left(&cursor))
		error = decode_row(model, &cursor);
	return error;
}
