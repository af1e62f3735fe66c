// SPDX-License-Identifier: GPL-2.0-only
#include "facts/captures.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <string.h>

#include "clock.h"
#include "code/symbolizer.h"
#include "io.h"
#include "perfdata_read.h"
#include "text.h"

void hooks_show_message(const struct analysis_hooks *hooks, enum perf_poke_log_level level,
			const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (hooks->message)
		hooks->message(hooks->ctx, level, text ?: strerror(ENOMEM));
}

void hooks_count_capture(const struct analysis_hooks *hooks, struct hooks_count *count,
			 size_t total)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	char text[80];

	count->nr++;
	if (!hooks->progress)
		return;
	if (!count->next_ns)
		count->next_ns = now_ns + SHOW_AFTER_NS;
	if (now_ns < count->next_ns)
		return;
	count->next_ns = now_ns + SHOW_EVERY_NS;
	if (total)
		snprintf(text, sizeof(text), "finding causes: %zu of %zu captures", count->nr,
			 total);
	else
		snprintf(text, sizeof(text), "finding causes: %zu captures", count->nr);
	hooks->progress(hooks->ctx, text);
}

const char *hooks_error_text(const struct analysis_hooks *hooks, int err)
{
	return err == -ENOMEM && hooks->no_memory ? hooks->no_memory : strerror(-err);
}

int failure_explain(char **why, int err, const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	free(*why);
	*why = text;
	return err;
}

int capture_failure(const struct analysis_hooks *hooks, const char *folder, int err, char **why)
{
	if (err == -EINTR)
		return failure_explain(why, err, "interrupted: nothing is written");
	return failure_explain(why, err, "'%s': %s", folder,
			       *why ? *why
			       : err == -E2BIG
				       ? "too many calls for a report: use a shorter --window"
			       : err == -ENODATA ? "no trace of the spike's CPU in the window"
						 : hooks_error_text(hooks, err));
}

struct search {
	uint64_t poked; /* sequence number of a poke; 0: any capture */
	uint64_t wall_ns;
	char *path; /* of the newest so far */
	bool out_of_memory;
};

/* The time comes from capture.json: the folder's own changes when it is copied. */
static bool is_newer_capture(const struct search *search, const struct perf_poke_capture *capture)
{
	if (search->poked && (!capture->spike->poked || capture->spike->sequence != search->poked))
		return false;
	return capture->wall_ns >= search->wall_ns;
}

static void compare_with_newest(void *ctx, const char *path)
{
	const struct perf_poke_capture *capture;
	struct search *search = ctx;

	if (perf_poke__capture_open(&capture, path))
		return;
	if (is_newer_capture(search, capture)) {
		free(search->path);
		search->path = strdup(path);
		search->wall_ns = capture->wall_ns;
		search->out_of_memory |= !search->path;
	}
	perf_poke__capture_close(capture);
}

static int find_newest_capture(const char *folder, struct search *search, char **path)
{
	int err = perf_poke__captures(folder, compare_with_newest, search);

	if (err < 0 || search->out_of_memory) {
		free(search->path);
		return err < 0 ? err : -ENOMEM;
	}
	if (!search->path)
		return -ENOENT;
	*path = search->path;
	return 0;
}

int capture_folder_of_poke(const char *folder, uint64_t sequence, char **path)
{
	return find_newest_capture(folder, &(struct search){ .poked = sequence }, path);
}

/* Names the next step for a folder that has no capture, or that is somebody else's. */
static int explain_folder(const char *folder, int err, char **why)
{
	const struct passwd *owner;
	struct stat st;

	if (stat(folder, &st))
		return failure_explain(why, err, "'%s': %s", folder, strerror(errno));
	if (err == -EACCES && st.st_uid != geteuid()) {
		owner = getpwuid(st.st_uid);
		return failure_explain(
			why, err, "'%s' belongs to %s: use sudo, or sudo chown -R \"$USER\" %s",
			folder, owner ? owner->pw_name : "another user", folder);
	}
	if (err == -ENOENT && S_ISDIR(st.st_mode))
		return failure_explain(
			why, err, "no capture in '%s' (perf-poke-ctl start takes one)", folder);
	return failure_explain(why, err,
			       "'%s' is not a capture: cannot read %s/" CAPTURE_FILE_NAME ": %s",
			       folder, folder, strerror(-err));
}

int capture_folder_choose(const char *word, char **path, char **why)
{
	int err = find_newest_capture(word ?: FOLDER_DEFAULT, &(struct search){ 0 }, path);

	/* Reading the named folder reports its errors. */
	if (err && err != -ENOMEM && word) {
		*path = strdup(word);
		err = *path ? 0 : -ENOMEM;
	}
	if (err == -ENOENT)
		return failure_explain(why, err,
				       "CAPTURE is required: no capture in " FOLDER_DEFAULT
				       " (perf-poke-ctl start takes one)");
	return err ? explain_folder(word ?: FOLDER_DEFAULT, err, why) : 0;
}

int capture_trace_open(const char *folder, struct capture_file *capture, char **why)
{
	int err = capture_file_open(capture, folder, why);

	if (err && *why)
		return failure_explain(why, err, "%s/" CAPTURE_FILE_NAME ": %s", folder, *why);
	return err ? explain_folder(folder, err, why) : 0;
}

static int check_perf_data(const char *path, char **why)
{
	_cleanup_close_ int fd = regular_open(AT_FDCWD, path);
	struct perfdata_file file;
	int err = fd < 0 ? fd : perfdata_map(&file, fd);

	if (fd == -EINVAL)
		return say_why(why, fd, "%s is not a regular file", path);
	if (err == -EINVAL)
		return say_why(why, err, "%s is not a perf.data file", path);
	if (err == -ENOTSUP)
		return say_why(why, err,
			       "%s was written to a pipe (perf record -o -): perf script "
			       "reads it",
			       path);
	if (err)
		return say_why(why, err, "cannot read %s: %s", path, strerror(-err));
	if (file.size < file.whole)
		err = say_why(why, -EINVAL,
			      "%s is truncated: it has %" PRIu64 " of %" PRIu64 " bytes", path,
			      file.size, file.whole);
	perfdata_unmap(&file);
	return err;
}

static int check_trace_dat(const char *path, char **why)
{
	_cleanup_close_ int fd = regular_open(AT_FDCWD, path);

	if (fd == -EINVAL)
		return say_why(why, fd, "%s is not a regular file", path);
	return fd < 0 ? say_why(why, fd, "cannot read %s: %s", path, strerror(-fd)) : 0;
}

int capture_trace_find(const struct analysis_hooks *hooks, const char *folder,
		       struct capture_file *capture, char **data, char **why)
{
	_cleanup_free_ char *events = NULL;
	int err = capture_trace_open(folder, capture, why);

	if (err || !facts_have_trace(&capture->facts))
		return err;
	if (capture->facts.recorder == PERF_POKE_RECORDER_FTRACE) {
		*data = strfmt("%s/%s", folder, facts_trace_file(&capture->facts));
		err = *data ? check_trace_dat(*data, why) : -ENOMEM;
	} else {
		*data = strfmt("%s/perf.data", folder);
		events = strfmt("%s/perf.data/data", folder);
		err = *data && events ? check_perf_data(events, why) : -ENOMEM;
	}
	return err ? capture_failure(hooks, folder, err, why) : 0;
}

int capture_trace_need(const struct analysis_hooks *hooks, const char *folder,
		       struct capture_file *capture, char **data, char **why)
{
	int err = capture_trace_find(hooks, folder, capture, data, why);

	if (err || *data)
		return err;
	if (capture->facts.recorder == PERF_POKE_RECORDER_PERF)
		return failure_explain(
			why, -ENODATA,
			"'%s' has no trace: the poked perf wrote it to its own perf.data", folder);
	return failure_explain(why, -ENODATA, "'%s' has no trace: the recorder %s was chosen",
			       folder, capture->capture->recorder);
}

int capture_trace_need_times(const char *folder, const struct facts *facts, char **why)
{
	if (!facts->no_times)
		return 0;
	return failure_explain(
		why, -ENODATA,
		"the trace of '%s' has no times, because TSC was not perf's clock: use script "
		"without --window, export with --axis instructions and without --time",
		folder);
}

int capture_trace_buildid_dir(const char *folder, char **buildid_dir)
{
	_cleanup_free_ char *path = strfmt("%s/" LAYOUT_BUILDID, folder);

	*buildid_dir = path && !access(path, X_OK) ? TAKE_PTR(path) : NULL;
	return path || *buildid_dir ? 0 : -ENOMEM;
}

int capture_trace_events(struct tracepoints **tracepoints, struct user_code *user,
			 const char *folder, const char *data, const char *symfs,
			 const struct sample_window *window, char **why)
{
	int err = tracepoints_open(tracepoints, data, window, why);

	if (err)
		return err;
	user->file = tracepoints_file(*tracepoints);
	user->data = data;
	user->symfs = symfs;
	return capture_trace_buildid_dir(folder, &user->buildid_dir);
}

/* Functions of programs in the stacks of a spike. */
/* The symbols of one file: frames of a file follow each other. */
struct user_file {
	const struct files_places *places;
	struct symbolizer *symbolizer;
	struct build_id id;
	struct symbols symbols;
	uint32_t number; /* of the symbolizer */
	bool lines;	 /* are wanted */
};

static void user_file_release(struct user_file *file)
{
	symbols_release(&file->symbols);
}

static struct build_id build_id_of_frame(const struct perf_poke_frame *frame)
{
	struct build_id id = { .size = (uint8_t)frame->build_id_size };

	memcpy(id.bytes, frame->build_id, sizeof(id.bytes));
	return id;
}

/* Without symbols if the file is not found. */
static void read_file_symbols(struct user_file *file, const struct perf_poke_frame *frame)
{
	const struct files_wanted wanted = { .name = frame->file ?: "",
					     .id = build_id_of_frame(frame) };
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *path = NULL;

	symbols_release(&file->symbols);
	file->symbols = (struct symbols){ 0 };
	file->id = wanted.id;
	file->number = SYMBOLIZER_NO_FILE;
	fd = files_open_wanted(file->places, &wanted, &path);
	if (fd >= 0 &&
	    symbolizer_open_file(file->symbolizer, &wanted, fd, &file->symbols, &file->number))
		file->symbols = (struct symbols){ 0 };
}

static void name_user_frame(struct user_file *file, const struct perf_poke_frame *frame,
			    bool is_return, struct spike_frame *to)
{
	const struct build_id id = build_id_of_frame(frame);
	const struct symbols_entry *entry;
	_cleanup_free_ char *plain = NULL;
	char hex[BUILD_ID_HEX_SIZE];
	const char *name;

	if (memcmp(&id, &file->id, sizeof(id)))
		read_file_symbols(file, frame);
	entry = symbols_find(&file->symbols, frame->offset - is_return);
	if (!entry)
		return;
	name = symbols_name(&file->symbols, entry);
	plain = demangle(name);
	text_copy_printable(to->name, sizeof(to->name), plain ?: name);
	build_id_format(&id, hex);
	/* The process has ended. The first digits will do, as for a commit. */
	if (frame->file)
		text_copy_printable(to->module, sizeof(to->module), basename(frame->file));
	else
		snprintf(to->module, sizeof(to->module), "build ID %.12s", hex);
}

/* The line of a frame, and the functions that are inlined there. */
static void find_frame_lines(const struct user_file *file, struct spike_stack *stack, size_t frame,
			     uint64_t offset)
{
	_cleanup_(source_places_release) struct source_places places = {};
	struct spike_frame *to = &stack->frames[frame];

	if (symbolizer_find_places(file->symbolizer, file->number, &offset, 1, &places))
		return;
	for (size_t i = 0; i + 1 < places.nr && stack->nr_inlined < STACK_INLINED_MAX; i++) {
		struct inlined_frame *inlined = &stack->inlined[stack->nr_inlined++];
		const char *name = places.text + places.list[i].function;
		_cleanup_free_ char *plain = demangle(name);

		inlined->frame = frame;
		text_copy_printable(inlined->name, sizeof(inlined->name), plain ?: name);
		source_place_format(&places, i, inlined->source, sizeof(inlined->source));
	}
	if (places.nr)
		source_place_format(&places, places.nr - 1, to->source, sizeof(to->source));
}

static void name_user_stack(struct user_file *file, struct spike_stack *stack,
			    const struct perf_poke_frame *const *frames)
{
	for (size_t i = 0; i < stack->nr; i++) {
		/* Behind a call, which may be the function's last instruction. */
		bool is_return = i && frames[i]->user && frames[i - 1]->user;

		if (!frames[i]->user || !frames[i]->build_id_size || frames[i]->offset < is_return)
			continue;
		name_user_frame(file, frames[i], is_return, &stack->frames[i]);
		if (file->lines)
			find_frame_lines(file, stack, i, frames[i]->offset - is_return);
	}
}

void capture_name_frames(struct facts *facts, const struct perf_poke_spike *spike,
			 const struct unwound_stack *unwound, const struct files_places *places,
			 struct symbolizer *symbolizer, bool lines)
{
	_cleanup_(user_file_release) struct user_file file = {
		.places = places,
		.symbolizer = symbolizer,
		.lines = lines,
	};

	if (unwound->nr)
		spike_stack_set(&facts->stack, unwound->rows, unwound->nr);
	name_user_stack(&file, &facts->stack, unwound->nr ? unwound->rows : spike->stack);
	name_user_stack(&file, &facts->holder, spike->holder);
}

/*
 * Files of a capture that somebody changes while they are read.
 *
 * Readers take any content, and zeros where a mapped file has become shorter. But what is read from
 * two versions of a file makes no sense. So sizes and times are compared afterwards.
 */
static const char *const unchanged_names[UNCHANGED_FILES] = {
	CAPTURE_FILE_NAME,
	"perf.data/data",
	"trace.dat",
	"perf.data/kcore_dir/kcore",
	"perf.data/kcore_dir/kallsyms",
	"perf.data/kcore_dir/modules",
};

static bool was_mapping_truncated(const struct analysis_hooks *hooks)
{
	return hooks->is_truncated && atomic_exchange(hooks->is_truncated, false);
}

void unchanged_begin_check(struct unchanged *unchanged, const struct analysis_hooks *hooks,
			   const char *folder)
{
	(void)was_mapping_truncated(hooks);
	*unchanged = (struct unchanged){ .hooks = hooks, .folder = folder };
	unchanged->dirfd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_SIZE(unchanged_names); i++) {
		if (fstatat(unchanged->dirfd, unchanged_names[i], &unchanged->files[i], 0))
			unchanged->files[i] = (struct stat){ 0 };
	}
}

static bool is_same_version(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int unchanged_end_check(struct unchanged *unchanged, int err, char **why)
{
	bool truncated = was_mapping_truncated(unchanged->hooks);
	const char *changed = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(unchanged_names) && !changed; i++) {
		struct stat now = { 0 };

		if (fstatat(unchanged->dirfd, unchanged_names[i], &now, 0))
			now = (struct stat){ 0 };
		if (!is_same_version(&now, &unchanged->files[i]))
			changed = unchanged_names[i];
	}
	closep(&unchanged->dirfd);
	if (!changed && !truncated)
		return err;
	if (err && *why)
		hooks_show_message(unchanged->hooks, PERF_POKE_LOG_ERROR, "%s", *why);
	if (changed)
		return failure_explain(why, -ESTALE, "'%s/%s' was changed while it was read",
				       unchanged->folder, changed);
	return failure_explain(why, -ESTALE,
			       "'%s': a file that it needs was truncated while it was read",
			       unchanged->folder);
}
