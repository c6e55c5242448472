/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: libheapwise-jemalloc.so is loaded; in the command. May touch: nothing but its
 * arguments.
 *
 * The grammar and the messages are those of malloc_conf_init() in jemalloc 5.3's src/jemalloc.c: a
 * text is KEY:VALUE pairs with commas between; the texts are read twice, the first time for
 * confirm_conf alone, so that what is wrong with the grammar is said twice there and here.
 */
#include "runtime/shims/jemalloc_conf.h"

#include <stddef.h>
#include <string.h>

#include "runtime/shims/jemalloc/line.h"

struct je_reader {
	struct je_conf *conf;
	je_conf_say *say;
	void *context;
	bool first; /* the first of the two passes */
};

/* Borrows from the text. */
struct je_pair {
	const char *key, *value;
	size_t key_bytes, value_bytes;
};

enum je_form {
	FORM_BOOL,
	FORM_UNSIGNED, /* a whole number; clipped to `most` */
	FORM_SIGNED,   /* from `least` to `most`, or one of `words` */
	FORM_TEXT,     /* prof_prefix */
	FORM_ANY,      /* whatever jemalloc makes of it: nothing is read */
	FORM_WORD,     /* one of `words`, or the beginning of one */
};

struct je_option {
	const char *name;
	enum je_form form;
	size_t field; /* in struct je_conf; NOWHERE: it means nothing here */
	int64_t least;
	uint64_t most;
	const char *words;    /* with blanks between */
	bool is_abbreviation; /* jemalloc takes each beginning of the key, too */
};

#define NOWHERE SIZE_MAX
#define MOST_SIGNED INT64_MAX
#define OURS(name) offsetof(struct je_conf, name)
#define BOOL(name)                                                                                 \
	{                                                                                          \
#name, FORM_BOOL, OURS(name), 0, 0, NULL, false                                    \
	}
#define OTHER_BOOL(name)                                                                           \
	{                                                                                          \
#name, FORM_BOOL, NOWHERE, 0, 0, NULL, false                                       \
	}
#define OTHER_UNSIGNED(name)                                                                       \
	{                                                                                          \
#name, FORM_UNSIGNED, NOWHERE, 0, UINT64_MAX, NULL, false                          \
	}
#define OTHER_SIGNED(name)                                                                         \
	{                                                                                          \
#name, FORM_SIGNED, NOWHERE, -1, MOST_SIGNED, NULL, false                          \
	}
#define OTHER(name)                                                                                \
	{                                                                                          \
#name, FORM_ANY, NOWHERE, 0, 0, NULL, false                                        \
	}
#define WORD(name, words, abbreviation)                                                            \
	{                                                                                          \
#name, FORM_WORD, NOWHERE, 0, 0, words, abbreviation                               \
	}

static const struct je_option options[] = {
	BOOL(abort_conf),
	OTHER_BOOL(abort),
	OTHER_BOOL(trust_madvise),
	WORD(metadata_thp, "disabled auto always", true),
	OTHER_BOOL(retain),
	WORD(dss, "disabled primary secondary", true),
	{"narenas", FORM_SIGNED, NOWHERE, 1, UINT32_MAX, "default", false},
	OTHER(narenas_ratio),
	OTHER(bin_shards),
	OTHER_SIGNED(mutex_max_spin),
	OTHER_SIGNED(dirty_decay_ms),
	OTHER_SIGNED(muzzy_decay_ms),
	BOOL(stats_print),
	OTHER(stats_print_opts),
	OTHER_SIGNED(stats_interval),
	OTHER(stats_interval_opts),
	WORD(junk, "true false alloc free", false),
	OTHER_BOOL(zero),
	OTHER_BOOL(experimental_infallible_new),
	OTHER_BOOL(tcache),
	OTHER_UNSIGNED(tcache_max),
	OTHER_UNSIGNED(lg_tcache_max),
	{"lg_tcache_nslots_mul", FORM_SIGNED, NOWHERE, -16, 16, NULL, false},
	OTHER_UNSIGNED(tcache_nslots_small_min),
	OTHER_UNSIGNED(tcache_nslots_small_max),
	OTHER_UNSIGNED(tcache_nslots_large),
	OTHER_UNSIGNED(tcache_gc_incr_bytes),
	OTHER_UNSIGNED(tcache_gc_delay_bytes),
	OTHER_UNSIGNED(lg_tcache_flush_small_div),
	OTHER_UNSIGNED(lg_tcache_flush_large_div),
	OTHER_UNSIGNED(oversize_threshold),
	OTHER_UNSIGNED(lg_extent_max_active_fit),
	WORD(percpu_arena, "disabled percpu phycpu", true),
	OTHER_BOOL(background_thread),
	OTHER_UNSIGNED(max_background_threads),
	OTHER_BOOL(hpa),
	OTHER_UNSIGNED(hpa_slab_max_alloc),
	OTHER_UNSIGNED(hpa_hugification_threshold),
	OTHER(hpa_hugification_threshold_ratio),
	OTHER_UNSIGNED(hpa_hugify_delay_ms),
	OTHER_UNSIGNED(hpa_min_purge_interval_ms),
	OTHER(hpa_dirty_mult),
	OTHER_UNSIGNED(hpa_sec_nshards),
	OTHER_UNSIGNED(hpa_sec_max_alloc),
	OTHER_UNSIGNED(hpa_sec_max_bytes),
	OTHER_UNSIGNED(hpa_sec_bytes_after_flush),
	OTHER_UNSIGNED(hpa_sec_batch_fill_extra),
	OTHER(slab_sizes),
	BOOL(prof),
	{"prof_prefix", FORM_TEXT, OURS(prof_prefix), 0, 0, NULL, false},
	BOOL(prof_active),
	BOOL(prof_thread_active_init),
	{"lg_prof_sample", FORM_UNSIGNED, OURS(lg_prof_sample), 0, 63, NULL, false},
	BOOL(prof_accum),
	{"lg_prof_interval", FORM_SIGNED, OURS(lg_prof_interval), -1, 63, NULL, false},
	BOOL(prof_gdump),
	BOOL(prof_final),
	BOOL(prof_leak),
	BOOL(prof_leak_error),
	OTHER_BOOL(prof_log),
	OTHER_SIGNED(prof_recent_alloc_max),
	OTHER_BOOL(prof_stats),
	OTHER_BOOL(prof_sys_thread_name),
	WORD(prof_time_resolution, "default high", false),
	OTHER_BOOL(prof_unbias),
	WORD(thp, "default always never", false),
	WORD(zero_realloc, "alloc free abort", false),
	OTHER_UNSIGNED(san_guard_small),
	OTHER_UNSIGNED(san_guard_large),
};

static void say_line(const struct je_reader *r, const char *line)
{
	if (r->say)
		r->say(r->context, line);
}

static void complain_grammar(const struct je_reader *r, const char *line)
{
	say_line(r, line);
	r->conf->had_error = true;
}

static void add_pair(struct je_line *line, const struct je_pair *pair)
{
	je_line_add_n(line, pair->key, pair->key_bytes);
	je_line_add(line, ":");
	je_line_add_n(line, pair->value, pair->value_bytes);
	je_line_add(line, "\n");
}

static void complain_pair(const struct je_reader *r, const char *what, const struct je_pair *pair)
{
	static const char tolerated[] = "experimental_";
	struct je_line line;
	je_line_init(&line);
	je_line_add(&line, "<jemalloc>: ");
	je_line_add(&line, what);
	je_line_add(&line, ": ");
	add_pair(&line, pair);
	say_line(r, line.data);
	if (strncmp(pair->key, tolerated, sizeof(tolerated) - 1) != 0)
		r->conf->had_error = true;
}

static bool is_key_byte(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Reads the pair that *text begins with, and moves *text after it. False: none; said if that is
 * wrong. */
static bool read_pair(const struct je_reader *r, const char **text, struct je_pair *ret)
{
	const char *at = *text;
	while (is_key_byte(*at))
		at++;
	if (*at != ':') {
		if (*at)
			complain_grammar(r, "<jemalloc>: Malformed conf string\n");
		else if (at != *text)
			complain_grammar(r, "<jemalloc>: Conf string ends with key\n");
		return false;
	}
	ret->key = *text;
	ret->key_bytes = (size_t)(at - *text);
	ret->value = ++at;
	ret->value_bytes = strcspn(at, ",");
	at += ret->value_bytes;
	if (*at == ',' && !*++at)
		complain_grammar(r, "<jemalloc>: Conf string ends with comma\n");
	*text = at;
	return true;
}

static bool is_text(const char *text, const char *from, size_t bytes)
{
	return strlen(text) == bytes && !memcmp(text, from, bytes);
}

static unsigned value_of_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

/* As strtoumax(3) with base 0. False: that is no number, or not all of one. */
static bool read_number(const char *text, size_t bytes, uint64_t *ret)
{
	const char *at = text + strspn(text, "\t\n\v\f\r "), *end = text + bytes;
	bool negative = *at == '-';
	at += negative || *at == '+';
	unsigned base = 10;
	if (*at == '0' && (at[1] == 'x' || at[1] == 'X') && value_of_digit(at[2]) < 16) {
		base = 16;
		at += 2;
	} else if (*at == '0') { /* "08" is 0, and then something else */
		base = 8;
		at += value_of_digit(at[1]) < 8;
	}
	uint64_t number = 0;
	const char *digits = at;
	for (; at < end && value_of_digit(*at) < base; at++) {
		if (__builtin_mul_overflow(number, base, &number) ||
			__builtin_add_overflow(number, value_of_digit(*at), &number))
			return false;
	}
	*ret = negative ? -number : number;
	return at > digits && at == end;
}

static void *field_of(const struct je_reader *r, const struct je_option *option)
{
	return option->field == NOWHERE ? NULL : (char *)r->conf + option->field;
}

static const char *read_bool(
	const struct je_reader *r, const struct je_option *option, const struct je_pair *pair)
{
	bool is_true = is_text("true", pair->value, pair->value_bytes);
	if (!is_true && !is_text("false", pair->value, pair->value_bytes))
		return "Invalid conf value";
	bool *to = field_of(r, option);
	if (to)
		*to = is_true;
	return NULL;
}

static const char *read_whole(
	const struct je_reader *r, const struct je_option *option, const struct je_pair *pair)
{
	uint64_t number;
	if (option->words && is_text(option->words, pair->value, pair->value_bytes))
		return NULL;
	if (!read_number(pair->value, pair->value_bytes, &number))
		return "Invalid conf value";
	if (option->form == FORM_UNSIGNED && number > option->most)
		number = option->most;
	if (option->form == FORM_SIGNED &&
		((int64_t)number < option->least || (int64_t)number > (int64_t)option->most))
		return "Out-of-range conf value";
	uint64_t *to = field_of(r, option);
	if (to)
		*to = number;
	return NULL;
}

static const char *read_word(const struct je_option *option, const struct je_pair *pair)
{
	for (const char *word = option->words; *word;) {
		size_t bytes = strcspn(word, " ");
		if (pair->value_bytes <= bytes &&
			(pair->value_bytes == bytes || option->is_abbreviation) &&
			!memcmp(word, pair->value, pair->value_bytes))
			return NULL;
		word += bytes + (word[bytes] == ' ');
	}
	return "Invalid conf value";
}

/* Returns what is wrong with the value; NULL if nothing is. */
static const char *read_value(
	const struct je_reader *r, const struct je_option *option, const struct je_pair *pair)
{
	switch (option->form) {
	case FORM_BOOL:
		return read_bool(r, option, pair);
	case FORM_UNSIGNED:
	case FORM_SIGNED:
		return read_whole(r, option, pair);
	case FORM_WORD:
		return read_word(option, pair);
	case FORM_TEXT: {
		char *to = field_of(r, option);
		size_t bytes = pair->value_bytes < JE_PREFIX_BYTES ? pair->value_bytes
								   : JE_PREFIX_BYTES - 1;
		memcpy(to, pair->value, bytes);
		to[bytes] = 0;
		return NULL;
	}
	case FORM_ANY:
		break;
	}
	return NULL;
}

static bool is_option(const struct je_option *option, const struct je_pair *pair)
{
	if (option->is_abbreviation)
		return pair->key_bytes <= strlen(option->name) &&
		       !memcmp(option->name, pair->key, pair->key_bytes);
	return is_text(option->name, pair->key, pair->key_bytes);
}

static const struct je_option *option_find(const struct je_pair *pair)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (is_option(&options[i], pair))
			return &options[i];
	}
	return NULL;
}

static void confirm_pair(const struct je_reader *r, const struct je_pair *pair)
{
	struct je_line line;
	je_line_init(&line);
	je_line_add(&line, "<jemalloc>: -- Set conf value: ");
	add_pair(&line, pair);
	say_line(r, line.data);
}

static void use_pair(const struct je_reader *r, const struct je_pair *pair)
{
	static const struct je_option confirm = BOOL(confirm_conf);
	bool is_confirm = is_option(&confirm, pair);
	if (!is_confirm && r->first)
		return;
	const struct je_option *option = is_confirm ? &confirm : option_find(pair);
	const char *problem = option ? read_value(r, option, pair) : "Invalid conf pair";
	if (problem && !r->first)
		complain_pair(r, problem, pair);
	else if (!problem && !r->first && r->conf->confirm_conf)
		confirm_pair(r, pair);
}

static void confirm_text(const struct je_reader *r, int source, const char *text)
{
	static const char *const places[JE_CONF_SOURCES] = {
		"string specified via --with-malloc-conf",
		"string pointed to by the global variable malloc_conf",
		"\"name\" of the file referenced by the symbolic link named /etc/malloc.conf",
		"value of the environment variable MALLOC_CONF",
		"string pointed to by the global variable malloc_conf_2_conf_harder",
	};
	struct je_line line;
	je_line_init(&line);
	je_line_add(&line, "<jemalloc>: malloc_conf #");
	je_line_add_number(&line, (uint64_t)source + 1);
	je_line_add(&line, " (");
	je_line_add(&line, places[source]);
	je_line_add(&line, "): \"");
	je_line_add(&line, text ? text : "");
	je_line_add(&line, "\"\n");
	say_line(r, line.data);
}

static void read_texts(const struct je_reader *r, const struct je_conf_texts *texts)
{
	for (int i = 0; i < JE_CONF_SOURCES; i++) {
		const char *text = texts->text[i];
		struct je_pair pair;
		if (!r->first && r->conf->confirm_conf)
			confirm_text(r, i, text);
		while (text && *text && read_pair(r, &text, &pair))
			use_pair(r, &pair);
	}
}

static void settle_conf(struct je_conf *conf)
{
	conf->prof_leak |= conf->prof_leak_error;
	if (conf->prof_leak && !conf->prof) {
		conf->prof = true;
		conf->prof_gdump = false;
		conf->lg_prof_interval = -1;
	}
}

void je_conf_read(
	const struct je_conf_texts *texts, je_conf_say *say, void *context, struct je_conf *ret)
{
	*ret = (struct je_conf){.prof_active = true,
		.prof_thread_active_init = true,
		.lg_prof_sample = 19,
		.lg_prof_interval = -1,
		.prof_prefix = "jeprof"};
	read_texts(&(struct je_reader){ret, say, context, true}, texts);
	read_texts(&(struct je_reader){ret, say, context, false}, texts);
	settle_conf(ret);
}
