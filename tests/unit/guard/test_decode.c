/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What instructions do to memory: those whose operands are not in a disassembler's text, and bytes
 * that are cut off. decode_objdump.py has all the others. */
#include "lib/tap.h"
#include "runtime/guard/decode.h"

#define READ DECODE_READ
#define WRITE DECODE_WRITE

/* General register n is (n + 1) << 20. */
static struct decode_registers registers_new(void)
{
	struct decode_registers r = {.rip = 0x400000, .fs_base = 0x7000000000};
	for (uint64_t n = 0; n < 16; n++)
		r.general[n] = (n + 1) << 20;
	return r;
}

static struct decoded decode_text(const char *bytes, size_t count)
{
	struct decode_registers r = registers_new();
	struct decoded d = {.count = 99};
	CHECK(decode_instruction((const uint8_t *)bytes, count, &r, &d));
	return d;
}

#define DECODE(bytes) decode_text(bytes, sizeof(bytes) - 1)

static void check_operand(
	struct decode_operand o, uint64_t address, uint32_t bytes, uint32_t access)
{
	CHECK_U64(o.address, address);
	CHECK_U64(o.bytes, bytes);
	CHECK_U64(o.access, access);
	CHECK(!o.unsized);
}

CASE(strings_have_two_operands, "movs reads and writes, cmps reads twice, of the next step alone")
{
	struct decoded d = DECODE("\xf3\x48\xa5"); /* rep movsq */
	CHECK_U64(d.count, 2);
	check_operand(d.operands[0], 0x700000, 8, READ);
	check_operand(d.operands[1], 0x800000, 8, WRITE);
	d = DECODE("\xa6"); /* cmpsb */
	check_operand(d.operands[0], 0x700000, 1, READ);
	check_operand(d.operands[1], 0x800000, 1, READ);
	d = DECODE("\xf3\xaa"); /* rep stosb */
	CHECK_U64(d.count, 1);
	check_operand(d.operands[0], 0x800000, 1, WRITE);
}

CASE(nothing_is_repeated, "a string instruction that is repeated 0 times accesses nothing")
{
	struct decode_registers r = registers_new();
	struct decoded d = {.count = 99};
	r.general[1] = 0;
	CHECK(decode_instruction((const uint8_t *)"\xf3\xa4", 2, &r, &d));
	CHECK_U64(d.count, 0);
}

CASE(stacks_are_operands, "calls and pushes of memory access it and the stack")
{
	struct decoded d = DECODE("\xff\x10"); /* call [rax] */
	CHECK_U64(d.count, 2);
	check_operand(d.operands[0], 0x100000, 8, READ);
	check_operand(d.operands[1], 0x4ffff8, 8, WRITE);
	d = DECODE("\x8f\x44\x24\x08"); /* pop [rsp + 8]: as it is after the pop */
	check_operand(d.operands[0], 0x500000, 8, READ);
	check_operand(d.operands[1], 0x500010, 8, WRITE);
}

CASE(bits_reach_past_the_operand, "bt with a register counts bits in both directions")
{
	struct decode_registers r = registers_new();
	struct decoded d;
	r.general[1] = 64 + 3; /* bts [rax], ecx */
	CHECK(decode_instruction((const uint8_t *)"\x0f\xab\x08", 3, &r, &d));
	check_operand(d.operands[0], 0x100008, 4, READ | WRITE);
	r.general[1] = (uint64_t)-1;
	CHECK(decode_instruction((const uint8_t *)"\x0f\xab\x08", 3, &r, &d));
	check_operand(d.operands[0], 0xffffc, 4, READ | WRITE);
}

CASE(rip_counts_what_follows, "addresses relative to rip begin after the last byte")
{
	struct decoded d =
		DECODE("\x81\x3d\x10\x00\x00\x00\x78\x56\x34\x12"); /* cmp with 4 bytes */
	check_operand(d.operands[0], 0x40001a, 4, READ);
	d = DECODE("\xf7\x15\x10\x00\x00\x00"); /* not: none */
	check_operand(d.operands[0], 0x400016, 4, READ | WRITE);
}

CASE(segments_have_bases, "fs adds its base")
{
	struct decoded d = DECODE("\x64\x48\x8b\x04\x25\x28\x00\x00\x00");
	check_operand(d.operands[0], 0x7000000028, 8, READ);
}

CASE(gathers_are_unsized, "of several addresses there is none")
{
	struct decoded d = DECODE("\xc4\xe2\x65\x90\x04\x90"); /* vpgatherdd */
	CHECK_U64(d.count, 1);
	CHECK_U64(d.operands[0].address, 0);
	CHECK(d.operands[0].unsized);
	CHECK(decode_find_operand(&d, 0x123456) == &d.operands[0]);
}

CASE(operand_of_fault, "a fault belongs to the operand that contains its address")
{
	struct decoded d = DECODE("\xf3\x48\xa5");
	CHECK(decode_find_operand(&d, 0x700007) == &d.operands[0]);
	CHECK(decode_find_operand(&d, 0x800000) == &d.operands[1]);
	CHECK(!decode_find_operand(&d, 0x700008));
	CHECK(!decode_find_operand(&d, 0x7fffff));
}

CASE(other_prefixes_undo_rex, "REX counts only right before the opcode")
{
	struct decoded d = DECODE("\x48\x66\x8b\x00"); /* mov ax, [rax] */
	check_operand(d.operands[0], 0x100000, 2, READ);
}

CASE(cut_instructions_are_unknown, "an instruction whose end is not there is none")
{
	static const char whole[] = "\x64\x48\x81\x84\x8a\x10\x00\x00\x00\x78\x56\x34\x12";
	struct decode_registers r = registers_new();
	for (size_t count = 0; count < sizeof(whole) - 1; count++) {
		uint8_t *cut = malloc(count ? count : 1);
		struct decoded d = {.count = 99};
		memcpy(cut, whole, count);
		CHECK(!decode_instruction(cut, count, &r, &d));
		CHECK_U64(d.count, 99);
		free(cut);
	}
	struct decoded d;
	CHECK(decode_instruction((const uint8_t *)whole, sizeof(whole) - 1, &r, &d));
	check_operand(d.operands[0], 0x7000000000 + 0x300000 + 0x800000 + 0x10, 8, READ | WRITE);
}

TAP_MAIN
