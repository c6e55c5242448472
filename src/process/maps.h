/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of a process: /proc/PID/maps (proc_pid_maps(5)). */
#ifndef PROCESS_MAPS_H
#define PROCESS_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"

struct process_map {
	uint64_t start, end, offset;
	uint64_t inode; /* 0: no file */
	uint32_t device_major;
	bool readable, writable, executable, shared;
	const char *path; /* "[heap]", a file's, or ""; belongs to the maps */
};

DEFINE_VEC(process_map_vec, struct process_map)

struct process_maps {
	struct process_map_vec maps; /* ascending */
	char *text;
};

/* Reads the mappings of a process. Returns ERROR_INPUT if there is no such process,
 * ERROR_ENVIRONMENT if its mappings may not be read. */
struct error *process_maps_read(pid_t pid, struct process_maps *ret) must_check_;
/* Parses the text of /proc/PID/maps, which *ret takes over; malformed lines are left out. */
struct error *process_maps_parse(char *text, struct process_maps *ret) must_check_;
void process_maps_deinit(struct process_maps *maps);

/* Returns the index of the first mapping that ends after an address. */
size_t process_maps_first(const struct process_maps *maps, uint64_t address);
/* Returns the mapping that an address lies in; NULL if there is none. */
const struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address);

/* Returns whether a mapping is of glibc's file, by its name; false for NULL. */
bool process_map_is_libc(const struct process_map *map);

/*
 * Says which mappings have no memory reserved for them (MAP_NORESERVE, VmFlags "nr" in
 * /proc/PID/smaps); the kernel joins adjacent mappings only if they are alike in this, too. `ret`
 * has room for each of `maps`. It takes a walk of the page tables: 5 ms a GiB.
 */
struct error *process_maps_no_reserve(
	pid_t pid, const struct process_maps *maps, bool *ret) must_check_;

/* How much memory a mapping takes, in bytes (proc_pid_smaps(5)). */
struct process_map_usage {
	bool known;        /* false: the process has another mapping there by now */
	uint64_t resident; /* Rss */
	uint64_t own;      /* Private_Clean and Private_Dirty: of this process alone */
	uint64_t swapped;  /* Swap */
};
/* Reads the usage of each of `maps`, for which `ret` has room. It takes a walk of the page tables:
 * 5 to 10 ms a GiB. */
struct error *process_maps_usage(
	pid_t pid, const struct process_maps *maps, struct process_map_usage *ret) must_check_;

#endif
