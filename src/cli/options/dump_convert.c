/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/dump_convert.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/child.h"
#include "base/util.h"
#include "cli/options/gperftools_options.h"
#include "views/export.h"

static void read_all(int fd, char *message, size_t bytes)
{
	size_t got = 0;
	char rest[256];
	ssize_t n;
	while ((n = got + 1 < bytes ? read(fd, message + got, bytes - 1 - got)
				    : read(fd, rest, sizeof(rest))) > 0)
		got += got + 1 < bytes ? (size_t)n : 0;
	message[got] = 0;
	message[strcspn(message, "\n")] = 0;
}

/* Formats with what the program maps, for libraries of --as. */
static const struct mapped_format {
	const char *text, *format, *class;
} mapped_formats[] = {
	{"gperftools/all", "gperftools", "all"},
	{"gperftools/mapping", "gperftools", "mapping"},
};

static const struct mapped_format *mapped_format_find(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(mapped_formats); i++) {
		if (!strcmp(mapped_formats[i].text, text))
			return &mapped_formats[i];
	}
	return NULL;
}

/* Returns an exit status; 0: the file is there. */
static int export_dump_file(const struct dump_conversion *conversion, const char *format,
	const char *class, char *message, size_t bytes)
{
	int ends[2], status = 1;
	if (pipe2(ends, O_CLOEXEC))
		return 1;
	pid_t self = getpid(), child = fork();
	if (!child) {
		/* Nothing is written once it is said that nothing was. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self)
			_exit(ERROR_INTERNAL);
		const char *const words[] = {"heapwise", "export", "--format", format, "-o",
			conversion->to, conversion->from, class ? "--class" : NULL, class, NULL};
		dup2(ends[1], STDERR_FILENO);
		execv("/proc/self/exe", (char *const *)words);
		_exit(ERROR_INTERNAL);
	}
	close(ends[1]);
	if (child > 0)
		read_all(ends[0], message, bytes);
	close(ends[0]);
	bool ended = child > 0 && child_wait(child, &status, 0) == child;
	if (ended && !status)
		*message = 0;
	return !ended || status;
}

/* A struct dump_plan's: by `heapwise export`. The context is the format's name. Where mappings are
 * wanted that were not recorded, the heap has to do. */
static int convert_dump(const struct dump_conversion *conversion, char *message, size_t bytes)
{
	const char *format = conversion->plan->convert_context;
	const struct mapped_format *mapped = mapped_format_find(format);
	int status =
		mapped ? export_dump_file(conversion, mapped->format, mapped->class, message, bytes)
		       : 1;
	if (status)
		status = export_dump_file(
			conversion, mapped ? mapped->format : format, NULL, message, bytes);
	if (conversion->plan->announce)
		gperftools_announce(conversion, !status);
	return status;
}

bool dump_convert_find(
	const char *text, dump_convert_function **ret_function, const void **ret_context)
{
	bool is_own = !*text || !strcmp(text, "hpw");
	const struct mapped_format *mapped = mapped_format_find(text);
	const struct export_format *format =
		is_own ? NULL : export_find(mapped ? mapped->format : text);
	if (!is_own && !format)
		return false;
	*ret_function = format ? convert_dump : NULL;
	*ret_context = mapped ? mapped->text : format ? format->name : NULL;
	return true;
}
