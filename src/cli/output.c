/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/heap_interrupt.h"
#include "cli/message.h"
#include "cli/pager.h"
#include "cli/progress.h"

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
	output->fd = fd;
	output->error = 0;
	output->paged = false;
	return (struct sink){.write = output_write, .ctx = output};
}

int output_open(struct output *output, struct sink *ret_sink, const char *path, int *ret_fd)
{
	*ret_fd = -1;
	if (!path || strcmp(path, OUTPUT_STDOUT) == 0) {
		*ret_sink = output_sink(output);
		return 0;
	}
	*ret_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (*ret_fd < 0)
		return message_error(
			error_errno(ERROR_ENVIRONMENT, errno, "cannot write to %s", path));
	*ret_sink = output_sink_to(output, *ret_fd);
	return 0;
}

int output_end(const struct output *output)
{
	pager_end();
	if (output->error == 0 || output->error == EPIPE)
		return 0;
	if (output->fd == STDOUT_FILENO)
		message("cannot write the result to stdout: %s", strerror(output->error));
	else
		message("cannot write the result: %s", strerror(output->error));
	return ERROR_ENVIRONMENT;
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
