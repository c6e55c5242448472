/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An array without elements of a class with a destructor: all of its block is the number in front,
 * and the pointer that is kept points behind it.
 *
 * Truth: nothing is lost.
 */
struct held {
	~held()
	{
	}
	long value;
};

static held *none;

__attribute__((noinline)) static held *make(unsigned long count)
{
	return new held[count];
}

int main(int argc, char **)
{
	none = make(argc - 1);
	return 0;
}
