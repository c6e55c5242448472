/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The errors of all processes of a run as one document for other programs: `check --format`. Equal
 * errors are one; those that suppressions fit are left out.
 */
#ifndef CLI_ERROR_DOCUMENT_H
#define CLI_ERROR_DOCUMENT_H

#include "base/error.h"
#include "query/name_settings.h"
#include "views/error_forms.h"

/* Strings are borrowed. */
struct error_document {
	enum error_form form;     /* from ERROR_FORM_MEMCHECK on */
	bool gen_suppressions;    /* of ERROR_FORM_MEMCHECK: an entry after each error */
	const char *const *known; /* files of suppressions */
	size_t known_count;
	struct name_settings *names; /* ready; NULL: the usual ones */
	const char *doubt;           /* why errors may be missing; NULL: they are not */
	int log;                     /* a descriptor, where it is written */
};

/*
 * Writes the document for recordings, or files of memcheck. What makes errors of one of them
 * uncertain makes the whole uncertain. Errors: a file can't be read, or written to; count is 0.
 */
struct error *error_document_write(
	const struct error_document *document, const char *const *paths, size_t count) must_check_;

#endif
