/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/serve/serve_answers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/serve/serve_child.h"

#define JSON_TYPE "application/json"
#define PLAIN_TYPE "text/plain; charset=utf-8"
/* Until a process that was asked to end is ended. */
#define PATIENCE_MS 5000
/* Looks at the time so often while something runs. */
#define TICK_MS 1000

DEFINE_VEC(exchange_vec, struct serve_exchange *)

/* A question, and who waits for its answer. */
struct serve_job {
	struct serve_job *next;
	char *key;
	size_t file;
	bool is_kept;
	const char *type;
	char **words; /* NULL: `run` */
	int (*run)(void *ctx);
	void *ctx;
	struct exchange_vec waiting;
	bool is_running;
	int64_t killed_ms; /* when it was asked to end; 0: it wasn't */
	int64_t began_ms;
	bool took_too_long;
	struct serve_child child;
};

struct kept_answer {
	struct kept_answer *next; /* used before */
	char *key;
	const char *type;
	struct serve_bytes *bytes;
};

struct serve_answers {
	struct serve_answers_settings settings;
	struct serve_job *jobs;   /* in the order in which they were asked for */
	struct kept_answer *kept; /* the one that was used last first */
	size_t kept_bytes;
};

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct error *serve_answers_create(
	const struct serve_answers_settings *settings, struct serve_answers **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return error_no_memory();
	(*ret)->settings = *settings;
	return NULL;
}

static void words_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

static void job_destroy(struct serve_job *job)
{
	if (job->is_running)
		serve_child_deinit(&job->child);
	words_free(job->words);
	exchange_vec_deinit(&job->waiting);
	free(job->key);
	free(job);
}

static void kept_destroy(struct serve_answers *answers, struct kept_answer *kept)
{
	answers->kept_bytes -= serve_bytes_len(kept->bytes);
	serve_bytes_drop(kept->bytes);
	free(kept->key);
	free(kept);
}

void serve_answers_destroy(struct serve_answers *answers)
{
	if (!answers)
		return;
	for (struct serve_job *job = answers->jobs, *next; job; job = next) {
		next = job->next;
		job_destroy(job);
	}
	for (struct kept_answer *kept = answers->kept, *next; kept; kept = next) {
		next = kept->next;
		kept_destroy(answers, kept);
	}
	free(answers);
}

/* --- what is kept ----------------------------------------------------------------------------- */

/* Takes the answer out of the list; NULL: there is none. */
static struct kept_answer *kept_take(struct serve_answers *answers, const char *key)
{
	for (struct kept_answer **at = &answers->kept; *at; at = &(*at)->next)
		if (strcmp((*at)->key, key) == 0) {
			struct kept_answer *found = *at;
			*at = found->next;
			return found;
		}
	return NULL;
}

static void kept_put_first(struct serve_answers *answers, struct kept_answer *kept)
{
	kept->next = answers->kept;
	answers->kept = kept;
}

static void kept_drop_last(struct serve_answers *answers)
{
	struct kept_answer **at = &answers->kept;
	while ((*at)->next)
		at = &(*at)->next;
	struct kept_answer *last = *at;
	*at = NULL;
	kept_destroy(answers, last);
}

/* What can't be kept is computed again. */
static void kept_add(
	struct serve_answers *answers, const char *key, const char *type, struct serve_bytes *bytes)
{
	struct kept_answer *kept = calloc(1, sizeof(*kept));
	char *copy = strdup(key);
	if (!kept || !copy || serve_bytes_len(bytes) > SERVE_KEPT_BYTES_MAX / 2) {
		free(kept);
		free(copy);
		return;
	}
	*kept = (struct kept_answer){.key = copy, .type = type, .bytes = serve_bytes_share(bytes)};
	answers->kept_bytes += serve_bytes_len(bytes);
	kept_put_first(answers, kept);
	while (answers->kept_bytes > SERVE_KEPT_BYTES_MAX)
		kept_drop_last(answers);
}

/* --- errors ----------------------------------------------------------------------------------- */

/* Of the command line or the file: the client's; else of this machine. */
static unsigned status_of(const struct serve_answers *answers, int code)
{
	if (answers->settings.status_of)
		return answers->settings.status_of(code);
	return code == ERROR_USAGE || code == ERROR_INPUT ? 422 : 500;
}

static void answer_plainly(struct serve_exchange *exchange, unsigned status, const char *message)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "%s\n", message);
	serve_answer_text(
		exchange, status, PLAIN_TYPE, text.failed ? "out of memory\n" : text.data);
}

/* The answer to who can't have another one. `code` -1: none, a signal or a bound. */
static void answer_failure(const struct serve_answers *answers, struct serve_exchange *exchange,
	unsigned status, const char *message, int code)
{
	if (answers->settings.plain) {
		answer_plainly(exchange, status, message);
		return;
	}
	_cleanup_(text_deinit) struct text text;
	_cleanup_free_ struct json *json = malloc(sizeof(*json));
	text_init(&text);
	if (json) {
		json_init(json, text_write, &text);
		json_object_begin(json);
		json_key(json, "error");
		json_string(json, message);
		json_key(json, "exit_code");
		if (code < 0)
			json_null(json);
		else
			json_i64(json, code);
		json_object_end(json);
		json_finish(json);
	}
	serve_answer_text(exchange, status, JSON_TYPE,
		json && !text.failed ? text.data : "{\"error\":\"out of memory\"}");
}

/* As pages may show it; NULL: no memory. */
static const char *message_shown(
	const struct serve_answers *answers, const char *message, struct text *text)
{
	if (!answers->settings.show_message)
		return message;
	answers->settings.show_message(answers->settings.ctx, message, text);
	return text->failed ? NULL : text->data ? text->data : "";
}

void serve_answer_error(
	struct serve_answers *answers, struct serve_exchange *exchange, struct error *error)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	const char *message = message_shown(answers, error->message, &text);
	answer_failure(answers, exchange, status_of(answers, (int)error->code),
		message ? message : "out of memory", error->code);
	error_destroy(error);
}

/* What the command wrote to stderr, without what is for terminals. */
static void add_message(const struct buf *written, struct text *ret)
{
	static const char name[] = "heapwise: ", hint[] = "Try 'heapwise ";
	const char *at = (const char *)written->data, *end = at + written->len;
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((line_end ? line_end : end) - at);
		bool is_hint = len > strlen(hint) && !memcmp(at, hint, strlen(hint));
		size_t skip =
			len > strlen(name) && !memcmp(at, name, strlen(name)) ? strlen(name) : 0;
		if (len && !is_hint) {
			text_add(ret, ret->len ? "\n" : "");
			text_add_n(ret, at + skip, len - skip);
		}
		at += len + 1;
	}
}

/* --- jobs ------------------------------------------------------------------------------------- */

static void job_fail(const struct serve_answers *answers, struct serve_job *job, unsigned status,
	const char *message, int code)
{
	for (size_t i = 0; i < job->waiting.len; i++)
		answer_failure(answers, job->waiting.data[i], status, message, code);
	exchange_vec_clear(&job->waiting);
}

static void job_succeed(struct serve_answers *answers, struct serve_job *job)
{
	struct buf *out = &job->child.out[0];
	struct serve_bytes *bytes = NULL;
	if (!out->failed) {
		char *data = malloc(out->len + 1);
		if (data)
			memcpy(data, out->data ? (void *)out->data : "", out->len);
		bytes = serve_bytes_create(data, out->len);
	}
	if (!bytes) {
		job_fail(answers, job, 500, "out of memory", ERROR_ENVIRONMENT);
		return;
	}
	for (size_t i = 0; i < job->waiting.len; i++)
		serve_answer(job->waiting.data[i], &(struct serve_answer){.status = 200,
							   .type = job->type,
							   .bytes = serve_bytes_share(bytes)});
	exchange_vec_clear(&job->waiting);
	if (job->is_kept)
		kept_add(answers, job->key, job->type, bytes);
	serve_bytes_drop(bytes);
}

/* Fails with a bound that the answer went beyond. */
static void job_exceed(const struct serve_answers *answers, struct serve_job *job)
{
	const struct serve_answer_bounds *bounds = &answers->settings.bounds;
	_cleanup_(text_deinit) struct text why;
	text_init(&why);
	if (job->child.is_large) {
		text_add(&why, "the answer has more than ");
		text_add_bytes(&why, bounds->answer_bytes);
	} else {
		text_printf(&why, "the answer took more than %u s", bounds->compute_seconds);
	}
	job_fail(answers, job, 500, why.failed ? "out of memory" : why.data, -1);
}

/* Fails with what the command said. */
static void job_refuse(const struct serve_answers *answers, struct serve_job *job, int code)
{
	_cleanup_(text_deinit) struct text message, shown;
	text_init(&message);
	text_init(&shown);
	add_message(&job->child.out[1], &message);
	const char *text = message.data ? message.data : "the command failed";
	text = message_shown(answers, text, &shown);
	job_fail(answers, job, status_of(answers, code),
		text && !message.failed ? text : "out of memory", code);
}

static void job_end(struct serve_answers *answers, struct serve_job *job)
{
	char ended[64];
	int status = serve_child_wait(&job->child);
	if (job->child.out[0].failed) {
		job_fail(answers, job, 500, "out of memory", ERROR_ENVIRONMENT);
	} else if (job->child.is_large || job->took_too_long) {
		job_exceed(answers, job);
	} else if (WIFSIGNALED(status)) {
		snprintf(ended, sizeof(ended), "the command was ended by signal %d",
			WTERMSIG(status));
		job_fail(answers, job, 500, ended, -1);
	} else if (WEXITSTATUS(status)) {
		job_refuse(answers, job, WEXITSTATUS(status));
	} else {
		job_succeed(answers, job);
	}
}

static bool job_may_start(const struct serve_answers *answers, const struct serve_job *job)
{
	size_t running = 0;
	for (const struct serve_job *other = answers->jobs; other; other = other->next) {
		running += other->is_running;
		if (other->is_running && other->file == job->file)
			return false;
	}
	return running < answers->settings.bounds.running;
}

static void job_start(const struct serve_answers *answers, struct serve_job *job)
{
	job->child.most[0] = answers->settings.bounds.answer_bytes;
	job->child.most[1] = answers->settings.bounds.message_bytes;
	job->is_running = true;
	job->began_ms = now_ms();
	struct error *error = serve_child_start(&job->child, job->words, job->run, job->ctx);
	if (!error)
		return;
	job_fail(answers, job, 500, error->message, (int)error->code);
	error_destroy(error);
}

/* Whether a job is done with: nobody waits and nothing runs. */
static bool job_is_over(struct serve_answers *answers, struct serve_job *job)
{
	if (!job->is_running)
		return !job->waiting.len;
	if (!job->child.pid)
		return true;
	int64_t now = now_ms(), most_ms = (int64_t)answers->settings.bounds.compute_seconds * 1000;
	if (!job->killed_ms && now - job->began_ms > most_ms) {
		job->took_too_long = true;
		job->killed_ms = now;
		serve_child_kill(&job->child, false);
	} else if (job->killed_ms && now - job->killed_ms > PATIENCE_MS) {
		serve_child_kill(&job->child, true);
	}
	if (!serve_child_read(&job->child))
		return false;
	job_end(answers, job);
	return true;
}

void serve_answers_ready(struct serve_answers *answers)
{
	for (struct serve_job **at = &answers->jobs; *at;) {
		struct serve_job *job = *at;
		if (job_is_over(answers, job)) {
			*at = job->next;
			job_destroy(job);
		} else {
			at = &job->next;
		}
	}
	for (struct serve_job *job = answers->jobs; job; job = job->next)
		if (!job->is_running && job->waiting.len && job_may_start(answers, job))
			job_start(answers, job);
}

size_t serve_answers_watch(
	struct serve_answers *answers, struct pollfd *ret, size_t most, int *timeout_ms)
{
	size_t count = 0;
	for (const struct serve_job *job = answers->jobs; job; job = job->next) {
		if (!job->is_running)
			continue;
		if (!job->child.pid)
			*timeout_ms = 0;
		else if (*timeout_ms < 0 || *timeout_ms > TICK_MS)
			*timeout_ms = TICK_MS;
		for (int i = 0; i < 2 && count < most; i++)
			if (job->child.pipes[i] >= 0)
				ret[count++] = (struct pollfd){
					.fd = job->child.pipes[i], .events = POLLIN};
	}
	return count;
}

void serve_answers_gone(struct serve_answers *answers, struct serve_exchange *exchange)
{
	for (struct serve_job *job = answers->jobs; job; job = job->next) {
		size_t kept = 0;
		for (size_t i = 0; i < job->waiting.len; i++)
			if (job->waiting.data[i] != exchange)
				job->waiting.data[kept++] = job->waiting.data[i];
		bool left = kept < job->waiting.len;
		job->waiting.len = kept;
		if (left && !kept && job->is_running && !job->killed_ms) {
			job->killed_ms = now_ms();
			serve_child_kill(&job->child, false);
		}
	}
}

/* --- asking ----------------------------------------------------------------------------------- */

static bool answer_kept(
	struct serve_answers *answers, const char *key, struct serve_exchange *exchange)
{
	struct kept_answer *kept = kept_take(answers, key);
	if (!kept)
		return false;
	kept_put_first(answers, kept);
	serve_answer(exchange, &(struct serve_answer){.status = 200,
				       .type = kept->type,
				       .bytes = serve_bytes_share(kept->bytes)});
	return true;
}

static char **words_copy(char *const *words)
{
	size_t len = 0;
	while (words[len])
		len++;
	char **copy = calloc(len + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < len; i++) {
		copy[i] = strdup(words[i]);
		if (!copy[i]) {
			words_free(copy);
			return NULL;
		}
	}
	return copy;
}

/* A new job at the end of the queue. NULL: no memory. */
static struct serve_job *job_add(struct serve_answers *answers, const struct serve_work *work)
{
	struct serve_job *job = calloc(1, sizeof(*job));
	if (!job)
		return NULL;
	job->key = strdup(work->key);
	job->file = work->file;
	job->is_kept = work->is_kept;
	job->type = work->type;
	job->words = work->words ? words_copy(work->words) : NULL;
	job->run = work->run;
	job->ctx = work->ctx;
	if (!job->key || (work->words && !job->words)) {
		job_destroy(job);
		return NULL;
	}
	struct serve_job **end = &answers->jobs;
	while (*end)
		end = &(*end)->next;
	*end = job;
	return job;
}

/* The job that answers it: one of equal questions, or a new one. */
static struct serve_job *job_for(
	struct serve_answers *answers, const struct serve_work *work, size_t *ret_waiting)
{
	*ret_waiting = 0;
	for (struct serve_job *job = answers->jobs; job; job = job->next) {
		*ret_waiting += !job->is_running;
		if (!job->killed_ms && strcmp(job->key, work->key) == 0) {
			*ret_waiting = 0;
			return job;
		}
	}
	return *ret_waiting < SERVE_WAITING_MAX ? job_add(answers, work) : NULL;
}

void serve_answers_ask(struct serve_answers *answers, const struct serve_work *work,
	struct serve_exchange *exchange)
{
	size_t waiting;
	if (answer_kept(answers, work->key, exchange))
		return;
	struct serve_job *job = job_for(answers, work, &waiting);
	if (!job && waiting)
		answer_failure(
			answers, exchange, 503, "too many questions wait for their answers", -1);
	else if (!job || !exchange_vec_push(&job->waiting, exchange))
		answer_failure(answers, exchange, 500, "out of memory", ERROR_ENVIRONMENT);
}

bool serve_answers_are_pending(const struct serve_answers *answers)
{
	return answers->jobs;
}
