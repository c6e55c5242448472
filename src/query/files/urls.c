/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/urls.h"

#include <assert.h>
#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/library.h"
#include "base/text.h"
#include "base/util.h"
#include "query/state_folder.h"

/* Larger ones are no profiles. */
#define PROFILE_MAX (UINT64_C(1) << 30)
#define CONNECT_SECONDS 10L
/* Beyond what the URL asks to be waited for (?seconds=30). */
#define ANSWER_SECONDS 60L
#define WAIT_MAX 86400L
#define REDIRECTS_MAX 5L
/* Of the URL in the name of the file that it is kept in. */
#define NAME_BYTES_MOST 80u

bool url_is(const char *word)
{
	return strncmp(word, "http://", 7) == 0 || strncmp(word, "https://", 8) == 0;
}

/* A macro that calls the function by its own name, to look at types. */
#undef curl_easy_setopt

#define CURL_FUNCTIONS(X)                                                                          \
	X(curl_easy_init)                                                                          \
	X(curl_easy_setopt)                                                                        \
	X(curl_easy_perform)                                                                       \
	X(curl_easy_strerror)                                                                      \
	X(curl_easy_cleanup)

/* Its functions, under their own names: few commands ever fetch anything. */
struct curl_library {
	CURL_FUNCTIONS(LIBRARY_MEMBER)
};

static const char *const curl_names[] = {CURL_FUNCTIONS(LIBRARY_NAME)};

static_assert(sizeof(struct curl_library) == sizeof(curl_names), "one pointer a name");

static struct error *curl_library_load(struct curl_library *ret)
{
	const struct library library = {.file = "libcurl.so.4",
		.package = "libcurl4",
		.names = curl_names,
		.len = ARRAY_SIZE(curl_names)};
	return library_load(&library, ret);
}

struct receiving {
	int fd;
	uint64_t bytes;
	int error;  /* errno of a write that failed; 0: none */
	bool large; /* it is more than PROFILE_MAX */
};

static size_t urls_receive(char *data, size_t size, size_t count, void *ctx)
{
	struct receiving *at = ctx;
	size_t len = size * count;
	at->bytes += len;
	at->large = at->bytes > PROFILE_MAX;
	for (size_t done = 0; !at->large && done < len;) {
		ssize_t some = write(at->fd, data + done, len - done);
		if (some < 0 && errno == EINTR)
			continue;
		if (some < 0) {
			at->error = errno;
			return 0;
		}
		done += (size_t)some;
	}
	return at->large ? 0 : len;
}

/* What the server is asked to wait before it answers. */
static long seconds_of(const char *url)
{
	const char *query = strchr(url, '?');
	const char *wait = query ? strstr(query, "seconds=") : NULL;
	long seconds = wait ? strtol(wait + strlen("seconds="), NULL, 10) : 0;
	return seconds > 0 && seconds < WAIT_MAX ? seconds : 0;
}

static void set_options(const struct curl_library *library, CURL *curl, const char *url,
	struct receiving *at, char *why)
{
	library->curl_easy_setopt(curl, CURLOPT_URL, url);
	library->curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	library->curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, urls_receive);
	library->curl_easy_setopt(curl, CURLOPT_WRITEDATA, at);
	library->curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	library->curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
	library->curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
	library->curl_easy_setopt(curl, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
	library->curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	library->curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	library->curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	library->curl_easy_setopt(curl, CURLOPT_TIMEOUT, ANSWER_SECONDS + seconds_of(url));
	library->curl_easy_setopt(curl, CURLOPT_USERAGENT, "heapwise");
}

static struct error *urls_download(const char *url, int fd)
{
	char why[CURL_ERROR_SIZE] = "";
	struct receiving at = {.fd = fd};
	struct curl_library library;
	struct error *error = curl_library_load(&library);
	if (error)
		return error_prefix(error, "%s: cannot fetch", url);
	CURL *curl = library.curl_easy_init();
	if (!curl)
		return error_no_memory();
	set_options(&library, curl, url, &at, why);
	CURLcode code = library.curl_easy_perform(curl);
	library.curl_easy_cleanup(curl);
	if (code == CURLE_OK)
		return NULL;
	if (at.error)
		return error_errno(ERROR_ENVIRONMENT, at.error, "%s: cannot keep it", url);
	if (at.large)
		return error_create(ERROR_INPUT, "%s: larger than 1 GiB: not a profile", url);
	return error_create(ERROR_INPUT, "%s: cannot fetch: %s", url,
		why[0] ? why : library.curl_easy_strerror(code));
}

/* "localhost-6060-debug-pprof-heap-20261121-221530.1234": what it is of, and when it was fetched.
 */
static char *name_of(const char *url)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	char when[32];
	time_t now = time(NULL);
	struct tm parts;
	const char *place = strstr(url, "://") + 3, *user = strchr(place, '@');
	size_t host = strcspn(place, "/");
	if (user && (size_t)(user - place) < host)
		place = user + 1; /* a password is nothing for a name */
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", localtime_r(&now, &parts));
	for (const char *c = place; *c && *c != '?' && name.len < NAME_BYTES_MOST; c++)
		text_add_char(&name, isalnum((unsigned char)*c) || *c == '.' ? *c : '-');
	text_printf(&name, "-%s.%d", when, (int)getpid());
	return name.failed ? NULL : text_steal(&name);
}

#define NAME_TRIES 1000u

static struct error *open_file(const char *url, char **ret_path, int *ret_fd)
{
	_cleanup_free_ char *folder = state_folder("profiles"), *name = name_of(url);
	char *path = NULL;
	if (!name)
		return error_no_memory();
	/* Several of one second have numbers. */
	for (unsigned i = 0; i < NAME_TRIES; i++) {
		char number[16] = "";
		free(path);
		if (i)
			snprintf(number, sizeof(number), ".%u", i);
		if (asprintf(&path, "%s%s%s", folder ? folder : "/tmp/", name, number) < 0)
			return error_no_memory();
		*ret_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (*ret_fd >= 0 || errno != EEXIST)
			break;
	}
	if (*ret_fd < 0) {
		struct error *error =
			error_errno(ERROR_ENVIRONMENT, errno, "%s: cannot make it", path);
		free(path);
		return error;
	}
	*ret_path = path;
	return NULL;
}

struct error *url_fetch(struct query_context *context, const char *url, char **ret)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *path = NULL;
	struct error *error = open_file(url, &path, &fd);
	if (error)
		return error;
	struct query_task task;
	query_task_begin(context, &task, "fetching %s", url);
	error = urls_download(url, fd);
	query_task_end(context, &task);
	if (error)
		unlink(path);
	else
		*ret = steal_ptr(path);
	return error;
}
