/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 100 objects that are aligned to 64 bytes, and as many arrays of them: each new has its delete. */
struct alignas(64) wide {
	char bytes[64];
};

__attribute__((noinline)) static void make_and_drop()
{
	wide *one = new wide, *many = new wide[3];
	one->bytes[0] = many->bytes[0] = 1;
	delete one;
	delete[] many;
}

int main()
{
	for (int i = 0; i < 100; i++)
		make_and_drop();
	return 0;
}
