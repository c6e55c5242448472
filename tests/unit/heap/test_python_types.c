/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types of Python's in the data of a module, as CPython lays them out. */
#include <elf.h>

#include "heap/python/python.h"
#include "lib/core_builder.h"
#include "lib/tap.h"

#define MODULE 0x7f0000000000ull
#define DATA (MODULE + 0x1000)
#define DATA_BYTES (3ull << 20)
#define NAMES (MODULE + 0x100)
#define HEAP 0x7f8000000000ull

/* Words of a type, and what flags it has here: it is ready, and `type` is a kind of types. */
#define TYPE_OF 1u
#define TYPE_NAME 3u
#define TYPE_BASIC 4u
#define TYPE_FLAGS 21u
#define READY (1ull << 12)

static void put_type(struct core_builder *core, uint64_t at, uint64_t of, const char *name,
	uint64_t name_at, uint64_t basic)
{
	core_builder_bytes(core, name_at, name, strlen(name) + 1);
	core_builder_word(core, at, 1);
	core_builder_word(core, at + 8ul * TYPE_OF, of);
	core_builder_word(core, at + 8ul * TYPE_NAME, name_at);
	core_builder_word(core, at + 8ul * TYPE_BASIC, basic);
	core_builder_word(core, at + 8ul * TYPE_FLAGS, READY | (at == of ? PYTHON_FLAG_TYPE : 0));
}

struct opened {
	struct core_file file;
	struct address_space space;
	struct python python;
};

/* An interpreter whose `type` stands at each of some places. */
static void opened_open(struct opened *o, const uint64_t *types, size_t count)
{
	struct core_builder core = {.count = 0};
	core_builder_module(core_builder_add(&core, MODULE, 0x1000, PF_R, "/lib/libpython3.so", 0),
		0x1000 + DATA_BYTES);
	core_builder_add(&core, DATA, DATA_BYTES, PF_R | PF_W, "/lib/libpython3.so", 0x1000);
	core_builder_add(&core, HEAP, 0x4000, PF_R | PF_W, NULL, 0);
	for (size_t i = 0; i < count; i++)
		put_type(&core, types[i], types[i], "type", NAMES, 880);
	put_type(&core, HEAP + 0x1000, types[0], "first", NAMES + 0x20, 64);
	put_type(&core, HEAP + 0x2000, types[count - 1], "last", NAMES + 0x40, 64);
	CHECK_OK(core_file_open_fd(core_builder_file(&core), "core", &o->file));
	CHECK_OK(address_space_of_core(&o->file, NULL, &o->space));
	core_builder_deinit(&core);
	CHECK_OK(python_find(&o->space, &o->python));
}

static void opened_close(struct opened *o)
{
	python_close(&o->python);
	address_space_close(&o->space);
	core_file_close(&o->file);
}

static void check_type(struct python *python, uint64_t at, const char *name)
{
	const struct python_type *type = python_type(python, at);
	CHECK(type);
	CHECK_STR(type->name, name);
}

CASE(anywhere, "`type` is found wherever in a module's data it stands")
{
	for (uint64_t at = DATA + (1 << 20) - 0x140; at <= DATA + (1 << 20) + 0x20; at += 0x18) {
		struct opened o;
		opened_open(&o, &at, 1);
		CHECK_U64(o.python.roots.len, 1);
		CHECK_U64(o.python.roots.data[0], at);
		check_type(&o.python, HEAP + 0x2000, "last");
		opened_close(&o);
	}
}

CASE(many, "of many interpreters in one process each has its types")
{
	enum { COUNT = 50 };
	uint64_t types[COUNT];
	struct opened o;
	for (size_t i = 0; i < COUNT; i++)
		types[i] = DATA + i * 0xc008;
	opened_open(&o, types, COUNT);
	CHECK_U64(o.python.roots.len, COUNT);
	check_type(&o.python, HEAP + 0x1000, "first");
	check_type(&o.python, HEAP + 0x2000, "last");
	opened_close(&o);
}

CASE(forgotten, "types are found after more addresses without one than are remembered")
{
	uint64_t at = DATA;
	struct opened o;
	opened_open(&o, &at, 1);
	o.python.others_most = 10;
	for (int round = 0; round < 2; round++) {
		for (uint64_t other = HEAP + 8; other < HEAP + 0x1000; other += 8)
			CHECK(!python_type(&o.python, other));
		check_type(&o.python, HEAP + 0x1000, "first");
		check_type(&o.python, HEAP + 0x2000, "last");
	}
	CHECK_U64(o.python.known.len, 12);
	opened_close(&o);
}

TAP_MAIN
