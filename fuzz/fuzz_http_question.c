/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arguments of a URL of `run --http`: the first byte of the input is the kind of answer, then
 * come names and values, each with a NUL at its end. What is taken is within its bounds.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/http/http_question.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition)
{
	if (!condition)
		abort();
}

static void check_question(const struct serve_request *request, enum http_kind kind)
{
	struct http_question question = {.kind = kind};
	const char *problem = http_question_take(request, &question);
	need(!problem || (strlen(problem) > 1 && problem[strlen(problem) - 1] == '\n'));
	need(question.seconds <= HTTP_SECONDS_MAX && question.pid >= 0 && question.kind == kind);
	need(problem || !question.seconds || !question.debug);
	need(problem || !question.seconds || (kind != HTTP_ADDRESSES && kind != HTTP_NAMES));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct serve_argument arguments[SERVE_ARGUMENTS_MAX];
	struct serve_request request = {.path = "", .arguments = arguments};
	char *text = size ? malloc(size + 2) : NULL;
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	memset(text + size - 1, 0, 3);
	for (char *at = text;
		at < text + size - 1 && request.argument_count < SERVE_ARGUMENTS_MAX;) {
		struct serve_argument *one = &arguments[request.argument_count++];
		one->name = at;
		one->value = at + strlen(at) + 1;
		at = (char *)one->value + strlen(one->value) + 1;
	}
	check_question(&request, (enum http_kind)(data[0] % HTTP_KINDS));
	free(text);
	return 0;
}
