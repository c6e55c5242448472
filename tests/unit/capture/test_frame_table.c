/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of unwind entries that are made of .eh_frame: this program's, against its linker's. */
#include "capture/attach/frame_table.h"

#include "base/cleanup.h"
#include "lib/tap.h"

#define BIAS 0x10000000ull

static int32_t word_at(const uint8_t *table, size_t number)
{
	int32_t word;
	memcpy(&word, table + number * sizeof(word), sizeof(word));
	return word;
}

CASE(same, "a table is the one that the linker has made")
{
	struct elf_file file;
	struct frame_entry_vec entries = {.data = NULL};
	CHECK_OK(elf_file_open("/proc/self/exe", &file));
	const Elf64_Shdr *frames = elf_file_section(&file, ".eh_frame");
	const Elf64_Shdr *linked = elf_file_section(&file, ".eh_frame_hdr");
	if (!frames || !linked)
		SKIP("this program has no unwind tables");
	CHECK(frame_entries_read(&file, frames, BIAS, &entries));
	const uint8_t *theirs = elf_file_at(&file, linked->sh_offset, linked->sh_size);
	size_t bytes = frame_table_bytes(entries.len);
	CHECK(entries.len > 10 && theirs);
	CHECK_U64((uint64_t)word_at(theirs, 2), entries.len);
	_cleanup_free_ uint8_t *table = malloc(bytes);
	CHECK(table && frame_table_make(&entries, linked->sh_addr + BIAS, table, bytes));
	CHECK(!memcmp(table, theirs, 4) || theirs[3] == 0x3b);
	for (size_t i = 0; i < entries.len; i++) {
		CHECK(word_at(table, 3 + 2 * i) == word_at(theirs, 3 + 2 * i));
		CHECK(word_at(table, 4 + 2 * i) == word_at(theirs, 4 + 2 * i));
	}
	CHECK(!frame_table_make(&entries, linked->sh_addr + BIAS, table, bytes - 1));
	CHECK(!frame_table_make(&entries, linked->sh_addr + BIAS + (3ull << 30), table, bytes));
	frame_entry_vec_deinit(&entries);
	elf_file_close(&file);
}

CASE(damaged, "what is damaged ends the list")
{
	struct frame_entry_vec entries = {.data = NULL};
	static const uint8_t bytes[64] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1,
		0x1b, 0, 0, 0, 0, 0, 0, 0,                             /* a CIE */
		12, 0, 0, 0, 28, 0, 0, 0, 0x10, 0, 0, 0, 4, 0, 0, 0,   /* its entry */
		12, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, /* of no CIE */
		0xff, 0, 0, 0};
	const struct elf_file file = {.data = bytes, .bytes = sizeof(bytes)};
	const Elf64_Shdr section = {.sh_addr = 0x1000, .sh_size = sizeof(bytes)};
	CHECK(frame_entries_read(&file, &section, BIAS, &entries));
	CHECK_U64(entries.len, 1);
	CHECK_U64(entries.data[0].entry, BIAS + 0x1000 + 24);
	CHECK_U64(entries.data[0].start, BIAS + 0x1000 + 32 + 0x10);
	frame_entry_vec_deinit(&entries);
}

TAP_MAIN
