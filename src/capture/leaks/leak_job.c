/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/leak_job.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/io.h"
#include "capture/ask.h"

/* Of a searcher that could not even say what went wrong. */
#define DIED "the search for leaks has died"

/* What is before each chunk's payload in the results. */
struct stored {
	uint32_t type, bytes;
};

static void store_chunk(int fd, const struct leak_chunk *chunk)
{
	struct stored head = {chunk->type, (uint32_t)chunk->payload.len};
	if (chunk->type == HPW_LSAN_STRINGS && !chunk->payload.len)
		return;
	struct error *error = write_all(fd, "results", &head, sizeof(head));
	if (!error)
		error = write_all(fd, "results", chunk->payload.data, chunk->payload.len);
	error_destroy(error);
}

static void store_failure(int fd, const struct leak_search_request *asked, const char *problem)
{
	struct leak_chunk chunk;
	if (leak_search_failed(asked->moment, asked->tsc, problem, &chunk))
		store_chunk(fd, &chunk);
	buf_deinit(&chunk.payload);
}

/* The searcher's life. */
static void run_searcher(const struct leak_search_request *asked, int results)
{
	struct leak_chunk chunks[LEAK_CHUNKS];
	/* Fixed, so that large tables are fresh from the kernel, and cost what is touched of them.
	 */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	struct error *error = leak_search(asked, chunks);
	for (unsigned i = 0; !error && i < LEAK_CHUNKS; i++)
		store_chunk(results, &chunks[i]);
	if (error)
		store_failure(results, asked, error->message);
}

static bool searcher_start(struct leak_job *job, const struct leak_search_request *asked)
{
	pid_t self = getpid();
	job->searcher = fork();
	if (!job->searcher) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == self)
			run_searcher(asked, job->results);
		_exit(0);
	}
	if (job->searcher < 0)
		return false;
	job->pidfd = (int)syscall(SYS_pidfd_open, job->searcher, 0);
	return job->pidfd >= 0;
}

/* Nothing is left to be searched: the answer is already. */
static bool answer_without_search(
	struct leak_job *job, const struct leak_search_request *asked, struct error *error)
{
	store_failure(job->results, asked, error->message);
	error_destroy(error);
	job->searcher = fork();
	if (!job->searcher)
		_exit(0);
	job->pidfd = job->searcher > 0 ? (int)syscall(SYS_pidfd_open, job->searcher, 0) : -1;
	return job->pidfd >= 0;
}

static bool is_exit_moment(enum hpw_leak_moment moment)
{
	return moment == HPW_LEAK_AT_EXIT || moment == HPW_LEAK_AT_MAIN_END ||
	       moment == HPW_LEAK_BY_PROGRAM;
}

/* Finds the moment that a search counts from. False: it is not known, so the search is refused. A
 * forked child has not seen its parent's checks begin: all of its blocks came later. */
static bool find_since(const struct recorder *r, struct leak_search_request *asked)
{
	uint32_t id = 0;
	if (asked->moment == HPW_LEAK_BY_PROGRAM)
		id = __atomic_load_n(&r->shm->leaving_check, __ATOMIC_RELAXED);
	else if (asked->check.rules.since_start)
		id = HW_CHECK_MAIN;
	asked->since = id ? check_starts_find(&r->checks, id) : NULL;
	return !id || asked->since || r->forked;
}

static bool prepare_search(
	struct leak_job *job, struct recorder *r, struct leak_search_request *asked)
{
	merge_pass_until(&r->merge, job->target.heads);
	if (!find_since(r, asked))
		return answer_without_search(job, asked,
			error_create(ERROR_INPUT,
				"it is not known what was allocated since the check began"));
	asked->place = (struct leak_target){.target = &job->target,
		.live = &r->live,
		.tally = &r->tally,
		.annotations = &r->annotations,
		.shm = r->shm,
		.is_leaving = is_exit_moment(asked->moment),
		.is_partial = r->forked || r->stop_count || r->goes_on ||
			      r->shm->notes & HW_NOTE_IGNORES || r->mode.kind == MODE_SAMPLE,
		.is_sampled = r->mode.kind == MODE_SAMPLE};
	return searcher_start(job, asked);
}

static struct leak_job *create_job(enum hpw_leak_moment moment)
{
	struct leak_job *job = calloc(1, sizeof(*job));
	if (!job)
		return NULL;
	*job = (struct leak_job){.moment = moment,
		.searcher = -1,
		.pidfd = -1,
		.asker = -1,
		.target = {.keeper = -1, .channel = -1}};
	job->results = memfd_create("heapwise-leaks", MFD_CLOEXEC);
	return job;
}

static struct leak_search_request asked_now(
	struct leak_job *job, struct recorder *recorder, const struct leak_check *check)
{
	struct clock_pair now = clock_pair_now();
	job->tsc = now.tsc;
	return (struct leak_search_request){.check = *check,
		.moment = job->moment,
		.heartbeat = &recorder->shm->held,
		.since_ns = now.ns,
		.tsc = now.tsc};
}

static struct error *begin_hold(
	struct leak_job *job, struct recorder *recorder, enum hpw_leak_moment moment)
{
	if (recorder_is_bypassed(recorder))
		return error_create(ERROR_INPUT,
			"the program has an allocator of its own, whose blocks were not recorded");
	if (is_exit_moment(moment) &&
		pause_waiting_target(recorder->pid, recorder->shm, &job->target))
		return NULL;
	return pause_target(recorder->pid, recorder->shm,
		is_exit_moment(moment) ? PAUSE_STOPPED : PAUSE_MUST, &job->target);
}

struct leak_job *leak_job_start(
	struct recorder *recorder, const struct leak_check *check, enum hpw_leak_moment moment)
{
	struct leak_job *job = create_job(moment);
	if (!job)
		return NULL;
	struct leak_search_request asked = asked_now(job, recorder, check);
	struct error *error = begin_hold(job, recorder, moment);
	if (job->results >= 0 && (error ? answer_without_search(job, &asked, error)
					: prepare_search(job, recorder, &asked)))
		return job;
	leak_job_cancel(job);
	return NULL;
}

struct leak_job *leak_job_start_dying(
	struct recorder *recorder, const struct leak_check *check, struct death_watch *watch)
{
	struct leak_job *job = create_job(HPW_LEAK_ON_DEATH);
	if (!job)
		return NULL;
	struct leak_search_request asked = asked_now(job, recorder, check);
	if (job->results >= 0 &&
		pause_dying_target(recorder->pid, recorder->shm, watch, &job->target) &&
		prepare_search(job, recorder, &asked))
		return job;
	leak_job_cancel(job);
	return NULL;
}

/* Of what it does not understand it says that it is not whole. */
struct leak_found leak_job_read(const void *payload, size_t bytes)
{
	struct cursor cursor;
	struct leak_found ret = {.is_whole = 1};
	uint64_t key, value, way = HPW_LEAK_NONE;
	cursor_init(&cursor, "a search for leaks", payload, bytes, 0);
	while (cursor_left(&cursor)) {
		if (!cursor_try_varint(&cursor, &key) || !cursor_try_varint(&cursor, &value) ||
			key == HPW_LEAK_PROBLEM)
			return (struct leak_found){.is_whole = 0};
		if (key == HPW_LEAK_WAY)
			way = value;
		else if (key == HPW_LEAK_MOMENT)
			ret.is_whole &= value == HPW_LEAK_AT_EXIT || value == HPW_LEAK_AT_MAIN_END;
		else if (key == HPW_LEAK_NOTES)
			ret.is_whole &= !(value & HPW_LEAK_NOTE_PARTIAL);
		else if (key == HPW_LEAK_THREADS_MISSED || key == HPW_LEAK_UNREAD_BYTES)
			ret.is_whole &= !value;
		else if (key >= HPW_LEAK_BLOCKS && key < HPW_LEAK_BLOCKS + HPW_LEAK_KINDS && value)
			ret.kinds |= 1u << (key - HPW_LEAK_BLOCKS);
	}
	ret.is_whole &= way == HPW_LEAK_HELD || way == HPW_LEAK_SNAPSHOT;
	return ret;
}

static void take_results(struct leak_job *job, struct recorder *recorder)
{
	struct stat about;
	if (fstat(job->results, &about) || about.st_size <= 0)
		return;
	size_t bytes = (size_t)about.st_size;
	uint8_t *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, job->results, 0);
	if (data == MAP_FAILED)
		return;
	for (size_t at = 0; at + sizeof(struct stored) <= bytes;) {
		struct stored head;
		memcpy(&head, data + at, sizeof(head));
		at += sizeof(head);
		if (head.bytes > bytes - at)
			break;
		recorder_add_chunk(recorder, (enum hpw_chunk_type)head.type, data + at, head.bytes);
		recorder->has_search = true;
		if (head.type == HPW_LEAK_SEARCH)
			recorder->found = leak_job_read(data + at, head.bytes);
		at += head.bytes;
	}
	munmap(data, bytes);
}

static void answer_asker(const struct leak_job *job, const char *file, const char *problem)
{
	struct hw_reply reply = {.ok = 1};
	snprintf(reply.file, sizeof(reply.file), "%s", file);
	ask_reply_send(job->asker, &reply, problem);
}

void leak_job_finish(struct leak_job *job, struct recorder *recorder, const char *file)
{
	int status = 0;
	if (job->searcher > 0 && child_wait(job->searcher, &status, 0) == job->searcher && status) {
		struct leak_search_request asked = {.moment = job->moment, .tsc = job->tsc};
		if (!ftruncate(job->results, 0) && !lseek(job->results, 0, SEEK_SET))
			store_failure(job->results, &asked, DIED);
	}
	job->searcher = -1;
	take_results(job, recorder);
	paused_target_resume(&job->target); /* the asker finds the process as it was */
	answer_asker(job, file, NULL);
	job->asker = -1;
	leak_job_cancel(job);
}

void leak_job_cancel(struct leak_job *job)
{
	if (!job)
		return;
	answer_asker(job, "", "the process has ended meanwhile");
	if (job->searcher > 0) {
		kill(job->searcher, SIGKILL);
		child_wait(job->searcher, NULL, 0);
	}
	if (job->pidfd >= 0)
		close(job->pidfd);
	if (job->results >= 0)
		close(job->results);
	paused_target_resume(&job->target);
	free(job);
}
