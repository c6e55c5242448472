/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the resident memory of the process is made of, at the moments at which its mappings are
 * looked at (recorder_mappings.c). A sample is a list of lines, whose sum is the resident size as
 * /proc/PID/smaps has it. The process goes on meanwhile: lines are as of the moment at which each
 * mapping was read.
 */
#ifndef CAPTURE_RESIDENT_H
#define CAPTURE_RESIDENT_H

#include "base/buf.h"
#include "base/vec.h"
#include "capture/recorder/live_table.h"
#include "capture/recorder/mappings.h"
#include "format/resident.h"
#include "process/maps.h"

struct resident_line {
	uint64_t stamp, bytes, detail;
	uint8_t what, kind; /* enum hpw_resident, enum hpw_mapping */
	char *name;         /* owned; NULL: none */
};
DEFINE_VEC(resident_vec, struct resident_line)

struct resident {
	struct resident_vec lines; /* not yet written */
	uint64_t written;          /* at most HPW_RESIDENT_MAX, with those */
};

/* What is looked at; borrowed. */
struct resident_view {
	pid_t pid;
	int pagemap; /* of the process; -1: it can't be read */
	const struct process_maps *maps;
	const struct mappings *mappings;
	const struct live_table *live;
	uint64_t own_start[2], own_end[2]; /* the runtime's memory */
	bool heap_known;                   /* the next three are figures */
	uint64_t requested_bytes, requested_blocks, padding_bytes;
	uint64_t stamp;
};

void resident_deinit(struct resident *resident);
/* Adds a sample; without memory, or if the process can't be read, nothing. */
void resident_look(struct resident *resident, const struct resident_view *view);
/* Appends all lines as columns, and drops them. */
bool resident_put(struct resident *resident, struct buf *ret);

#endif
