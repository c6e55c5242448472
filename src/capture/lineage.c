/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/lineage.h"

#include <stdlib.h>
#include <string.h>

void lineage_deinit(struct lineage *lineage)
{
	free(lineage->images);
	lineage->images = NULL;
}

void lineage_add(
	struct lineage *lineage, pid_t pid, pid_t outer_pid, uint64_t began, const char *file)
{
	size_t bytes = strlen(file) + 1;
	if (!lineage->images)
		lineage->images = calloc(LINEAGE_MAX, sizeof(*lineage->images));
	if (!lineage->images || bytes > LINEAGE_NAME_MAX)
		return;
	struct lineage_image *image = &lineage->images[lineage->count++ % LINEAGE_MAX];
	image->pid = pid;
	image->outer_pid = outer_pid;
	image->began = began;
	memcpy(image->file, file, bytes);
}

const char *lineage_find(
	const struct lineage *lineage, pid_t pid, pid_t outer_pid, uint64_t forked_at)
{
	uint64_t oldest = lineage->count > LINEAGE_MAX ? lineage->count - LINEAGE_MAX : 0;
	const char *other = NULL;
	for (uint64_t i = lineage->count; i-- > oldest;) {
		const struct lineage_image *image = &lineage->images[i % LINEAGE_MAX];
		if (image->pid != pid || image->began > forked_at)
			continue;
		if (image->outer_pid == outer_pid)
			return image->file;
		other = other ? other : image->file;
	}
	return other;
}
