/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server that serves 2,000 sessions and forgets 1,990 of them. Each session has strings, a vector
 * with reserved space, and a map. Requests in between use and free the same sizes of memory.
 *
 * Truth: 1,990 sessions are definitely lost, 10 are kept by `kept`.
 */
#include <map>
#include <memory>
#include <string>
#include <vector>

struct session {
	std::string user, token;
	std::vector<void *> pending;
	std::map<int, std::string> headers;
	char buffer[256];
};

static std::vector<session *> &kept = *new std::vector<session *>;

__attribute__((noinline)) static session *session_open(int id)
{
	session *s = new session;
	s->user = "user number " + std::to_string(id) + " with a long name";
	s->token = std::string(40, 'a' + id % 26);
	s->pending.reserve(30);
	for (int i = 0; i < 4; i++)
		s->headers[i] = "a header line that does not fit in place " + std::to_string(i);
	return s;
}

/* Work that leaves pointers to sessions in memory that is used again. */
__attribute__((noinline)) static void session_serve(session *s)
{
	std::vector<session *> queue(40, s);
	std::map<int, session *> by_id;
	for (int i = 0; i < 20; i++)
		by_id[i] = s;
	std::unique_ptr<session *[]> table(new session *[64]);
	for (int i = 0; i < 64; i++)
		table[i] = s;
}

__attribute__((noinline)) static void serve(int first, int count)
{
	for (int id = first; id < first + count; id++) {
		session *s = session_open(id);
		session_serve(s);
		if (id % 200 == 0)
			kept.push_back(s);
	}
}

__attribute__((noinline)) static void scrub()
{
	volatile char stack[65536];
	for (char volatile &c : stack)
		c = 0;
}

int main()
{
	kept.reserve(15);
	serve(0, 2000);
	scrub();
	return kept.size() == 10 ? 0 : 1;
}
