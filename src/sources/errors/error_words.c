/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/errors/error_words.h"

#include <inttypes.h>

#include "base/util.h"
#include "format/kinds.h"
#include "model/model.h"
#include "sources/recording/hpw_tables.h"

/* Numbers up to this are sizes; larger ones, and so negative ones, are not. */
#define SIZE_SANE (1ull << 47)

static const char *function_of_free(uint64_t kind)
{
	static const char *const names[HW_FREE_KINDS] = {
		[HW_FREE] = "free()",
		[HW_FREE_REALLOC] = "realloc()",
		[HW_DELETE] = "operator delete",
		[HW_DELETE_ARRAY] = "operator delete[]",
		[HW_FREE_REALLOC_ZERO] = "realloc() to size 0",
		[HW_FREE_PYTHON] = "CPython's free()",
		[HW_FREE_PYTHON_REALLOC] = "CPython's realloc()",
	};
	return kind < HW_FREE_KINDS ? names[kind] : "an unknown free function";
}

/* The function that the report names, or what is called in place of it. */
static const char *function_of(const struct hw_error_report *report, const char *otherwise)
{
	return *report->text ? report->text : otherwise;
}

/* " of size 4", " of size 4 or more"; nothing if it is not known. */
static void add_size(const struct error_row *row, struct text *out)
{
	if (!row->report.access_bytes)
		return;
	text_printf(out, " of size %" PRIu64, row->report.access_bytes);
	if (row->flags & HW_ERROR_UNSIZED)
		text_add(out, " or more");
}

static void add_access(const struct error_row *row, const char *what, struct text *out)
{
	text_add(out, what);
	add_size(row, out);
	if (row->flags & HW_ERROR_IN_CALL && *row->report.text)
		text_printf(out, " in %s", row->report.text);
}

static void add_late(const struct error_row *row, const char *what, struct text *out)
{
	text_printf(out, "%s, found %s", what,
		row->flags & HW_ERROR_AT_EXIT ? "when the program ended" : "later");
}

static void add_value(uint64_t value, struct text *out)
{
	if (value < SIZE_SANE)
		text_printf(out, "%" PRIu64, value);
	else
		text_printf(out, "%" PRId64, (int64_t)value);
}

static void add_free(const struct error_row *row, struct text *out)
{
	const struct hw_error_report *report = &row->report;
	const char *function = function_of_free(report->free_kind);
	enum alloc_kind kind = hpw_tables_kind_of(report->alloc_kind);
	const char *allocated = row->flags & HW_ERROR_HAS_BLOCK && kind != KIND_UNKNOWN
					? alloc_kind_name(kind)
					: "another function";
	switch (row->kind) {
	case HW_ERROR_DOUBLE_FREE:
		text_printf(out, "%s of a block that was already freed", function);
		break;
	case HW_ERROR_MISMATCH:
		text_printf(out, "%s of a block from %s", function, allocated);
		break;
	case HW_ERROR_SIZE:
		text_printf(out, "%s of a block with another size than it has: %" PRIu64, function,
			report->access_bytes);
		break;
	case HW_ERROR_ALIGN:
		text_printf(out, "%s of a block with another alignment than it was allocated with",
			function);
		break;
	default:
		text_printf(out, "Invalid %s", function);
	}
}

static void add_overlap(const struct hw_error_report *report, struct text *out)
{
	text_printf(out, "Source and destination overlap in %s(0x%" PRIx64 ", 0x%" PRIx64,
		function_of(report, "a copy"), report->address, report->source);
	if (report->access_bytes)
		text_printf(out, ", %" PRIu64, report->access_bytes);
	text_add(out, ")");
}

static void add_fishy(const struct hw_error_report *report, struct text *out)
{
	text_printf(out, "The size given to %s has ", function_of(report, "a function"));
	if (report->source) {
		text_printf(out,
			"overflowed: %" PRIu64 " elements of %" PRIu64 " bytes are more than any "
			"block can have",
			report->source, report->access_bytes);
	} else {
		text_add(out, "a fishy (possibly negative) value: ");
		add_value(report->access_bytes, out);
	}
}

static void add_call(const struct error_row *row, struct text *out)
{
	const struct hw_error_report *report = &row->report;
	switch (row->kind) {
	case HW_ERROR_OVERLAP:
		add_overlap(report, out);
		break;
	case HW_ERROR_SYSCALL:
		text_printf(out, "Syscall param %s points to unaddressable bytes",
			function_of(report, "of a call"));
		break;
	case HW_ERROR_SYSCALL_UNINIT:
		text_printf(out, "Syscall param %s points to uninitialised byte(s)",
			function_of(report, "of a call"));
		if (report->access_bytes)
			text_printf(out, ": %" PRIu64, report->access_bytes);
		break;
	case HW_ERROR_FISHY:
		add_fishy(report, out);
		break;
	case HW_ERROR_REALLOC_ZERO:
		text_add(out, "realloc() with size 0");
		break;
	default:
		text_printf(out, "Invalid alignment in %s: ", function_of(report, "a call"));
		add_value(report->access_bytes, out);
	}
}

static void add_unwritten(const struct hw_error_report *report, struct text *out)
{
	text_add(out, "The result depends on ");
	if (!report->access_bytes) {
		text_add(out, "uninitialised memory of a block");
		return;
	}
	text_printf(out, "%" PRIu64 " uninitialised byte%s at offset %" PRIu64 " of a block",
		report->access_bytes, report->access_bytes == 1 ? "" : "s", report->source);
}

void error_words_what(const struct error_row *row, struct text *out)
{
	switch (row->kind) {
	case HW_ERROR_READ:
		add_access(row, "Invalid read", out);
		break;
	case HW_ERROR_WRITE:
		add_access(row, "Invalid write", out);
		break;
	case HW_ERROR_JUMP:
		text_add(out, "Jump to an invalid address");
		break;
	case HW_ERROR_CANARY:
		add_late(row, "Invalid write: bytes next to a block have changed", out);
		break;
	case HW_ERROR_FREED_WRITE:
		add_late(row, "Invalid write: a freed block has changed", out);
		break;
	case HW_ERROR_UNINIT:
		add_unwritten(&row->report, out);
		break;
	case HW_ERROR_FREE:
	case HW_ERROR_DOUBLE_FREE:
	case HW_ERROR_MISMATCH:
	case HW_ERROR_SIZE:
	case HW_ERROR_ALIGN:
		add_free(row, out);
		break;
	default:
		add_call(row, out);
	}
}

/* Where the address is, as seen from the block: bytes, and a word. */
static uint64_t find_distance(const struct hw_error_report *report, const char **ret_word)
{
	uint64_t end = report->block + report->block_bytes;
	if (report->address < report->block) {
		*ret_word = "before";
		return report->block - report->address;
	}
	*ret_word = report->address < end ? "inside" : "after";
	return report->address - (report->address < end ? report->block : end);
}

/* Whether the address is that of an access, or of what was freed. */
static bool has_address(const struct error_row *row)
{
	switch (row->kind) {
	case HW_ERROR_FISHY:
	case HW_ERROR_BAD_ALIGN:
	case HW_ERROR_REALLOC_ZERO:
	case HW_ERROR_UNINIT:
		return false;
	case HW_ERROR_READ:
	case HW_ERROR_WRITE:
	case HW_ERROR_JUMP:
		return true; /* that of NULL, too */
	default:
		return row->report.address;
	}
}

void error_words_where(const struct error_row *row, struct text *out)
{
	const struct hw_error_report *report = &row->report;
	bool block = row->flags & HW_ERROR_HAS_BLOCK;
	if (!has_address(row) && block) {
		text_printf(out, "the block at 0x%" PRIx64 " has size %" PRIu64, report->block,
			report->block_bytes);
		return;
	}
	if (!has_address(row) || (row->kind == HW_ERROR_OVERLAP && !block))
		return;
	text_printf(out, "address 0x%" PRIx64 " is ", report->address);
	if (block) {
		const char *word;
		uint64_t bytes = find_distance(report, &word);
		text_printf(out, "%" PRIu64 " byte%s %s a %sblock of size %" PRIu64, bytes,
			bytes == 1 ? "" : "s", word, row->flags & HW_ERROR_FREED ? "freed " : "",
			report->block_bytes);
	} else {
		text_add(out, row->flags & HW_ERROR_ON_STACK
				      ? "on a thread's stack"
				      : "not in or next to a block of the heap that is known");
	}
	if (row->flags & HW_ERROR_ENDS)
		text_add(out, "; the program ended there");
}

void error_words_facts(const struct error_row *row, struct program_error *ret)
{
	const struct hw_error_report *report = &row->report;
	bool has_size = row->kind != HW_ERROR_SIZE && report->access_bytes;
	ret->access = (struct error_access){.known = has_address(row),
		.address = report->address,
		.bytes = has_address(row) && has_size ? report->access_bytes : 0,
		.exact = !(row->flags & HW_ERROR_UNSIZED)};
	if (!(row->flags & HW_ERROR_HAS_BLOCK))
		return;
	ret->block = (struct error_block){.known = true,
		.address = report->block,
		.size = report->block_bytes,
		.has_offset = has_address(row) || row->kind == HW_ERROR_UNINIT,
		.freed = row->flags & HW_ERROR_FREED,
		.guarded = row->flags & HW_ERROR_GUARDED,
		.allocated_by = report->allocated_by,
		.freed_by = report->freed_by};
	if (ret->block.has_offset)
		ret->block.offset = row->kind == HW_ERROR_UNINIT
					    ? (int64_t)report->source
					    : (int64_t)(report->address - report->block);
}
