/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the files of a recorded program are looked for, and how names are shown. Made
 * once from the user's options, then only read: any number of struct symbols may share one.
 *
 * With a system root, paths that recordings and files name are paths below it, links in them
 * included, and nothing outside is read for them. Folders that are named here are taken as they
 * are.
 */
#ifndef SYMBOLS_SETTINGS_H
#define SYMBOLS_SETTINGS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/vec.h"
#include "symbols/split/fetch.h"

/* Where distributions put separate debug files. */
#define SYMBOLS_DEBUG_FOLDER "/usr/lib/debug"

DEFINE_VEC(folder_vec, char *)

/* How functions are called. */
enum symbols_names {
	SYMBOLS_NAMES_SHORT, /* demangled, without parameters */
	SYMBOLS_NAMES_FULL,  /* demangled, with parameters */
	SYMBOLS_NAMES_RAW,   /* as the linker knows them */
};

struct symbols_settings {
	enum symbols_names names; /* applied where they are shown: struct symbol has all */
	char *sysroot;            /* NULL: paths are this machine's own */
	struct folder_vec paths;  /* searched by build-id, then by the name of the file */
	struct folder_vec debug;  /* laid out as /usr/lib/debug, in the order of the search */
	bool default_debug;       /* `debug` is SYMBOLS_DEBUG_FOLDER, below the system root */
	bool own_split; /* split units that libdw would find are looked for as all others */
	/* Where answers are kept for later commands (symbol_cache.h); NULL: nowhere. */
	char *names_folder;
	struct fetch *fetch; /* owned unless `shared`; NULL: no server is ever asked */
	bool shared;
};

/* As without any wish: only /usr/lib/debug is searched. */
struct error *symbols_settings_create(struct symbols_settings **ret) must_check_;
void symbols_settings_destroy(struct symbols_settings *settings);

/*
 * A copy of other settings, except that the files of the recorded machine are in a folder: its root
 * is `folder`/sysroot, and `folder` is searched before all other folders. The folder is there for
 * one command, so that no names are kept. `others` must outlive it.
 */
struct error *symbols_settings_create_for(const struct symbols_settings *others, const char *folder,
	struct symbols_settings **ret) must_check_;

static inline void symbols_settings_cleanup(struct symbols_settings **settings)
{
	symbols_settings_destroy(*settings);
}

/* Sets the system root. Returns ERROR_USAGE if it is not a directory. */
struct error *symbols_settings_sysroot(
	struct symbols_settings *settings, const char *folder) must_check_;

/* Adds folders, parted by colons. ERROR_USAGE: one is no folder; `lenient`: such are left out. */
struct error *symbols_settings_add_paths(
	struct symbols_settings *settings, const char *folders, bool lenient) must_check_;

/* Replaces /usr/lib/debug by directories, separated by colons. Returns ERROR_USAGE if one is not a
 * directory. */
struct error *symbols_settings_debug_folders(
	struct symbols_settings *settings, const char *folders) must_check_;

/* Keeps names of modules in a folder, which is made when there are some; NULL: nowhere. */
struct error *symbols_settings_keep_names(
	struct symbols_settings *settings, const char *folder) must_check_;

/* Allows to ask servers for debug files that are not here; as of fetch_create(). */
struct error *symbols_settings_fetch(struct symbols_settings *settings, unsigned seconds,
	const struct fetch_listener *listener) must_check_;

/*
 * Returns the path on this machine of what the recorded one calls `path`; with a system root its
 * links are followed inside that. The caller frees; NULL: nothing can be there, or no memory.
 */
char *symbols_settings_locate(const struct symbols_settings *settings, const char *path);

#endif
