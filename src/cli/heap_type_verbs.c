/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap_type_verbs.h"

#include "base/cleanup.h"
#include "cli/message.h"
#include "views/heap_layout_view.h"

#define LIKE_MOST 6u

/* The types of all modules. */
static struct error *all_types(struct heap_session *session, struct types **ret)
{
	bool any;
	struct error *error = heap_names_all_types(&session->names, &session->space, ret, &any);
	if (!error && !any)
		error = error_create(ERROR_INPUT,
			"types are not known: neither the program nor a library of it has debug "
			"information (compiled without -g, or stripped; --symbol-path and "
			"--debug-file-directory say where debug files are)");
	return error;
}

static struct error *unknown_type(struct types *types, const char *name)
{
	const char *like[LIKE_MOST];
	size_t count = types_like(types, name, like, LIKE_MOST);
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (size_t i = 0; i < count; i++) {
		text_add(&text, i ? ", " : "; there are ");
		text_add_shown(&text, like[i], 200);
	}
	return error_create(ERROR_INPUT, "no type '%s' is described by debug information%s", name,
		text.data ? text.data : "");
}

static struct error *find_type(
	struct heap_session *session, const char *name, struct types **ret_types, uint32_t *ret)
{
	struct error *error = all_types(session, ret_types);
	if (error)
		return error;
	*ret = types_find(*ret_types, name);
	return *ret == TYPE_VOID ? unknown_type(*ret_types, name) : NULL;
}

int heap_verb_layout(struct heap_session *session, int count, char **words)
{
	struct types *types;
	uint32_t type;
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	for (int i = 1; i < count; i++) {
		text_add(&name, i > 1 ? " " : "");
		text_add(&name, words[i]);
	}
	struct error *error =
		name.failed ? error_no_memory() : find_type(session, name.data, &types, &type);
	if (error)
		return message_error(error);
	struct output output;
	struct sink sink = heap_session_sink(session, &output);
	return heap_session_shown(
		&output, heap_layout_write(types, type, session->json, &sink));
}
