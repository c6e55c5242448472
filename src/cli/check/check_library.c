/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/check_library.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/check/trial.h"

/* What serves the program, beside libheapwise-rt.so. */
#define GUARD_LIBRARY "libheapwise-guard.so"
#define SHELL "/bin/sh"
#define TRIAL_NS 20000000000u

/* A file that the library, and this process, have mapped. */
struct sums_page {
	int file;
	struct stat is;
	struct hw_check_page *shared;
};

struct error *check_library_find(const char *runtime, struct text *ret)
{
	text_add_n(ret, runtime, (size_t)(strrchr(runtime, '/') + 1 - runtime));
	text_add(ret, GUARD_LIBRARY);
	if (ret->failed)
		return error_no_memory();
	return access(ret->data, R_OK)
		       ? error_create(ERROR_ENVIRONMENT,
				 "can't find %s, which checks programs, next to libheapwise-rt.so: "
				 "build or install heapwise again",
				 GUARD_LIBRARY)
		       : NULL;
}

static struct error *judge_trial(const struct trial *trial, const struct hw_check_sums *sums)
{
	if (trial->timed_out)
		return error_create(ERROR_ENVIRONMENT, "%s did not end within %u s", SHELL,
			(unsigned)(TRIAL_NS / 1000000000u));
	if (WIFSIGNALED(trial->status))
		return error_create(ERROR_ENVIRONMENT, "%s was ended by signal %d", SHELL,
			WTERMSIG(trial->status));
	if (WEXITSTATUS(trial->status))
		return error_create(ERROR_ENVIRONMENT, "%s ended with status %d", SHELL,
			WEXITSTATUS(trial->status));
	return sums->is_there ? NULL
			      : error_create(ERROR_ENVIRONMENT,
					"%s was run without being served by it", SHELL);
}

static struct error *run_shell(const char *path, const char *backend, const struct sums_page *page)
{
	char *const argv[] = {(char *)"sh", (char *)"-c", (char *)":", NULL};
	const struct trial_program program = {.file = SHELL,
		.argv = argv,
		.preload = path,
		.input = -1,
		.shared = page->file,
		.most_ns = TRIAL_NS};
	char settings[256];
	struct trial trial;
	snprintf(settings, sizeof(settings),
		HW_CHECK_ENV "=backend=%s," CHECK_SETTINGS_PROCESS ",sums=%d:%ju:%ju", backend,
		page->file, (uintmax_t)page->is.st_dev, (uintmax_t)page->is.st_ino);
	trial_init(&trial);
	struct error *error = trial_run(&program, settings, &trial);
	if (!error)
		error = judge_trial(&trial, &page->shared->sums);
	trial_deinit(&trial);
	return error;
}

static bool map_page(struct sums_page *page)
{
	page->file = memfd_create("heapwise-sums", MFD_CLOEXEC);
	void *memory = page->file < 0 || ftruncate(page->file, (off_t)sizeof(*page->shared)) ||
				       fstat(page->file, &page->is)
			       ? MAP_FAILED
			       : mmap(NULL, sizeof(*page->shared), PROT_READ | PROT_WRITE,
					 MAP_SHARED, page->file, 0);
	page->shared = memory;
	return memory != MAP_FAILED;
}

struct error *check_library_try(const char *path, const char *backend, struct hw_check_sums *ret)
{
	struct sums_page page;
	if (!map_page(&page)) {
		int why = errno;
		if (page.file >= 0)
			close(page.file);
		return error_errno(
			ERROR_ENVIRONMENT, why, "can't make a page to share with a program");
	}
	struct error *error = run_shell(path, backend, &page);
	*ret = page.shared->sums;
	munmap(page.shared, sizeof(*page.shared));
	close(page.file);
	return error;
}
