/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file as a result: written beside its place, where it has no name, and put there when all of it
 * is written. Until then what stands there stays as it is: a command that fails, is killed or fills
 * the disk destroys nothing. The one way in which commands write what users name.
 *
 * Symbolic links are followed by us, not by the kernel, and only those of this user and of root:
 * nobody can turn another user's output elsewhere (what fs.protected_symlinks does in sticky
 * folders, here in all). Pipes and devices, and names of open descriptors (/dev/stdout, /dev/fd/N),
 * are written to as they are.
 */
#ifndef BASE_OUTPUT_FILE_H
#define BASE_OUTPUT_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

struct output_file {
	int fd;       /* to read and write */
	int folder;   /* where it goes; -1: `fd` is the place itself */
	char *name;   /* in that folder */
	char *beside; /* its name there until then; NULL: it has none */
	char *path;   /* as it was given, for messages */
	bool exists;  /* something is there that will be replaced, which is `there` */
	struct stat there;
};

/* One that holds nothing; output_file_discard() is fine with it. */
#define OUTPUT_FILE_NONE ((struct output_file){.fd = -1, .folder = -1})

/* Opens `path` for a result. `mode` is that of a new file, before the umask; one that replaces a
 * file of this user takes over what `mode` has of that one's. ERROR_ENVIRONMENT if nothing can be
 * written there. */
struct error *output_file_open(const char *path, mode_t mode, struct output_file *ret) must_check_;

/* Puts what was written in its place. Then, or after an error, `file` holds nothing. */
struct error *output_file_commit(struct output_file *file) must_check_;

/* Gives up what was written; what was there before stays. */
void output_file_discard(struct output_file *file);

static inline void output_file_cleanup(struct output_file *file)
{
	output_file_discard(file);
}

#endif
