/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded process that has lost its mind, or means harm: it writes what it likes into the memory
 * that it shares with the collector, between the collector's passes over it.
 *
 * Raw bytes of 64 MiB of rings would be hopeless to mutate, so an input is a script: a byte of
 * settings, then commands, each a byte and its numbers (see number()). Some commands write proper
 * records, so that inputs get far; others write anything anywhere. The collector under test is the
 * real one, from its rings to its file. Whatever came in,
 *   - the file opens without damage and is complete, and
 *   - the totals in its footer are what a replay of its events gives.
 * seeds_rings.py writes the seeds.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/recorder/recorder.h"

#include "check_recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COMMANDS_MAX 4096
#define NODES 3000

struct script {
	const uint8_t *at, *end;
	struct recorder *recorder;
	struct hw_shm *shm;
	uint64_t now;  /* stamp of the next record */
	uint64_t head; /* of the ring that is written to; not published yet */
	uint32_t ring;
};

static uint8_t byte(struct script *s)
{
	return s->at < s->end ? *s->at++ : 0;
}

/* Below 0xe0 the byte itself, then numbers of 1 to 8 bytes, then what is worth trying. */
static uint64_t number(struct script *s)
{
	static const uint64_t odd[] = {UINT64_MAX, UINT64_MAX / 2, 1ull << 63, 1ull << 56,
		1ull << 48, (1ull << 47) - 1, 1ull << 40, 1ull << 33, UINT32_MAX, UINT32_MAX - 1ull,
		1u << 31, HW_NODES_MAX, HW_NODES_MAX - 1, HW_MODULES_MAX, HW_STRINGS_BYTES,
		HW_RING_WORDS_LARGE, HW_RING_WORDS_MEDIUM, HW_RING_WORDS_SMALL, UINT16_MAX,
		0xffff0000, 8193, 513, 512, 257};
	uint8_t first = byte(s);
	if (first < 0xe0)
		return first;
	if (first >= 0xe8)
		return odd[first - 0xe8];
	uint64_t value = 0;
	for (unsigned i = 0; i <= first - 0xe0u; i++)
		value |= (uint64_t)byte(s) << (8 * i);
	return value;
}

static struct hw_ring *ring(const struct script *s)
{
	return (struct hw_ring *)((char *)s->shm + HW_SHM_RINGS) + s->ring;
}

static void put(struct script *s, uint64_t word)
{
	uint64_t *data = (uint64_t *)((char *)s->shm + HW_SHM_DATA) + hw_ring_start(s->ring);
	data[s->head++ & (hw_ring_words(s->ring) - 1)] = word;
}

static void put_pad(struct script *s)
{
	uint32_t words = hw_ring_words(s->ring);
	put(s, HW_R_PAD);
	s->head = (s->head + words - 1) / words * words;
}

/* A record does not wrap. */
static void make_room_for(struct script *s, uint32_t count)
{
	uint32_t words = hw_ring_words(s->ring);
	if ((s->head & (words - 1)) + count > words)
		put_pad(s);
}

static void make_room(struct script *s)
{
	make_room_for(s, HW_R_WORDS_MAX);
}

static uint64_t stamp(struct script *s)
{
	return s->now += number(s);
}

static void choose_ring(struct script *s)
{
	static const uint32_t rings[] = {
		0, 1, 2, 7, 8, 9, 63, 64, 65, HW_RINGS - 2, HW_RING_SHARED};
	s->ring = rings[number(s) % ARRAY_SIZE(rings)];
	s->head = ring(s)->head;
}

/* As a new thread takes a ring over. */
static void claim(struct script *s)
{
	ring(s)->state = HW_RING_ACTIVE;
	ring(s)->tid = (uint32_t)number(s);
	ring(s)->generation++;
}

static void publish(struct script *s)
{
	ring(s)->head = s->head;
}

static void put_sized(struct script *s, uint64_t op, uint64_t address)
{
	uint64_t stack = number(s), size = number(s);
	if (stack < HW_NODES_MAX)
		stack %= NODES; /* rows for the numbers between would take long */
	put(s, op | address << 8);
	if (size < HW_R_SIZE_BIG) {
		put(s, (stack & UINT32_MAX) | size << 32);
	} else {
		put(s, (stack & UINT32_MAX) | (uint64_t)HW_R_SIZE_BIG << 32);
		put(s, size);
	}
}

static void put_alloc(struct script *s)
{
	make_room(s);
	uint8_t kind = byte(s);
	uint64_t stamped = kind & 0x80;
	put_sized(s, (HW_R_ALLOC + kind % HW_ALLOC_KINDS) | stamped, number(s));
	if (stamped)
		put(s, stamp(s));
}

static void put_free(struct script *s)
{
	make_room(s);
	uint8_t kind = byte(s);
	uint64_t stamped = kind & 0x80, op = kind & 0x40 ? HW_R_FREE_SAME_FRAME : HW_R_FREE;
	put(s, (op + kind % HW_FREE_KINDS) | stamped | number(s) << 8);
	if (stamped)
		put(s, stamp(s));
}

static void put_realloc(struct script *s)
{
	make_room(s);
	uint64_t stamped = byte(s) & 0x80;
	put_sized(s, HW_R_REALLOC | stamped, number(s));
	put(s, number(s));
	if (stamped) {
		put(s, stamp(s));
		put(s, stamp(s));
	}
}

static void put_failed(struct script *s)
{
	make_room(s);
	put(s, HW_R_FAILED | (uint64_t)byte(s) << 8);
	put(s, number(s));
	put(s, number(s));
}

/* One of the records that are not steps. */
static void put_other(struct script *s)
{
	static const uint8_t operations[] = {HW_R_TIME, HW_R_LOST, HW_R_FOREIGN, HW_R_STACK, 0x08,
		HW_R_FORK, HW_R_FORK | HW_R_STAMPED};
	make_room(s);
	uint8_t operation = operations[byte(s) % ARRAY_SIZE(operations)];
	put(s, operation | number(s) << 8);
	if (operation == HW_R_TIME || operation & HW_R_STAMPED)
		put(s, stamp(s));
}

/* A mark, the name of which is as long as it says, or is not. */
static void put_mark(struct script *s)
{
	uint64_t claimed = number(s), there = byte(s) % HW_MARK_NAME_WORDS;
	make_room_for(s, HW_R_WORDS_LONGEST);
	put(s, HW_R_MARK | HW_R_STAMPED | claimed << 8);
	for (uint64_t i = 0; i < there; i++)
		put(s, number(s));
	put(s, stamp(s));
}

/* An error; a kind with its highest bit set: without a stamp. What is not given is 0. */
static void put_error(struct script *s)
{
	uint64_t words[HW_ERROR_WORDS] = {0};
	uint8_t kind = byte(s), given = byte(s) % (HW_ERROR_WORDS + 1);
	for (unsigned i = 0; i < given; i++)
		words[i] = number(s);
	make_room_for(s, HW_R_WORDS_ERROR);
	put(s, HW_R_ERROR | (kind & 0x80 ? 0u : HW_R_STAMPED) | (uint64_t)(kind & 0x7f) << 8);
	for (unsigned i = 0; i < HW_ERROR_WORDS; i++)
		put(s, words[i]);
	put(s, stamp(s));
}

/* What was mapped or unmapped; a kind with its highest bit set: without a stamp. */
static void put_mapped(struct script *s)
{
	uint8_t kind = byte(s);
	uint64_t stamped = kind & 0x80 ? 0 : HW_R_STAMPED;
	bool maps = kind & 0x40;
	make_room_for(s, HW_R_WORDS_MAPPED);
	put(s, (maps ? HW_R_MAP : HW_R_UNMAP) | stamped | number(s) << 8);
	if (maps)
		put(s, number(s) % NODES | (uint64_t)(kind & 0x3f) << 32 | number(s) << 40);
	put(s, number(s));
	if (stamped)
		put(s, stamp(s));
}

static void put_raw(struct script *s)
{
	put(s, number(s));
}

/* A drained ring stands near the end of a lap, as if much had gone through it. */
static void skip_lap(struct script *s)
{
	struct merge_lane *lane = &s->recorder->merge.lanes[s->ring];
	uint64_t to = (lane->tail | (lane->words - 1)) - byte(s) % 16;
	if (lane->tail != ring(s)->head || to < lane->tail)
		return;
	s->head = ring(s)->head = ring(s)->tail = lane->tail = lane->head = to;
}

static void set_head(struct script *s)
{
	s->head = ring(s)->head + number(s);
}

static void set_ring(struct script *s)
{
	unsigned word = byte(s) % (sizeof(struct hw_ring) / 8);
	((uint64_t *)ring(s))[word] = number(s);
}

static void set_header(struct script *s)
{
	unsigned word = byte(s) % (sizeof(struct hw_shm) / 4);
	((uint32_t *)s->shm)[word] = (uint32_t)number(s);
}

static void set_node(struct script *s)
{
	struct hw_node *nodes = (struct hw_node *)((char *)s->shm + HW_SHM_NODES);
	uint64_t id = number(s) % NODES;
	nodes[id].parent = (uint32_t)number(s);
	nodes[id].frame = number(s) << HW_FRAME_ADDRESS_BITS | number(s);
}

static void set_module(struct script *s)
{
	struct hw_module *modules = (struct hw_module *)((char *)s->shm + HW_SHM_MODULES);
	struct hw_module *m = &modules[number(s) % HW_MODULES_MAX];
	m->start = number(s);
	m->end = number(s);
	m->bias = number(s);
	m->path_offset = (uint32_t)number(s);
	m->path_bytes = (uint32_t)number(s);
	m->build_id_bytes = (uint32_t)number(s);
	s->shm->modules++;
}

static void set_string(struct script *s)
{
	char *strings = (char *)s->shm + HW_SHM_STRINGS;
	uint64_t at = number(s);
	for (unsigned n = byte(s); n-- && at < HW_STRINGS_BYTES; at++)
		strings[at] = (char)byte(s);
}

static void drain(struct script *s)
{
	recorder_drain(s->recorder);
}

static void tend(struct script *s)
{
	recorder_service(s->recorder);
}

static void (*const commands[])(struct script *s) = {choose_ring, claim, publish, put_alloc,
	put_free, put_realloc, put_failed, put_other, put_raw, skip_lap, set_head, set_ring,
	set_header, set_node, set_module, set_string, drain, tend, put_mark, put_mapped, put_error};

static void check_file(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	NEED(size > 0);
	void *bytes = malloc((size_t)size);
	NEED(bytes && pread(fd, bytes, (size_t)size, 0) == size);
	check_recording(bytes, (size_t)size);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = {.at = data, .end = data + size};
	uint8_t settings = byte(&s);
	int fd = memfd_create("recording", MFD_CLOEXEC), own = dup(fd);
	NEED(fd >= 0 && own >= 0);
	struct clock_pair now = clock_pair_now();
	const struct recorder_start start = {
		.pid = INT32_MAX,                           /* is nobody: threads are dead */
		.target_pid = settings & 1 ? INT32_MAX : 1, /* thread ids say nothing: all live */
		.tsc_hz =
			settings & 2 ? 1000 : 3000000000u, /* "busy for long" comes soon, or not */
		.began = now,
		.mode.mappings = settings & 16 ? MODE_MAPPINGS_TOO : MODE_MAPPINGS_OFF,
		.mode.check = settings & 32 ? MODE_CHECK_TOO : MODE_CHECK_OFF,
		.file = own,
		.file_name = "rings",
	};
	struct error *error = recorder_create(&start, &s.recorder);
	NEED(!error);
	s.shm = s.recorder->shm;
	s.now = now.tsc - 1000000;
	if (settings & 4)
		s.recorder->flushed_ns = 0; /* the first tend() writes a chunk */
	if (settings & 8)
		s.recorder->merge.lane_count = HW_RING_SHARED; /* all rings were in use */
	for (unsigned i = 0; s.at < s.end && i < COMMANDS_MAX; i++)
		commands[byte(&s) % ARRAY_SIZE(commands)](&s);
	struct recorder_totals totals;
	recorder_finish(
		s.recorder, &(struct recorder_end){.kind = HPW_EXIT_SIGNAL, .value = 11}, &totals);
	NEED(!totals.write_error);
	recorder_destroy(s.recorder);
	check_file(fd);
	close(fd);
	return 0;
}
