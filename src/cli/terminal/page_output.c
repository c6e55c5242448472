/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/page_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "page/page.h"

#define NAME_END ".html"
#define COMPARED_END ".diff" NAME_END
/* What is larger is no page of this command. */
#define OTHER_BYTES_MAX ((size_t)64 << 20)

/* "app.html" of "/tmp/app.hpw". NULL: no memory. */
static char *default_path(const struct page_output *file)
{
	const char *name = path_last_part(file->of), *dot = strrchr(name, '.');
	size_t len = dot && dot != name && !file->keeps_end ? (size_t)(dot - name) : strlen(name);
	char *made;
	return asprintf(&made, "%.*s%s", (int)len, name, file->compared ? COMPARED_END : NAME_END) <
			       0
		       ? NULL
		       : made;
}

/* Whether there is nothing, nothing in it, or a page. */
static bool is_free(const char *path)
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t len;
	struct stat st;
	if (stat(path, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return true;
	struct error *error = read_stored_file(path, OTHER_BYTES_MAX, &data, &len);
	bool is_page = !error && page_is_one(data, len);
	error_destroy(error);
	return is_page;
}

bool page_output_may_write(const struct page_output *file, const char *path)
{
	if (file->force || strcmp(path, OUTPUT_STDOUT) == 0 || is_free(path))
		return true;
	message("%s already exists and is not a page of heapwise; %s", path, file->ways);
	return false;
}

static int write_output(
	const char *path, struct error *(*write)(void *ctx, const struct sink *sink), void *ctx)
{
	struct output output;
	struct sink sink;
	int code = output_open(&output, &sink, path, OUTPUT_MODE);
	if (code)
		return code;
	progress_begin("writing a page");
	struct error *error = write(ctx, &sink);
	progress_end();
	if (error)
		output_drop(&output);
	return error ? message_error(error) : output_end(&output);
}

int page_output_write(const struct page_output *file,
	struct error *(*write)(void *ctx, const struct sink *sink), void *ctx)
{
	_cleanup_free_ char *made = default_path(file);
	const char *path = file->path ? file->path : made;
	if (!path)
		return message_error(error_no_memory());
	if (!page_output_may_write(file, path))
		return ERROR_ENVIRONMENT;
	int code = write_output(path, write, ctx);
	if (!code && !file->path && !file->quiet)
		message("wrote %s", path);
	return code;
}
