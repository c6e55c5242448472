/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/bundles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "bundle/unpack.h"
#include "model/model.h"
#include "query/inputs.h"
#include "query/spool.h"
#include "query/state_folder.h"

#define FOLDER_NAME "bundle-XXXXXX"
#define OPEN_FILES 16

struct unpacked_bundle {
	char *name;      /* as the user calls it */
	char *folder;    /* whose lock `fd` holds: somebody uses it */
	char *recording; /* path */
	char *root;
	int fd;
	struct unpacked_bundle *next;
};

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)walk;
	return type == FTW_DP || type == FTW_DNR ? rmdir(path) : unlink(path);
}

static void remove_folder(const char *folder)
{
	(void)nftw(folder, remove_one, OPEN_FILES, FTW_DEPTH | FTW_PHYS);
}

void query_context_each_folder(
	const struct query_context *context, void (*each)(void *ctx, const char *folder), void *ctx)
{
	for (const struct unpacked_bundle *one = context->unpacked; one; one = one->next)
		if (one->folder)
			each(ctx, one->folder);
}

static int lock_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Removes what others left that were killed: nobody holds its lock. */
static void remove_stale(const char *parent)
{
	DIR *entries = opendir(parent);
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		_cleanup_free_ char *folder = NULL;
		if (strncmp(entry->d_name, FOLDER_NAME, strlen("bundle-")) != 0 ||
			asprintf(&folder, "%s%s", parent, entry->d_name) < 0)
			continue;
		_cleanup_close_ int fd = lock_folder(folder);
		if (fd >= 0)
			remove_folder(folder);
	}
	if (entries)
		closedir(entries);
}

/* A signal's handler reads the name of what is to be removed at any time. */
static void drop_folder(struct unpacked_bundle *one)
{
	char *folder = one->folder;
	one->folder = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	free(folder);
}

/* Locks a folder that was just made. False: who removes what others left was faster, since nobody
 * had locked it yet. */
static bool lock_fresh(struct unpacked_bundle *one)
{
	struct stat locked, named;
	one->fd = lock_folder(one->folder);
	if (one->fd >= 0 && !fstat(one->fd, &locked) && !stat(one->folder, &named) &&
		locked.st_ino == named.st_ino && locked.st_dev == named.st_dev)
		return true;
	if (one->fd >= 0)
		close(one->fd);
	one->fd = -1;
	return false;
}

#define FOLDER_TRIES 8u

static struct error *make_folder_in(const char *parent, struct unpacked_bundle *one)
{
	for (unsigned i = 0; i < FOLDER_TRIES; i++) {
		char *folder;
		if (asprintf(&folder, "%s" FOLDER_NAME, parent) < 0)
			return error_no_memory();
		if (!mkdtemp(folder)) {
			struct error *error = error_errno(ERROR_ENVIRONMENT, errno,
				"%s: cannot unpack it to %s", one->name, parent);
			free(folder);
			return error;
		}
		one->folder = folder;
		if (lock_fresh(one))
			return NULL;
		drop_folder(one);
	}
	return error_create(ERROR_ENVIRONMENT, "%s: cannot keep a folder in %s: others remove it",
		one->name, parent);
}

/* Where a user has no home, or may not write there, where all have temporary files. */
static struct error *make_folder(struct unpacked_bundle *one)
{
	_cleanup_free_ char *state = state_folder("bundles");
	if (state && access(state, W_OK) == 0) {
		remove_stale(state);
		return make_folder_in(state, one);
	}
	const char *temporary = getenv("TMPDIR");
	_cleanup_free_ char *parent = NULL;
	if (asprintf(&parent, "%s/", temporary && temporary[0] == '/' ? temporary : "/tmp") < 0)
		return error_no_memory();
	return make_folder_in(parent, one);
}

static void bundles_forget_forget(struct unpacked_bundle *one)
{
	if (one->folder)
		remove_folder(one->folder);
	if (one->fd >= 0)
		close(one->fd);
	free(one->name);
	free(one->folder);
	free(one->recording);
	free(one->root);
	free(one);
}

static struct error *bundles_fill(struct unpacked_bundle *one)
{
	_cleanup_free_ char *place = NULL;
	struct error *error = make_folder(one);
	if (!error)
		error = bundle_unpack(one->name, one->fd, &place);
	if (error)
		return error;
	if (asprintf(&one->recording, "%s/%s", one->folder, place) < 0)
		one->recording = NULL;
	if (asprintf(&one->root, "%s/sysroot", one->folder) < 0)
		one->root = NULL;
	return one->recording && one->root ? NULL : error_no_memory();
}

static struct error *bundles_unpack(struct query_context *context, const char *path)
{
	struct unpacked_bundle *one = calloc(1, sizeof(*one));
	if (!one)
		return error_no_memory();
	one->fd = -1;
	one->name = strdup(path);
	struct query_task task;
	query_task_begin(context, &task, "unpacking %s", path);
	if (!context->unpacked && context->listener.keeps_folders)
		context->listener.keeps_folders(context->listener.ctx);
	/* A signal finds it from the beginning. */
	one->next = context->unpacked;
	context->unpacked = one;
	struct error *error = one->name ? bundles_fill(one) : error_no_memory();
	query_task_end(context, &task);
	if (!error)
		return NULL;
	context->unpacked = one->next;
	bundles_forget_forget(one);
	return error;
}

static const struct unpacked_bundle *bundles_find(
	const struct query_context *context, const char *path)
{
	const struct unpacked_bundle *one = context->unpacked;
	while (one && strcmp(one->name, path) != 0)
		one = one->next;
	return one;
}

const char *bundle_folder(const struct query_context *context, const char *path)
{
	const struct unpacked_bundle *one = bundles_find(context, path);
	return one ? one->folder : NULL;
}

const char *bundle_recording(const struct query_context *context, const char *path)
{
	const struct unpacked_bundle *one = bundles_find(context, path);
	return one ? one->recording : path;
}

void bundles_forget(struct query_context *context)
{
	while (context->unpacked) {
		struct unpacked_bundle *one = context->unpacked;
		/* Who is ended meanwhile still finds it in the list. */
		if (one->folder)
			remove_folder(one->folder);
		context->unpacked = one->next;
		atomic_signal_fence(memory_order_seq_cst);
		bundles_forget_forget(one);
	}
}

struct error *recording_place(
	struct query_context *context, const char *path, struct source_place *ret)
{
	const char *file;
	struct error *error = spool_path(context, path, &file);
	if (error)
		return error;
	const struct unpacked_bundle *one = bundles_find(context, file);
	inputs_note(context, file);
	if (!one && bundle_recognise(file)) {
		error = bundles_unpack(context, file);
		if (error)
			return error;
		one = bundles_find(context, file);
	}
	*ret = (struct source_place){.path = one ? one->recording : file,
		.name = path,
		.root = one ? one->root : NULL,
		.program = context->program};
	return NULL;
}

/* Only logs of mtrace name programs by paths alone; recordings have build-ids. */
static void note_program_unused(struct query_context *context, const struct model *model)
{
	const struct recording *recording = model_recording(model);
	if (!context->program || context->program_unused_noted ||
		strcmp(recording->source, "mtrace") == 0)
		return;
	context->program_unused_noted = true;
	query_note(context, "%s is no mtrace log: --exe has no effect", recording->path);
}

struct error *recording_open(struct query_context *context, const char *path, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	struct source_place place;
	struct error *error = recording_place(context, path, &place);
	if (!error)
		error = source_open_place(&place, flags, query, ret);
	if (!error)
		note_program_unused(context, *ret);
	return error;
}

struct error *recording_events(struct query_context *context, const char *path,
	const struct source_query *query, const struct event_sink *sink)
{
	struct source_place place;
	struct error *error = recording_place(context, path, &place);
	return error ? error : source_events(&place, query, sink);
}
