/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the tool keeps what outlives it: the XDG Base Directory Specification. */
#ifndef CLI_STATE_FOLDER_H
#define CLI_STATE_FOLDER_H

/*
 * $XDG_STATE_HOME/heapwise/NAME (~/.local/state), made if it is not there, for its owner alone;
 * `name` NULL: that of all. The caller frees it; NULL: there is no home.
 */
char *state_folder(const char *name);

#endif
