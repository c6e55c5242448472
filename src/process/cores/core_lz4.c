/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/cores/core_lz4.h"

#include <string.h>
#include <unistd.h>

#include "base/util.h"

/* A frame's header: the magic, flags, how large blocks are. */
#define FLAG_INDEPENDENT 0x20u
#define FLAG_BLOCK_CHECKSUM 0x10u
#define FLAG_SIZE 0x08u
#define FLAG_CHECKSUM 0x04u
#define FLAG_DICTIONARY 0x01u
#define VERSION(flags) ((flags) >> 6)
#define BLOCK_KIND(byte) ((byte) >> 4 & 7)
#define BLOCK_PLAIN 0x80000000u
/* A file has this many blocks of 64 KiB at most that are looked at: of a terabyte. */
#define BLOCKS_MOST (1u << 24)
#define MATCH_LEAST 4u

static const uint8_t magic[] = {0x04, 0x22, 0x4d, 0x18};

bool core_lz4_is(const void *head, size_t len)
{
	return len >= sizeof(magic) && !memcmp(head, magic, sizeof(magic));
}

static bool read_lz4_bytes(int fd, uint64_t at, void *ret, size_t len)
{
	return pread(fd, ret, len, (off_t)at) == (ssize_t)len;
}

/* Of a frame with blocks of one size: where the first begins. */
struct frame {
	uint64_t start;
	size_t block_most;
	uint8_t flags;
};

static bool read_frame(int fd, uint64_t at, struct frame *ret)
{
	uint8_t head[6];
	if (!read_lz4_bytes(fd, at, head, sizeof(head)) || !core_lz4_is(head, sizeof(head)) ||
		VERSION(head[4]) != 1 || BLOCK_KIND(head[5]) < 4 || head[4] & FLAG_DICTIONARY)
		return false;
	ret->flags = head[4];
	ret->block_most = (size_t)1 << (8 + 2 * BLOCK_KIND(head[5]));
	ret->start = at + sizeof(head) + (head[4] & FLAG_SIZE ? 8 : 0) + 1;
	return true;
}

bool core_lz4_find_cut(int fd, uint64_t size, struct core_lz4_cut *ret)
{
	struct frame frame;
	if (!read_frame(fd, 0, &frame))
		return false;
	uint64_t at = frame.start;
	for (uint32_t block = 0; block < BLOCKS_MOST; block++) {
		uint32_t head;
		/* Without one a block more would not be here, either. */
		if (!read_lz4_bytes(fd, at, &head, sizeof(head)) || !head)
			return false;
		uint64_t len = head & ~BLOCK_PLAIN;
		at += sizeof(head);
		if (len > frame.block_most)
			return false;
		if (at < size && len > size - at) {
			*ret = (struct core_lz4_cut){
				.offset = at,
				.len = (size_t)(size - at),
				.before = block,
				.block_most = frame.block_most,
				.is_plain = head & BLOCK_PLAIN,
				.is_independent = frame.flags & FLAG_INDEPENDENT,
			};
			return true;
		}
		at += len + (frame.flags & FLAG_BLOCK_CHECKSUM ? 4 : 0);
	}
	return false;
}

struct reading {
	const uint8_t *at, *end;
};

/* A length of 15 goes on in bytes, up to the first that is not 255. False: it is cut. */
static bool add_length(struct reading *r, size_t *length)
{
	if (*length != 15)
		return true;
	for (uint8_t byte = 255; byte == 255;) {
		if (r->at == r->end)
			return false;
		byte = *r->at++;
		*length += byte;
	}
	return true;
}

size_t core_lz4_unpack(const uint8_t *block, size_t len, uint8_t *out, size_t known, size_t room)
{
	struct reading r = {block, block + len};
	size_t done = known;
	while (r.at < r.end && done < room) {
		uint8_t token = *r.at++;
		size_t literals = token >> 4, match = token & 15;
		if (!add_length(&r, &literals))
			break;
		size_t there = min(min(literals, (size_t)(r.end - r.at)), room - done);
		memcpy(out + done, r.at, there);
		done += there;
		r.at += there;
		if (there < literals || r.end - r.at < 2)
			break;
		size_t back = r.at[0] | (size_t)r.at[1] << 8;
		r.at += 2;
		/* Of a length that is cut so much is certain. */
		bool is_whole = add_length(&r, &match);
		match = min(match + MATCH_LEAST, room - done);
		if (!back || back > done)
			break;
		/* It may overlap what it makes. */
		for (size_t i = 0; i < match; i++, done++)
			out[done] = out[done - back];
		if (!is_whole)
			break;
	}
	return done;
}
