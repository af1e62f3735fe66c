// SPDX-License-Identifier: GPL-2.0-only
#include "capture/perf_tool.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/options.h"
#include "pidfd.h"
#include "printable.h"

#define VARIABLE "PERF_POKE_PERF"
#define INSTALL                                                                                    \
	"install linux-perf (Debian), linux-tools-generic and linux-tools-$(uname -r) (Ubuntu) "   \
	"or perf (Fedora, RHEL)"

/* Its exit status when it does not understand its arguments. */
#define PERF_USAGE 129

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

int perf_tool_search(const char *name, char **path)
{
	const char *folders = getenv("PATH") ?: "/bin:/usr/bin";

	if (strchr(name, '/')) {
		if (!is_program(name))
			return -ENOENT;
		*path = strdup(name);
		return *path ? 0 : -ENOMEM;
	}
	for (;;) {
		int length = (int)strcspn(folders, ":");
		_cleanup_free_ char *candidate = NULL;

		/* An empty one is the working folder. */
		if (asprintf(&candidate, "%.*s/%s", length ?: 1, length ? folders : ".", name) <
		    0) {
			candidate = NULL;
			return -ENOMEM;
		}
		if (is_program(candidate)) {
			*path = TAKE_PTR(candidate);
			return 0;
		}
		if (!folders[length])
			return -ENOENT;
		folders += length + 1;
	}
}

/* SIGPIPE is ignored here: perf that nobody reads from any more would decode on to the end. Returns
 * a positive errno, as posix_spawn(). */
static int spawn_with(const char *path, char *const argv[],
		      const posix_spawn_file_actions_t *actions, pid_t *pid)
{
	posix_spawnattr_t attributes;
	sigset_t set;
	int r = posix_spawnattr_init(&attributes);

	if (r)
		return r;
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	posix_spawnattr_setsigdefault(&attributes, &set);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	r = posix_spawn(pid, path, actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	return r;
}

/* With nothing to read. */
static int spawn_to(char *const *argv, int output, int said, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return -r;
	r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO);
	if (!r)
		r = spawn_with(argv[0], argv, &actions, pid);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

int perf_tool_lines(char *const *argv, bool said, void (*take)(void *ctx, char *line), void *ctx)
{
	_cleanup_close_ int reader = -1, writer = -1, null = -1;
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int fds[2], status, r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	reader = fds[0];
	writer = fds[1];
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	file = fdopen(reader, "re");
	if (null < 0 || !file)
		return -errno;
	TAKE_FD(reader);
	r = spawn_to(argv, writer, said ? writer : null, &pid);
	if (r)
		return r;
	closep(&writer);
	while (getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		take(ctx, line);
	}
	r = pid_wait(pid, &status);
	if (r)
		return r;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

struct first_line {
	char *text; /* empty: none came yet */
	size_t size;
};

static void take_first(void *ctx, char *line)
{
	struct first_line *first = ctx;

	if (!*first->text)
		printable_copy(first->text, first->size, line);
}

/* Runs a program to its end. Keeps what fits of the first line that it prints. Returns its exit
 * status, or a negative errno. */
static int run(char *const argv[], char *line, size_t size)
{
	struct first_line first = { line, size };

	line[0] = '\0';
	return perf_tool_lines(argv, false, take_first, &first);
}

bool perf_tool_is_named(void)
{
	const char *wanted = getenv(VARIABLE);

	return wanted && *wanted;
}

int perf_tool_find(struct perf_tool *perf, char **why)
{
	const char *wanted = getenv(VARIABLE);
	bool named = perf_tool_is_named();
	int r;

	*perf = (struct perf_tool){ 0 };
	r = perf_tool_search(named ? wanted : "perf", &perf->path);
	if (r == -ENOENT && named)
		return options_explain(why, r, VARIABLE " '%s': no such program", wanted);
	if (r == -ENOENT)
		return options_explain(why, r, "there is no perf in PATH: " INSTALL);
	if (r)
		return r;
	r = run((char *[]){ perf->path, "--version", NULL }, perf->version, sizeof(perf->version));
	/* Ubuntu's is a script that fails when there is none for the running kernel. */
	if (r)
		r = options_explain(why, -ENOEXEC, "'%s --version' fails: " INSTALL, perf->path);
	else if (strncmp(perf->version, "perf ", 5))
		r = options_explain(why, -ENOEXEC, "'%s' is not perf: it says '%s'", perf->path,
				    perf->version);
	if (r)
		perf_tool_release(perf);
	return r;
}

/* Perf checks its options before it finds that there is nothing to read. Those that were built
 * without a disassembler take it for bad usage. */
bool perf_tool_disassembles(const struct perf_tool *perf)
{
	char *const argv[] = {
		perf->path, "script", "-i", "/dev/null", "--insn-trace=disasm", NULL
	};
	char line[8];
	int r = run(argv, line, sizeof(line));

	return r >= 0 && r != PERF_USAGE;
}

void perf_tool_release(struct perf_tool *perf)
{
	free(perf->path);
	perf->path = NULL;
}
