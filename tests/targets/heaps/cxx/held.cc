/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What std::function, std::any, std::optional and std::variant hold, and what that points to.
 * Blocks of which nothing may be said, since what leads to them is what was held before, or a
 * captured pointer to what has no type, are "plain". Each kind of block has a size of its own, so
 * that none is named because it looks like others.
 */
#include <any>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

/* What operator new gives is noted under this name, if there is one. */
static const char *volatile wanted;

__attribute__((noinline)) void *operator new(size_t size)
{
	void *block = malloc(size);
	asm("" : "+r"(block)); /* only its address is noted: gcc warns of what nobody has written */
	const char *name = wanted;
	if (name)
		account(block, size, 'r', name);
	return block;
}
__attribute__((noinline)) void operator delete(void *block) noexcept
{
	free(block);
}
__attribute__((noinline)) void operator delete(void *block, size_t) noexcept
{
	free(block);
}

template <int Longs> struct Leaf {
	long values[Longs];
};

template <int Longs> static Leaf<Longs> *leaf()
{
	char name[32];
	void *block = calloc(1, sizeof(Leaf<Longs>));
	snprintf(name, sizeof(name), "Leaf<%d>", Longs);
	account(block, sizeof(Leaf<Longs>), 'r', name);
	return static_cast<Leaf<Longs> *>(block);
}

/* Nothing tells what it is. */
static void *plain(size_t longs)
{
	void *block = calloc(longs, 8);
	account(block, longs * 8, 'r', "plain");
	return block;
}

struct Handler {
	Leaf<6> *leaf;
	long numbers[3];
	void operator()(int) const
	{
	}
};
struct Content {
	Leaf<8> *leaf;
	long numbers[5];
};
struct Text {
	std::string text;
	long number;
};
struct Word {
	std::shared_ptr<Leaf<80>> shared;
};
using Choice = std::variant<long, std::string, Leaf<10> *, std::array<Leaf<12> *, 2>>;
using Inner = std::variant<long, Leaf<14> *>;

struct Session {
	std::function<void(int)> handler, lambda, counted, captured, empty;
	std::any content, text, number;
	std::optional<Leaf<16> *> given, taken;
	std::optional<Inner> inner, none;
	std::variant<std::unique_ptr<Leaf<18>>, int> owner;
	Choice first, second, third;
	std::optional<std::map<int, Leaf<20> *>> map;
	std::vector<Choice> choices;
	Choice several[3];
	void *kept[8];
};

extern Session *session;
Session *session;
extern std::variant<int, Leaf<22> *> global;
std::variant<int, Leaf<22> *> global;
extern std::optional<Leaf<24> *> stale;
std::optional<Leaf<24> *> stale;
extern thread_local std::optional<Leaf<26> *> own;
thread_local std::optional<Leaf<26> *> own;

static void fill_functions(Session *s)
{
	wanted = "Handler";
	s->handler = Handler{leaf<6>(), {1, 2, 3}};
	wanted = nullptr;
	Leaf<28> *captured = leaf<28>();
	std::shared_ptr<Word> word;
	long numbers[8] = {1};
	wanted = "lambda";
	s->lambda = [captured, numbers](int) { (void)captured, (void)numbers; };
	s->counted = [word](int) { (void)word; };
	wanted = nullptr;
	/* This one is in the function itself: what it points to is no target. */
	void *unknown = plain(60);
	s->captured = [unknown](int) { (void)unknown; };
	s->kept[0] = unknown;
}

static void fill_anys(Session *s)
{
	wanted = "Content";
	s->content = Content{leaf<8>(), {1}};
	wanted = "Text";
	s->text = Text{"short", 1};
	wanted = nullptr;
	s->number = 7L;
}

static Choice choice(int which)
{
	Choice made;
	if (which % 4 == 0)
		made = reinterpret_cast<long>(plain(70));
	else if (which % 4 == 1)
		made = std::string("text");
	else if (which % 4 == 2)
		made = leaf<10>();
	else
		made = std::array<Leaf<12> *, 2>{leaf<12>(), leaf<12>()};
	return made;
}

static void fill_choices(Session *s)
{
	s->given = leaf<16>();
	s->taken = reinterpret_cast<Leaf<16> *>(s->kept[1] = plain(64));
	s->taken.reset();
	s->inner = Inner(leaf<14>());
	s->none = Inner(reinterpret_cast<Leaf<14> *>(s->kept[2] = plain(66)));
	s->none.reset();
	s->owner = std::unique_ptr<Leaf<18>>(leaf<18>());
	s->first = choice(1);
	s->second = choice(2);
	s->third = choice(3);
	s->map = std::map<int, Leaf<20> *>{{1, leaf<20>()}, {2, leaf<20>()}};
	for (int i = 0; i < 40; i++)
		s->choices.push_back(choice(i));
	for (int i = 0; i < 3; i++)
		s->several[i] = choice(i);
	global = leaf<22>();
	stale = reinterpret_cast<Leaf<24> *>(s->kept[3] = plain(68));
	stale.reset();
	own = leaf<26>();
}

int main(int argc, char **argv)
{
	setvbuf(stdout, nullptr, _IONBF, 0);
	account_open(argc, argv);
	wanted = "Session";
	session = new Session();
	wanted = nullptr;
	fill_functions(session);
	fill_anys(session);
	fill_choices(session);
	account_end();
	return 0;
}
