/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/unwind_rows.h"

#include <stdlib.h>
#include <string.h>

enum { REGISTER_RBP = 6, REGISTER_RSP = 7, REGISTER_RA = 16 };

/* A position in .eh_frame. What is read after its end is 0, and `bad`. */
struct frame_reader {
	const uint8_t *at, *end;
	const uint8_t *base; /* of the section, and its address as linked */
	uint64_t base_address;
	bool bad;
};

static uint64_t read_bytes(struct frame_reader *r, unsigned bytes)
{
	uint64_t value = 0;
	if ((size_t)(r->end - r->at) < bytes) {
		r->bad = true;
		return 0;
	}
	memcpy(&value, r->at, bytes);
	r->at += bytes;
	return value;
}

/* Bits that a number of ten bytes has (LEB128); longer ones are damage. */
#define LONGEST_NUMBER_BITS 70u

static uint64_t read_unsigned(struct frame_reader *r)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < LONGEST_NUMBER_BITS && !r->bad; shift += 7) {
		uint64_t byte = read_bytes(r, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	r->bad = true;
	return 0;
}

static int64_t read_signed(struct frame_reader *r)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < LONGEST_NUMBER_BITS && !r->bad; shift += 7) {
		uint64_t byte = read_bytes(r, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && shift + 7 < 64)
			value |= ~0ull << (shift + 7);
		return (int64_t)value;
	}
	r->bad = true;
	return 0;
}

/* A pointer in the form of a DW_EH_PE_ byte (LSB 5.0 core, 10.5). Relative to the text or data
 * segment and indirect ones do not occur in what is needed here. */
static uint64_t read_pointer(struct frame_reader *r, uint8_t form)
{
	uint64_t here = r->base_address + (uint64_t)(r->at - r->base), value;
	switch (form & 0x0f) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		value = read_bytes(r, 8);
		break;
	case 0x01:
		value = read_unsigned(r);
		break;
	case 0x02:
		value = read_bytes(r, 2);
		break;
	case 0x03:
		value = read_bytes(r, 4);
		break;
	case 0x09:
		value = (uint64_t)read_signed(r);
		break;
	case 0x0a:
		value = (uint64_t)(int64_t)(int16_t)read_bytes(r, 2);
		break;
	case 0x0b:
		value = (uint64_t)(int64_t)(int32_t)read_bytes(r, 4);
		break;
	default:
		r->bad = true;
		return 0;
	}
	switch (form & 0x70) {
	case 0x00:
		return value;
	case 0x10:
		return value + here;
	default:
		r->bad = true;
		return 0;
	}
}

static struct frame_reader read_block(struct frame_reader *r)
{
	struct frame_reader block = *r;
	uint64_t bytes = read_unsigned(r);
	if (bytes > (uint64_t)(r->end - r->at))
		r->bad = true;
	if (r->bad) {
		block.bad = true;
		return block;
	}
	block.at = r->at;
	block.end = r->at + bytes;
	r->at += bytes;
	return block;
}

/* What is common to the functions of a compilation unit. */
struct frame_common {
	const uint8_t *at; /* of the entry; NULL: none was read yet */
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer_form;
	bool has_augmentation, is_signal, is_usable;
	struct frame_reader program;
};

enum column_rule { COLUMN_SAME, COLUMN_UNDEFINED, COLUMN_AT_CFA, COLUMN_EXPRESSION, COLUMN_OTHER };

struct frame_column {
	enum column_rule rule;
	int64_t offset;
	struct frame_reader expression;
};

struct frame_state {
	uint64_t cfa_register;
	int64_t cfa_offset;
	bool cfa_is_expression;
	struct frame_reader cfa_expression;
	struct frame_column rbp, ra;
};

/* Nested remember_state; compilers use one. */
#define REMEMBERED_MOST 8u

struct frame_machine {
	const struct frame_common *common;
	struct watch_row_vec *rows; /* NULL: none are made */
	uint64_t here;
	struct frame_state state, initial;
	struct frame_state remembered[REMEMBERED_MOST];
	unsigned depth;
	bool no_memory;
};

static void augmentation_read(
	struct frame_reader *r, const char *letters, struct frame_common *common)
{
	struct frame_reader block = read_block(r);
	common->has_augmentation = true;
	for (const char *letter = letters + 1; *letter && !block.bad; letter++) {
		if (*letter == 'R')
			common->pointer_form = (uint8_t)read_bytes(&block, 1);
		else if (*letter == 'P')
			read_pointer(&block, (uint8_t)read_bytes(&block, 1) & 0x7f);
		else if (*letter == 'L')
			read_bytes(&block, 1);
		else if (*letter == 'S')
			common->is_signal = true;
		else if (*letter != 'B')
			break;
	}
}

/* `r` is after the entry's length, and ends with it. */
static void common_read(struct frame_reader r, struct frame_common *ret)
{
	*ret = (struct frame_common){.at = ret->at};
	read_bytes(&r, 4);
	uint64_t version = read_bytes(&r, 1);
	const char *letters = (const char *)r.at;
	while (!r.bad && read_bytes(&r, 1))
		;
	ret->code_align = read_unsigned(&r);
	ret->data_align = read_signed(&r);
	uint64_t ra = version == 1 ? read_bytes(&r, 1) : read_unsigned(&r);
	if (r.bad || (version != 1 && version != 3) || ra != REGISTER_RA)
		return;
	if (letters[0] == 'z')
		augmentation_read(&r, letters, ret);
	else if (letters[0])
		return;
	ret->program = r;
	ret->is_usable = !r.bad;
}

static struct frame_column *column_get(
	struct frame_state *state, uint64_t number, struct frame_column *other)
{
	return number == REGISTER_RBP ? &state->rbp : number == REGISTER_RA ? &state->ra : other;
}

static void column_set(
	struct frame_machine *m, uint64_t number, enum column_rule rule, int64_t offset)
{
	struct frame_column other, *column = column_get(&m->state, number, &other);
	*column = (struct frame_column){.rule = rule, .offset = offset};
}

static void column_restore(struct frame_machine *m, uint64_t number)
{
	struct frame_column other, *from = column_get(&m->initial, number, &other);
	if (from != &other)
		*column_get(&m->state, number, &other) = *from;
}

static int64_t offset_scale(const struct frame_machine *m, uint64_t factored)
{
	return (int64_t)(factored * (uint64_t)m->common->data_align);
}

/* An expression that is rbp or rsp + a constant, perhaps with one dereference at its end. Others
 * are the entry of PLT stubs, where no return address leads, and of hand-written code. */
struct folded_expression {
	uint64_t base;
	int64_t offset;
	bool is_deref;
};

static bool expression_fold(struct frame_reader r, struct folded_expression *ret)
{
	uint64_t op = read_bytes(&r, 1);
	if (op != 0x70 + REGISTER_RBP && op != 0x70 + REGISTER_RSP)
		return false;
	*ret = (struct folded_expression){.base = op - 0x70, .offset = read_signed(&r)};
	if (r.at < r.end && *r.at == 0x23) { /* plus_uconst */
		r.at++;
		ret->offset += (int64_t)read_unsigned(&r);
	}
	if (r.at < r.end && *r.at == 0x06) {
		r.at++;
		ret->is_deref = true;
	}
	return !r.bad && r.at == r.end;
}

static bool cfa_pack(const struct frame_state *state, struct watch_row *row)
{
	struct folded_expression cfa = {.base = state->cfa_register, .offset = state->cfa_offset};
	if (state->cfa_is_expression && !expression_fold(state->cfa_expression, &cfa))
		return false;
	if (cfa.offset != (int32_t)cfa.offset || (cfa.base == REGISTER_RSP && cfa.is_deref) ||
		(cfa.base != REGISTER_RSP && cfa.base != REGISTER_RBP))
		return false;
	row->cfa_offset = (int32_t)cfa.offset;
	row->cfa = cfa.is_deref               ? WATCH_ROW_RBP_DEREF
		   : cfa.base == REGISTER_RSP ? WATCH_ROW_RSP
					      : WATCH_ROW_RBP;
	return true;
}

static bool rbp_pack(const struct frame_column *rbp, struct watch_row *row)
{
	struct folded_expression at;
	row->rbp = WATCH_RBP_SAME;
	switch (rbp->rule) {
	case COLUMN_SAME:
	case COLUMN_UNDEFINED:
		return true;
	case COLUMN_AT_CFA:
		row->rbp = WATCH_RBP_AT_CFA;
		row->rbp_offset = (int16_t)rbp->offset;
		return row->rbp_offset == rbp->offset;
	case COLUMN_EXPRESSION:
		if (!expression_fold(rbp->expression, &at) || at.base != REGISTER_RBP ||
			at.is_deref)
			return false;
		row->rbp = WATCH_RBP_AT_RBP;
		row->rbp_offset = (int16_t)at.offset;
		return row->rbp_offset == at.offset;
	default:
		return false;
	}
}

static struct watch_row state_pack(const struct frame_machine *m)
{
	const struct frame_state *state = &m->state;
	struct watch_row row = {.pc = m->here};
	if (m->common->is_signal) {
		row.cfa = WATCH_ROW_SIGNAL;
	} else if (state->ra.rule == COLUMN_UNDEFINED) {
		row.cfa = WATCH_ROW_END;
	} else if (state->ra.rule != COLUMN_AT_CFA || state->ra.offset != -8 ||
		   !cfa_pack(state, &row) || !rbp_pack(&state->rbp, &row)) {
		row = (struct watch_row){.pc = m->here, .cfa = WATCH_ROW_UNKNOWN};
	} else if (row.cfa == WATCH_ROW_RSP && row.rbp == WATCH_RBP_AT_CFA &&
		   row.cfa_offset + row.rbp_offset < 0) {
		/* It was saved below rsp, and has been restored since: epilogues do not say so. */
		row.rbp = WATCH_RBP_SAME;
		row.rbp_offset = 0;
	}
	return row;
}

static bool row_is_same(const struct watch_row *a, const struct watch_row *b)
{
	return a->cfa == b->cfa && a->rbp == b->rbp && a->cfa_offset == b->cfa_offset &&
	       a->rbp_offset == b->rbp_offset;
}

static void row_add(struct frame_machine *m, uint64_t function)
{
	struct watch_row row = state_pack(m);
	struct watch_row *last = m->rows->len ? &m->rows->data[m->rows->len - 1] : NULL;
	if (last && last->pc == row.pc)
		*last = row;
	else if (!last || last->pc < function || !row_is_same(last, &row))
		m->no_memory |= !watch_row_vec_push(m->rows, row);
}

static void machine_advance(struct frame_machine *m, uint64_t units, uint64_t function)
{
	if (m->rows)
		row_add(m, function);
	m->here += units * m->common->code_align;
}

static void machine_define(struct frame_machine *m, uint64_t number, int64_t offset)
{
	m->state.cfa_register = number;
	m->state.cfa_offset = offset;
	m->state.cfa_is_expression = false;
}

static void machine_expression(struct frame_machine *m, struct frame_reader *r, bool is_value)
{
	struct frame_column other;
	uint64_t number = read_unsigned(r);
	struct frame_reader block = read_block(r);
	*column_get(&m->state, number, &other) = (struct frame_column){
		.rule = is_value ? COLUMN_OTHER : COLUMN_EXPRESSION, .expression = block};
}

/* Instructions that change columns other than by offset in one byte. Returns false if it is not
 * known. */
static bool machine_step_long(struct frame_machine *m, uint8_t op, struct frame_reader *r)
{
	uint64_t number;
	switch (op) {
	case 0x05: /* offset_extended */
		number = read_unsigned(r);
		column_set(m, number, COLUMN_AT_CFA, offset_scale(m, read_unsigned(r)));
		return true;
	case 0x06: /* restore_extended */
		column_restore(m, read_unsigned(r));
		return true;
	case 0x07: /* undefined */
		column_set(m, read_unsigned(r), COLUMN_UNDEFINED, 0);
		return true;
	case 0x08: /* same_value */
		column_set(m, read_unsigned(r), COLUMN_SAME, 0);
		return true;
	case 0x09: /* register */
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		number = read_unsigned(r);
		read_unsigned(r);
		column_set(m, number, COLUMN_OTHER, 0);
		return true;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		machine_expression(m, r, op == 0x16);
		return true;
	case 0x11: /* offset_extended_sf */
		number = read_unsigned(r);
		column_set(m, number, COLUMN_AT_CFA, offset_scale(m, (uint64_t)read_signed(r)));
		return true;
	case 0x2e: /* GNU_args_size */
		read_unsigned(r);
		return true;
	default:
		return false;
	}
}

/* Instructions of the CFA and of states. */
static bool machine_step_cfa(struct frame_machine *m, uint8_t op, struct frame_reader *r)
{
	uint64_t number;
	switch (op) {
	case 0x0a: /* remember_state */
		if (m->depth == REMEMBERED_MOST)
			return false;
		m->remembered[m->depth++] = m->state;
		return true;
	case 0x0b: /* restore_state */
		if (!m->depth)
			return false;
		m->state = m->remembered[--m->depth];
		return true;
	case 0x0c: /* def_cfa */
		number = read_unsigned(r);
		machine_define(m, number, (int64_t)read_unsigned(r));
		return true;
	case 0x0d: /* def_cfa_register */
		machine_define(m, read_unsigned(r), m->state.cfa_offset);
		return true;
	case 0x0e: /* def_cfa_offset */
		m->state.cfa_offset = (int64_t)read_unsigned(r);
		return true;
	case 0x0f: /* def_cfa_expression */
		m->state.cfa_is_expression = true;
		m->state.cfa_expression = read_block(r);
		return true;
	case 0x12: /* def_cfa_sf */
		number = read_unsigned(r);
		machine_define(m, number, offset_scale(m, (uint64_t)read_signed(r)));
		return true;
	case 0x13: /* def_cfa_offset_sf */
		m->state.cfa_offset = offset_scale(m, (uint64_t)read_signed(r));
		return true;
	default:
		return machine_step_long(m, op, r);
	}
}

/* Runs a program. Returns false at an instruction that is not known. */
static bool machine_run(struct frame_machine *m, struct frame_reader r, uint64_t function)
{
	static const uint8_t advance_bytes[] = {[2] = 1, [3] = 2, [4] = 4};
	while (r.at < r.end && !r.bad && !m->no_memory) {
		uint8_t op = (uint8_t)read_bytes(&r, 1), low = op & 0x3f;
		if (op >> 6 == 1)
			machine_advance(m, low, function);
		else if (op >> 6 == 2)
			column_set(m, low, COLUMN_AT_CFA, offset_scale(m, read_unsigned(&r)));
		else if (op >> 6 == 3)
			column_restore(m, low);
		else if (low >= 2 && low <= 4)
			machine_advance(m, read_bytes(&r, advance_bytes[low]), function);
		else if (low && !machine_step_cfa(m, low, &r))
			return false;
	}
	return !r.bad;
}

/* What is being read. */
struct frame_section {
	struct frame_reader all;
	struct frame_common common; /* of the last function: most have the same */
	struct watch_row_vec *rows;
};

/* Adds a row after a function's last one: what follows is not known. */
static bool rows_end(struct watch_row_vec *rows, uint64_t pc)
{
	return watch_row_vec_push(rows, (struct watch_row){.pc = pc, .cfa = WATCH_ROW_NONE});
}

/* The rows of one function. `r` is after the entry's number; `common` is of it. */
static struct error *function_add(struct frame_section *section, struct frame_reader r)
{
	const struct frame_common *common = &section->common;
	uint64_t start = read_pointer(&r, common->pointer_form);
	uint64_t bytes = read_pointer(&r, common->pointer_form & 0x0f);
	if (common->has_augmentation)
		(void)read_block(&r);
	if (r.bad || !bytes || !start || start + bytes < start)
		return NULL;
	struct frame_machine m = {.common = common, .here = start};
	size_t first = section->rows->len;
	bool is_known = machine_run(&m, common->program, start);
	m.initial = m.state;
	m.rows = section->rows;
	is_known = is_known && machine_run(&m, r, start);
	if (is_known && m.here < start + bytes)
		row_add(&m, start);
	/* Instructions that make no sense say nothing about the others either. */
	if (!is_known) {
		section->rows->len = first;
		m.no_memory |= !watch_row_vec_push(
			section->rows, (struct watch_row){.pc = start, .cfa = WATCH_ROW_UNKNOWN});
	}
	if (m.no_memory || !rows_end(section->rows, start + bytes))
		return error_no_memory();
	return NULL;
}

/* The entry at `at`: a function, or what functions have in common. *ret_next: the next one; NULL:
 * there is none. */
static struct error *entry_add(
	struct frame_section *section, const uint8_t *at, const uint8_t **ret_next)
{
	struct frame_reader r = section->all;
	r.at = at;
	uint64_t bytes = read_bytes(&r, 4);
	*ret_next = NULL;
	if (bytes == UINT32_MAX)
		bytes = read_bytes(&r, 8);
	if (r.bad || !bytes || bytes > (uint64_t)(r.end - r.at))
		return NULL;
	r.end = r.at + bytes;
	*ret_next = r.end;
	const uint8_t *number_at = r.at;
	uint64_t distance = read_bytes(&r, 4);
	if (!distance || distance > (uint64_t)(number_at - r.base))
		return NULL;
	const uint8_t *common_at = number_at - distance;
	if (section->common.at != common_at) {
		struct frame_reader common = section->all;
		common.at = common_at;
		uint64_t common_bytes = read_bytes(&common, 4);
		section->common = (struct frame_common){.at = common_at};
		if (common.bad || common_bytes > (uint64_t)(common.end - common.at))
			return NULL;
		common.end = common.at + common_bytes;
		common_read(common, &section->common);
	}
	return section->common.is_usable ? function_add(section, r) : NULL;
}

/* Where .eh_frame is: by its section, or by its index's pointer (stripped of section headers). */
static bool section_find(const struct elf_file *file, struct frame_reader *ret)
{
	const Elf64_Shdr *section = elf_file_section(file, ".eh_frame");
	uint64_t address = 0, offset = 0, bytes = 0;
	if (section && section->sh_type != SHT_NOBITS) {
		address = section->sh_addr;
		offset = section->sh_offset;
		bytes = section->sh_size;
	}
	for (size_t i = 0; i < file->part_count && !bytes; i++) {
		const Elf64_Phdr *part = &file->parts[i];
		const uint8_t *index = elf_file_at(file, part->p_offset, part->p_filesz);
		if (part->p_type != PT_GNU_EH_FRAME || !index)
			continue;
		struct frame_reader r = {.at = index,
			.end = index + part->p_filesz,
			.base = index,
			.base_address = part->p_vaddr};
		uint64_t version = read_bytes(&r, 1), form = read_bytes(&r, 1);
		read_bytes(&r, 2);
		address = read_pointer(&r, (uint8_t)form);
		/* It has an end of its own, an entry of length 0. */
		if (version == 1 && !r.bad && elf_file_offset(file, address, &offset))
			bytes = file->bytes - offset;
	}
	const uint8_t *data = bytes ? elf_file_at(file, offset, bytes) : NULL;
	*ret = (struct frame_reader){.at = data,
		.end = data + (data ? bytes : 0),
		.base = data,
		.base_address = address};
	return data != NULL;
}

static int rows_compare(const void *left, const void *right)
{
	const struct watch_row *a = left, *b = right;
	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	/* The end of a function is the start of the next, which counts. */
	bool a_ends = a->cfa == WATCH_ROW_NONE, b_ends = b->cfa == WATCH_ROW_NONE;
	return (int)b_ends - (int)a_ends;
}

/* Sorts the rows, and leaves out ends of functions where another one begins, and rows that say what
 * the one before said. */
static void rows_tidy(struct watch_row_vec *rows)
{
	size_t kept = 0;
	if (rows->len)
		qsort(rows->data, rows->len, sizeof(rows->data[0]), rows_compare);
	for (size_t i = 0; i < rows->len; i++) {
		if (i + 1 < rows->len && rows->data[i + 1].pc == rows->data[i].pc)
			continue;
		if (!kept || !row_is_same(&rows->data[kept - 1], &rows->data[i]))
			rows->data[kept++] = rows->data[i];
	}
	rows->len = kept;
}

struct error *unwind_rows_read(const struct elf_file *file, struct watch_row_vec *rows)
{
	struct frame_section section = {.rows = rows};
	const uint8_t *at, *next;
	struct error *error = NULL;
	if (!section_find(file, &section.all))
		return NULL;
	for (at = section.all.at; at && !error; at = next)
		error = entry_add(&section, at, &next);
	rows_tidy(rows);
	return error;
}
