/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libraries give to the program and it never gives back: each function loses, or keeps, what
 * it should have freed or closed. None of it may be taken for what the libraries keep for
 * themselves, beside which it is.
 */
#include <dirent.h>
#include <glob.h>
#include <iconv.h>
#include <ifaddrs.h>
#include <locale.h>
#include <netdb.h>
#include <regex.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

static void way_addresses(void)
{
	struct addrinfo *found = NULL;
	/* A bare system's /etc/hosts is empty. */
	if (getaddrinfo("localhost", "80", NULL, &found) != 0)
		getaddrinfo(NULL, "80", NULL, &found);
}

static void way_numeric(void)
{
	struct addrinfo *found = NULL;
	getaddrinfo("127.0.0.1", "80", NULL, &found);
}

static void way_paths(void)
{
	static glob_t found;
	glob("/etc/p*", 0, NULL, &found);
	memset(&found, 0, sizeof(found));
}

static void way_expression(void)
{
	static regex_t compiled;
	regcomp(&compiled, "a(b|c)*d", REG_EXTENDED);
}

static void way_entries(void)
{
	struct dirent **names;
	scandir("/etc/apt", &names, NULL, alphasort);
}

static void way_folder(void)
{
	opendir("/etc");
}

static void way_file(void)
{
	fopen("/etc/passwd", "r");
}

static void way_converter(void)
{
	iconv_open("UTF-16", "ISO-8859-15");
}

static void way_locale(void)
{
	newlocale(LC_ALL_MASK, "C.UTF-8", NULL);
}

static void way_tree(void)
{
	static void *root;
	tsearch("a", &root, (int (*)(const void *, const void *))strcmp);
}

static void way_path(void)
{
	realpath("/etc/passwd", NULL);
}

static void way_line(void)
{
	char *line = NULL;
	size_t room = 0;
	FILE *file = fopen("/etc/passwd", "r");
	getline(&line, &room, file);
	fclose(file);
}

static void way_printed(void)
{
	char *text;
	asprintf(&text, "%d words", 3);
}

static void way_copy(void)
{
	strdup("a copy");
}

static void way_stream(void)
{
	static char *text;
	static size_t len;
	fputs("x", open_memstream(&text, &len));
}

static void way_words(void)
{
	static wordexp_t found;
	wordexp("a b", &found, 0);
}

static void way_interfaces(void)
{
	struct ifaddrs *found;
	getifaddrs(&found);
}

int main(void)
{
	way_addresses();
	way_numeric();
	way_paths();
	way_expression();
	way_entries();
	way_folder();
	way_file();
	way_converter();
	way_locale();
	way_tree();
	way_path();
	way_line();
	way_printed();
	way_copy();
	way_stream();
	way_words();
	way_interfaces();
	return 0;
}
