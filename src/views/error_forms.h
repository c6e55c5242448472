/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The errors of a model in the forms that other programs read: memcheck's text and XML, SARIF,
 * JUnit, GitHub's annotations. As text for people, JSON and CSV they are the view errors (views.h).
 * Equal input gives equal bytes.
 */
#ifndef VIEWS_ERROR_FORMS_H
#define VIEWS_ERROR_FORMS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sink.h"
#include "model/model.h"

enum error_form {
	ERROR_FORM_TEXT, /* these three: of the view errors */
	ERROR_FORM_JSON,
	ERROR_FORM_CSV,
	ERROR_FORM_MEMCHECK,
	ERROR_FORM_VALGRIND, /* XML as of memcheck --xml=yes */
	ERROR_FORM_SARIF,    /* 2.1.0 */
	ERROR_FORM_JUNIT,    /* XML */
	ERROR_FORM_GITHUB,   /* workflow commands that annotate lines */
	ERROR_FORMS
};

/* Returns "memcheck", static. */
const char *error_form_name(enum error_form form);

struct error_form_options {
	enum error_form form;    /* from ERROR_FORM_MEMCHECK on */
	size_t limit;            /* errors to show; VIEW_NO_LIMIT */
	bool write_suppressions; /* of ERROR_FORM_MEMCHECK: an entry after each */
	const char *doubt;       /* why errors may be missing that the model does not know; NULL */
	const char *version;     /* of the tool, for ERROR_FORM_SARIF; may be NULL */
};

/* Writes them. NULL also when the sink stopped it: the sink knows. ERROR_INPUT: the model does not
 * say whether there are any. */
struct error *error_form_write(const struct model *model, const struct error_form_options *options,
	const struct sink *sink) must_check_;

#endif
