/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/writer/code_rows.h"

#include "base/util.h"
#include "capture/writer/columns.h"

_Static_assert(HPW_CODE_COLUMNS <= COLUMNS_MAX, "there is room");

/* A chunk is ended when its strings and lines take this many bytes, and no row takes more. */
#define CHUNK_BYTES (8u << 20)
#define TEXT_MAX (64u << 10)
/* The end of a text that is cut. */
#define CUT "…"
#define CODE_ROWS (1u << HW_FRAME_INSTRUCTION_BITS)

uint32_t code_rows_count(struct event_source *source)
{
	uint32_t count = source->ops->code_count ? source->ops->code_count(source) : 1;
	return count < 1 ? 1 : min(count, CODE_ROWS);
}

/* A longer text is cut between two characters (UTF-8). */
static uint64_t code_rows_put_text(struct columns *c, unsigned column, struct event_text text)
{
	struct buf *to = &c->column[column + HPW_CODE_TEXTS];
	uint32_t bytes = text.data ? text.bytes : 0, kept = bytes;
	if (bytes > TEXT_MAX) {
		kept = TEXT_MAX - (sizeof(CUT) - 1);
		while (kept && ((unsigned char)text.data[kept] & 0xc0) == 0x80)
			kept--;
		bytes = kept + (sizeof(CUT) - 1);
	}
	columns_add(c, column, bytes);
	buf_bytes(to, text.data, kept);
	buf_bytes(to, CUT, bytes - kept);
	return bytes;
}

/* Lines that do not ascend are passed over. Of code with more lines than a row can have none is
 * written: with a part of them the rest of the code would have a wrong line. */
static uint32_t put_lines(struct columns *c, const struct event_code *code)
{
	uint32_t count = 0, instruction = 0, line = code->first_line;
	for (uint32_t i = 0; i < code->line_count && code->line_count <= HPW_CODE_LINES_MAX; i++) {
		struct event_line row = code->lines[i];
		if (count && row.instruction <= instruction)
			continue;
		columns_add(c, HPW_CODE_INSTRUCTION, row.instruction - instruction);
		columns_add(c, HPW_CODE_LINE, zigzag_encode((int64_t)row.line - line));
		instruction = row.instruction;
		line = row.line;
		count++;
	}
	return count;
}

/* What is of no known kind has a name at most. Returns about how many bytes it takes. */
static uint64_t code_rows_put_row(struct columns *c, const struct event_code *code)
{
	enum hpw_frame_kind kind = code->kind;
	if (kind != HPW_FRAME_CODE_OBJECT && kind != HPW_FRAME_METHOD)
		kind = HPW_FRAME_NAME;
	const struct event_text texts[HPW_CODE_TEXTS] = {
		code->language, code->name, code->outer, code->signature, code->file, code->module};
	uint64_t bytes = 0;
	columns_add(c, HPW_CODE_KIND, kind);
	columns_add(c, HPW_CODE_FIRST_LINE, code->first_line);
	for (unsigned i = 0; i < HPW_CODE_TEXTS; i++)
		bytes += code_rows_put_text(c, HPW_CODE_LANGUAGE + i, texts[i]);
	uint32_t lines = put_lines(c, code);
	columns_add(c, HPW_CODE_LINES, lines);
	return bytes + 16ull * lines;
}

bool code_rows_put(struct buf *ret, struct event_source *source, uint32_t *next, bool *ret_ok)
{
	uint32_t count = code_rows_count(source);
	if (*next >= count)
		return false;
	struct columns c;
	columns_init(&c, HPW_CODE_COLUMNS);
	columns_add(&c, HPW_CODE_FIRST, *next);
	for (uint64_t bytes = 0; *next < count && bytes < CHUNK_BYTES; ++*next) {
		struct event_code code = {.kind = HPW_FRAME_NAME};
		source->ops->code(source, *next, &code);
		bytes += code_rows_put_row(&c, &code) + 16;
	}
	*ret_ok = columns_finish(&c, ret);
	return true;
}

bool code_rows_frame(uint64_t frame, uint32_t count, uint32_t *ret_row, uint64_t *ret_instruction)
{
	uint64_t rest = frame & HW_FRAME_ADDRESS_MASK;
	*ret_row = (uint32_t)(rest >> HW_FRAME_INSTRUCTION_BITS);
	*ret_instruction = rest & HW_FRAME_INSTRUCTION_MASK;
	return frame >> HW_FRAME_ADDRESS_BITS == HW_FRAME_CODE && *ret_row && *ret_row < count;
}
