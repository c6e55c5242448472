/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules compiled from call frame information: synthesised from tables, cut and garbled at every
 * byte between two pages that can't be touched, and of this machine's libraries against libdw.
 */
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <libelf.h>
#include <link.h>
#include <sys/mman.h>

#include "base/util.h"
#include "lib/tap.h"
#include "runtime/core/cfi.h"

/* --- a module made by hand ----------------------------------------------------------------------
 */

#define IMAGE_MAX 8192
#define FUNCTION_BYTES 0x100
/* The code is nowhere: its addresses only have to be near. */
#define CODE_DISTANCE 0x100000

struct image {
	uint8_t bytes[IMAGE_MAX];
	size_t len, fde;
};

static void put(struct image *image, const void *bytes, size_t len)
{
	CHECK(image->len + len <= IMAGE_MAX);
	memcpy(image->bytes + image->len, bytes, len);
	image->len += len;
}

static void put_u8(struct image *image, uint8_t value)
{
	put(image, &value, 1);
}

static void put_u32(struct image *image, uint32_t value)
{
	put(image, &value, 4);
}

static void set_u32(struct image *image, size_t at, uint32_t value)
{
	memcpy(image->bytes + at, &value, 4);
}

/* Pads the entry that began at `at` with nops and sets its length. */
static void end_entry(struct image *image, size_t at)
{
	while (image->len % 8)
		put_u8(image, 0);
	set_u32(image, at, (uint32_t)(image->len - at - 4));
}

struct program {
	const char *bytes;
	size_t len;
};
#define PROGRAM(bytes)                                                                             \
	{                                                                                          \
		bytes, sizeof(bytes) - 1                                                           \
	}

/* What gcc and clang begin with: CFA = rsp + 8, return address at CFA - 8. */
static const struct program usual_cie = PROGRAM("\x0c\x07\x08\x90\x01");

static size_t put_cie(struct image *image, const char *augmentation, struct program program)
{
	size_t at = image->len;
	put_u32(image, 0);
	put_u32(image, 0);
	put_u8(image, 1);
	put(image, augmentation, strlen(augmentation) + 1);
	put(image, "\x01\x78\x10", 3); /* code and data alignment 1, -8; return address 16 */
	put(image, "\x01\x1b", 2);     /* one byte: pointers are relative, 4 bytes */
	put(image, program.bytes, program.len);
	end_entry(image, at);
	return at;
}

/* The code of function number `function` in relation to byte 0 of the image. */
static uint32_t code_of(unsigned function)
{
	return CODE_DISTANCE + function * 2 * FUNCTION_BYTES;
}

static size_t put_fde(struct image *image, size_t cie, unsigned function, struct program program)
{
	size_t at = image->len;
	put_u32(image, 0);
	put_u32(image, (uint32_t)(image->len - cie));
	put_u32(image, code_of(function) - (uint32_t)image->len);
	put_u32(image, FUNCTION_BYTES);
	put_u8(image, 0);
	put(image, program.bytes, program.len);
	end_entry(image, at);
	return at;
}

/* The sorted table first, then one CIE and the functions' FDEs. */
static void image_make(struct image *image, const char *augmentation, struct program cie_program,
	const struct program *functions, unsigned count)
{
	memset(image, 0, sizeof(*image));
	put(image, "\x01\x1b\x03\x3b", 4);
	put_u32(image, 8 + 8 * count);
	put_u32(image, count);
	size_t table = image->len;
	for (unsigned i = 0; i < 2 * count; i++)
		put_u32(image, 0);
	while (image->len % 8)
		put_u8(image, 0);
	size_t cie = put_cie(image, augmentation, cie_program);
	for (unsigned i = 0; i < count; i++) {
		size_t fde = put_fde(image, cie, i, functions[i]);
		set_u32(image, table + 8 * i, code_of(i));
		set_u32(image, table + 8 * i + 4, (uint32_t)fde);
	}
	put_u32(image, 0);
}

static struct rt_rule rule_in(
	const struct image *image, unsigned function, uint32_t offset, uint64_t *ret_function)
{
	uint64_t start = (uint64_t)image->bytes, entry;
	struct rt_rule rule;
	rt_cfi_rule(image->bytes, start, start + image->len, start + code_of(function) + offset,
		&rule, &entry);
	*ret_function = entry;
	return rule;
}

/* --- every opcode -------------------------------------------------------------------------------
 */

static const struct opcode_case {
	const char *name;
	struct program program;
	uint32_t offset;
	enum rt_cfa cfa;
	int64_t cfa_offset;
	enum rt_saved_rbp rbp;
	int64_t rbp_offset;
	const char *augmentation; /* NULL: "zR" */
} opcode_cases[] = {
#define PUSH_RBP "\x41\x0e\x10\x86\x02"
#define FRAME PUSH_RBP "\x43\x0d\x06"
	{"no instructions", PROGRAM(""), 0, RT_CFA_RSP, 8, RT_RBP_SAME, 0, NULL},
	{"before push", PROGRAM(FRAME), 0, RT_CFA_RSP, 8, RT_RBP_SAME, 0, NULL},
	{"def_cfa_offset, offset", PROGRAM(FRAME), 1, RT_CFA_RSP, 16, RT_RBP_AT_CFA, -16, NULL},
	{"before its advance", PROGRAM(FRAME), 3, RT_CFA_RSP, 16, RT_RBP_AT_CFA, -16, NULL},
	{"def_cfa_register", PROGRAM(FRAME), 4, RT_CFA_RBP, 16, RT_RBP_AT_CFA, -16, NULL},
	{"last byte", PROGRAM(FRAME), 0xff, RT_CFA_RBP, 16, RT_RBP_AT_CFA, -16, NULL},
	{"leave: def_cfa, restore", PROGRAM(FRAME "\x41\x0c\x07\x08\xc6"), 5, RT_CFA_RSP, 8,
		RT_RBP_SAME, 0, NULL},
	{"remember", PROGRAM(FRAME "\x41\x0a\x0c\x07\x08\xc6\x41\x0b"), 5, RT_CFA_RSP, 8,
		RT_RBP_SAME, 0, NULL},
	{"restore_state", PROGRAM(FRAME "\x41\x0a\x0c\x07\x08\xc6\x41\x0b"), 6, RT_CFA_RBP, 16,
		RT_RBP_AT_CFA, -16, NULL},
	{"two remembered", PROGRAM(PUSH_RBP "\x0a\x0e\x20\x0a\x0e\x30\x0b\x0b"), 9, RT_CFA_RSP, 16,
		RT_RBP_AT_CFA, -16, NULL},
	{"inner of two remembered", PROGRAM("\x0a\x0e\x20\x0a\x0e\x30\x0b"), 9, RT_CFA_RSP, 32,
		RT_RBP_SAME, 0, NULL},
	{"restore_state of nothing", PROGRAM("\x0b"), 0, RT_CFA_NONE, 0, RT_RBP_SAME, 0, NULL},
	{"advance_loc1, before", PROGRAM("\x02\x80\x0e\x10"), 0x7f, RT_CFA_RSP, 8, RT_RBP_SAME, 0,
		NULL},
	{"advance_loc1, after", PROGRAM("\x02\x80\x0e\x10"), 0x80, RT_CFA_RSP, 16, RT_RBP_SAME, 0,
		NULL},
	{"advance_loc2, before", PROGRAM("\x03\x90\x00\x0e\x10"), 0x8f, RT_CFA_RSP, 8, RT_RBP_SAME,
		0, NULL},
	{"advance_loc2, after", PROGRAM("\x03\x90\x00\x0e\x10"), 0x90, RT_CFA_RSP, 16, RT_RBP_SAME,
		0, NULL},
	{"advance_loc4, before", PROGRAM("\x04\xa0\x00\x00\x00\x0e\x10"), 0x9f, RT_CFA_RSP, 8,
		RT_RBP_SAME, 0, NULL},
	{"advance_loc4, after", PROGRAM("\x04\xa0\x00\x00\x00\x0e\x10"), 0xa0, RT_CFA_RSP, 16,
		RT_RBP_SAME, 0, NULL},
	{"offset_extended", PROGRAM("\x0e\x20\x05\x06\x03"), 0, RT_CFA_RSP, 32, RT_RBP_AT_CFA, -24,
		NULL},
	{"restore_extended", PROGRAM(PUSH_RBP "\x06\x06"), 1, RT_CFA_RSP, 16, RT_RBP_SAME, 0, NULL},
	{"undefined", PROGRAM(PUSH_RBP "\x07\x06"), 1, RT_CFA_RSP, 16, RT_RBP_SAME, 0, NULL},
	{"same_value", PROGRAM(PUSH_RBP "\x08\x06"), 1, RT_CFA_RSP, 16, RT_RBP_SAME, 0, NULL},
	{"other registers", PROGRAM("\x0e\x40\x83\x05\x8c\x04\x05\x0d\x03\xc3\x09\x03\x0c"), 0,
		RT_CFA_RSP, 64, RT_RBP_SAME, 0, NULL},
	{"rbp in a register", PROGRAM("\x09\x06\x03"), 0, RT_CFA_NONE, 0, RT_RBP_SAME, 0, NULL},
	{"offset_extended_sf", PROGRAM("\x0e\x10\x11\x06\x02"), 0, RT_CFA_RSP, 16, RT_RBP_AT_CFA,
		-16, NULL},
	{"def_cfa_sf", PROGRAM("\x12\x07\x7e"), 0, RT_CFA_RSP, 16, RT_RBP_SAME, 0, NULL},
	{"def_cfa_offset_sf", PROGRAM("\x13\x7d"), 0, RT_CFA_RSP, 24, RT_RBP_SAME, 0, NULL},
	{"val_offset of rbp", PROGRAM("\x14\x06\x02"), 0, RT_CFA_NONE, 0, RT_RBP_SAME, 0, NULL},
	{"val_offset_sf of another", PROGRAM("\x15\x03\x7e"), 0, RT_CFA_RSP, 8, RT_RBP_SAME, 0,
		NULL},
	{"GNU_args_size", PROGRAM("\x2e\xa0\x01\x0e\x18"), 0, RT_CFA_RSP, 24, RT_RBP_SAME, 0, NULL},
	{"a large frame", PROGRAM("\x0e\x88\x80\x04"), 0, RT_CFA_RSP, 0x10008, RT_RBP_SAME, 0,
		NULL},
	{"return address undefined", PROGRAM("\x07\x10"), 0, RT_CFA_END, 0, RT_RBP_SAME, 0, NULL},
	{"signal frame", PROGRAM("\x0f\x03\x77\xa0\x01"), 0, RT_CFA_SIGNAL, 0, RT_RBP_SAME, 0,
		"zRS"},
	{"PLT, before its push", PROGRAM("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"),
		10, RT_CFA_RSP, 8, RT_RBP_SAME, 0, NULL},
	{"PLT, after its push", PROGRAM("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), 11,
		RT_CFA_RSP, 16, RT_RBP_SAME, 0, NULL},
	{"realigned: CFA from memory", PROGRAM("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00"), 0,
		RT_CFA_RBP_DEREF, -8, RT_RBP_AT_RBP, 0, NULL},
	{"expression: breg, const1u, minus", PROGRAM("\x0f\x05\x77\x30\x08\x20\x1c"), 0, RT_CFA_RSP,
		16, RT_RBP_SAME, 0, NULL},
	{"expression: const1s, plus", PROGRAM("\x0f\x06\x77\xc8\x00\x09\xf8\x22"), 0, RT_CFA_RSP,
		64, RT_RBP_SAME, 0, NULL},
	{"expression: plus_uconst", PROGRAM("\x0f\x04\x76\x00\x23\x20"), 0, RT_CFA_RBP, 32,
		RT_RBP_SAME, 0, NULL},
	{"expression of another register", PROGRAM("\x0f\x02\x73\x08"), 0, RT_CFA_NONE, 0,
		RT_RBP_SAME, 0, NULL},
	{"expression that goes on after a dereference", PROGRAM("\x0f\x04\x76\x78\x06\x06"), 0,
		RT_CFA_NONE, 0, RT_RBP_SAME, 0, NULL},
	{"empty expression", PROGRAM("\x0f\x00"), 0, RT_CFA_NONE, 0, RT_RBP_SAME, 0, NULL},
	{"expression that overflows the stack",
		PROGRAM("\x0f\x0c\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30"), 0, RT_CFA_NONE,
		0, RT_RBP_SAME, 0, NULL},
	{"expression after an offset, then an offset again",
		PROGRAM("\x0f\x02\x76\x08\x0c\x07\x10"), 0, RT_CFA_RSP, 16, RT_RBP_SAME, 0, NULL},
	{"CFA from rax", PROGRAM("\x0d\x00"), 0, RT_CFA_NONE, 0, RT_RBP_SAME, 0, NULL},
	{"CFA that is no word", PROGRAM("\x0e\x12"), 0, RT_CFA_NONE, 0, RT_RBP_SAME, 0, NULL},
	{"CFA at rsp", PROGRAM("\x0e\x00"), 0, RT_CFA_NONE, 0, RT_RBP_SAME, 0, NULL},
	{"CFA too far away", PROGRAM("\x0e\x80\x80\x80\x80\x10"), 0, RT_CFA_NONE, 0, RT_RBP_SAME, 0,
		NULL},
	{"rbp in the return address", PROGRAM("\x0e\x10\x86\x01"), 0, RT_CFA_NONE, 0, RT_RBP_SAME,
		0, NULL},
	{"rbp popped", PROGRAM("\x0e\x10\x86\x03"), 0, RT_CFA_RSP, 16, RT_RBP_SAME, 0, NULL},
	{"return address elsewhere", PROGRAM("\x0e\x20\x90\x02"), 0, RT_CFA_NONE, 0, RT_RBP_SAME, 0,
		NULL},
	{"an opcode of tomorrow", PROGRAM("\x3f"), 0, RT_CFA_NONE, 0, RT_RBP_SAME, 0, NULL},
	{"an opcode of tomorrow, later", PROGRAM("\x44\x3f"), 3, RT_CFA_RSP, 8, RT_RBP_SAME, 0,
		NULL},
};

static void check_rule(const char *name, struct rt_rule rule, const struct opcode_case *expected)
{
	bool same = rt_rule_cfa(rule) == expected->cfa &&
		    rt_rule_cfa_offset(rule) == (uint64_t)expected->cfa_offset &&
		    rt_rule_rbp(rule) == expected->rbp &&
		    rt_rule_rbp_offset(rule) == (uint64_t)expected->rbp_offset;
	if (!same)
		tap_fail("%s: CFA %d%+" PRId64 ", rbp %d%+" PRId64, name, (int)rt_rule_cfa(rule),
			(int64_t)rt_rule_cfa_offset(rule), (int)rt_rule_rbp(rule),
			(int64_t)rt_rule_rbp_offset(rule));
}

CASE(opcodes, "the rule of each opcode that compilers use")
{
	static struct image image;
	for (size_t i = 0; i < ARRAY_SIZE(opcode_cases); i++) {
		const struct opcode_case *c = &opcode_cases[i];
		image_make(&image, c->augmentation ? c->augmentation : "zR", usual_cie, &c->program,
			1);
		uint64_t function;
		check_rule(c->name, rule_in(&image, 0, c->offset, &function), c);
		if (c->cfa != RT_CFA_NONE)
			CHECK_U64(function, (uint64_t)image.bytes + code_of(0));
	}
}

CASE(code_alignment, "advances are in units of the code alignment")
{
	static struct image image;
	static const struct program program = PROGRAM("\x42\x0e\x10");
	image_make(&image, "zR", usual_cie, &program, 1);
	uint8_t *alignment = memchr(image.bytes + 20, 'R', 64);
	CHECK(alignment && alignment[2] == 1);
	alignment[2] = 4;
	uint64_t function;
	CHECK_U64(rt_rule_cfa_offset(rule_in(&image, 0, 7, &function)), 8);
	CHECK_U64(rt_rule_cfa_offset(rule_in(&image, 0, 8, &function)), 16);
}

CASE(table, "each address finds its own function, and none between them")
{
	enum { COUNT = 60 };
	static struct image image;
	static char bytes[COUNT][3];
	struct program programs[COUNT];
	for (unsigned i = 0; i < COUNT; i++) {
		bytes[i][0] = 0x0e;
		bytes[i][1] = (char)(8 * (1 + i % 15));
		programs[i] = (struct program){bytes[i], 2};
	}
	for (unsigned count = 1; count <= COUNT; count++) {
		image_make(&image, "zR", usual_cie, programs, count);
		uint64_t function;
		for (unsigned i = 0; i < count; i++) {
			for (uint32_t offset = 0; offset < FUNCTION_BYTES; offset += 0x55) {
				struct rt_rule rule = rule_in(&image, i, offset, &function);
				CHECK_U64(rt_rule_cfa_offset(rule), 8 * (1 + i % 15));
				CHECK_U64(function, (uint64_t)image.bytes + code_of(i));
			}
			CHECK_U64(rule_in(&image, i, FUNCTION_BYTES, &function).bits, 0);
			CHECK_U64(function, 0);
		}
		CHECK_U64(rule_in(&image, 0, (uint32_t)-1, &function).bits, 0);
	}
	struct rt_rule rule = {77};
	uint64_t function = 77;
	rt_cfi_rule(NULL, 0x1000, 0x2000, 0x1800, &rule, &function);
	CHECK_U64(rule.bits, 0);
	CHECK_U64(function, 0);
}

/* --- damage -------------------------------------------------------------------------------------
 */

/* Room for an image between two pages that can't be touched. */
static struct fence {
	uint8_t *first, *end;
} fence_make(void)
{
	const size_t page = 4096, room = (IMAGE_MAX + page - 1) / page * page;
	uint8_t *at = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(at != MAP_FAILED);
	CHECK(!mprotect(at + page, room, PROT_READ | PROT_WRITE));
	return (struct fence){at + page, at + page + room};
}

/* Asks at every place where something may change. What is found does not matter. */
static void ask_all(
	const uint8_t *hdr, const uint8_t *start, const uint8_t *end, const uint8_t *base)
{
	for (unsigned i = 0; i < 3; i++) {
		for (uint32_t offset = 0; offset <= FUNCTION_BYTES; offset += i ? 0x40 : 5) {
			struct rt_rule rule;
			uint64_t function;
			rt_cfi_rule(hdr, (uint64_t)start, (uint64_t)end,
				(uint64_t)base + code_of(i) + offset, &rule, &function);
		}
	}
}

static void damaged_image(struct image *image)
{
	static const struct program programs[] = {
		PROGRAM(FRAME "\x41\x0a\x0c\x07\x08\xc6\x41\x0b\x2e\xa0\x01\x05\x03\x81\x00"),
		PROGRAM("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"),
		PROGRAM("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00\x03\x40\x00\x04\x40\x00\x00\x00"
			"\x0b"),
	};
	image_make(image, "zR", usual_cie, programs, ARRAY_SIZE(programs));
}

CASE(cut, "a module that ends at any byte")
{
	static struct image image;
	damaged_image(&image);
	struct fence fence = fence_make();
	for (size_t len = 0; len <= image.len; len++) {
		uint8_t *base = fence.end - len;
		memcpy(base, image.bytes, len);
		ask_all(base, base, fence.end, base);
	}
}

CASE(begins_late, "a module that begins at any byte, with its table before it, or inside")
{
	static struct image image;
	damaged_image(&image);
	struct fence fence = fence_make();
	for (size_t skip = 0; skip <= image.len; skip++) {
		size_t len = image.len - skip;
		memcpy(fence.first, image.bytes + skip, len);
		ask_all(fence.first - skip, fence.first, fence.first + len, fence.first - skip);
		/* Anything taken for a table. */
		ask_all(fence.first, fence.first, fence.first + len, fence.first - skip);
	}
}

CASE(garbled, "any byte of a module is another one")
{
	static const uint8_t values[] = {0, 1, 0x10, 0x3f, 0x7f, 0x80, 0xf0, 0xff};
	static struct image image;
	damaged_image(&image);
	struct fence fence = fence_make();
	uint8_t *base = fence.end - image.len;
	for (size_t i = 0; i < image.len; i++) {
		for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
			memcpy(base, image.bytes, image.len);
			base[i] = values[v];
			ask_all(base, base, fence.end, base);
			memcpy(fence.first, base, image.len);
			ask_all(fence.first, fence.first, fence.first + image.len, fence.first);
		}
	}
}

CASE(random, "many bytes of a module are others")
{
	static struct image image;
	damaged_image(&image);
	struct fence fence = fence_make();
	uint8_t *base = fence.end - image.len;
	uint64_t random = 88172645463325252ull;
	for (unsigned round = 0; round < 20000; round++) {
		memcpy(base, image.bytes, image.len);
		for (unsigned changes = 1 + round % 8; changes; changes--) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			base[(random >> 16) % image.len] = (uint8_t)random;
		}
		ask_all(base, base, fence.end, base);
	}
}

/* --- this machine's libraries ---------------------------------------------------------------- */

struct library {
	const char *name; /* how its path ends, without the version */
	char path[4096];
	uint64_t bias, start, end;
	const uint8_t *eh_frame_hdr;
};

static int find_library(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	struct library *l = context;
	const char *base = strrchr(info->dlpi_name, '/');
	if (!base || strncmp(base + 1, l->name, strlen(l->name)))
		return 0;
	snprintf(l->path, sizeof(l->path), "%s", info->dlpi_name);
	l->bias = info->dlpi_addr;
	l->start = UINT64_MAX;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_GNU_EH_FRAME)
			l->eh_frame_hdr = (const uint8_t *)(l->bias + p->p_vaddr);
		if (p->p_type != PT_LOAD)
			continue;
		if (l->bias + p->p_vaddr < l->start)
			l->start = l->bias + p->p_vaddr;
		l->end = l->bias + p->p_vaddr + p->p_memsz;
	}
	return 1;
}

struct counts {
	uint64_t asked, compared, expressions, none;
};

/* libdw's CFA as register and offset; false: it is something else. */
static bool simple_cfa(Dwarf_Frame *frame, int *ret_register, int64_t *ret_offset)
{
	Dwarf_Op *ops;
	size_t count;
	if (dwarf_frame_cfa(frame, &ops, &count) || count != 1)
		return false;
	if (ops[0].atom == DW_OP_bregx) {
		*ret_register = (int)ops[0].number;
		*ret_offset = (int64_t)ops[0].number2;
		return true;
	}
	*ret_register = ops[0].atom - DW_OP_breg0;
	*ret_offset = (int64_t)ops[0].number;
	return ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31;
}

enum saved { SAVED_SAME, SAVED_UNDEFINED, SAVED_AT_CFA, SAVED_OTHER };

static enum saved saved_at(Dwarf_Frame *frame, int reg, int64_t *ret_offset)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	CHECK(!dwarf_frame_register(frame, reg, memory, &ops, &count));
	if (!count)
		return ops ? SAVED_UNDEFINED : SAVED_SAME;
	*ret_offset = count > 1 ? (int64_t)ops[1].number : 0;
	bool at_cfa = ops[0].atom == DW_OP_call_frame_cfa &&
		      (count == 1 || (count == 2 && ops[1].atom == DW_OP_plus_uconst));
	return at_cfa ? SAVED_AT_CFA : SAVED_OTHER;
}

static void compare(const struct library *l, uint64_t pc, Dwarf_Frame *frame, struct counts *counts)
{
	struct rt_rule rule;
	uint64_t function;
	rt_cfi_rule(l->eh_frame_hdr, l->start, l->end, pc, &rule, &function);
	counts->asked++;
	counts->none += rt_rule_cfa(rule) == RT_CFA_NONE;
	int64_t cfa_offset = 0, rbp_offset = 0, ra_offset = 0;
	int reg = -1;
	Dwarf_Addr start, end;
	bool signal;
	CHECK_U64(dwarf_frame_info(frame, &start, &end, &signal), 16);
	enum saved rbp = saved_at(frame, 6, &rbp_offset);
	enum saved ra = saved_at(frame, 16, &ra_offset);
	struct opcode_case expected = {.cfa = RT_CFA_NONE};
	if (signal) {
		expected.cfa = RT_CFA_SIGNAL;
	} else if (ra == SAVED_UNDEFINED) {
		expected.cfa = RT_CFA_END;
	} else if (!simple_cfa(frame, &reg, &cfa_offset) || rbp == SAVED_OTHER ||
		   ra != SAVED_AT_CFA) {
		counts->expressions++;
		return;
	} else if ((reg == 6 || reg == 7) && ra_offset == -8) {
		expected.cfa = reg == 7 ? RT_CFA_RSP : RT_CFA_RBP;
		expected.cfa_offset = cfa_offset;
		bool popped = reg == 7 && cfa_offset + rbp_offset < 0;
		if (rbp == SAVED_AT_CFA && !popped) {
			expected.rbp = RT_RBP_AT_CFA;
			expected.rbp_offset = rbp_offset;
		}
	}
	char name[128];
	snprintf(name, sizeof(name), "%s at %#" PRIx64, l->name, pc - l->bias);
	check_rule(name, rule, &expected);
	counts->compared++;
}

/* Every entry of the library's sorted table, at several addresses. */
static void sweep(const char *name, uint64_t entries_min)
{
	static struct library l;
	l = (struct library){.name = name};
	CHECK(dl_iterate_phdr(find_library, &l) && l.eh_frame_hdr);
	elf_version(EV_CURRENT);
	int fd = open(l.path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	CHECK(elf);
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	CHECK(cfi);
	const int32_t *table = (const int32_t *)(l.eh_frame_hdr + 12);
	uint32_t count;
	memcpy(&count, l.eh_frame_hdr + 8, 4);
	CHECK(count >= entries_min);
	struct counts counts = {0};
	for (uint32_t i = 0; i < count; i++) {
		uint64_t first = (uint64_t)l.eh_frame_hdr + (uint64_t)(int64_t)table[2 * i];
		const uint8_t *fde = l.eh_frame_hdr + table[2 * i + 1];
		uint32_t size;
		memcpy(&size, fde + 12, 4);
		const uint64_t offsets[] = {0, 1, 4, size / 3, size / 2, size - 1};
		for (size_t k = 0; k < ARRAY_SIZE(offsets); k++) {
			Dwarf_Frame *frame;
			if (offsets[k] >= size ||
				dwarf_cfi_addrframe(cfi, first + offsets[k] - l.bias, &frame))
				continue;
			compare(&l, first + offsets[k], frame, &counts);
			free(frame);
		}
	}
	printf("# %s: %u entries, asked %" PRIu64 ", compared %" PRIu64 ", expressions %" PRIu64
	       ", without a rule %" PRIu64 "\n",
		name, count, counts.asked, counts.compared, counts.expressions, counts.none);
	CHECK(counts.asked >= 3ull * count);
	CHECK(counts.expressions < counts.asked / 100);
	CHECK(counts.none < counts.asked / 100);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
}

CASE(libc, "every entry of libc gives the rule that libdw gives")
{
	sweep("libc.so", 1000);
}

CASE(libstdcxx, "every entry of libstdc++ gives the rule that libdw gives")
{
	void *handle = dlopen("libstdc++.so.6", RTLD_NOW);
	if (!handle)
		SKIP("no libstdc++");
	sweep("libstdc++.so", 1000);
	dlclose(handle);
}

CASE(libdw, "so does every entry of libdw itself")
{
	sweep("libdw", 500);
}

TAP_MAIN
