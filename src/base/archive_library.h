/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libarchive, which bundles and packed cores need: loaded when one is read or written. */
#ifndef BASE_ARCHIVE_LIBRARY_H
#define BASE_ARCHIVE_LIBRARY_H

#include <archive.h>
#include <archive_entry.h>

#include "base/error.h"
#include "base/library.h"

#define ARCHIVE_FUNCTIONS(X)                                                                       \
	X(archive_error_string)                                                                    \
	X(archive_filter_bytes)                                                                    \
	X(archive_read_new)                                                                        \
	X(archive_read_free)                                                                       \
	X(archive_read_support_format_raw)                                                         \
	X(archive_read_support_format_tar)                                                         \
	X(archive_read_support_filter_gzip)                                                        \
	X(archive_read_support_filter_lz4)                                                         \
	X(archive_read_support_filter_xz)                                                          \
	X(archive_read_support_filter_zstd)                                                        \
	X(archive_read_open_fd)                                                                    \
	X(archive_read_open_memory)                                                                \
	X(archive_read_next_header)                                                                \
	X(archive_read_data)                                                                       \
	X(archive_read_data_block)                                                                 \
	X(archive_write_new)                                                                       \
	X(archive_write_free)                                                                      \
	X(archive_write_set_format_pax_restricted)                                                 \
	X(archive_write_add_filter_gzip)                                                           \
	X(archive_write_add_filter_zstd)                                                           \
	X(archive_write_open_fd)                                                                   \
	X(archive_write_header)                                                                    \
	X(archive_write_data)                                                                      \
	X(archive_write_close)                                                                     \
	X(archive_entry_new)                                                                       \
	X(archive_entry_free)                                                                      \
	X(archive_entry_pathname)                                                                  \
	X(archive_entry_hardlink)                                                                  \
	X(archive_entry_filetype)                                                                  \
	X(archive_entry_mtime)                                                                     \
	X(archive_entry_mtime_nsec)                                                                \
	X(archive_entry_mtime_is_set)                                                              \
	X(archive_entry_set_pathname)                                                              \
	X(archive_entry_set_filetype)                                                              \
	X(archive_entry_set_perm)                                                                  \
	X(archive_entry_set_size)                                                                  \
	X(archive_entry_set_mtime)

/* Its functions, under their own names. */
struct archive_library {
	ARCHIVE_FUNCTIONS(LIBRARY_MEMBER)
};

/* As library_load(). */
struct error *archive_library_load(struct archive_library *ret) must_check_;

#endif
