/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see cfi.h. May touch: the same.
 *
 * A bounded interpreter: a cursor that never leaves the module's mapping, a binary search in the
 * sorted table, one pass over the CIE's and the FDE's programs up to pc. Only three columns are
 * kept (CFA, rbp, return address): the others never decide where the next frame is in code that
 * compilers emit, and the few expressions that occur in practice (realigned frames, PLT entries)
 * are folded by a tiny evaluator. Everything else gives "no rule", which the unwinder marks instead
 * of guessing silently.
 */
#include "runtime/core/cfi.h"

#include <stddef.h>

enum { REG_RBP = 6, REG_RSP = 7, REG_RA = 16 };

struct reader {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t get_bytes(struct reader *r, unsigned bytes)
{
	if ((size_t)(r->end - r->at) < bytes) {
		r->bad = true;
		return 0;
	}
	uint64_t value = 0;
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)r->at[i] << (8 * i);
	r->at += bytes;
	return value;
}

static uint64_t get_uleb(struct reader *r)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = (uint8_t)get_bytes(r, 1);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	r->bad = true;
	return 0;
}

static int64_t get_sleb(struct reader *r)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64;) {
		uint8_t byte = (uint8_t)get_bytes(r, 1);
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80)) {
			if ((byte & 0x40) && shift < 64)
				value |= ~0ull << shift;
			return (int64_t)value;
		}
	}
	r->bad = true;
	return 0;
}

/* A pointer encoded as the DW_EH_PE_* byte says (LSB 5.0 core, 10.5); indirect ones are not
 * followed. */
static uint64_t get_encoded(struct reader *r, uint8_t encoding, uint64_t data_base)
{
	uint64_t here = (uint64_t)r->at, value;
	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = get_bytes(r, 8);
		break;
	case 0x01:
		value = get_uleb(r);
		break;
	case 0x02:
		value = get_bytes(r, 2);
		break;
	case 0x03:
		value = get_bytes(r, 4);
		break;
	case 0x09:
		value = (uint64_t)get_sleb(r);
		break;
	case 0x0a:
		value = (uint64_t)(int64_t)(int16_t)get_bytes(r, 2);
		break;
	case 0x0b:
		value = (uint64_t)(int64_t)(int32_t)get_bytes(r, 4);
		break;
	default:
		r->bad = true;
		return 0;
	}
	if ((encoding & 0x70) == 0x10)
		value += here;
	else if ((encoding & 0x70) == 0x30)
		value += data_base;
	return value;
}

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_register;
	uint8_t fde_encoding;
	bool augmented, signal;
	struct reader program;
};

static bool cie_parse(struct reader r, struct cie *ret)
{
	uint64_t length = get_bytes(&r, 4);
	if (!length || length >= 0xfffffff0 || length > (size_t)(r.end - r.at))
		return false;
	r.end = r.at + length;
	if (get_bytes(&r, 4) != 0)
		return false;
	uint8_t version = (uint8_t)get_bytes(&r, 1);
	if (version != 1 && version != 3)
		return false;
	const uint8_t *augmentation = r.at;
	while (get_bytes(&r, 1) && !r.bad)
		;
	*ret = (struct cie){.fde_encoding = 0};
	ret->code_align = get_uleb(&r);
	ret->data_align = get_sleb(&r);
	ret->ra_register = version == 1 ? get_bytes(&r, 1) : get_uleb(&r);
	if (r.bad)
		return false;
	if (*augmentation == 'z') {
		ret->augmented = true;
		uint64_t bytes = get_uleb(&r);
		if (r.bad || bytes > (size_t)(r.end - r.at))
			return false;
		const uint8_t *after = r.at + bytes;
		for (const uint8_t *a = augmentation + 1; *a; a++) {
			if (*a == 'R')
				ret->fde_encoding = (uint8_t)get_bytes(&r, 1);
			else if (*a == 'P')
				get_encoded(&r, (uint8_t)get_bytes(&r, 1) & 0x7f, 0);
			else if (*a == 'L')
				get_bytes(&r, 1);
			else if (*a == 'S')
				ret->signal = true;
			else
				break;
		}
		r.at = after;
	} else if (*augmentation) {
		return false;
	}
	ret->program = r;
	return !r.bad;
}

/* What the program says of one register. */
struct column {
	enum { SAME, UNDEFINED, AT_CFA, EXPRESSION, OTHER } how;
	int64_t offset;
	struct reader expression;
};

struct row {
	uint64_t cfa_register;
	int64_t cfa_offset;
	bool cfa_is_expression;
	struct reader cfa_expression;
	struct column rbp, ra;
};

static struct column *row_column(struct row *row, uint64_t reg, struct column *dummy)
{
	return reg == REG_RBP ? &row->rbp : reg == REG_RA ? &row->ra : dummy;
}

static struct reader get_block(struct reader *r)
{
	uint64_t bytes = get_uleb(r);
	if (bytes > (size_t)(r->end - r->at)) {
		r->bad = true;
		return (struct reader){r->at, r->at, true};
	}
	struct reader block = {r->at, r->at + bytes, false};
	r->at += bytes;
	return block;
}

#define REMEMBERED 2

struct machine {
	const struct cie *cie;
	uint64_t here, pc;
	struct row row;
	struct row initial;
	unsigned depth;
	struct row remembered[REMEMBERED];
};

/* Times the data alignment; what overflows wraps, and is found out to be nonsense later. */
static int64_t scale_offset(const struct machine *m, uint64_t factored)
{
	return (int64_t)(factored * (uint64_t)m->cie->data_align);
}

static void set_column(struct machine *m, uint64_t reg, int how, int64_t offset)
{
	struct column dummy;
	struct column *c = row_column(&m->row, reg, &dummy);
	c->how = how;
	c->offset = offset;
}

static void restore_column(struct machine *m, uint64_t reg)
{
	struct column dummy;
	struct column *from = row_column(&m->initial, reg, &dummy);
	if (from != &dummy)
		*row_column(&m->row, reg, &dummy) = *from;
}

/* One extended opcode (high bits zero). False: stop, the program has something unknown. */
static bool step_extended(struct machine *m, uint8_t op, struct reader *r)
{
	uint64_t reg;
	struct column dummy, *column;
	switch (op) {
	case 0x00: /* nop */
		return true;
	case 0x01: /* set_loc */
		m->here = get_encoded(r, m->cie->fde_encoding, 0);
		return true;
	case 0x02: /* advance_loc1 */
		m->here += get_bytes(r, 1) * m->cie->code_align;
		return true;
	case 0x03:
		m->here += get_bytes(r, 2) * m->cie->code_align;
		return true;
	case 0x04:
		m->here += get_bytes(r, 4) * m->cie->code_align;
		return true;
	case 0x05: /* offset_extended */
		reg = get_uleb(r);
		set_column(m, reg, AT_CFA, scale_offset(m, get_uleb(r)));
		return true;
	case 0x06: /* restore_extended */
		restore_column(m, get_uleb(r));
		return true;
	case 0x07: /* undefined */
		set_column(m, get_uleb(r), UNDEFINED, 0);
		return true;
	case 0x08: /* same_value */
		set_column(m, get_uleb(r), SAME, 0);
		return true;
	case 0x09: /* register */
		reg = get_uleb(r);
		get_uleb(r);
		set_column(m, reg, OTHER, 0);
		return true;
	case 0x0a: /* remember_state */
		if (m->depth == REMEMBERED)
			return false;
		m->remembered[m->depth++] = m->row;
		return true;
	case 0x0b: /* restore_state */
		if (!m->depth)
			return false;
		m->row = m->remembered[--m->depth];
		return true;
	case 0x0c: /* def_cfa */
		m->row.cfa_register = get_uleb(r);
		m->row.cfa_offset = (int64_t)get_uleb(r);
		m->row.cfa_is_expression = false;
		return true;
	case 0x0d: /* def_cfa_register */
		m->row.cfa_register = get_uleb(r);
		m->row.cfa_is_expression = false;
		return true;
	case 0x0e: /* def_cfa_offset */
		m->row.cfa_offset = (int64_t)get_uleb(r);
		return true;
	case 0x0f: /* def_cfa_expression */
		m->row.cfa_is_expression = true;
		m->row.cfa_expression = get_block(r);
		return true;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		reg = get_uleb(r);
		column = row_column(&m->row, reg, &dummy);
		column->how = op == 0x10 ? EXPRESSION : OTHER;
		column->expression = get_block(r);
		return true;
	case 0x11: /* offset_extended_sf */
		reg = get_uleb(r);
		set_column(m, reg, AT_CFA, scale_offset(m, (uint64_t)get_sleb(r)));
		return true;
	case 0x12: /* def_cfa_sf */
		m->row.cfa_register = get_uleb(r);
		m->row.cfa_offset = scale_offset(m, (uint64_t)get_sleb(r));
		m->row.cfa_is_expression = false;
		return true;
	case 0x13: /* def_cfa_offset_sf */
		m->row.cfa_offset = scale_offset(m, (uint64_t)get_sleb(r));
		return true;
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		reg = get_uleb(r);
		get_uleb(r);
		set_column(m, reg, OTHER, 0);
		return true;
	case 0x2e: /* GNU_args_size */
		get_uleb(r);
		return true;
	default:
		return false;
	}
}

/* Runs a program up to the row that covers pc. */
static bool run_program(struct machine *m, struct reader r)
{
	while (r.at < r.end && !r.bad && m->here <= m->pc) {
		uint8_t op = (uint8_t)get_bytes(&r, 1);
		uint8_t low = op & 0x3f;
		switch (op >> 6) {
		case 1: /* advance_loc */
			m->here += low * m->cie->code_align;
			break;
		case 2: /* offset */
			set_column(m, low, AT_CFA, scale_offset(m, get_uleb(&r)));
			break;
		case 3: /* restore */
			restore_column(m, low);
			break;
		default:
			if (!step_extended(m, low, &r))
				return false;
		}
	}
	return !r.bad;
}

/*
 * Folds an expression to base register + constant, with at most one final dereference. rsp counts
 * as 0 while folding, which is right for the linear expressions that occur; rip is known.
 */
struct folded {
	int base; /* -1: none */
	int64_t offset;
	bool deref;
};

static bool fold_expression(struct reader r, uint64_t pc, struct folded *ret)
{
	uint64_t stack[8];
	unsigned n = 0;
	*ret = (struct folded){.base = -1};
	while (r.at < r.end && !r.bad) {
		uint8_t op = (uint8_t)get_bytes(&r, 1);
		if (ret->deref || n > 6)
			return false;
		if (op >= 0x30 && op <= 0x4f) { /* lit0..lit31 */
			stack[n++] = op - 0x30;
		} else if (op >= 0x70 && op <= 0x8f) { /* breg0..31 */
			int64_t offset = get_sleb(&r);
			if (op == 0x70 + REG_RA) {
				stack[n++] = pc + (uint64_t)offset;
			} else if ((op == 0x70 + REG_RBP || op == 0x70 + REG_RSP) &&
				   ret->base < 0) {
				ret->base = op - 0x70;
				stack[n++] = (uint64_t)offset;
			} else {
				return false;
			}
		} else if (op == 0x08 || op == 0x09) { /* const1u, const1s */
			uint8_t value = (uint8_t)get_bytes(&r, 1);
			stack[n++] = op == 0x08 ? value : (uint64_t)(int8_t)value;
		} else if (op == 0x23 && n) { /* plus_uconst */
			stack[n - 1] += get_uleb(&r);
		} else if (op == 0x06 && n == 1) { /* deref */
			ret->deref = true;
		} else if (n >= 2) {
			uint64_t b = stack[--n], *a = &stack[n - 1];
			switch (op) {
			case 0x1a:
				*a &= b;
				break;
			case 0x1c:
				*a -= b;
				break;
			case 0x22:
				*a += b;
				break;
			case 0x24:
				*a <<= b & 63;
				break;
			case 0x2a:
				*a = (int64_t)*a >= (int64_t)b;
				break;
			default:
				return false;
			}
		} else {
			return false;
		}
	}
	if (r.bad || n != 1)
		return false;
	ret->offset = (int64_t)stack[0];
	return ret->base >= 0;
}

static bool fits_bits(int64_t bytes, unsigned bits)
{
	int64_t limit = 1ll << (bits - 1);
	return bytes % 8 == 0 && bytes / 8 < limit && bytes / 8 >= -limit;
}

static bool pack_cfa(const struct row *row, uint64_t pc, enum rt_cfa *ret_kind, int64_t *ret_offset)
{
	struct folded f = {.base = (int)row->cfa_register, .offset = row->cfa_offset};
	if (row->cfa_is_expression && !fold_expression(row->cfa_expression, pc, &f))
		return false;
	if (!fits_bits(f.offset, RT_RULE_CFA_BITS) || (f.base != REG_RSP && f.base != REG_RBP))
		return false;
	/* The unwinder relies on it: rsp + offset lies above the return address's slot. */
	if (f.base == REG_RSP && (f.deref || f.offset < 8))
		return false;
	*ret_kind = f.deref ? RT_CFA_RBP_DEREF : f.base == REG_RSP ? RT_CFA_RSP : RT_CFA_RBP;
	*ret_offset = f.offset;
	return true;
}

static bool pack_rbp(
	const struct column *rbp, uint64_t pc, enum rt_saved_rbp *ret_kind, int64_t *ret_offset)
{
	struct folded f;
	*ret_kind = RT_RBP_SAME;
	*ret_offset = 0;
	switch (rbp->how) {
	case SAME:
	case UNDEFINED:
		return true;
	case AT_CFA:
		*ret_kind = RT_RBP_AT_CFA;
		*ret_offset = rbp->offset;
		return rbp->offset <= -16 && fits_bits(rbp->offset, RT_RULE_RBP_BITS);
	case EXPRESSION:
		if (!fold_expression(rbp->expression, pc, &f) || f.base != REG_RBP || f.deref)
			return false;
		*ret_kind = RT_RBP_AT_RBP;
		*ret_offset = f.offset;
		return fits_bits(f.offset, RT_RULE_RBP_BITS);
	default:
		return false;
	}
}

static struct rt_rule pack_rule(const struct row *row, const struct cie *cie, uint64_t pc)
{
	const struct rt_rule none = {0};
	if (cie->signal)
		return rt_rule_make(RT_CFA_SIGNAL, 0, RT_RBP_SAME, 0);
	if (row->ra.how == UNDEFINED)
		return rt_rule_make(RT_CFA_END, 0, RT_RBP_SAME, 0);
	enum rt_cfa cfa;
	enum rt_saved_rbp rbp;
	int64_t cfa_offset, rbp_offset;
	if (row->ra.how != AT_CFA || row->ra.offset != -8 ||
		!pack_cfa(row, pc, &cfa, &cfa_offset) ||
		!pack_rbp(&row->rbp, pc, &rbp, &rbp_offset))
		return none;
	/* Also relied on: in a frame of fixed size the saved rbp lies inside it. Below rsp it has
	 * just been popped (compilers don't say so in an epilogue), so the register has it. */
	if (cfa == RT_CFA_RSP && rbp == RT_RBP_AT_CFA && cfa_offset + rbp_offset < 0) {
		rbp = RT_RBP_SAME;
		rbp_offset = 0;
	}
	return rt_rule_make(cfa, cfa_offset, rbp, rbp_offset);
}

/* The FDE that the sorted table gives for pc, or NULL. Table entries: (start, FDE), both relative
 * to the header, 4 bytes each. */
static const uint8_t *fde_find(const uint8_t *hdr, uint64_t start, uint64_t end, uint64_t pc)
{
	struct reader r = {hdr, (const uint8_t *)end, false};
	if ((uint64_t)hdr < start || (uint64_t)hdr >= end || get_bytes(&r, 1) != 1)
		return NULL;
	uint8_t frame_encoding = (uint8_t)get_bytes(&r, 1),
		count_encoding = (uint8_t)get_bytes(&r, 1);
	uint8_t table_encoding = (uint8_t)get_bytes(&r, 1);
	get_encoded(&r, frame_encoding, (uint64_t)hdr);
	uint64_t count = get_encoded(&r, count_encoding, (uint64_t)hdr);
	if (r.bad || table_encoding != 0x3b || count > (size_t)(r.end - r.at) / 8)
		return NULL;
	typedef int32_t __attribute__((aligned(1))) entry_word;
	const entry_word *table = (const entry_word *)r.at;
	int64_t wanted = (int64_t)(pc - (uint64_t)hdr);
	uint64_t low = 0, high = count;
	while (low < high) {
		uint64_t middle = (low + high) / 2;
		if (table[2 * middle] <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (const uint8_t *)((uint64_t)hdr + (uint64_t)(int64_t)table[2 * (low - 1) + 1])
		   : NULL;
}

void rt_cfi_rule(const uint8_t *eh_frame_hdr, uint64_t start, uint64_t end, uint64_t pc,
	struct rt_rule *ret, uint64_t *ret_function)
{
	*ret = (struct rt_rule){0}; /* RT_CFA_NONE */
	*ret_function = 0;
	const uint8_t *fde = eh_frame_hdr ? fde_find(eh_frame_hdr, start, end, pc) : NULL;
	if (!fde || (uint64_t)fde < start || (uint64_t)fde >= end)
		return;
	struct reader r = {fde, (const uint8_t *)end, false};
	uint64_t length = get_bytes(&r, 4);
	if (r.bad || !length || length >= 0xfffffff0 || length > (size_t)(r.end - r.at))
		return;
	r.end = r.at + length;
	const uint8_t *id_at = r.at;
	uint64_t cie_distance = get_bytes(&r, 4);
	struct cie cie;
	if (!cie_distance || cie_distance > (uint64_t)id_at - start ||
		!cie_parse(
			(struct reader){id_at - cie_distance, (const uint8_t *)end, false}, &cie))
		return;
	uint64_t first = get_encoded(&r, cie.fde_encoding, 0);
	uint64_t size = get_encoded(&r, cie.fde_encoding & 0x0f, 0);
	if (r.bad || pc - first >= size || cie.ra_register != REG_RA)
		return;
	if (cie.augmented) {
		uint64_t skip = get_uleb(&r);
		if (r.bad || skip > (size_t)(r.end - r.at))
			return;
		r.at += skip;
	}
	struct machine m = {.cie = &cie, .here = 0, .pc = pc};
	if (!run_program(&m, cie.program))
		return;
	m.initial = m.row;
	m.here = first;
	if (!run_program(&m, r))
		return;
	*ret = pack_rule(&m.row, &cie, pc);
	*ret_function = first;
}
