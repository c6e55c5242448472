/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file never shows whether its chunks were written by the thread of a queue: the same calls with
 * and without one make the same bytes, and fail with the same message.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "capture/recorder/recorder.h"
#include "capture/writer/write_queue.h"
#include "lib/tap.h"
#include "unit/played_source.h"

#define CHUNKS 200
#define CHUNK_BYTES_MOST (512u << 10)
#define WRITERS 3
#define HZ 1000000000u

/* A payload that compresses about as well as events do, or not at all. */
static void fill(struct buf *payload)
{
	size_t bytes = random_below(8) ? random_below(2000) : random_below(CHUNK_BYTES_MOST);
	uint64_t most = random_below(6) ? 7 : UINT64_MAX;
	CHECK(buf_reserve(payload, bytes));
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t some = random_below(most) * 0x0101010101010101;
		memcpy(payload->data + i, &some, bytes - i < 8 ? bytes - i : 8);
	}
	payload->len = bytes;
}

static void open_temporary(struct writer *writer, struct write_queue *queue)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_OK(writer_open(writer, fd, "file", 0));
	writer->queue = queue;
}

/* One of the calls of a recorder, in the middle of others; see recorder_chunks.c. */
static void do_something(struct writer *writer, struct buf *payload)
{
	uint64_t at;
	switch (random_below(12)) {
	case 0:
		CHECK_OK(writer_chunk(writer, HPW_SITES, payload, random_below(2)));
		break;
	case 1:
		CHECK_OK(writer_place(writer, HPW_CHECKPOINT, 4096, &at));
		CHECK(at && writer_put(writer, at, "state", 5) == 0);
		break;
	case 2:
		CHECK_OK(writer_settle(writer));
		CHECK_U64(writer_size(writer), (uint64_t)lseek(writer->fd, 0, SEEK_END));
		break;
	default:
		CHECK_OK(writer_hand_over(writer, HPW_EVENTS, payload, random_below(8)));
		CHECK_U64(payload->len, 0);
	}
	buf_clear(payload);
}

/* Copies of the files, as they are when they are complete. */
struct copy {
	uint8_t *data;
	size_t bytes;
};

static struct copy copy_of(const struct writer *writer)
{
	struct copy copy = {.bytes = (size_t)lseek(writer->fd, 0, SEEK_END)};
	copy.data = malloc(copy.bytes);
	CHECK(copy.data && pread(writer->fd, copy.data, copy.bytes, 0) == (ssize_t)copy.bytes);
	return copy;
}

static void need_same(struct copy *one, struct copy *other)
{
	CHECK_U64(one->bytes, other->bytes);
	CHECK(!memcmp(one->data, other->data, one->bytes));
	free(one->data);
	free(other->data);
}

static void tell_story(struct write_queue *queue, uint64_t seed, struct copy ret[WRITERS])
{
	struct writer writers[WRITERS];
	struct buf payload;
	buf_init(&payload);
	random_state = seed;
	for (int i = 0; i < WRITERS; i++)
		open_temporary(&writers[i], queue);
	for (int i = 0; i < CHUNKS; i++) {
		fill(&payload);
		do_something(&writers[random_below(WRITERS)], &payload);
	}
	for (int i = 0; i < WRITERS; i++) {
		CHECK_OK(writer_finish(&writers[i]));
		ret[i] = copy_of(&writers[i]);
		writer_close(&writers[i]);
	}
	buf_deinit(&payload);
}

static void compare_stories(size_t least)
{
	for (uint64_t seed = 1; seed <= TAP_SOME(8u); seed++) {
		struct write_queue *queue = write_queue_create(least);
		struct copy queued[WRITERS], alone[WRITERS];
		CHECK(queue);
		tell_story(queue, seed, queued);
		tell_story(NULL, seed, alone);
		for (int i = 0; i < WRITERS; i++)
			need_same(&queued[i], &alone[i]);
		write_queue_destroy(queue);
	}
}

CASE(same, "several files, whose chunks all go through one queue, are as without it")
{
	compare_stories(0);
}

CASE(same_mixed, "so they are if small chunks that nothing is before are written at once")
{
	compare_stories(WRITE_QUEUE_CHUNK_BYTES);
}

CASE(unused, "a queue that never got a chunk, or only small ones, has no thread to end")
{
	struct write_queue *queue = write_queue_create(1000);
	struct writer writer;
	struct buf payload;
	buf_init(&payload);
	write_queue_destroy(NULL);
	open_temporary(&writer, queue);
	buf_bytes(&payload, "small", 5);
	CHECK_OK(writer_hand_over(&writer, HPW_EVENTS, &payload, true));
	CHECK_U64(writer.queued, 0);
	CHECK_U64(writer.entry_count, 1);
	writer_close(&writer);
	write_queue_destroy(queue);
	buf_deinit(&payload);
}

CASE(closed, "what was handed over is in a file that is closed without its end")
{
	struct write_queue *queue = write_queue_create(0);
	struct writer writer;
	struct buf payload;
	buf_init(&payload);
	open_temporary(&writer, queue);
	int fd = dup(writer.fd);
	uint64_t bytes = writer_size(&writer);
	for (int i = 0; i < 40; i++) {
		for (int n = 0; n < 1000 * i; n++)
			buf_u8(&payload, 0);
		bytes += sizeof(struct hpw_chunk_header) + payload.len;
		CHECK_OK(writer_hand_over(&writer, HPW_EVENTS, &payload, false));
	}
	writer_close(&writer);
	CHECK_U64((uint64_t)lseek(fd, 0, SEEK_END), bytes);
	close(fd);
	write_queue_destroy(queue);
	buf_deinit(&payload);
}

/* Until the file may not grow any more. Returns what the recorder would keep, the first error. */
static struct error *fill_up(struct writer *writer, struct copy *ret)
{
	struct error *first = NULL;
	struct buf payload;
	buf_init(&payload);
	for (int i = 0; i < 60; i++) {
		for (int n = 0; n < 10000; n++)
			buf_u8(&payload, (uint8_t)i);
		struct error *error = writer_hand_over(writer, HPW_EVENTS, &payload, false);
		CHECK(!first || !error); /* it is told once */
		first = first ? first : error;
	}
	struct error *late = writer_finish(writer);
	CHECK(!first != !late);
	*ret = copy_of(writer);
	buf_deinit(&payload);
	return first ? first : late;
}

CASE(full, "a file that can't grow ends with its last whole chunk, and says so once")
{
	struct write_queue *queues[2] = {write_queue_create(0), NULL};
	const struct rlimit limit = {300000, 300000};
	struct copy copies[2];
	char *said[2];
	signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	for (int i = 0; i < 2; i++) {
		struct writer writer;
		open_temporary(&writer, queues[i]);
		struct error *error = fill_up(&writer, &copies[i]);
		said[i] = strdup(error->message);
		CHECK(strstr(said[i], "file: can't write past 2"));
		error_destroy(error);
		writer_close(&writer);
	}
	CHECK(!strcmp(said[0], said[1]));
	need_same(&copies[0], &copies[1]);
	free(said[0]);
	free(said[1]);
	write_queue_destroy(queues[0]);
}

/* What has come out at the other end of a file that is a pipe. */
static struct {
	int fd;
	uint64_t handed_over, taken; /* bytes of chunks */
	uint64_t most;               /* between the two */
} pipe_end;

static void *read_slowly(void *unused)
{
	static uint8_t bytes[60000];
	ssize_t n;
	(void)unused;
	while ((n = read(pipe_end.fd, bytes, sizeof(bytes))) > 0) {
		uint64_t handed_over = __atomic_load_n(&pipe_end.handed_over, __ATOMIC_SEQ_CST);
		uint64_t in_flight =
			handed_over > pipe_end.taken ? handed_over - pipe_end.taken : 0;
		pipe_end.most = in_flight > pipe_end.most ? in_flight : pipe_end.most;
		pipe_end.taken += (uint64_t)n;
	}
	return NULL;
}

CASE(bounded, "who hands over more than the disk takes waits for it")
{
	struct write_queue *queue = write_queue_create(0);
	struct writer writer;
	struct buf payload;
	pthread_t reader;
	int ends[2];
	size_t chunk = 700000, room = 1u << 16; /* of a pipe */
	CHECK(!pipe(ends));
	buf_init(&payload);
	pipe_end.fd = ends[0];
	CHECK_OK(writer_open(&writer, ends[1], "pipe", 0));
	writer.queue = queue;
	CHECK(!pthread_create(&reader, NULL, read_slowly, NULL));
	for (int i = 0; i < 200; i++) {
		CHECK(buf_reserve(&payload, chunk));
		memset(payload.data, i, chunk);
		payload.len = chunk;
		CHECK_OK(writer_hand_over(&writer, HPW_EVENTS, &payload, false));
		__atomic_fetch_add(&pipe_end.handed_over, chunk, __ATOMIC_SEQ_CST);
	}
	writer_close(&writer);
	pthread_join(reader, NULL);
	CHECK(pipe_end.taken > 200 * chunk);
	CHECK(pipe_end.most <= WRITE_QUEUE_BYTES_MAX + room + sizeof(uint8_t[60000]));
	close(ends[0]);
	write_queue_destroy(queue);
	buf_deinit(&payload);
}

static struct feed feed;
static struct played_source played;
static struct hw_node nodes[FEED_NODES];

/* Takes the first chunk off, which has the time of day. */
static void without_target(struct copy *copy)
{
	struct hpw_chunk_header first;
	memcpy(&first, copy->data + sizeof(struct hpw_header), sizeof(first));
	CHECK_U64(first.type, HPW_TARGET);
	size_t from = sizeof(struct hpw_header) + sizeof(first) + first.stored_bytes;
	copy->bytes -= from;
	memmove(copy->data, copy->data + from, copy->bytes);
}

/* A recording of random events of several threads, with all that belongs to it. */
static struct copy record(struct mode mode, struct write_queue *queue)
{
	FILE *file = tmpfile();
	CHECK(file);
	memset(&feed, 0, sizeof(feed));
	random_state = 7;
	feed.odd = 40;
	feed.stamped = true;
	feed.stamp = 1000;
	for (uint32_t i = 1; i < FEED_NODES; i++)
		nodes[i] = (struct hw_node){
			.frame = (1ull << HW_FRAME_ADDRESS_BITS) + 0x400000 + i, .parent = i / 2};
	for (unsigned i = 0; i < 18000; i++)
		feed_step(&feed, (unsigned)random_below(FEED_LANES));
	const struct clock_pair now = {feed.stamp + 2ull * HZ, 2ull * HZ};
	played_init(&played, &feed, nodes, FEED_NODES, HZ, now);
	played.notes = HW_NOTE_ATTACHED;
	const struct recorder_start start = {.pid = INT32_MAX,
		.target_pid = INT32_MAX,
		.tsc_hz = HZ,
		.source = &played.source,
		.mode = mode,
		.began = {1000, 1000},
		.write_queue = queue,
		.file = dup(fileno(file)),
		.file_name = "recording"};
	struct recorder *r;
	CHECK_OK(recorder_create(&start, &r));
	r->chunk_steps = 5 * HPW_TIME_STEP;
	while (recorder_is_called(r))
		recorder_drain(r);
	recorder_add_chunk(r, HPW_LEAK_SEARCH, "", 0);
	struct recorder_totals totals;
	recorder_finish(r, &(struct recorder_end){.kind = HPW_EXIT_STATUS}, &totals);
	CHECK(totals.allocations > 1000 && !totals.write_error);
	struct copy copy = copy_of(&r->writer);
	CHECK_U64(totals.file_bytes, copy.bytes);
	without_target(&copy);
	recorder_destroy(r);
	fclose(file);
	return copy;
}

CASE(recordings, "so is a recording, in every mode")
{
	const struct mode modes[] = {{.kind = MODE_EXACT}, {.kind = MODE_AGGREGATE},
		{.kind = MODE_SAMPLE, .sample_bytes = 4096},
		{.kind = MODE_EXACT, .ring_bytes = 64 << 10},
		{.kind = MODE_EXACT, .file_bytes = 20000}};
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct write_queue *queue = write_queue_create(0);
		struct copy queued = record(modes[i], queue), alone = record(modes[i], NULL);
		CHECK(queued.bytes > 2000);
		need_same(&queued, &alone);
		write_queue_destroy(queue);
	}
}

TAP_MAIN
