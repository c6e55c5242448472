/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/smaps.h"

#include <string.h>

#include "base/util.h"

static const struct {
	const char *name;
	size_t len;
} fields[SMAPS_FIELDS] = {
#define SMAPS_NAME(string)                                                                         \
	{                                                                                          \
		string, sizeof(string) - 1                                                         \
	}
	[SMAPS_RSS] = SMAPS_NAME("Rss:"),
	[SMAPS_PSS] = SMAPS_NAME("Pss:"),
	[SMAPS_SHARED_DIRTY] = SMAPS_NAME("Shared_Dirty:"),
	[SMAPS_PRIVATE_CLEAN] = SMAPS_NAME("Private_Clean:"),
	[SMAPS_PRIVATE_DIRTY] = SMAPS_NAME("Private_Dirty:"),
	[SMAPS_SWAP] = SMAPS_NAME("Swap:"),
	[SMAPS_ANON_HUGE] = SMAPS_NAME("AnonHugePages:"),
	[SMAPS_SHMEM_HUGE] = SMAPS_NAME("ShmemPmdMapped:"),
	[SMAPS_FILE_HUGE] = SMAPS_NAME("FilePmdMapped:"),
	[SMAPS_SHARED_HUGETLB] = SMAPS_NAME("Shared_Hugetlb:"),
	[SMAPS_PRIVATE_HUGETLB] = SMAPS_NAME("Private_Hugetlb:"),
};

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads a number in hexadecimal; false: there is none, or one of more than 64 bits. */
static bool hex_read(const char **at, uint64_t *ret)
{
	const char *from = *at;
	uint64_t value = 0;
	for (int digit; (digit = hex_value(**at)) >= 0; (*at)++)
		value = value << 4 | (uint64_t)digit;
	*ret = value;
	return *at != from && *at - from <= 16;
}

static bool decimal_read(const char **at, uint64_t *ret)
{
	const char *from = *at;
	uint64_t value = 0;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		if (__builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(value, (uint64_t)(**at - '0'), &value))
			return false;
	}
	*ret = value;
	return *at != from;
}

static bool char_read(const char **at, char wanted)
{
	if (**at != wanted)
		return false;
	++*at;
	return true;
}

static bool flags_read(const char **at, char ret[5])
{
	static const char letters[4][3] = {"r-", "w-", "x-", "ps"};
	for (unsigned i = 0; i < 4; i++, (*at)++) {
		if (!**at || !strchr(letters[i], **at))
			return false;
		ret[i] = **at;
	}
	ret[4] = 0;
	return true;
}

/* "7f12-7f13 rw-p 00000000 00:00 0   NAME" */
static bool head_read(const char *line, struct smaps_entry *ret)
{
	const char *at = line;
	uint64_t major, minor;
	memset(ret, 0, sizeof(*ret));
	bool ok = hex_read(&at, &ret->start) && char_read(&at, '-') && hex_read(&at, &ret->end) &&
		  char_read(&at, ' ') && flags_read(&at, ret->flags) && char_read(&at, ' ') &&
		  hex_read(&at, &ret->offset) && char_read(&at, ' ') && hex_read(&at, &major) &&
		  char_read(&at, ':') && hex_read(&at, &minor) && char_read(&at, ' ') &&
		  decimal_read(&at, &ret->inode) && ret->start < ret->end;
	if (!ok || (*at && *at != ' '))
		return false;
	ret->device = (uint32_t)(major << 20 | minor);
	ret->name = at + strspn(at, " ");
	return true;
}

/* "VmFlags: rd wr mr" */
static void vm_flags_read(const char *line, struct smaps_entry *ret)
{
	ret->has_vm_flags = true;
	ret->is_device = strstr(line, " pf") || strstr(line, " io");
	ret->is_hugetlb = strstr(line, " ht");
}

/* A line of smaps that is below a mapping's; false: it is none. */
static bool field_read(const char *line, struct smaps_entry *ret)
{
	if (*line < 'A' || *line > 'Z' || !strchr(line, ':'))
		return false;
	if (*line == 'V' && !strncmp(line, "VmFlags:", 8)) {
		vm_flags_read(line, ret);
		return true;
	}
	for (unsigned i = 0; i < SMAPS_FIELDS; i++) {
		if (*line != *fields[i].name || strncmp(line, fields[i].name, fields[i].len) != 0)
			continue;
		const char *at = line + fields[i].len;
		uint64_t kilobytes;
		at += strspn(at, " \t");
		if (!decimal_read(&at, &kilobytes) || kilobytes > UINT64_MAX >> 10)
			return false;
		ret->bytes[i] = kilobytes << 10;
		ret->known |= 1u << i;
		return true;
	}
	return true;
}

size_t smaps_parse(char *text, bool (*take)(void *ctx, const struct smaps_entry *entry), void *ctx)
{
	struct smaps_entry entry = {.end = 0}, next;
	bool is_open = false;
	size_t left_out = 0;
	for (char *line = text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = 0;
		if (is_open && field_read(line, &entry))
			continue;
		if (!head_read(line, &next) || next.start < entry.end) {
			left_out++;
			continue;
		}
		if (is_open && !take(ctx, &entry))
			return left_out;
		entry = next;
		is_open = true;
	}
	if (is_open)
		take(ctx, &entry);
	return left_out;
}

bool smaps_begins(const char *text)
{
	struct smaps_entry entry;
	char line[512];
	size_t len = strcspn(text, "\n");
	len = min(len, sizeof(line) - 1);
	memcpy(line, text, len);
	line[len] = 0;
	return head_read(line, &entry);
}
