/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a URL asks of `run --http`. */
#ifndef CLI_HTTP_QUESTION_H
#define CLI_HTTP_QUESTION_H

#include "cli/http/http_answer.h"
#include "serve/serve.h"

/*
 * Takes the arguments of a request into *ret, whose kind is set already; those without a meaning
 * are ignored. Returns what is wrong with them, a line, or NULL: *ret can be answered.
 */
const char *http_question_take(const struct serve_request *request, struct http_question *ret);

#endif
