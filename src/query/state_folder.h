/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the tool keeps what outlives it: the XDG Base Directory Specification. */
#ifndef QUERY_STATE_FOLDER_H
#define QUERY_STATE_FOLDER_H

/*
 * $XDG_STATE_HOME/heapwise/NAME (~/.local/state), made if it is not there, for its owner alone;
 * `name` NULL: that of all. The caller frees it; NULL: there is no home.
 */
char *state_folder(const char *name);

/*
 * Where names of functions are kept (symbols_settings_keep_names()): the folder that
 * HEAPWISE_SYMBOL_CACHE names, or $XDG_CACHE_HOME/heapwise/names (~/.cache), made but for the last
 * part. The caller frees it; NULL: HEAPWISE_SYMBOL_CACHE is "0", there is no home, or it is
 * somebody else's, as sudo may leave it: files in it would not be its owner's.
 */
char *names_folder(void);

#endif
