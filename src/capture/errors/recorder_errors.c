/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors that the target's library of `heapwise check` reports, and what it says that it looked at:
 * hostile input, like all that comes from there.
 */
#include "capture/recorder/recorder_impl.h"

#include <string.h>

#include "base/util.h"

/* The bits that a report may have. */
#define FLAGS_KNOWN (2u * HW_ERROR_UNSIZED - 1)

_Static_assert(sizeof(((struct hw_check_sums *)0)->limits) == 4, "read at once");

/* The text as a reader may show it: what is no name of a function, with parts of a call, is none.
 */
static void clean_text(char text[HW_ERROR_TEXT])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_()[].,->: ";
	size_t length = strnlen(text, HW_ERROR_TEXT);
	bool good = length < HW_ERROR_TEXT && strspn(text, letters) >= length;
	memset(text + (good ? length : 0), 0, HW_ERROR_TEXT - (good ? length : 0));
}

void recorder_on_error(void *context, uint32_t thread, uint64_t kind,
	const struct hw_error_report *report, uint64_t stamp)
{
	struct recorder *r = context;
	if (!kind || kind >= HW_ERROR_KINDS || r->mode.check == MODE_CHECK_OFF) {
		r->merge.damaged++;
		return;
	}
	struct program_error_row row = {.stamp = stamp,
		.thread = thread,
		.tid = r->tally.threads[thread].tid,
		.kind = (enum hw_error_kind)kind,
		.report = *report};
	row.report.flags &= FLAGS_KNOWN;
	row.report.stack = recorder_want_stack(r, report->stack);
	row.report.allocated_at = recorder_want_stack(r, report->allocated_at);
	row.report.freed_at = recorder_want_stack(r, report->freed_at);
	memset(row.report.reserved, 0, sizeof(row.report.reserved));
	clean_text(row.report.text);
	const struct program_error_row *fresh;
	program_errors_add(&r->errors, &row, &fresh);
	if (!fresh)
		return;
	recorder_write_stacks(r);
	bool made = program_errors_put_new(&r->errors, fresh, &r->payload);
	recorder_write_chunk(r, HPW_ERRORS, made, false);
	recorder_settle(r);
	r->errors_came = true;
}

bool recorder_take_errors(struct recorder *recorder)
{
	bool came = recorder->errors_came;
	recorder->errors_came = false;
	return came;
}

bool recorder_is_guarded(const struct recorder *r)
{
	return r->mode.check != MODE_CHECK_OFF && r->shm &&
	       __atomic_load_n(&r->shm->check.is_there, __ATOMIC_RELAXED) == 1;
}

/* Whether there is news since the last time. */
static bool has_news(const struct recorder *r, const struct hw_check_sums *sums, uint64_t left_out)
{
	return memcmp(sums, &r->check_written, sizeof(*sums)) != 0 ||
	       left_out != r->left_out_written;
}

static void put_pair(struct buf *ret, enum hpw_check_key key, uint64_t value)
{
	buf_varint(ret, key);
	buf_varint(ret, value);
}

static bool put_sums(struct buf *ret, const struct hw_check_sums *sums, uint64_t left_out)
{
	const uint64_t values[HPW_CHECK_KEYS] = {[HPW_CHECK_IS_THERE] = sums->is_there == 1,
		[HPW_CHECK_BACKEND] = sums->backend,
		[HPW_CHECK_SEED] = sums->seed,
		[HPW_CHECK_BLOCKS] = sums->blocks,
		[HPW_CHECK_BYTES] = sums->bytes,
		[HPW_CHECK_GUARDED_BLOCKS] = sums->guarded_blocks,
		[HPW_CHECK_GUARDED_BYTES] = sums->guarded_bytes,
		[HPW_CHECK_STACKS] = sums->stacks,
		[HPW_CHECK_GUARDED_STACKS] = sums->guarded_stacks,
		[HPW_CHECK_STACKS_UNCOUNTED] = sums->stacks_uncounted,
		[HPW_CHECK_REPORTS] = sums->reports,
		[HPW_CHECK_DROPPED] = sums->dropped,
		[HPW_CHECK_LIMITS] = sums->limits,
		[HPW_CHECK_LEFT_OUT] = left_out};
	for (unsigned key = 1; key < HPW_CHECK_KEYS; key++)
		put_pair(ret, key, values[key]);
	return !ret->failed;
}

void recorder_write_errors(struct recorder *r, bool end)
{
	if (r->mode.check == MODE_CHECK_OFF || !r->shm)
		return;
	bool counts = program_errors_put_counts(&r->errors, end, &r->payload);
	if (counts || r->payload.len || r->payload.failed)
		recorder_write_chunk(r, HPW_ERRORS, counts, true);
	struct hw_check_sums sums = r->shm->check; /* each word may change meanwhile: no matter */
	sums.reserved = 0;
	if (!end && !has_news(r, &sums, r->errors.left_out))
		return;
	r->check_written = sums;
	r->left_out_written = r->errors.left_out;
	bool made = put_sums(&r->payload, &sums, r->errors.left_out);
	recorder_write_chunk(r, HPW_CHECK, made, false);
}
