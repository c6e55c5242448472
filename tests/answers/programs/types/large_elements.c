/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arrays of structures of 512 bytes and more, a structure that begins with one and goes on with
 * text, and one that goes on with pointers where an element would have numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ELEMENTS 9

struct name {
	char text[40];
	struct name *next;
};
struct record {
	int number;
	struct name *name;
	double values[100];
	struct record *peer;
};
struct narrow {
	struct name *name;
	char text[504];
};
struct plain {
	double values[100];
};
struct titled {
	struct record record;
	char title[sizeof(struct record)];
};
struct led {
	struct record record;
	void *leads[sizeof(struct record) / 8];
};

static struct record *records, *titled, *led;
static struct narrow *narrows;
static struct plain *plains;
static struct name *names;

static struct name *new_name(int number)
{
	struct name *name = calloc(1, sizeof(*name));
	snprintf(name->text, sizeof(name->text), "name of number %d", number);
	name->next = names;
	names = name;
	return name;
}

static void fill(struct record *record, int number)
{
	record->number = number;
	record->name = new_name(number);
	for (int i = 0; i < 100; i++)
		record->values[i] = number + i / 8.0;
}

/* What leads to these is declared to be a record. */
static void __attribute__((noinline)) make_larger(void)
{
	struct titled *with_title = calloc(1, sizeof(*with_title));
	fill(&with_title->record, 100);
	memset(with_title->title, 't', sizeof(with_title->title) - 1);
	titled = &with_title->record;
	struct led *with_leads = calloc(1, sizeof(*with_leads));
	fill(&with_leads->record, 101);
	for (size_t i = 0; i < sizeof(with_leads->leads) / 8; i++)
		with_leads->leads[i] = names;
	led = &with_leads->record;
}

int main(void)
{
	records = calloc(ELEMENTS, sizeof(*records));
	narrows = calloc(ELEMENTS, sizeof(*narrows));
	plains = calloc(ELEMENTS, sizeof(*plains));
	for (int i = 0; i < ELEMENTS; i++) {
		fill(&records[i], i);
		records[i].peer = &records[0];
		narrows[i].name = new_name(i);
		strcpy(narrows[i].text, "short");
		plains[i].values[0] = i + 0.5;
	}
	make_larger();
	printf("%p %p %p %p %p\n", (void *)records, (void *)narrows, (void *)plains, (void *)titled,
		(void *)led);
	fflush(stdout);
	pause();
	return 0;
}
