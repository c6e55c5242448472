/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A result file. It is written without a name in the folder of its destination, and gets its name
 * when all of it is written. Until then an existing file stays as it is: a command that fails, is
 * killed or fills the disk destroys nothing. Commands write all files that users name in this way.
 *
 * Symbolic links are followed here, not by the kernel, and only those of this user and of root:
 * no other user can turn another user's output elsewhere (what fs.protected_symlinks does in sticky
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
	int folder;   /* of the destination; -1: `fd` is the destination itself */
	char *name;   /* in that folder */
	char *beside; /* its temporary name there; NULL: it has none */
	char *path;   /* as it was given, for messages */
	bool exists;  /* an existing file will be replaced; `there` is its status */
	struct stat there;
};

/* An output file that is not open; output_file_discard() allows it. */
#define OUTPUT_FILE_NONE ((struct output_file){.fd = -1, .folder = -1})

/* Opens `path` for a result. `mode` is that of a new file, before the umask; one that replaces a
 * file of this user takes over what `mode` has of that one's. ERROR_ENVIRONMENT if nothing can be
 * written there. */
struct error *output_file_open(const char *path, mode_t mode, struct output_file *ret) must_check_;

/* Gives the file its name. Afterwards, or after an error, `file` is not open. */
struct error *output_file_commit(struct output_file *file) must_check_;

/* Removes what was written; an existing file stays. */
void output_file_discard(struct output_file *file);

static inline void output_file_cleanup(struct output_file *file)
{
	output_file_discard(file);
}

#endif
