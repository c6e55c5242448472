/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/maps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"

#define MAPS_BYTES_MAX (256u << 20)

static bool parse_line(char *line, struct process_map *ret)
{
	char flags[5];
	int path = 0;
	*ret = (struct process_map){.path = ""};
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%*x %" SCNu64 " %n",
		    &ret->start, &ret->end, flags, &ret->offset, &ret->device_major, &ret->inode,
		    &path) < 6 ||
		ret->start >= ret->end || strlen(flags) != 4)
		return false;
	ret->readable = flags[0] == 'r';
	ret->writable = flags[1] == 'w';
	ret->executable = flags[2] == 'x';
	ret->shared = flags[3] == 's';
	if (path)
		ret->path = line + path;
	return true;
}

struct error *process_maps_parse(char *text, struct process_maps *ret)
{
	*ret = (struct process_maps){.text = text};
	for (char *line = text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = 0;
		struct process_map map;
		size_t len = ret->maps.len;
		if (!parse_line(line, &map) || (len && map.start < ret->maps.data[len - 1].end))
			continue;
		if (!process_map_vec_push(&ret->maps, map)) {
			process_maps_deinit(ret);
			return error_no_memory();
		}
	}
	return NULL;
}

struct error *process_maps_read(pid_t pid, struct process_maps *ret)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	*ret = (struct process_maps){.text = NULL};
	uint8_t *text;
	size_t len;
	struct error *error = read_file(path, MAPS_BYTES_MAX, &text, &len);
	return error ? error : process_maps_parse((char *)text, ret);
}

/* Goes through the lines of /proc/PID/smaps that tell of a mapping (proc_pid_smaps(5)). */
static struct error *read_details(pid_t pid, const struct process_maps *maps, void *ret,
	void (*take)(void *ret, const struct process_map *map, size_t number, const char *line))
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	uint8_t *text;
	size_t len;
	struct error *error = read_file(path, MAPS_BYTES_MAX, &text, &len);
	if (error)
		return error;
	const struct process_map *map = NULL;
	for (char *line = (char *)text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = 0;
		uint64_t start;
		char dash;
		if (sscanf(line, "%" SCNx64 "%c", &start, &dash) == 2 && dash == '-')
			map = process_maps_find(maps, start);
		if (map)
			take(ret, map, (size_t)(map - maps->maps.data), line);
	}
	free(text);
	return NULL;
}

static void take_no_reserve(
	void *ret, const struct process_map *map, size_t number, const char *line)
{
	(void)map;
	bool *no_reserve = ret;
	if (!strncmp(line, "VmFlags:", 8))
		no_reserve[number] = strstr(line, " nr");
}

struct error *process_maps_no_reserve(pid_t pid, const struct process_maps *maps, bool *ret)
{
	return read_details(pid, maps, ret, take_no_reserve);
}

static void take_usage(void *ret, const struct process_map *map, size_t number, const char *line)
{
	struct process_map_usage *usage = (struct process_map_usage *)ret + number;
	uint64_t start, end, kilobytes;
	char name[32];
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2)
		usage->known = start == map->start && end == map->end;
	else if (!usage->known ||
		 sscanf(line, "%31[A-Za-z_]: %" SCNu64 " kB", name, &kilobytes) != 2)
		return;
	else if (!strcmp(name, "Rss"))
		usage->resident = kilobytes << 10;
	else if (!strcmp(name, "Private_Clean") || !strcmp(name, "Private_Dirty"))
		usage->own += kilobytes << 10;
	else if (!strcmp(name, "Swap"))
		usage->swapped = kilobytes << 10;
}

struct error *process_maps_usage(
	pid_t pid, const struct process_maps *maps, struct process_map_usage *ret)
{
	memset(ret, 0, maps->maps.len * sizeof(*ret));
	return read_details(pid, maps, ret, take_usage);
}

void process_maps_deinit(struct process_maps *maps)
{
	process_map_vec_deinit(&maps->maps);
	free(maps->text);
	maps->text = NULL;
}

size_t process_maps_first(const struct process_maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->maps.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (maps->maps.data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool process_map_is_libc(const struct process_map *map)
{
	const char *base = map ? strrchr(map->path, '/') : NULL;
	return base && (!strncmp(base, "/libc.so", 8) || !strncmp(base, "/libc-", 6));
}

const struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address)
{
	size_t first = process_maps_first(maps, address);
	const struct process_map *found = maps->maps.data + first;
	return first < maps->maps.len && address >= found->start ? found : NULL;
}
