/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/commands/bundle_anonymous.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/writer.h"
#include "sources/hpw_anonymize.h"

static struct error *open_temporary(const char *output, int *ret)
{
	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "%s.XXXXXX", output) < 0) {
		path = NULL;
		return error_no_memory();
	}
	*ret = mkostemp(path, O_CLOEXEC);
	if (*ret < 0)
		return error_errno(ERROR_ENVIRONMENT, errno, "%s: cannot be written", output);
	unlink(path);
	return NULL;
}

static struct error *put_chunk(void *ctx, unsigned type, const struct buf *payload)
{
	return writer_chunk(ctx, (enum hpw_chunk_type)type, payload, true);
}

static struct error *write_to(int fd, const char *output, const struct source_place *place,
	struct anonymizer *anonymizer, const struct model *model)
{
	struct writer writer;
	unsigned features = 0;
	struct error *error = hpw_anonymize_begin(place, &features);
	int own = error ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (!error && own < 0)
		error = error_errno(ERROR_ENVIRONMENT, errno, "%s: cannot be written", output);
	if (!error)
		error = writer_open(&writer, own, output, features);
	if (error)
		return error;
	const struct hpw_chunk_sink sink = {.put = put_chunk, .ctx = &writer};
	error = hpw_anonymize(place, anonymizer, model, &sink);
	if (!error)
		error = writer_finish(&writer);
	writer_close(&writer);
	return error;
}

struct error *bundle_add_anonymous(struct bundle_manifest *manifest, const char *output,
	const struct source_place *place, struct anonymizer *anonymizer, const struct model *model,
	int *ret_fd)
{
	char from[64];
	struct error *error = open_temporary(output, ret_fd);
	if (!error)
		error = write_to(*ret_fd, output, place, anonymizer, model);
	if (error)
		return error;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", *ret_fd);
	char to[] = BUNDLE_RECORDING "/recording.hpw";
	const struct bundle_file row = {.kind = BUNDLE_KIND_RECORDING, .from = from, .to = to};
	return bundle_manifest_add(manifest, &row, NULL);
}
