/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two processes, as with `run`: the collector, and this one, which changes the attached process,
 * changes what is loaded there later, and waits. The collector lets the process go, so that this
 * works also when this one was killed; if the collector was, this one does.
 */
#include "capture/attach.h"

#include "base/child.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/text.h"
#include "base/util.h"
#include "capture/ask.h"
#include "capture/attach/before.h"
#include "capture/attach/inject.h"
#include "capture/attach/kept.h"
#include "capture/collector/collector.h"
#include "capture/collector/descriptor.h"
#include "capture/daemonize.h"
#include "capture/recording_file.h"
#include "capture/session.h"
#include "process/proc_info.h"
#include "process/stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How often it is looked at which objects the process has loaded. */
#define LOOK_NS 20000000u
/* And while threads wait for it, since one library seldom comes alone. */
#define LOOK_OFTEN_NS 1000000u
#define OFTEN_NS 1000000000u
/* So long after that a reference may be bound, which overwrites it: a library is listed before it
 * is, and a thread may have been about to bind one when it was changed. */
#define RENEW_NS 2000000000u
/* To let it go is tried again so long after it failed. */
#define DETACH_NS 5000000000ull
#define ENDS_NS 50000000u
#define ENDS_STEP_NS 1000000
#define MESSAGE_BYTES 256

struct attaching {
	bool was_there; /* the process, when it was looked at first */
	const struct attach_options *options;
	struct session session;
	struct clock_pair began;
	struct recording_file file;
	struct foreign_descriptors apart;
	struct attach_plan plan;
	struct attach_image image;
	struct attached attached;
	struct before before;
	pid_t collector;
	int control, signals, rings; /* descriptors */
	char *message;               /* shared with the collector */
	uint64_t objects_state, renew_until_ns, often_until_ns, asked_ns;
	sigset_t old_mask;
	bool detaching;
	struct attach_kept kept;
	/* Objects whose references are changed, by number; names of those that came later. */
	struct attach_address_vec known, later_names;
	size_t later;
	size_t left_other, left_apart; /* the most that there were */
};

/* "2 of libsqlite3.so.0, 1 of python3" */
static char *describe_objects(const struct kept_pointers *found)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (size_t i = 0; i < found->objects && i < KEPT_NAMED_MAX; i++)
		text_printf(&text, "%s%zu of %s", i ? ", " : "", found->named[i].words,
			path_last_part(found->named[i].path));
	if (found->objects > KEPT_NAMED_MAX)
		text_add(&text, ", and more");
	return text.failed || !text.data ? NULL : strdup(text.data);
}

static void find_kept(const struct attach_plan *plan, struct attach_kept *ret)
{
	struct kept_pointers found;
	kept_pointers_find(plan, &found);
	*ret = (struct attach_kept){found.words, found.partial, NULL};
	if (found.words)
		ret->where = describe_objects(&found);
}

/* The collector reads it there at the end. */
static void note_unseen(const struct attaching *a)
{
	const uint32_t both[2] = {(uint32_t)a->later, (uint32_t)a->kept.words};
	_Static_assert(offsetof(struct hw_shm, attached_kept) ==
			       offsetof(struct hw_shm, attached_later) + 4,
		"side by side");
	(void)!pwrite(a->rings, both, sizeof(both), offsetof(struct hw_shm, attached_later));
}

/* "malloc, calloc, je_malloc" */
static char *describe_functions(const struct inline_plan *inlined)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (size_t i = 0; i < inlined->functions.len; i++)
		text_printf(&text, "%s%s", i ? ", " : "", inlined->functions.data[i].name);
	return text.failed || !text.data ? NULL : strdup(text.data);
}

/* The process itself sets other bits of these. */
static void note_apart(const struct attaching *a)
{
	struct hw_shm *shm =
		mmap(NULL, sizeof(*shm), PROT_READ | PROT_WRITE, MAP_SHARED, a->rings, 0);
	if (shm == MAP_FAILED)
		return;
	__atomic_fetch_or(&shm->notes, HW_NOTE_APART, __ATOMIC_RELAXED);
	munmap(shm, sizeof(*shm));
}

static struct error *describe_plan(const struct attach_plan *plan, struct attach_outlook *ret)
{
	ret->slots = plan->slots.len;
	ret->objects = plan->changed_objects;
	ret->other = plan->other;
	ret->apart = plan->objects.apart;
	ret->pointers = plan->pointers;
	ret->threads = plan->threads;
	ret->own_operators =
		plan->operators == HW_ATTACH_OPERATORS_OWN || plan->inlined.has_operators;
	ret->is_filtered = plan->is_filtered;
	find_kept(plan, &ret->kept);
	ret->functions = plan->inlined.functions.len;
	ret->function_names = describe_functions(&plan->inlined);
	if (plan->inlined.refused)
		ret->functions_refused = strdup(plan->inlined.refused);
	ret->allocator = strdup(plan->allocator);
	return ret->allocator ? NULL : error_no_memory();
}

/* Whether the program that was examined is not there any more, though a process is. */
static bool has_become_other(const struct attach_plan *plan)
{
	uint64_t word;
	return plan->objects.program_headers &&
	       process_memory_read(&plan->objects.memory, plan->objects.program_headers, &word,
		       sizeof(word)) != sizeof(word);
}

/* A process that is killed may be there for a moment more. */
static bool ends_soon(pid_t pid)
{
	uint64_t until = stop_now_ns() + ENDS_NS;
	while (!process_is_ending(pid)) {
		if (stop_now_ns() > until)
			return false;
		nanosleep(&(struct timespec){0, ENDS_STEP_NS}, NULL);
	}
	return true;
}

/* Whatever has failed: that the process has ended meanwhile is the reason. Destroys the error. Of
 * one that was not there at first (was_there) the error says so. */
static struct error *explain_end(
	const struct attach_plan *plan, bool was_there, bool has_begun, struct error *error)
{
	int pid = (int)plan->pid;
	if (!error || !was_there)
		return error;
	bool is_other = has_become_other(plan), has_maps = plan->objects.maps.text;
	bool has_ended = is_other || has_begun || !has_maps ? ends_soon(plan->pid)
							    : process_is_ending(plan->pid);
	if (!has_ended && !is_other)
		return error;
	error_destroy(error);
	return error_create(ERROR_INPUT,
		has_ended ? "process %d has ended; nothing was recorded"
			  : "process %d has become another program (exec) while it was attached; "
			    "nothing was recorded",
		pid);
}

struct error *attach_examine(const struct attach_options *options, struct attach_outlook *ret)
{
	struct attach_plan plan;
	bool was_there = !process_is_ending(options->pid);
	*ret = (struct attach_outlook){.allocator = NULL};
	struct error *error = attach_plan_make(options->pid, &plan);
	ret->is_recorded = plan.is_recorded;
	if (!error && options->patch_pointers)
		error = kept_pointers_take(&plan);
	if (!error)
		error = describe_plan(&plan, ret);
	if (!error)
		ret->older = before_look(options, &plan, &ret->copy_ns);
	error = explain_end(&plan, was_there, false, error);
	attach_plan_deinit(&plan);
	return error;
}

void attach_outlook_deinit(struct attach_outlook *outlook)
{
	free(outlook->allocator);
	outlook->allocator = NULL;
	free(outlook->function_names);
	free(outlook->functions_refused);
	outlook->function_names = outlook->functions_refused = NULL;
	free(outlook->kept.where);
	outlook->kept.where = NULL;
}

static struct error *open_all(struct attaching *a)
{
	char program[TRACKED_COMMAND_MAX];
	tracked_process_started_as(a->options->pid, program);
	const struct recording_name name = {.pattern = a->options->launch->file,
		.program = *program ? program : "program",
		.pid = a->options->pid,
		.overwrite = a->options->launch->overwrite};
	struct error *error = daemonize_check_limits();
	if (!error)
		error = attach_image_open(&a->image);
	if (!error)
		error = recording_file_open(&name, &a->file);
	if (!error)
		error = session_create(a->file.name, &a->session);
	if (error)
		return error;
	a->message = mmap(
		NULL, MESSAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return a->message == MAP_FAILED ? error_no_memory() : NULL;
}

/* The collector hears of the process as if it had said hello. */
static int collector_main(struct attaching *a, int control, int connection)
{
	const struct launch_options *launch = a->options->launch;
	const int kept[] = {control, connection, a->file.fd, a->session.socket, a->session.abstract,
		a->session.lock, launch->lifeline, launch->errors};
	pid_t launcher = getppid();
	daemonize(&a->apart, kept, ARRAY_SIZE(kept));
	daemonize_close_streams(3);
	pid_t pid = a->options->pid, parent = process_parent(pid);
	struct session_caller caller = {.connection = connection,
		.pid = pid,
		.ppid = parent,
		.session = a->session.path,
		.hello = {.magic = HW_HELLO_MAGIC,
			.version = HW_SHM_VERSION,
			.pid = process_inner_pid(pid),
			.ppid = parent,
			.reason = HW_HELLO_START,
			.tsc = clock_pair_now().tsc}};
	struct collector_start start = {.session = a->session,
		.control = control,
		.launcher = launcher,
		.root = pid,
		.file = a->file.fd,
		.file_name = a->file.name,
		.file_now = a->file.now,
		.children = COLLECTOR_CHILDREN_NO,
		.all_processes = true,
		.mode = launch->mode,
		.dumps = launch->dumps,
		.errors = launch->errors,
		.began = a->began,
		.first = &caller,
		.attached_ns = process_age_ns(pid),
		.first_message = a->message,
		.older = a->before.list.head ? &a->before.list : NULL};
	return collector_run(&start);
}

static struct error *explain_refusal(const struct attaching *a)
{
	return error_create(ERROR_ENVIRONMENT, "process %d can't be recorded: %s",
		(int)a->options->pid, *a->message ? a->message : "the collector did not answer");
}

/* Starts the collector and takes the memory that it has made for the process. */
static struct error *start_collector(struct attaching *a)
{
	int control[2], hello[2];
	struct hw_welcome welcome;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't create a socket pair");
	a->control = control[0];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, hello)) {
		close(control[1]);
		return error_errno(ERROR_ENVIRONMENT, errno, "can't create a socket pair");
	}
	a->collector = fork();
	if (!a->collector)
		_exit(collector_main(a, control[1], hello[1]));
	int why = errno;
	close(control[1]);
	close(hello[1]);
	bool answered = a->collector > 0 &&
			descriptor_receive(hello[0], &welcome, sizeof(welcome), &a->rings);
	close(hello[0]);
	if (a->collector < 0)
		return error_errno(ERROR_ENVIRONMENT, why, "can't start the collector");
	return answered && welcome.record == HW_ANSWER_RECORD && a->rings >= 0 ? NULL
									       : explain_refusal(a);
}

/* Signals that end it come through a descriptor. */
static struct error *watch_signals(struct attaching *a)
{
	sigset_t watched;
	sigemptyset(&watched);
	sigaddset(&watched, SIGINT);
	sigaddset(&watched, SIGTERM);
	sigaddset(&watched, SIGHUP);
	sigprocmask(SIG_BLOCK, &watched, &a->old_mask);
	a->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	return a->signals < 0 ? error_errno(ERROR_ENVIRONMENT, errno, "can't watch for signals")
			      : NULL;
}

static void notify_collector(const struct attaching *a, uint32_t kind)
{
	const struct collector_ended message = {kind, 0};
	(void)!send(a->control, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Returns false if the process has become another program. */
static bool is_same_program(const struct attaching *a)
{
	return attach_is_there(&a->attached) || process_is_ending(a->options->pid);
}

static bool has_number(const struct attach_address_vec *numbers, uint64_t number)
{
	for (size_t i = 0; i < numbers->len; i++) {
		if (numbers->data[i] == number)
			return true;
	}
	return false;
}

/* Of a library, which may be opened at any address. */
static uint64_t name_number(const struct linked_object *object)
{
	return object->path ? hash_bytes(object->path, strlen(object->path)) : 0;
}

/* Another library may come to the place of one that was closed. */
static uint64_t object_number(const struct linked_object *object)
{
	return name_number(object) ^ object->dynamic;
}

static bool is_loaded(const struct attach_plan *plan, uint64_t number)
{
	for (size_t i = 0; i < plan->objects.objects.len; i++) {
		if (object_number(&plan->objects.objects.data[i]) == number)
			return true;
	}
	return false;
}

/* Of the objects that the plan changes. */
static void know_changed(struct attaching *a, const struct attach_plan *plan, bool later)
{
	for (size_t i = 0; i < plan->objects.objects.len; i++) {
		const struct linked_object *object = &plan->objects.objects.data[i];
		if (!has_number(&plan->changed, object->dynamic) ||
			has_number(&a->known, object_number(object)))
			continue;
		(void)!attach_address_vec_push(&a->known, object_number(object));
		if (!later || has_number(&a->later_names, name_number(object)))
			continue;
		a->later++;
		(void)!attach_address_vec_push(&a->later_names, name_number(object));
	}
}

/* What stays as it is. */
static void know_left(struct attaching *a, const struct attach_plan *plan)
{
	bool was_known = a->left_other || a->left_apart;
	a->left_other = max(a->left_other, plan->other);
	a->left_apart = max(a->left_apart, plan->objects.apart);
	if (!was_known && (a->left_other || a->left_apart))
		note_apart(a);
}

/* Objects that were closed are forgotten, but one that is opened again counts once. */
static void count_later(struct attaching *a, const struct attach_plan *now)
{
	size_t before = a->later, kept = 0;
	for (size_t i = 0; i < a->known.len; i++) {
		if (is_loaded(now, a->known.data[i]))
			a->known.data[kept++] = a->known.data[i];
	}
	a->known.len = kept;
	know_changed(a, now, true);
	if (a->later != before)
		note_unseen(a);
}

/* Changes what has been loaded since, and what a late binding has overwritten. Returns false if the
 * process is not what it was. */
static bool renew_slots(struct attaching *a)
{
	struct attach_plan now;
	size_t changed = 0;
	struct error *error = attach_plan_renew(&a->plan, &now);
	if (!error)
		error = attach_inject_more(&a->attached, &a->image, &now, &changed);
	/* None is changed of a process that is being let go. */
	if (!error && changed)
		count_later(a, &now);
	/* That nothing is left to be changed is an error, too. */
	bool goes_on = !error || is_same_program(a);
	if (goes_on)
		know_left(a, &now);
	attach_plan_deinit(&now);
	error_destroy(error);
	return goes_on;
}

/* A number that changes when libraries are loaded or closed; 0: it is not known. */
static uint64_t libraries_state(const struct attaching *a)
{
	const struct process_memory *memory = &a->plan.objects.memory;
	uint64_t state = linked_objects_state(memory, a->plan.objects.debug), closed = 0;
	if (a->attached.own)
		(void)!process_memory_read(memory,
			a->attached.own + offsetof(struct hw_attach_own, closed), &closed, 8);
	return state ? (state ^ closed) | 1 : 0;
}

/* Looks at the process. Returns false if it has become another program. What has been mapped is
 * bound only a while later, so it is looked at again for some time. */
static bool look_at_process(struct attaching *a, uint64_t now)
{
	uint64_t asked = attach_asked(&a->attached);
	if (asked) {
		bool goes_on = renew_slots(a);
		attach_answer(&a->attached, asked);
		a->often_until_ns = stop_now_ns() + OFTEN_NS;
		return goes_on;
	}
	uint64_t state = libraries_state(a);
	if (!state)
		return is_same_program(a);
	if (state != a->objects_state) {
		a->objects_state = state;
		a->renew_until_ns = now + RENEW_NS;
	}
	return now > a->renew_until_ns || renew_slots(a);
}

static void ask_to_detach(struct attaching *a)
{
	notify_collector(a, COLLECTOR_DETACH);
	a->detaching = true;
	a->asked_ns = stop_now_ns();
}

/* If the collector could not let it go, it tries that again. */
static bool is_time_to_ask(const struct attaching *a, uint64_t now, uint64_t until)
{
	if (a->detaching)
		return now - a->asked_ns > DETACH_NS;
	return a->options->for_ns && now >= until;
}

/* Until the collector has reported the end. */
static void wait_for_end(struct attaching *a, struct launch_result *ret)
{
	uint64_t began = stop_now_ns(), until = began + a->options->for_ns;
	bool changed = false;
	a->renew_until_ns = began + RENEW_NS;
	for (;;) {
		struct pollfd polled[2] = {
			{.fd = a->control, .events = POLLIN}, {.fd = a->signals, .events = POLLIN}};
		uint64_t now = stop_now_ns();
		uint64_t wait_ns = now < a->often_until_ns ? LOOK_OFTEN_NS : LOOK_NS;
		if (a->options->for_ns && !a->detaching)
			wait_ns = now >= until ? 0 : min(wait_ns, until - now);
		const struct timespec timeout = {0, (long)wait_ns};
		(void)!ppoll(polled, 2, &timeout, NULL);
		if (polled[0].revents && !launch_result_take(a->control, ret))
			return;
		struct signalfd_siginfo info;
		bool asked = polled[1].revents && read(a->signals, &info, sizeof(info)) > 0;
		now = stop_now_ns();
		if (asked || is_time_to_ask(a, now, until))
			ask_to_detach(a);
		before_service(&a->before);
		if (a->detaching || changed)
			continue;
		if (!look_at_process(a, now)) {
			changed = true;
			notify_collector(a, HPW_EXIT_EXEC);
		}
	}
}

/* Nothing has been changed yet: takes everything back. */
static void take_back(struct attaching *a)
{
	if (a->collector > 0) {
		kill(a->collector, SIGKILL);
		child_wait(a->collector, NULL, 0);
		unlink(a->file.name);
	}
	recording_file_discard(&a->file);
	session_remove(&a->session);
}

/* A process that was forked by an attached one has references that lead to its image. */
void attach_put_back_copy(pid_t pid)
{
	struct attach_removed removed;
	error_destroy(attach_remove_copy(pid, &removed));
}

static struct error *attach_begin(struct attaching *a)
{
	a->was_there = !process_is_ending(a->options->pid);
	attach_put_back_copy(a->options->pid);
	struct error *error = attach_plan_make(a->options->pid, &a->plan);
	a->plan.samples = a->options->launch->mode.sample_bytes;
	if (!error && a->options->patch_pointers)
		error = kept_pointers_take(&a->plan);
	if (!error)
		error = watch_signals(a);
	if (!error)
		error = open_all(a);
	if (!error)
		before_prepare(&a->before, a->options, &a->plan);
	if (!error)
		error = start_collector(a);
	if (error)
		return error;
	error = attach_inject(
		&a->plan, &a->image, a->rings, a->options->budget_ns, &a->before, &a->attached);
	a->objects_state = libraries_state(a);
	if (!error) {
		a->plan.image = a->attached.image;
		a->plan.image_end = a->attached.image + a->image.bytes;
		know_left(a, &a->plan);
		know_changed(a, &a->plan, false);
		find_kept(&a->plan, &a->kept);
		note_unseen(a);
	}
	return error;
}

static void report_start(const struct attaching *a)
{
	const struct attach_start start = {.file = a->file.name,
		.slots = a->plan.slots.len,
		.objects = a->plan.changed_objects,
		.functions = a->plan.inlined.functions.len,
		.functions_refused = a->plan.inlined.refused,
		.stop_ns = a->attached.pause.stop_ns,
		.pause_ns = a->attached.pause.all_ns,
		.late_threads = a->attached.pause.late_threads,
		.late_tid = a->attached.pause.late_tid,
		.older = !a->before.list.head ? HPW_OLDER_FAILED
					      : (enum hpw_older)a->before.list.head->why,
		.other = a->left_other,
		.apart = a->left_apart,
		.pointers = a->plan.pointers,
		.kept = &a->kept};
	if (a->options->on_start)
		a->options->on_start(a->options->on_start_context, &start);
}

static void attaching_deinit(struct attaching *a)
{
	before_end(&a->before);
	attach_address_vec_deinit(&a->known);
	attach_address_vec_deinit(&a->later_names);
	free(a->kept.where);
	attach_plan_deinit(&a->plan);
	attach_image_close(&a->image);
	const int descriptors[] = {a->control, a->signals, a->rings};
	for (size_t i = 0; i < ARRAY_SIZE(descriptors); i++) {
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	}
	if (a->message != MAP_FAILED)
		munmap(a->message, MESSAGE_BYTES);
	if (a->signals >= 0)
		sigprocmask(SIG_SETMASK, &a->old_mask, NULL);
}

/* The collector has gone without a report. */
static void let_go_alone(const struct attaching *a)
{
	struct attach_removed removed;
	error_destroy(attach_remove(a->options->pid, NULL, &removed));
}

struct error *attach_and_wait(const struct attach_options *options, struct launch_result *ret)
{
	struct attaching a = {.options = options,
		.session = {.socket = -1, .abstract = -1, .lock = -1},
		.began = clock_pair_now(),
		.file = {.fd = -1},
		.plan = {.objects.memory = {-1, -1, -1, NULL, NULL, NULL}},
		.image = {.memory = -1},
		.control = -1,
		.signals = -1,
		.rings = -1,
		.message = MAP_FAILED};
	daemonize_note_descriptors(&a.apart);
	memset(ret, 0, sizeof(*ret));
	ret->sampled = options->launch->mode.sample_bytes;
	struct error *error = attach_begin(&a);
	if (error) {
		error = explain_end(&a.plan, a.was_there, a.rings >= 0, error);
		take_back(&a);
		attaching_deinit(&a);
		return error;
	}
	close(a.file.fd);
	session_stop_listening(&a.session);
	report_start(&a);
	wait_for_end(&a, ret);
	if (options->ret_later)
		*options->ret_later = a.later;
	if (ret->collector == LAUNCH_COLLECTOR_DIED) {
		let_go_alone(&a);
		session_remove(&a.session);
	}
	session_leave(&a.session);
	child_wait(a.collector, NULL, 0);
	ret->last_file = strdup(a.file.name);
	ret->file = steal_ptr(a.file.name);
	recording_file_deinit(&a.file);
	attaching_deinit(&a);
	return NULL;
}

struct error *attach_let_go(pid_t pid,
	void (*on_wait)(void *context, pid_t collector, bool is_stopped), void *context,
	struct attach_end *ret)
{
	const struct ask_wait wait = {on_wait, context};
	struct hw_reply reply;
	struct attach_removed removed;
	*ret = (struct attach_end){.file = NULL};
	struct error *asked = ask_to_let_go(pid, &wait, &reply, &ret->collector);
	if (!asked) {
		ret->file = strdup(reply.file);
		return ret->file ? NULL : error_no_memory();
	}
	/* The collector may be gone; one that is stopped finds that it has been done. */
	struct error *error = attach_remove(pid, NULL, &removed);
	ret->slots = removed.slots + removed.functions;
	ret->left_bytes = removed.left_bytes;
	ret->late_tid = removed.late_tid;
	error_destroy(asked);
	return error;
}
