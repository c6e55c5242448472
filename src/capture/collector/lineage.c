/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/collector/lineage.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

void lineage_deinit(struct lineage *lineage)
{
	for (uint64_t i = 0; i < min(lineage->count, (uint64_t)LINEAGE_MAX); i++)
		free(lineage->images[i].file);
	free(lineage->images);
	*lineage = (struct lineage){.images = NULL};
}

/* Makes room for one more; its place has the file of the one that was there before, or NULL. */
static struct lineage_image *next_place(struct lineage *lineage)
{
	if (lineage->count >= lineage->capacity && lineage->capacity < LINEAGE_MAX) {
		uint64_t capacity = lineage->capacity ? 2 * lineage->capacity : 64;
		struct lineage_image *moved = realloc(lineage->images, capacity * sizeof(*moved));
		if (!moved)
			return NULL;
		memset(moved + lineage->capacity, 0,
			(capacity - lineage->capacity) * sizeof(*moved));
		lineage->images = moved;
		lineage->capacity = capacity;
	}
	return &lineage->images[lineage->count % LINEAGE_MAX];
}

uint64_t lineage_add(
	struct lineage *lineage, pid_t pid, pid_t outer_pid, uint64_t began, const char *file)
{
	struct lineage_image *image = next_place(lineage);
	char *name = image ? strdup(file) : NULL;
	if (!name)
		return 0;
	free(image->file);
	*image = (struct lineage_image){
		.pid = pid, .outer_pid = outer_pid, .began = began, .file = name};
	return ++lineage->count;
}

struct lineage_image *lineage_at(const struct lineage *lineage, uint64_t number)
{
	bool known = number && number <= lineage->count && lineage->count - number < LINEAGE_MAX;
	return known ? &lineage->images[(number - 1) % LINEAGE_MAX] : NULL;
}

uint64_t lineage_number(const struct lineage *lineage, const struct lineage_image *image)
{
	uint64_t place = (uint64_t)(image - lineage->images);
	uint64_t last = (lineage->count - 1) % LINEAGE_MAX;
	return lineage->count - (last + LINEAGE_MAX - place) % LINEAGE_MAX;
}

struct lineage_image *lineage_find(
	const struct lineage *lineage, pid_t pid, pid_t outer_pid, uint64_t forked_at)
{
	uint64_t oldest = lineage->count > LINEAGE_MAX ? lineage->count - LINEAGE_MAX : 0;
	struct lineage_image *other = NULL;
	for (uint64_t i = lineage->count; i-- > oldest;) {
		struct lineage_image *image = &lineage->images[i % LINEAGE_MAX];
		if (image->pid != pid || image->began > forked_at)
			continue;
		if (image->outer_pid == outer_pid)
			return image;
		other = other ? other : image;
	}
	return other;
}
