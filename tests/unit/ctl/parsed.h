/* SPDX-License-Identifier: GPL-2.0-only */
/* A command's parsed arguments and its messages. */
#ifndef TESTS_CTL_PARSED_H
#define TESTS_CTL_PARSED_H

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "test.h"
#include "util.h"

static inline void nothing_to_release(const void *args)
{
}

/* `parser` fills the arguments of `type`, `releaser` frees them. */
#define PARSED_BY(type, parser, releaser)                                                          \
	struct parsed {                                                                            \
		type args;                                                                         \
		int r;                                                                             \
		char *out;                                                                         \
		char *err;                                                                         \
	};                                                                                         \
                                                                                                   \
	static void release(struct parsed *p)                                                      \
	{                                                                                          \
		releaser(&p->args);                                                                \
		free(p->out);                                                                      \
		free(p->err);                                                                      \
		*p = (struct parsed){ 0 };                                                         \
	}                                                                                          \
                                                                                                   \
	static void parse(struct parsed *p, char **argv)                                           \
	{                                                                                          \
		struct console con = { 0 };                                                        \
		size_t out_size, err_size;                                                         \
		int argc = 0;                                                                      \
                                                                                                   \
		while (argv[argc])                                                                 \
			argc++;                                                                    \
		con.out = open_memstream(&p->out, &out_size);                                      \
		con.err = open_memstream(&p->err, &err_size);                                      \
		assert_non_null(con.out);                                                          \
		assert_non_null(con.err);                                                          \
		p->r = parser(&p->args, &con, argc, argv);                                         \
		fclose(con.out);                                                                   \
		fclose(con.err);                                                                   \
	}                                                                                          \
                                                                                                   \
	/* A command line, split at blanks, is refused with one line that begins like this. */     \
	static __attribute__((unused)) void refuse_line(const char *line, const char *begin)       \
	{                                                                                          \
		_cleanup_(release) struct parsed p = { 0 };                                        \
		_cleanup_free_ char *copy = NULL;                                                  \
		char *argv[32] = { PARSED_WORDS }, *rest;                                          \
		size_t nr = 2, said;                                                               \
                                                                                                   \
		rest = copy = strdup(line);                                                        \
		for (char *word; (word = strsep(&rest, " "));)                                     \
			argv[nr++] = word;                                                         \
		parse(&p, argv);                                                                   \
		said = strlen(p.err);                                                              \
		if (p.r != -EINVAL || strncmp(p.err, "perf-poke-ctl: ", 15) ||                     \
		    strncmp(p.err + 15, begin, strlen(begin)) ||                                   \
		    strchr(p.err, '\n') != p.err + said - 1 || *p.out)                             \
			fail_msg("%s: %d, %s%s", line, p.r, p.out, p.err);                         \
	}

/* PARSED_WORDS, of the test, come first. */
#define PARSE(p, ...) parse(p, (char *[]){ PARSED_WORDS, ##__VA_ARGS__, NULL })

#define REFUSES(text, ...)                                                                         \
	do {                                                                                       \
		_cleanup_(release) struct parsed p = { 0 };                                        \
                                                                                                   \
		PARSE(&p, __VA_ARGS__);                                                            \
		assert_int_equal(p.r, -EINVAL);                                                    \
		assert_string_equal(p.err, "perf-poke-ctl: " text "\n");                           \
		assert_string_equal(p.out, "");                                                    \
	} while (0)

#endif
