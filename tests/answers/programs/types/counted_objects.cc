/* SPDX-License-Identifier: GPL-2.0-or-later */
/* N objects of A, of which the last 3,000 have what else they may have (a D and a Late), and N of
 * Deep, each of which has a Late. */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <unistd.h>
#include <vector>

struct D {
	char *text;
	long number;
	D *peer;
};
struct Late {
	long values[4];
};
class A
{
      public:
	virtual ~A()
	{
	}
	D *d = nullptr;
	Late *late = nullptr;
};
struct Deep {
	std::unique_ptr<Late> late{new Late{{1, 2, 3, 4}}};
	virtual ~Deep()
	{
	}
};

std::vector<A *> all;
std::vector<std::unique_ptr<Deep>> deeps;

int main(int, char **argv)
{
	int count = atoi(argv[1]);
	for (int i = 0; i < count; i++) {
		A *a = new A;
		all.push_back(a);
		if (i >= count - 3000) {
			a->d = static_cast<D *>(malloc(sizeof(D)));
			*a->d = D{static_cast<char *>(malloc(60)), i, nullptr};
			a->late = new Late{{i, 2, 3, 4}};
		}
	}
	for (int i = 0; i < count; i++)
		deeps.emplace_back(new Deep);
	puts("ready");
	fflush(stdout);
	pause();
}
