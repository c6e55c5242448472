/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/http/http_question.h"

#include <stdint.h>
#include <string.h>

#include "base/number.h"

const char *http_question_take(const struct serve_request *request, struct http_question *ret)
{
	uint64_t value;
	for (size_t i = 0; i < request->argument_count; i++) {
		const struct serve_argument *one = &request->arguments[i];
		if (!strcmp(one->name, "seconds")) {
			if (!number_whole(one->value, &value) || value > HTTP_SECONDS_MAX)
				return "invalid value for \"seconds\": must be a whole number from "
				       "1 to 300\n";
			ret->seconds = (unsigned)value;
		} else if (!strcmp(one->name, "debug")) {
			if (strlen(one->value) != 1 || !strchr("012", *one->value))
				return "invalid value for \"debug\": must be 0, 1 or 2\n";
			ret->debug = *one->value != '0';
		} else if (!strcmp(one->name, "pid")) {
			if (!number_whole(one->value, &value) || value > INT32_MAX)
				return "invalid value for \"pid\": must be a process number\n";
			ret->pid = (pid_t)value;
		}
	}
	if (ret->seconds && (ret->kind == HTTP_ADDRESSES || ret->kind == HTTP_NAMES))
		return "no \"seconds\" here: differences are at /debug/pprof/heap\n";
	return ret->seconds && ret->debug ? "\"seconds\" and \"debug\" exclude each other\n" : NULL;
}
