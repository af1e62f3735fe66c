// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/marker.h"

#include <string.h>

static void make_classes(__u8 *classes)
{
	for (int digit = '0'; digit <= '9'; digit++)
		classes[digit] = MARKER_DIGIT;
	classes['.'] = MARKER_DOT;
	classes[' '] = MARKER_SPACE;
	classes['u'] = classes['>'] = MARKER_UNIT;
}

/* After a mismatch the search goes on as if it had begun with the second character: in the state
 * `again`, whose row is complete by then. */
void marker_make(__u8 *classes, __u8 *next, const char *word)
{
	size_t length = strlen(word);
	unsigned int again = 0;

	make_classes(classes);
	for (size_t state = 0; state < length; state++) {
		__u8 *row = &next[state * MARKER_CHARACTERS];
		__u8 character = (__u8)word[state];

		if (state) {
			memcpy(row, &next[again * MARKER_CHARACTERS], MARKER_CHARACTERS);
			again = row[character];
		}
		row[character] = (__u8)(state + 1);
	}
	memset(&next[length * MARKER_CHARACTERS], (int)length, MARKER_CHARACTERS);
}
