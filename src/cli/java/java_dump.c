/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/java/java_dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "sources/managed_heap_file.h"
#include "views/managed_heap_view.h"

#define ANSWER_MAX (1u << 16)
#define DUMP_NAME "heap.hprof"

bool java_dump_is_file(const char *word)
{
	size_t len = strlen(word);
	bool is_jar = len > 4 && strcmp(word + len - 4, ".jar") == 0;
	return strstr(word, ".hprof") || (strchr(word, '/') && !is_jar);
}

/* The class whose name has what was asked for in it, and most bytes; in an error. */
static struct error *no_class(const struct java_dump *dump, const struct managed_page *page)
{
	const struct managed_class *best = NULL;
	for (size_t i = 0; i < page->heap->classes.len; i++) {
		const struct managed_class *class = &page->heap->classes.data[i];
		if (class->objects && strcasestr(class->name, dump->why) &&
			(!best || class->bytes > best->bytes))
			best = class;
	}
	return error_create(ERROR_INPUT, "%s: has no objects of a class '%s'%s%s%s", page->path,
		dump->why, best ? "; there is '" : "; 'heapwise java FILE' lists the classes",
		best ? best->name : "", best ? "'" : "");
}

static struct error *why_answer(
	const struct java_dump *dump, const struct managed_page *page, struct answer *answer)
{
	const struct managed_class *class = managed_heap_class(page->heap, dump->why);
	struct managed_ways ways;
	if (!class || !class->objects)
		return no_class(dump, page);
	struct error *error = managed_heap_ways(page->heap, class, &ways);
	if (error)
		return error;
	error = managed_heap_why_answer(page, class, &ways, answer);
	managed_ways_deinit(&ways);
	return error;
}

static struct error *changes_answer(const struct managed_page *page, struct answer *answer)
{
	struct managed_heap *older = NULL;
	struct managed_changes changes;
	struct error *error = hprof_file_read(page->base_path, NULL, &older);
	if (!error)
		error = managed_heap_compare(older, page->heap, &changes);
	if (!error) {
		error = managed_heap_changes_answer(page, &changes, answer);
		managed_changes_deinit(&changes);
	}
	managed_heap_destroy(older);
	return error;
}

static struct error *dump_answer(const struct java_dump *dump, struct managed_heap *heap,
	const char *name, struct answer *answer)
{
	const struct managed_page page = {.words = MANAGED_OF_JAVA,
		.heap = heap,
		.path = name,
		.base_path = dump->base,
		.limit = dump->limit};
	if (dump->why)
		return why_answer(dump, &page, answer);
	if (dump->base)
		return changes_answer(&page, answer);
	struct error *error = managed_heap_retain(heap);
	return error ? error : managed_heap_classes_answer(&page, answer);
}

static int file_show(const struct java_dump *dump, const char *path, const char *name)
{
	struct output output;
	struct managed_heap *heap = NULL;
	struct error *error = hprof_file_read(path, name, &heap);
	if (error)
		return message_error(error);
	struct sink sink = output_sink_paged(&output, !dump->json && !dump->csv);
	struct answer *answer = dump->csv    ? answer_csv_create(&sink)
				: dump->json ? answer_json_create(&sink, false)
					     : answer_text_create(&sink);
	error = answer ? dump_answer(dump, heap, name ? name : path, answer) : error_no_memory();
	answer_destroy(answer);
	managed_heap_destroy(heap);
	int code = output_end(&output);
	return error ? message_error(error) : code;
}

int java_dump_show(const struct java_dump *dump)
{
	return file_show(dump, dump->file, NULL);
}

/* What the JVM answers is text for people: whether it is whole is seen from the file. */
static struct error *dump_write(
	const struct java_vm *vm, const struct java_exchange *exchange, int *ret_fd)
{
	_cleanup_free_ char *path = NULL, *answer = NULL;
	size_t len;
	if (asprintf(&path, "%s/" DUMP_NAME, exchange->inner) < 0)
		return error_no_memory();
	const char *const words[4] = {"dumpheap", path, "-live"};
	struct error *error = java_vm_ask(vm, words, ANSWER_MAX, &answer, &len);
	if (!error)
		error = java_exchange_read(exchange, DUMP_NAME, ret_fd);
	return error_prefix(error, "can't have JVM %d write a heap dump into its /tmp%s%.200s",
		(int)vm->pid, answer && *answer ? "; it says: " : "", answer ? answer : "");
}

int java_dump_show_live(const struct java_vm *vm, const struct java_dump *dump)
{
	struct java_exchange exchange;
	struct stat about;
	char path[64], name[64];
	int fd = -1;
	struct error *error = java_exchange_open(vm, &exchange);
	if (!error) {
		message("JVM %d pauses while it collects garbage and writes a heap dump",
			(int)vm->pid);
		error = dump_write(vm, &exchange, &fd);
	}
	java_exchange_close(vm, &exchange);
	if (error)
		return message_error(error);
	if (fstat(fd, &about) == 0)
		message("the heap dump had %llu MiB in its /tmp, and is deleted",
			((unsigned long long)about.st_size + (1u << 20) - 1) >> 20);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(name, sizeof(name), "JVM %d", (int)vm->pid);
	int code = file_show(dump, path, name);
	close(fd);
	return code;
}
