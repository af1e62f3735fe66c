// SPDX-License-Identifier: GPL-2.0-only
/* Calls in user space: of itself, and of the C library, which calls back. */
#include <stdlib.h>

#define VALUES 64

int user_leaf(int n);
int user_tree(int depth);
int user_compare(const void *a, const void *b);

__attribute__((noinline)) int user_leaf(int n)
{
	for (int i = 0; i < 20; i++)
		n = n * 5 + i;
	return n;
}

__attribute__((noinline)) int user_tree(int depth)
{
	return depth ? user_tree(depth - 1) + user_tree(depth - 1) : user_leaf(depth) + 1;
}

__attribute__((noinline)) int user_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int main(void)
{
	int values[VALUES];

	for (int i = 0; i < VALUES; i++)
		values[i] = user_tree(3) % (i + 1);
	qsort(values, VALUES, sizeof(values[0]), user_compare);
	return values[0] > values[VALUES - 1];
}
