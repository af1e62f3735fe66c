// SPDX-License-Identifier: GPL-2.0-only
#include "cli/perf_script.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/cli.h"
#include "clock.h"
#include "task.h"
#include "text.h"

#define VARIABLE "PERF_POKE_PERF"
#define INSTALL                                                                                    \
	"install linux-perf (Debian), linux-tools-generic and linux-tools-$(uname -r) (Ubuntu) "   \
	"or perf (Fedora, RHEL)"

/* perf's exit status for bad usage. */
#define PERF_USAGE 129
/* Exit status if there is no such program, as in a shell. */
#define NOT_EXECUTED 127

static bool is_executable_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

int perf_tool_search(const char *name, char **path)
{
	const char *folders = getenv("PATH") ?: "/bin:/usr/bin";

	if (strchr(name, '/')) {
		if (!is_executable_file(name))
			return -ENOENT;
		*path = strdup(name);
		return *path ? 0 : -ENOMEM;
	}
	for (;;) {
		int length = (int)strcspn(folders, ":");
		/* An empty entry is the working directory. */
		_cleanup_free_ char *candidate =
			strfmt("%.*s/%s", length ?: 1, length ? folders : ".", name);

		if (!candidate)
			return -ENOMEM;
		if (is_executable_file(candidate)) {
			*path = TAKE_PTR(candidate);
			return 0;
		}
		if (!folders[length])
			return -ENOENT;
		folders += length + 1;
	}
}

/* Returns the PID, or a negative errno. */
static pid_t spawn_with_output(char *const *argv, int output, bool errors)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t pid = null < 0 ? -1 : fork();

	if (pid) {
		pid = pid < 0 ? -errno : pid;
		closep(&null);
		return pid;
	}
	/* Else perf would decode to the end although nobody reads its output. */
	signal(SIGPIPE, SIG_DFL);
	if (dup2(null, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
	    dup2(errors ? output : null, STDERR_FILENO) >= 0)
		execv(argv[0], argv);
	_exit(NOT_EXECUTED);
}

int perf_tool_lines(char *const *argv, bool errors, void (*take)(void *ctx, char *line), void *ctx)
{
	_cleanup_close_ int reader = -1, writer = -1;
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int fds[2], status, err;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	reader = fds[0];
	writer = fds[1];
	file = fdopen(reader, "re");
	if (!file)
		return -errno;
	TAKE_FD(reader);
	pid = spawn_with_output(argv, writer, errors);
	if (pid < 0)
		return pid;
	closep(&writer);
	while (getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		take(ctx, line);
	}
	err = pid_wait_for_exit(pid, &status);
	if (err)
		return err;
	if (!WIFEXITED(status))
		return -EIO;
	return WEXITSTATUS(status) == NOT_EXECUTED ? -ENOEXEC : WEXITSTATUS(status);
}

struct first_line {
	char *text; /* empty: none yet */
	size_t size;
};

static void keep_first_line(void *ctx, char *line)
{
	struct first_line *first = ctx;

	if (!*first->text)
		text_copy_printable(first->text, first->size, line);
}

/* Runs a program and keeps its first line, truncated. Returns its exit status or a negative errno.
 */
static int run_for_first_line(char *const argv[], char *line, size_t size)
{
	struct first_line first = { line, size };

	line[0] = '\0';
	return perf_tool_lines(argv, false, keep_first_line, &first);
}

int perf_tool_find(struct perf_tool *perf, char **why)
{
	const char *wanted = getenv(VARIABLE);
	bool named = wanted && *wanted;
	int err;

	*perf = (struct perf_tool){ 0 };
	err = perf_tool_search(named ? wanted : "perf", &perf->path);
	if (err == -ENOENT && named)
		return say_why(why, err, VARIABLE " '%s': no such program", wanted);
	if (err == -ENOENT)
		return say_why(why, err, "no perf in PATH: " INSTALL);
	if (err)
		return err;
	err = run_for_first_line((char *[]){ perf->path, "--version", NULL }, perf->version,
				 sizeof(perf->version));
	/* Ubuntu's perf is a script that fails without a perf for the running kernel. */
	if (err)
		err = say_why(why, -ENOEXEC, "'%s --version' fails: " INSTALL, perf->path);
	else if (strncmp(perf->version, "perf ", 5))
		err = say_why(why, -ENOEXEC, "'%s' is not perf: it prints '%s'", perf->path,
			      perf->version);
	if (err)
		perf_tool_release(perf);
	return err;
}

/* perf checks its options before its input. Without a disassembler, =disasm is bad usage. */
bool perf_tool_disassembles(const struct perf_tool *perf)
{
	char *const argv[] = {
		perf->path, "script", "-i", "/dev/null", "--insn-trace=disasm", NULL
	};
	char line[8];
	int err = run_for_first_line(argv, line, sizeof(line));

	return err >= 0 && err != PERF_USAGE;
}

void perf_tool_release(struct perf_tool *perf)
{
	free(perf->path);
	perf->path = NULL;
}

/* Intel PT is not limited at its end: after the spike come the trigger and the skid only. Events
 * after the spike are perf-poke's own and of unrelated work. */
static void add_time_window(struct argv_builder *words, const struct facts *facts,
			    uint64_t window_ns)
{
	uint64_t end = facts->spike.time_ns;
	uint64_t begin = end > window_ns ? end - window_ns : 0;

	argv_builder_add(words, "--time");
	if (facts_is_pt(facts))
		argv_builder_add(words, "%" PRIu64 ".%09" PRIu64 ",", begin / NSEC_PER_SEC,
				 begin % NSEC_PER_SEC);
	else
		argv_builder_add(words, "%" PRIu64 ".%09" PRIu64 ",%" PRIu64 ".%09" PRIu64,
				 begin / NSEC_PER_SEC, begin % NSEC_PER_SEC, end / NSEC_PER_SEC,
				 end % NSEC_PER_SEC);
}

/* The expansion of --call-ret-trace and --insn-trace, restricted to trace events: these options
 * would strip the line of the sample as well, and perf warns about fields restored later. */
static void add_sample_trace_options(struct argv_builder *words, enum view_insns insns)
{
	const char *fields = "-ip,-addr,-event,-period,-dso,+callindent,+flags";

	if (insns == VIEW_INSNS_DISASM)
		fields = "-event,-period,+disasm";
	else if (insns != VIEW_INSNS_NONE)
		fields = "-event,-period,+insn";
	argv_builder_add(words, "--itrace=%s", insns == VIEW_INSNS_NONE ? "crewp" : "i0nse");
	argv_builder_add(words, "-F");
	argv_builder_add(words, "hw:%s", fields);
	argv_builder_add(words, "-F");
	argv_builder_add(words, "synth:%s", fields);
}

static void add_trace_options(struct argv_builder *words, const struct facts *facts,
			      enum view_insns insns)
{
	if (facts->sampled) {
		add_sample_trace_options(words, insns);
	} else if (insns == VIEW_INSNS_NONE) {
		argv_builder_add(words, "--call-ret-trace");
		/* Nearly everything is in the kernel. */
		argv_builder_add(words, "-F");
		argv_builder_add(words, "-dso");
	} else {
		argv_builder_add(words, "--insn-trace%s",
				 insns == VIEW_INSNS_DISASM ? "=disasm" : "");
	}
	if (insns == VIEW_INSNS_XED)
		argv_builder_add(words, "--xed");
}

static void add_cpus(struct argv_builder *words, const struct facts *facts,
		     const struct view_options *options, const char *option)
{
	if (!options->cpus && (facts->spike.cpu < 0 || options->all_cpus))
		return;
	argv_builder_add(words, "%s", option);
	if (options->cpus)
		argv_builder_add(words, "%s", options->cpus);
	else
		argv_builder_add(words, "%d", facts->spike.cpu);
}

int trace_cmd_report_argv(const struct facts *facts, const struct view_options *options,
			  const char *trace_cmd, const char *data, char ***argv)
{
	struct argv_builder words = { 0 };

	argv_builder_add(&words, "%s", trace_cmd);
	argv_builder_add(&words, "report");
	argv_builder_add(&words, "-i");
	argv_builder_add(&words, "%s", data);
	/* Nanoseconds */
	argv_builder_add(&words, "-t");
	add_cpus(&words, facts, options, "--cpu");
	for (char **word = options->rest; word && *word; word++)
		argv_builder_add(&words, "%s", *word);
	return argv_builder_finish(&words, argv);
}

int perf_script_argv(const struct facts *facts, const struct view_options *options,
		     const char *perf, const char *data, char ***argv)
{
	uint64_t window_ns = facts_is_pt(facts) ? VIEW_WINDOW_PT_NS : VIEW_WINDOW_EVENTS_NS;
	struct argv_builder words = { 0 };

	argv_builder_add(&words, "%s", perf);
	if (options->buildid_dir) {
		argv_builder_add(&words, "--buildid-dir");
		argv_builder_add(&words, "%s", options->buildid_dir);
	}
	argv_builder_add(&words, "script");
	argv_builder_add(&words, "-i");
	argv_builder_add(&words, "%s", data);
	argv_builder_add(&words, "--ns");
	add_cpus(&words, facts, options, "-C");
	if (options->symfs) {
		argv_builder_add(&words, "--symfs");
		argv_builder_add(&words, "%s", options->symfs);
	}
	if (!options->all && !facts->no_times)
		add_time_window(&words, facts, options->window_ns ?: window_ns);
	if (facts_is_pt(facts))
		add_trace_options(&words, facts, options->insns);
	for (char **word = options->rest; word && *word; word++)
		argv_builder_add(&words, "%s", *word);
	return argv_builder_finish(&words, argv);
}
