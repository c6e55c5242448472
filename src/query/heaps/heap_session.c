/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/heap_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "heap/leads_to_block.h"
#include "process/fork_exclusions.h"
#include "query/inputs.h"
#include "query/spool.h"
#include "sources/heap_join.h"
#include "sources/heap_model.h"

void heap_session_init(struct heap_session *session, struct query_context *context)
{
	*session = (struct heap_session){.context = context,
		.space = {.core.fd = -1, .memory = {-1, -1, -1, NULL, NULL, NULL}},
		.guard = GUARD_NONE,
		.heuristics = SEARCH_HEURISTICS_ALL};
}

static void report_holds(const struct heap_session *s, bool holds)
{
	const struct query_listener *listener = &s->context->listener;
	if (listener->holds_process)
		listener->holds_process(listener->ctx, holds);
}

const char *heap_session_name(const struct heap_session *session)
{
	return session->core ? session->core : session->name;
}

/* The process goes on, if it does not yet. */
static void let_go(struct heap_session *s)
{
	if (s->is_held)
		s->pause_ns = stop_end(&s->stopped);
	s->is_held = false;
}

/* The file that was passed over because it is cut off. */
static const char *cut_file(struct heap_session *s, uint32_t module)
{
	const struct symbols_lookups *tried;
	size_t count = 0;
	error_destroy(symbols_module_lookups(s->names.symbols, module, &tried, &count));
	for (size_t i = 0; i < count; i++) {
		if (tried[i].trial == TRIAL_CUT_SHORT)
			return tried[i].path;
	}
	return NULL;
}

/* What debug information lacks, of those modules whose files were opened so far. */
static void note_lacks(struct heap_session *s)
{
	for (size_t i = 0; i < s->names.modules.len; i++) {
		struct named_module *module = &s->names.modules.data[i];
		if (module->is_reported)
			continue;
		unsigned lacks = symbols_module_lacks(s->names.symbols, module->symbols);
		const char *path = symbols_module_debug_path(s->names.symbols, module->symbols);
		const char *cut = lacks & SYMBOLS_LACK_CUT ? cut_file(s, module->symbols) : NULL;
		if (cut)
			query_note(s->context,
				"%s is truncated and not used: names of %s may be missing", cut,
				module->path);
		if (lacks & SYMBOLS_LACK_ZSTD)
			query_note(s->context,
				"%s: its debug information is compressed with zstd, which can't be "
				"read here (decompress it with objcopy "
				"--decompress-debug-sections)",
				path ? path : module->path);
		if (lacks & SYMBOLS_LACK_DAMAGED)
			query_note(s->context, "%s: its debug information is damaged and not used",
				module->path);
		module->is_reported = cut || lacks & (SYMBOLS_LACK_ZSTD | SYMBOLS_LACK_DAMAGED);
	}
}

void heap_session_close(struct heap_session *session)
{
	struct heap_session *s = session;
	if (s->has_names)
		note_lacks(s);
	model_destroy(s->model);
	heap_recording_deinit(&s->recording);
	reverse_free(&s->reverse);
	heap_scan_close(&s->scan);
	if (s->has_space)
		address_space_close(&s->space);
	if (s->has_names)
		heap_names_close(&s->names);
	let_go(s);
	if (s->has_snapshot)
		snapshot_end(&s->stopped, &s->snapshot);
	guard_end(&s->guard);
	if (s->pid)
		stop_deinit(&s->stopped);
	name_settings_deinit(&s->symbols);
	process_maps_deinit(&s->maps_before);
	free(s->usage);
	if (s->pid)
		report_holds(s, false);
}

static struct error *open_core(struct heap_session *s)
{
	struct core_file core;
	const char *file;
	struct error *error = spool_path(s->context, s->core, &file);
	if (error)
		return error;
	error = core_file_open(file, &core);
	struct address_files files = heap_names_files(&s->names);
	if (!error) {
		s->has_space = true;
		error = address_space_of_core(&core, &files, &s->space);
	}
	core_file_close(&core);
	return error;
}

/* What its mappings take, before a copy of it shares them; nobody knows if it can't be read. */
static void read_usage(struct heap_session *s)
{
	struct error *error = process_maps_read(s->pid, &s->maps_before);
	if (!error)
		s->usage = calloc(s->maps_before.maps.len + 1, sizeof(*s->usage));
	if (s->usage)
		error = process_maps_usage(s->pid, &s->maps_before, s->usage);
	error_destroy(error);
}

/* So often, and with such pauses, a recorded process is stopped anew where a thread is in the
 * middle of telling what it does. */
#define REST_TRIES 1000
#define REST_PAUSE_NS 200000

/* Stops it; a recorded one where its collector knows all that it has done, and asks for that. */
static struct error *stop_at_rest(struct heap_session *s)
{
	bool recorded = !s->no_recording && heap_recording_is_wanted_of(s->pid);
	for (int tries = 0;; tries++) {
		struct error *error = stop_process_retry(&s->stopped);
		if (error || !recorded ||
			heap_recording_ask(s->context, s->pid, tries == REST_TRIES, &s->recording))
			return error;
		stop_end(&s->stopped);
		nanosleep(&(struct timespec){0, REST_PAUSE_NS}, NULL);
	}
}

static void name_live(void *ctx, const struct address_module *module, enum mapped_file_place where)
{
	const struct heap_session *s = ctx;
	if (strstr(module->path, "/memfd:heapwise-"))
		return; /* what records it is in no file */
	if (where == MAPPED_FILE_HELD)
		query_note(s->context,
			"%s: the file was removed or replaced after the process started; reading "
			"the original, which the process still has open",
			module->path);
	else if (where == MAPPED_FILE_LOST)
		query_note(s->context,
			"%s: the file was removed or replaced after the process started, and the "
			"original can't be opened (try as root): names in it may be missing",
			module->path);
}

/* What nobody can stop (a thread whose child by vfork(2) has not executed anything yet). */
static void note_moving(const struct heap_session *s)
{
	for (size_t i = 0; i < s->stopped.threads.len; i++) {
		if (!s->stopped.threads.data[i].stopped)
			query_note(s->context,
				"thread %d is in the kernel (vfork?) and can't be stopped: its "
				"registers are unknown, so what only they reference may count as "
				"leaked",
				(int)s->stopped.threads.data[i].tid);
	}
}

static bool is_of_recorder(const void *context, uint64_t start, uint64_t end, const char *path)
{
	(void)context, (void)start, (void)end;
	return strstr(path, "/memfd:heapwise-") != NULL;
}

/* Whether the process has memory that is left out of copies. What records it keeps some, too. */
static bool copy_lacks(pid_t pid)
{
	const struct fork_exclusions_known known = {is_of_recorder, NULL};
	return !heap_recording_is_wanted_of(pid) && process_has_fork_exclusions(pid, &known);
}

static struct error *no_copy_of_all(const struct heap_session *s)
{
	return error_create(ERROR_ENVIRONMENT,
		"process %d has memory that a copy would not contain (MADV_DONTFORK, "
		"MADV_WIPEONFORK)",
		(int)s->pid);
}

static struct error *open_process(struct heap_session *s)
{
	snprintf(s->name, sizeof(s->name), "process %d", (int)s->pid);
	report_holds(s, true);
	s->guard = guard_start();
	read_usage(s);
	bool lacks = copy_lacks(s->pid);
	stop_init(&s->stopped, s->pid);
	struct error *error = stop_at_rest(s);
	if (error)
		return error;
	s->is_held = true;
	if (stop_is_32bit(&s->stopped))
		return error_create(ERROR_INPUT,
			"process %d runs 32-bit code; only heaps of 64-bit programs (x86-64) can "
			"be read",
			(int)s->pid);
	note_moving(s);
	int reason;
	struct error *no_copy =
		lacks ? no_copy_of_all(s) : snapshot_take(&s->stopped, &s->snapshot, &reason);
	s->has_snapshot = !no_copy;
	if (s->has_snapshot)
		guard_set_snapshot(&s->guard, s->pid, &s->snapshot);
	if (no_copy && !process_is_ending(s->pid)) /* the next error says it */
		query_note(s->context, "%s; it stays stopped until its heap is read",
			no_copy->message);
	error_destroy(no_copy);
	s->has_space = true;
	error = address_space_of_process(
		&s->stopped, s->has_snapshot ? s->snapshot.pid : s->pid, &s->space);
	s->space.memory.stopped = s->context->listener.stop;
	if (!error)
		error = heap_names_live(&s->names, &s->space,
			s->has_snapshot ? s->snapshot.pid : s->pid, name_live, s);
	if (s->has_snapshot) {
		let_go(s);
		snapshot_close_files(&s->snapshot);
	}
	return error;
}

/* What of a core can't be trusted, said once. */
static void note_damage(struct heap_session *s)
{
	const struct core_file *core = &s->space.core;
	if (core->missing_bytes)
		query_note(s->context, "%s is truncated: %llu bytes of memory are missing", s->core,
			(unsigned long long)core->missing_bytes);
	if (core->unpacked_cut)
		query_note(s->context,
			"%s: the compressed data is truncated; reading what comes before", s->core);
	if (core->notes_damaged)
		query_note(s->context, "%s: some notes or headers are damaged and were ignored",
			s->core);
	if (core->overlapping)
		query_note(s->context, "%s: %llu segments overlap others and were cut", s->core,
			(unsigned long long)core->overlapping);
	if (address_space_lacks_private(&s->space))
		query_note(s->context,
			"%s has no private memory, so neither stacks nor a heap: bit 0 of "
			"/proc/PID/coredump_filter was not set when it was written (0x33 is the "
			"kernel's own setting)",
			s->core);
	for (size_t i = 0; i < s->space.modules.len; i++) {
		const struct address_module *module = &s->space.modules.data[i];
		if (module->file == ADDRESS_FILE_CHANGED)
			query_note(s->context,
				"%s is not the file that the program ran: %s, so it is not used "
				"(--exe, --sysroot, --symbol-path)",
				heap_names_changed(&s->names, module),
				module->build_id_len ? "its build-id is another one"
						     : "memory does not look like it");
	}
}

struct error *heap_session_open(struct heap_session *session)
{
	struct heap_session *s = session;
	if (s->core)
		inputs_note(s->context, s->core);
	struct error *error = name_settings_ready(s->context, &s->symbols);
	if (!error && s->exe && access(s->exe, R_OK) != 0)
		error = error_errno(ERROR_INPUT, errno, "can't read %s (--exe)", s->exe);
	if (!error)
		error = heap_names_open(s->symbols.settings, s->exe, &s->names);
	if (error)
		return error;
	s->has_names = true;
	error = s->core ? open_core(s) : open_process(s);
	if (!error && s->core)
		note_damage(s);
	return error;
}

/* The copy of an attached process lacks what tells that it is recorded. */
static bool has_recording(const struct heap_session *s)
{
	return !s->no_recording &&
	       (s->recording_path || s->recording.is_asked || heap_recording_is_wanted(&s->space));
}

static bool parse_address(const char *word, uint64_t *ret)
{
	char *end;
	errno = 0;
	*ret = strtoull(word, &end, 0);
	return !errno && end != word && !*end && *word != '-';
}

static struct error *type_for(struct heap_session *s, const char *word)
{
	uint64_t address;
	/* What stacks of a recording say is said of all blocks. */
	if (!word || !s->is_one_question || has_recording(s) || !parse_address(word, &address))
		return heap_scan_find_types(&s->scan);
	return leads_to_block_type(&s->scan, address, &s->reverse);
}

struct error *heap_session_scan(struct heap_session *session)
{
	return heap_session_scan_for(session, NULL);
}

struct error *heap_session_scan_for(struct heap_session *session, const char *word)
{
	struct heap_session *s = session;
	if (s->is_scanned)
		return NULL;
	s->is_scanned = true;
	struct error *error =
		heap_scan_open(&s->space, &s->names, s->pointers, s->heuristics, &s->scan);
	s->scan.no_inference = s->no_inference;
	if (!error)
		error = type_for(s, word);
	let_go(s);
	if (!error)
		note_lacks(s);
	if (!error)
		error = query_context_check(s->context);
	return error;
}

/* With its recording, if there is one. */
static struct error *heap_session_join(struct heap_session *s)
{
	struct heap_recording *recording = &s->recording;
	if (!has_recording(s))
		return NULL;
	struct error *error =
		heap_recording_open(s->context, s->recording_path, s->core, &s->space, recording);
	if (error || !recording->model)
		return error;
	if (s->symbols.settings)
		model_set_names_from(recording->model, s->symbols.settings);
	return heap_join(&s->scan, &recording->joined);
}

const struct joined *heap_session_joined(const struct heap_session *session)
{
	return session->recording.joined.recording ? &session->recording.joined : NULL;
}

struct error *heap_session_set_sites(struct heap_session *session)
{
	struct heap_session *s = session;
	struct error *error = heap_session_scan(s);
	if (error || s->has_sites)
		return error;
	s->has_sites = true;
	return heap_session_join(s);
}

struct error *heap_session_find_leaks(struct heap_session *session)
{
	struct heap_session *s = session;
	struct error *error = heap_session_set_sites(s);
	if (error || s->has_leaks)
		return error;
	s->has_leaks = true;
	error = heap_scan_find_leaks(&s->scan);
	if (!error)
		error = heap_model_make(
			&s->scan, heap_session_name(s), heap_session_joined(s), &s->model);
	if (!error && s->symbols.settings)
		model_set_names_from(s->model, s->symbols.settings);
	return error;
}
