/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: the program starts. May touch: the environment. */
#include "runtime/guard/fill.h"
#include "runtime/guard/guard.h"
#include "runtime/guard/leaves.h"

#define KEPT_BYTES (16ull << 20)

struct guard_settings guard_settings = {.align = 16,
	.before = 20,
	.budget = 20,
	.backend = -1,
	.exit = 1,
	.keep = KEPT_BYTES,
	.sums = -1,
	.started = true};

/* A piece of the text. */
struct span {
	const char *at;
	size_t bytes;
};

static bool span_is(struct span s, const char *word)
{
	for (size_t i = 0; i < s.bytes; i++)
		if (s.at[i] != word[i] || !word[i])
			return false;
	return !word[s.bytes];
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* Returns whether it is a number of that base, as a whole. */
static bool read_number(struct span s, unsigned base, uint64_t *ret)
{
	uint64_t n = 0;
	if (base == 16 && s.bytes > 2 && s.at[0] == '0' && s.at[1] == 'x')
		s = (struct span){s.at + 2, s.bytes - 2};
	for (size_t i = 0; i < s.bytes; i++) {
		unsigned digit = (unsigned)digit_of(s.at[i]);
		if (digit >= base || __builtin_mul_overflow(n, base, &n) ||
			__builtin_add_overflow(n, digit, &n))
			return false;
	}
	if (s.bytes)
		*ret = n;
	return s.bytes;
}

static int read_backend(struct span value)
{
	static const char *const words[HW_BACKENDS] = {"none", "madvise", "uffd", "mprotect"};
	for (int i = 0; i < HW_BACKENDS; i++)
		if (span_is(value, words[i]))
			return i;
	return -1;
}

static size_t find_char(struct span s, char c)
{
	size_t at = 0;
	while (at < s.bytes && s.at[at] != c)
		at++;
	return at;
}

/* "FIRST-LAST" */
static bool read_range(struct span value, uint64_t *ret_first, uint64_t *ret_last)
{
	size_t dash = find_char(value, '-');
	return dash < value.bytes && read_number((struct span){value.at, dash}, 10, ret_first) &&
	       read_number(
		       (struct span){value.at + dash + 1, value.bytes - dash - 1}, 10, ret_last);
}

/* "NUMBER:FIRST-LAST" */
static void read_report(struct span value)
{
	struct fill_range range;
	size_t colon = find_char(value, ':');
	if (colon < value.bytes && fill_plan.report_count < FILL_LISTED &&
		read_number((struct span){value.at, colon}, 10, &range.number) &&
		read_range((struct span){value.at + colon + 1, value.bytes - colon - 1},
			&range.first, &range.last))
		fill_plan.reports[fill_plan.report_count++] = range;
}

/* "CALL:NUMBER:FIRST-LAST" */
static void read_leaving(struct span value)
{
	struct hw_leaving_range one = {.seen = 0};
	size_t colon = find_char(value, ':');
	if (colon == value.bytes || leaves_plan.report_count >= LEAVES_LISTED)
		return;
	struct span rest = {value.at + colon + 1, value.bytes - colon - 1};
	size_t second = find_char(rest, ':');
	if (second < rest.bytes && read_number((struct span){value.at, colon}, 16, &one.call) &&
		read_number((struct span){rest.at, second}, 10, &one.number) &&
		read_range((struct span){rest.at + second + 1, rest.bytes - second - 1}, &one.first,
			&one.last))
		leaves_plan.reports[leaves_plan.report_count++] = one;
}

/* "DESCRIPTOR:DEVICE:INODE" */
static void read_sums(struct span value)
{
	struct guard_settings *s = &guard_settings;
	uint64_t file;
	size_t colon = find_char(value, ':');
	if (colon == value.bytes)
		return;
	struct span rest = {value.at + colon + 1, value.bytes - colon - 1};
	size_t second = find_char(rest, ':');
	if (second < rest.bytes && read_number((struct span){value.at, colon}, 10, &file) &&
		file <= INT32_MAX &&
		read_number((struct span){rest.at, second}, 10, &s->sums_device) &&
		read_number((struct span){rest.at + second + 1, rest.bytes - second - 1}, 10,
			&s->sums_inode))
		s->sums = (int)file;
}

/* Options of fill.h; false: it is none of them. */
static bool set_fill(struct span key, struct span value)
{
	struct fill_plan *plan = &fill_plan;
	uint64_t n;
	if (span_is(key, "fill"))
		plan->byte = read_number(value, 16, &n) ? (int)(n & 0xff) : -1;
	else if (span_is(key, "fill2"))
		plan->other = read_number(value, 16, &n) ? (int)(n & 0xff) : -1;
	else if (span_is(key, "fill2-from"))
		read_number(value, 10, &plan->from);
	else if (span_is(key, "fill2-to"))
		read_number(value, 10, &plan->to);
	else if (span_is(key, "fill2-bytes"))
		read_range(value, &plan->first, &plan->last);
	else if (span_is(key, "fill2-others"))
		plan->others = read_number(value, 10, &n) && n;
	else if (span_is(key, "uninit"))
		read_report(value);
	else if (span_is(key, "leaves"))
		read_leaving(value);
	else if (!span_is(key, "fill2-skip"))
		return false;
	else if (plan->skip_count < FILL_LISTED && read_number(value, 10, &n))
		plan->skips[plan->skip_count++] = n;
	return true;
}

static bool is_alignment(uint64_t n)
{
	return n && n <= 16 && !(n & (n - 1));
}

/* Values that make no sense leave the setting as it is: the command has checked them. */
static void set_number(struct span key, struct span value)
{
	struct guard_settings *s = &guard_settings;
	uint64_t n;
	if (span_is(key, "seed"))
		read_number(value, 16, &s->seed);
	else if (!read_number(value, 10, &n))
		return;
	else if (span_is(key, "full"))
		s->full = n;
	else if (span_is(key, "align") && is_alignment(n))
		s->align = (uint8_t)n;
	else if (span_is(key, "before") && n <= 100)
		s->before = (uint8_t)n;
	else if (span_is(key, "budget") && n <= 1000000)
		s->budget = (uint32_t)n;
	else if (span_is(key, "keep"))
		s->keep = n;
	else if (span_is(key, "signal") && n <= 64)
		s->signal = (int)n;
	else if (span_is(key, "exit") && n <= 255)
		s->exit = (int)n;
}

static void set_option(struct span key, struct span value)
{
	if (span_is(key, "errors"))
		guard_settings.first = span_is(value, "first");
	else if (span_is(key, "backend"))
		guard_settings.backend = read_backend(value);
	else if (span_is(key, "sums"))
		read_sums(value);
	else if (!set_fill(key, value))
		set_number(key, value);
}

/* The number is taken out: programs that this process executes, or whose environment is a copy,
 * are others. */
static void take_process(char *digits, size_t count)
{
	uint64_t n = 0;
	guard_settings.started = read_number((struct span){digits, count}, 10, &n) &&
				 n == (uint64_t)sys_call(__NR_getpid, 0, 0, 0);
	for (size_t i = 0; guard_settings.started && i < count; i++)
		digits[i] = '0';
}

static void read_options(char *text)
{
	while (*text) {
		struct span key = {text, 0}, value = {text, 0};
		while (*text && *text != ',' && *text != '=')
			text++;
		key.bytes = (size_t)(text - key.at);
		text += *text == '=';
		value.at = text;
		char *start = text;
		while (*text && *text != ',')
			text++;
		value.bytes = (size_t)(text - value.at);
		if (span_is(key, "process"))
			take_process(start, value.bytes);
		else
			set_option(key, value);
		text += *text == ',';
	}
}

void guard_settings_read(char *const *environment)
{
	static const char name[] = HW_CHECK_ENV "=";
	for (; *environment; environment++) {
		size_t i = 0;
		while (name[i] && (*environment)[i] == name[i])
			i++;
		if (!name[i])
			read_options(*environment + i);
	}
}
