/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/leak_check.h"

#include <stdio.h>
#include <sys/stat.h>

#include "process/elf_imports.h"

void lsan_program_find(const char *image, struct lsan_program *ret)
{
	static const char *const names[HW_LSAN_FUNCTIONS] = {
		[HW_LSAN_DEFAULT_SUPPRESSIONS] = "__lsan_default_suppressions",
		[HW_LSAN_DEFAULT_OPTIONS] = "__lsan_default_options",
		[HW_LSAN_IS_TURNED_OFF] = "__lsan_is_turned_off"};
	struct stat about;
	*ret = (struct lsan_program){.device = 0};
	if (stat(image, &about))
		return;
	ret->device = about.st_dev;
	ret->inode = about.st_ino;
	elf_find_functions(image, names, HW_LSAN_FUNCTIONS, ret->functions);
}

bool lsan_program_is(const struct lsan_program *program, pid_t pid)
{
	char path[64];
	struct stat about;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return program->inode && !stat(path, &about) && about.st_dev == program->device &&
	       about.st_ino == program->inode;
}
