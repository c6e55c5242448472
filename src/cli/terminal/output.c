/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/output.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/heap/heap_interrupt.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/progress.h"
#include "query/inputs.h"

static bool output_write(void *ctx, const char *data, size_t len)
{
	struct output *output = ctx;
	progress_end();
	if (output->paged)
		pager_start();
	output->paged = false;
	while (len > 0 && output->error == 0 && !heap_interrupted) {
		ssize_t written = write(output->fd, data, len);
		if (written < 0) {
			if (errno != EINTR)
				output->error = errno;
			continue;
		}
		data += written;
		len -= (size_t)written;
	}
	return output->error == 0 && !heap_interrupted;
}

struct sink output_sink(struct output *output)
{
	return output_sink_to(output, STDOUT_FILENO);
}

struct sink output_sink_paged(struct output *output, bool wanted)
{
	struct sink sink = output_sink(output);
	output->paged = wanted;
	return sink;
}

struct sink output_sink_to(struct output *output, int fd)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit is an error of write(2), which can be said */
	output->file = OUTPUT_FILE_NONE;
	output->fd = fd;
	output->error = 0;
	output->paged = false;
	return (struct sink){.write = output_write, .ctx = output};
}

int output_open(struct output *output, struct sink *ret_sink, const char *path, mode_t mode)
{
	if (!path || strcmp(path, OUTPUT_STDOUT) == 0) {
		*ret_sink = output_sink(output);
		return 0;
	}
	struct output_file file;
	struct error *error = output_file_open(path, mode, &file);
	if (error)
		return message_error(error);
	error = inputs_check(cli_context(), &file);
	if (error) {
		output_file_discard(&file);
		return message_error(error);
	}
	*ret_sink = output_sink_to(output, file.fd);
	output->file = file;
	return 0;
}

void output_drop(struct output *output)
{
	output_file_discard(&output->file);
}

int output_file_end(struct output_file *file)
{
	struct error *error = query_context_check(cli_context());
	if (!error)
		error = inputs_check(cli_context(), file);
	if (!error)
		error = output_file_commit(file);
	output_file_discard(file);
	return error ? message_error(error) : 0;
}

/* The exit code for how writing went, after saying so. */
static int output_check(const struct output *output)
{
	if (output->error == 0 || output->error == EPIPE)
		return 0;
	if (output->file.path)
		message("cannot write %s: %s", output->file.path, strerror(output->error));
	else if (output->fd == STDOUT_FILENO)
		message("cannot write the result to stdout: %s", strerror(output->error));
	else
		message("cannot write the result: %s", strerror(output->error));
	return ERROR_ENVIRONMENT;
}

int output_end(struct output *output)
{
	pager_end();
	int code = output_check(output);
	if (!code && output->file.path)
		code = output_file_end(&output->file);
	output_drop(output);
	return code;
}

int output_text(struct text *text)
{
	if (text->failed) {
		text_deinit(text);
		return message_error(error_no_memory());
	}
	struct output output;
	struct sink sink = output_sink(&output);
	sink.write(sink.ctx, text->data, text->len);
	text_deinit(text);
	return output_end(&output);
}
