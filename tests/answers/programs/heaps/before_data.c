/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loses a block whose address stands in the page in which the program's data begins, before that:
 * there are bytes of the file's, which no test can choose, so it is written there. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096ul

static const Elf64_Phdr *first_data(const Elf64_Phdr *parts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (parts[i].p_type == PT_LOAD && parts[i].p_flags & PF_W)
			return &parts[i];
	}
	abort();
}

/* Where the writable segment's first page begins, and where the segment does. */
static uintptr_t page_of_data(uintptr_t *ret_start)
{
	const Elf64_Phdr *parts = (const Elf64_Phdr *)getauxval(AT_PHDR);
	const Elf64_Phdr *data = first_data(parts, getauxval(AT_PHNUM));
	uintptr_t bias = (uintptr_t)parts - parts[0].p_vaddr; /* parts[0] is PT_PHDR */
	*ret_start = bias + data->p_vaddr;
	return *ret_start & ~(PAGE_BYTES - 1);
}

__attribute__((noinline)) static void lose(void)
{
	uintptr_t start, page = page_of_data(&start);
	void *block = malloc(1000);
	if (!block || start - page < sizeof(block) ||
		mprotect((void *)page, PAGE_BYTES, PROT_READ | PROT_WRITE))
		exit(2);
	memcpy((void *)page, &block, sizeof(block));
}

int main(void)
{
	lose();
	return 0;
}
