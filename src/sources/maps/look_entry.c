/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/maps/look_entry.h"

#include <string.h>

#include "process/smaps.h"

/* Sets a figure to the sum of fields, if all are known. */
static void figure_sum(struct look_mapping *mapping, enum look_figure figure,
	const struct smaps_entry *entry, uint32_t fields)
{
	uint64_t sum = 0;
	if ((entry->known & fields) != fields)
		return;
	for (unsigned i = 0; i < SMAPS_FIELDS; i++)
		sum += fields & 1u << i ? entry->bytes[i] : 0;
	look_set_figure(mapping, figure, sum);
}

struct entries {
	struct memory_look *look;
	bool failed;
};

static bool entry_add(void *ctx, const struct smaps_entry *entry)
{
	struct entries *entries = ctx;
	struct look_mapping mapping = {.start = entry->start,
		.end = entry->end,
		.offset = entry->offset,
		.inode = entry->inode,
		.device = entry->device,
		.name = entry->name};
	memcpy(mapping.flags, entry->flags, sizeof(mapping.flags));
	mapping.owner = look_owner_of(&mapping);
	if (entry->has_vm_flags && entry->is_device && mapping.owner == LOOK_FILE)
		mapping.owner = LOOK_DEVICE;
	figure_sum(&mapping, LOOK_RSS, entry, 1u << SMAPS_RSS);
	figure_sum(&mapping, LOOK_PSS, entry, 1u << SMAPS_PSS);
	figure_sum(&mapping, LOOK_PRIVATE, entry,
		1u << SMAPS_PRIVATE_CLEAN | 1u << SMAPS_PRIVATE_DIRTY);
	figure_sum(
		&mapping, LOOK_DIRTY, entry, 1u << SMAPS_SHARED_DIRTY | 1u << SMAPS_PRIVATE_DIRTY);
	figure_sum(&mapping, LOOK_SWAPPED, entry, 1u << SMAPS_SWAP);
	figure_sum(&mapping, LOOK_HUGE, entry,
		1u << SMAPS_ANON_HUGE | 1u << SMAPS_SHMEM_HUGE | 1u << SMAPS_FILE_HUGE |
			1u << SMAPS_SHARED_HUGETLB | 1u << SMAPS_PRIVATE_HUGETLB);
	entries->failed = !look_mapping_vec_push(&entries->look->mappings, mapping);
	return !entries->failed;
}

bool look_entries_read(struct memory_look *look, char *text, size_t *ret_left_out)
{
	struct entries entries = {look, false};
	*ret_left_out = smaps_parse(text, entry_add, &entries);
	return !entries.failed;
}
