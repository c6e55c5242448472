/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A converter, CSV to JSON, whose peak is in the middle: it reads all rows before it writes the
 * first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 20000, COLUMNS = 4 };

struct row {
	char *cells[COLUMNS];
};

/* A row as a file would have it. */
static void get_line(int number, char *line, size_t size)
{
	snprintf(line, size, "%08d,customer-%06d,Main Street %04d,%06d.00", number, number * 7,
		number % 1000, number % 100000);
}

static void split(char *line, struct row *row)
{
	char *rest = line;

	for (int i = 0; i < COLUMNS; i++)
		row->cells[i] = strdup(strsep(&rest, ","));
}

static struct row *read_rows(void)
{
	struct row *rows = calloc(ROWS, sizeof(*rows));
	char line[128];

	if (!rows)
		abort();
	for (int i = 0; i < ROWS; i++) {
		get_line(i, line, sizeof(line));
		split(line, &rows[i]);
	}
	return rows;
}

static char *to_json(const struct row *row)
{
	char *text = NULL;

	if (asprintf(&text, "[\"%s\",\"%s\",\"%s\",%s]", row->cells[0], row->cells[1],
		    row->cells[2], row->cells[3]) < 0)
		abort();
	return text;
}

static size_t write_rows(const struct row *rows)
{
	size_t written = 0;

	for (int i = 0; i < ROWS; i++) {
		char *text = to_json(&rows[i]);

		written += strlen(text) + 1;
		free(text);
	}
	return written;
}

static void free_rows(struct row *rows)
{
	for (int i = 0; i < ROWS; i++) {
		for (int k = 0; k < COLUMNS; k++)
			free(rows[i].cells[k]);
	}
	free(rows);
}

/* What comes after the peak: small and short. */
static char *summary(size_t written)
{
	char *text = malloc(4096);

	if (!text)
		abort();
	snprintf(text, 4096, "%d rows, %zu bytes", ROWS, written);
	return text;
}

int main(void)
{
	struct row *rows = read_rows();
	size_t written = write_rows(rows);

	free_rows(rows);
	char *text = summary(written);
	puts(text);
	free(text);
	return 0;
}
