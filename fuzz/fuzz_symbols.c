/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that names come from. An input is some files, each a byte for its name, four for its
 * length, and what is in it (fuzz/seeds_symbols.py): a program, its packed or split units, its
 * separate debug file, and what that shares with others. They are put into a folder, and the
 * program's code is asked for, with what its functions have on their stacks.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NEED(true_thing)                                                                           \
	do {                                                                                       \
		if (!(true_thing))                                                                 \
			abort();                                                                   \
	} while (0)

/* Where the seeds' code begins, and data. */
#define CODE 0x1000u
#define CODE_STEPS 96u
#define CODE_STEP 5u
/* Where a frame's memory ends. */
#define STACK 0x7ffffff0u
#define STACK_BYTES 128u

static const char *const names[] = {"app", "app.dwp", "app.dwo", "app.debug", "common"};
#define NAMES (sizeof(names) / sizeof(names[0]))

static char folder[] = "/tmp/fuzz-symbols-XXXXXX";
static char paths[NAMES][sizeof(folder) + 16];
static struct symbols_settings *settings;

static void clear_away(void)
{
	for (size_t i = 0; i < NAMES; i++)
		unlink(paths[i]);
	rmdir(folder);
	symbols_settings_destroy(settings);
}

static void prepare(void)
{
	if (settings)
		return;
	NEED(mkdtemp(folder));
	for (size_t i = 0; i < NAMES; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", folder, names[i]);
	NEED(!symbols_settings_create(&settings));
	NEED(!symbols_settings_add_paths(settings, folder, false));
	NEED(!symbols_settings_debug_folders(settings, folder));
	settings->names = SYMBOLS_NAMES_FULL;
	atexit(clear_away);
}

static void write_files(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < NAMES; i++)
		unlink(paths[i]);
	while (size >= 5) {
		uint32_t len;
		memcpy(&len, data + 1, sizeof(len));
		if (len > size - 5)
			len = (uint32_t)(size - 5);
		FILE *file = fopen(paths[data[0] % NAMES], "wb");
		NEED(file && fwrite(data + 5, 1, len, file) == len && !fclose(file));
		data += 5 + len;
		size -= 5 + len;
	}
}

static void check_symbols(const struct symbol *found, size_t count)
{
	size_t seen = 0;
	NEED(count >= 1 && !found[count - 1].inlined);
	for (size_t i = 0; i < count; i++) {
		const char *const texts[] = {
			found[i].function, found[i].raw_name, found[i].linkage_name, found[i].file};
		for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++)
			seen += texts[j] ? strlen(texts[j]) : 0;
	}
	NEED(seen < SIZE_MAX);
}

/* A frame of a function, with the registers of x86-64 or of aarch64. */
static struct local_frame frame_at(uint64_t pc, bool is_arm)
{
	return (struct local_frame){.pc = pc,
		.cfa = STACK,
		.stack_pointer = STACK - STACK_BYTES,
		.frame_pointer = STACK - 16,
		.stack_register = is_arm ? 31 : 7,
		.frame_register = is_arm ? 29 : 6};
}

static void ask_for_locals(struct symbols *symbols, uint32_t module, uint64_t pc)
{
	for (unsigned machine = 0; machine < 2; machine++) {
		struct local_frame frame = frame_at(pc, machine);
		for (uint64_t at = STACK - STACK_BYTES; at < STACK; at += 8) {
			const char *name;
			uint64_t offset;
			NEED(!symbols_local(symbols, module, &frame, at, &name, &offset));
			NEED(!name || strlen(name) < SIZE_MAX);
		}
	}
}

static void ask(struct symbols *symbols, uint32_t module, uint64_t address)
{
	const struct symbol *found;
	const char *const *aliases;
	struct symbol_variable variable;
	size_t count;
	NEED(!symbols_resolve(symbols, module, address, &found, &count));
	check_symbols(found, count);
	NEED(!symbols_aliases(symbols, module, address, &aliases, &count));
	for (size_t i = 0; i < count; i++)
		NEED(aliases[i]);
	NEED(!symbols_variable(symbols, module, address, &variable));
	NEED(variable.name || (!variable.file && !variable.line));
	NEED(!symbols_thread_local(symbols, module, address % 4096, &variable));
	NEED(variable.name || !variable.offset);
	ask_for_locals(symbols, module, address);
}

/* Everything that is said of a type. */
static bool look_at_type(void *context, uint32_t number)
{
	struct types *types = context;
	struct text text;
	struct types_place place;
	uint32_t argument;
	text_init(&text);
	types_declare(types, number, "it", &text);
	struct type type = *types_get(types, number);
	for (uint64_t at = 0; at < type.size && at < 128; at += 8)
		types_locate(types, number, at, &place, &text);
	for (uint32_t i = 0; i < type.member_count && i < 64; i++)
		types_declare(types, type.members[i].type, "member", &text);
	types_argument(types, number, 0, &argument);
	types_target(types, number);
	types_content(types, types_plain(types, number));
	NEED(!text.failed);
	text_deinit(&text);
	return true;
}

/* A variable on a stack. */
static void look_at_local(void *context, uint32_t type, uint64_t address)
{
	(void)address; /* whatever a location says */
	look_at_type(context, type);
}

/* What begins with a type is larger, and has its parts. */
static bool look_at_whole(void *context, uint32_t whole)
{
	const struct type *type = types_get(context, whole);
	NEED(type_has_members(type) && type->member_count);
	return true;
}

static void ask_for_types(struct symbols *symbols, uint32_t module)
{
	struct types *types;
	struct types_variable variable;
	const char *like[4];
	NEED(!types_create(symbols, &types));
	types_add_module(types, module);
	types_each(types, look_at_type, types);
	for (uint32_t number = 0; number < 64; number++)
		types_each_beginning(types, number, 0, 4096, look_at_whole, types);
	for (unsigned i = 0; i < CODE_STEPS; i++) {
		uint64_t pc = CODE + i * CODE_STEP;
		struct local_frame frame = frame_at(pc, i % 2);
		types_variable(types, module, pc, &variable);
		types_locals(types, module, &frame, i % 3 * 20, look_at_local, types);
	}
	uint32_t meant;
	type_query(types, "thing<int, std::allocator<int> >", like, 4, &meant);
	for (size_t i = types_like(types, "thing", like, 4); i > 0; i--)
		look_at_type(types, types_find(types, like[i - 1]));
	NEED(!types_failed(types));
	types_destroy(types);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbols *symbols;
	const struct symbols_lookups *tried;
	uint32_t module;
	size_t count;
	prepare();
	write_files(data, size);
	NEED(!symbols_create(settings, &symbols));
	NEED(!symbols_add_module(symbols, paths[0], NULL, 0, &module));
	for (unsigned i = 0; i < CODE_STEPS; i++)
		ask(symbols, module, CODE + i * CODE_STEP);
	NEED(!symbols_module_lookups(symbols, module, &tried, &count));
	for (size_t i = 0; i < count; i++)
		NEED(tried[i].path);
	symbols_module_lacks(symbols, module);
	ask_for_types(symbols, module);
	symbols_destroy(symbols);
	return 0;
}
