/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/serve/serve_question.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

void serve_question_init(struct serve_question *question)
{
	*question = (struct serve_question){.file = 0};
	word_vec_init(&question->words);
	text_init(&question->key);
}

void serve_question_deinit(struct serve_question *question)
{
	for (size_t i = 0; i < question->words.len; i++)
		free(question->words.data[i]);
	word_vec_deinit(&question->words);
	text_deinit(&question->key);
}

/* Takes over the word; NULL: no memory. */
static struct error *add_word(struct serve_question *question, char *word)
{
	if (word && word_vec_push(&question->words, word))
		return NULL;
	free(word);
	return error_no_memory();
}

static struct error *add_words(
	struct serve_question *question, const char *const *words, size_t count)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < count; i++)
		error = add_word(question, strdup(words[i]));
	return error;
}

static struct error *take_file(
	const struct serve_files *files, const struct serve_argument *argument, size_t *ret)
{
	char *end;
	unsigned long number = strtoul(argument->value, &end, 10);
	if (argument->value[0] < '0' || argument->value[0] > '9' || *end || number >= files->len)
		return error_create(ERROR_USAGE, "%s '%s' is none of the %zu files that are served",
			argument->name, argument->value, files->len);
	*ret = number;
	return NULL;
}

static struct error *take_option(const struct option_spec *allowed,
	const struct serve_argument *argument, struct serve_question *ret)
{
	const struct option_spec *spec = allowed;
	while (spec->name && strcmp(spec->name, argument->name) != 0)
		spec++;
	if (!spec->name)
		return error_create(
			ERROR_USAGE, "'%s' is nothing that a page can ask for", argument->name);
	if (strlen(argument->value) > SERVE_VALUE_MAX)
		return error_create(ERROR_USAGE, "the value of %s is longer than %u bytes",
			spec->name, SERVE_VALUE_MAX);
	if (!argument->value[0] || (!spec->argument && strcmp(argument->value, "0") == 0))
		return NULL;
	if (!spec->argument && strcmp(argument->value, "1") != 0)
		return error_create(ERROR_USAGE, "invalid %s '%s': expected 1 or 0", spec->name,
			argument->value);
	char *word = NULL;
	if (asprintf(&word, "--%s%s%s", spec->name, spec->argument ? "=" : "",
		    spec->argument ? argument->value : "") < 0)
		word = NULL;
	return add_word(ret, word);
}

static struct error *take_base(const struct serve_questions *questions,
	const struct serve_argument *argument, struct serve_question *ret, size_t *ret_base)
{
	char *word;
	if (!questions->compares)
		return error_create(
			ERROR_USAGE, "pages don't compare two files; 'heapwise diff' does");
	struct error *error = take_file(questions->files, argument, ret_base);
	if (error)
		return error;
	if (asprintf(&word, "--base=%s", questions->files->data[*ret_base].path) < 0)
		word = NULL;
	return add_word(ret, word);
}

/* With its length, so that no word can look like two. */
static void add_to_key(const char *word, struct text *key)
{
	text_printf(key, "%zu %s\n", strlen(word), word);
}

/* What changes with the file; of a process with each question. */
static void add_stamp(
	struct serve_questions *questions, const struct serve_file *file, struct text *key)
{
	if (file->is_process)
		text_printf(key, "look %" PRIu64 "\n", ++questions->looks);
	add_to_key(file->path, key);
	text_printf(key, "%ju %" PRIu64 " %" PRId64 "\n", (uintmax_t)file->inode, file->bytes,
		file->modified_ns);
}

static struct error *finish_question(
	struct serve_questions *questions, size_t base, struct serve_question *ret)
{
	const struct serve_file *file = &questions->files->data[ret->file];
	const struct serve_file *older =
		base < questions->files->len ? &questions->files->data[base] : NULL;
	const struct serve_file *gone = !file->is_there             ? file
					: older && !older->is_there ? older
								    : NULL;
	if (gone)
		return error_create(ERROR_INPUT, "%s%s is not there any more",
			gone->is_process ? "process " : "", gone->path);
	ret->is_of_process = file->is_process || (older && older->is_process);
	add_stamp(questions, file, &ret->key);
	if (older)
		add_stamp(questions, older, &ret->key);
	for (size_t i = 0; i < ret->words.len; i++)
		add_to_key(ret->words.data[i], &ret->key);
	const char *const end[] = {"--", file->path};
	struct error *error = add_words(ret, end, ARRAY_SIZE(end));
	return error || !ret->key.failed ? error : error_no_memory();
}

struct error *serve_question_take(struct serve_questions *questions,
	const struct serve_argument *arguments, size_t count, struct serve_question *ret)
{
	static const char *const begin[] = {"heapwise", "html", "--container", "--output=-"};
	size_t base = SIZE_MAX;
	bool has_file = false;
	struct error *error = add_words(ret, begin, ARRAY_SIZE(begin));
	if (!error)
		error = add_words(
			ret, (const char *const *)questions->common, questions->common_count);
	for (size_t i = 0; !error && i < count; i++) {
		const struct serve_argument *one = &arguments[i];
		if (strcmp(one->name, "file") == 0) {
			has_file = true;
			error = take_file(questions->files, one, &ret->file);
		} else if (strcmp(one->name, "base") == 0) {
			error = take_base(questions, one, ret, &base);
		} else {
			error = take_option(questions->allowed, one, ret);
		}
	}
	if (!error && !has_file)
		error = error_create(ERROR_USAGE, "no file was asked for");
	return error ? error : finish_question(questions, base, ret);
}
