/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind rows against the runtime's own reader of .eh_frame, over libraries and programs of this
 * machine: both must step over each frame in the same way. */
#include <dlfcn.h>
#include <link.h>

#include "capture/watch/unwind_rows.h"
#include "lib/tap.h"
#include "runtime/core/cfi.h"

struct module_range {
	const char *part; /* of the path */
	char path[512];
	uint64_t bias, start, end, index;
};

static int module_find(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct module_range *module = context;
	(void)bytes;
	if (!strstr(info->dlpi_name, module->part))
		return 0;
	snprintf(module->path, sizeof(module->path), "%s", info->dlpi_name);
	module->bias = info->dlpi_addr;
	module->start = UINT64_MAX;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + part->p_vaddr;
		if (part->p_type == PT_GNU_EH_FRAME)
			module->index = start;
		if (part->p_type != PT_LOAD)
			continue;
		module->start = start < module->start ? start : module->start;
		module->end = start + part->p_memsz;
	}
	return 1;
}

/* Returns whether both say the same; what only one of them can express is no difference. */
static bool row_agrees(const struct watch_row *row, struct rt_rule rule)
{
	switch (rt_rule_cfa(rule)) {
	case RT_CFA_SIGNAL:
		return row->cfa == WATCH_ROW_SIGNAL;
	case RT_CFA_END:
		return row->cfa == WATCH_ROW_END;
	case RT_CFA_RSP:
	case RT_CFA_RBP:
	case RT_CFA_RBP_DEREF:
		break;
	default:
		return row->cfa == WATCH_ROW_NONE || row->cfa == WATCH_ROW_UNKNOWN;
	}
	if (row->cfa == WATCH_ROW_UNKNOWN)
		return true;
	enum rt_cfa kind = row->cfa == WATCH_ROW_RSP   ? RT_CFA_RSP
			   : row->cfa == WATCH_ROW_RBP ? RT_CFA_RBP
						       : RT_CFA_RBP_DEREF;
	return kind == rt_rule_cfa(rule) &&
	       (uint64_t)(int64_t)row->cfa_offset == rt_rule_cfa_offset(rule) &&
	       (unsigned)row->rbp == (unsigned)rt_rule_rbp(rule) &&
	       (uint64_t)(int64_t)row->rbp_offset == rt_rule_rbp_offset(rule);
}

static void module_check(const char *part, size_t rows_least)
{
	struct module_range module = {.part = part};
	struct elf_file file;
	struct watch_row_vec rows = {0};
	size_t differing = 0, unknown = 0;
	CHECK(dl_iterate_phdr(module_find, &module));
	CHECK_OK(elf_file_open(module.path, &file));
	CHECK_OK(unwind_rows_read(&file, &rows));
	CHECK(rows.len >= rows_least);
	for (size_t i = 0; i < rows.len; i++) {
		struct rt_rule rule;
		uint64_t function;
		CHECK(!i || rows.data[i - 1].pc < rows.data[i].pc);
		rt_cfi_rule((const uint8_t *)module.index, module.start, module.end,
			rows.data[i].pc + module.bias, &rule, &function);
		differing += !row_agrees(&rows.data[i], rule);
		unknown += rows.data[i].cfa == WATCH_ROW_UNKNOWN;
	}
	printf("# %s: %zu rows, %zu that can't be said\n", part, rows.len, unknown);
	CHECK_U64(differing, 0);
	CHECK(unknown * 100 < rows.len);
	watch_row_vec_deinit(&rows);
	elf_file_close(&file);
}

CASE(libc, "rows of libc are what the runtime's unwinder has")
{
	module_check("libc.so", 10000);
}

CASE(linker, "rows of the dynamic linker, too")
{
	module_check("ld-linux", 1000);
}

CASE(build_ids, "a build-id is known up to 32 bytes; a longer one is none")
{
	for (uint32_t bytes = 0; bytes <= 2 * ELF_BUILD_ID_MAX; bytes += ELF_BUILD_ID_MAX / 2) {
		struct {
			Elf64_Nhdr head;
			char name[4];
			uint8_t content[2 * ELF_BUILD_ID_MAX];
		} note = {.head = {4, bytes, NT_GNU_BUILD_ID}, .name = "GNU"};
		const Elf64_Phdr part = {.p_type = PT_NOTE, .p_filesz = sizeof(note)};
		const struct elf_file file = {.data = (const uint8_t *)&note,
			.bytes = sizeof(note),
			.parts = &part,
			.part_count = 1};
		uint8_t found[ELF_BUILD_ID_MAX] = {0};
		memset(note.content, 7, bytes);
		CHECK_U64(elf_file_build_id(&file, found), bytes <= ELF_BUILD_ID_MAX ? bytes : 0);
		CHECK(found[0] == (bytes && bytes <= ELF_BUILD_ID_MAX ? 7 : 0));
	}
}

CASE(cut, "a file that ends early gives fewer rows, and no harm")
{
	struct module_range module = {.part = "libz.so"};
	struct elf_file file;
	if (!dlopen("libz.so.1", RTLD_NOW) || !dl_iterate_phdr(module_find, &module))
		exit(TAP_EXIT_SKIPPED);
	CHECK_OK(elf_file_open(module.path, &file));
	for (size_t bytes = 64; bytes < file.bytes; bytes += file.bytes / 97) {
		struct elf_file part = file;
		struct watch_row_vec rows = {0};
		part.bytes = bytes;
		/* Its section headers are at its end. */
		part.sections = NULL;
		part.section_count = 0;
		CHECK_OK(unwind_rows_read(&part, &rows));
		watch_row_vec_deinit(&rows);
	}
	elf_file_close(&file);
}

TAP_MAIN
