// SPDX-License-Identifier: GPL-2.0-only
/* Runs for ever, some calls deep, in code without frame pointers. Distributions compile libraries
 * without them, too, and qsort() calls back. */
#include <stdlib.h>

/* External, so that the compiler leaves each a function of this name. */
void innermost(int n), middle(int n), outer(int n);

static volatile unsigned long sum;

__attribute__((noinline)) void innermost(int n)
{
	volatile char room[200];

	for (int i = 0; i < 200; i++)
		room[i] = (char)(i + n);
	for (;;)
		sum += room[sum % 200];
}

static int compare(const void *a, const void *b)
{
	innermost(*(const int *)a);
	return 0;
}

__attribute__((noinline)) void middle(int n)
{
	int list[] = { n, 2, 3, 4 };

	qsort(list, 4, sizeof(int), compare);
	sum++;
}

__attribute__((noinline)) void outer(int n)
{
	middle(n + 1);
	sum++;
}

int main(void)
{
	outer(3);
}
