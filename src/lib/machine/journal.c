// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "array.h"
#include "io.h"
#include "text.h"

#define PREFIX "settings-"
#define LOCK_TRIES 1000
/* Tracefs folder of settings that all timerlat and osnoise tracers share. */
#define SHARED "osnoise/"

enum kind {
	KIND_SET = 's',
	KIND_OPTION = 'o',
	KIND_MADE = 'm',
	KIND_TRIGGER = 't',
	KIND_LEFT = 'l', /* no setting: the session ended, and left them */
};

/* A line of the file: KIND NAME TAB BEFORE TAB AFTER; for an option, BEFORE and AFTER are words.
 * Settings that need no change have no line. A trigger has only AFTER. A folder that was made has
 * two lines: BEFORE is empty, and then its inode, or 0 if it could not be made. */
struct entry {
	enum kind kind;
	char *name, *before, *after;
};

/* Settings that others changed, the first few as text. */
#define FOUND_MAX 4
struct found {
	size_t nr;
	char text[4096];
};

struct journal {
	const char *dir; /* the caller's */
	int dirfd, tracefs;
	int fd;	    /* of the file, locked */
	bool alive; /* of this session, not of a dead one */
	char file[NAME_MAX + 1];
	struct entry *entries;
	size_t nr;
	struct log log;
};

static int setting_write(int tracefs, const char *name, const char *value)
{
	_cleanup_close_ int fd = openat(tracefs, name, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write(fd, value, strlen(value)) < 0 ? -errno : 0;
}

/* Opening a file of triggers with O_TRUNC removes them all. */
static int trigger_write(int tracefs, const char *name, const char *trigger)
{
	_cleanup_close_ int fd = openat(tracefs, name, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write(fd, trigger, strlen(trigger)) < 0 ? -errno : 0;
}

static bool text_has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (; *text; text += strspn(text, " ")) {
		size_t next = strcspn(text, " ");

		if (next == len && !memcmp(text, word, len))
			return true;
		text += next;
	}
	return false;
}

static bool entry_has_value(const struct entry *entry, const char *text, const char *value)
{
	return entry->kind == KIND_OPTION ? text_has_word(text, value) : !strcmp(text, value);
}

static void journal_free_entry(struct entry *entry)
{
	free(entry->name);
	free(entry->before);
	free(entry->after);
}

static void journal_drop_entry(struct journal *journal)
{
	journal_free_entry(&journal->entries[--journal->nr]);
}

/* The second line of a folder replaces the first one. */
static bool journal_has_begun_folder(const struct journal *journal, enum kind kind,
				     const char *name)
{
	const struct entry *last = journal->nr ? &journal->entries[journal->nr - 1] : NULL;

	return kind == KIND_MADE && last && last->kind == KIND_MADE && !strcmp(last->name, name);
}

static int journal_add_entry(struct journal *journal, enum kind kind, const char *name,
			     const char *before, const char *after)
{
	struct entry entry = { kind, strdup(name), strdup(before), strdup(after) };

	if (journal_has_begun_folder(journal, kind, name))
		journal_drop_entry(journal);

	if (!entry.name || !entry.before || !entry.after ||
	    array_grow(&journal->entries, journal->nr, sizeof(entry))) {
		journal_free_entry(&entry);
		return -ENOMEM;
	}
	journal->entries[journal->nr++] = entry;
	return 0;
}

static int journal_note(struct journal *journal, enum kind kind, const char *name,
			const char *before, const char *after)
{
	int err = journal_add_entry(journal, kind, name, before, after);

	if (err)
		return err;
	if (dprintf(journal->fd, "%c%s\t%s\t%s\n", kind, name, before, after) < 0) {
		err = -errno;
		journal_drop_entry(journal);
	}
	return err;
}

static int journal_write(struct journal *journal, enum kind kind, const char *name,
			 const char *before, const char *after)
{
	int err = journal_note(journal, kind, name, before, after);

	if (err)
		return err;
	err = setting_write(journal->tracefs, name, after);
	if (err)
		journal_drop_entry(journal);
	return err;
}

int journal_set_value(struct journal *journal, const char *name, const char *value)
{
	char before[4096];
	int err = read_text_at(journal->tracefs, name, before, sizeof(before));

	if (err)
		return err;
	if (!strcmp(before, value))
		return journal_add_entry(journal, KIND_SET, name, value, value);
	return journal_write(journal, KIND_SET, name, before, value);
}

int journal_set_option(struct journal *journal, const char *name, const char *word, bool on)
{
	_cleanup_free_ char *off = strfmt("NO_%s", word);
	char text[4096];
	int err = read_text_at(journal->tracefs, name, text, sizeof(text));

	if (err || !off)
		return err ? err : -ENOMEM;
	if (text_has_word(text, on ? word : off))
		return journal_add_entry(journal, KIND_OPTION, name, on ? word : off,
					 on ? word : off);
	return journal_write(journal, KIND_OPTION, name, on ? off : word, on ? word : off);
}

/* The inode of a folder as text; "0": there is none. */
static void folder_format_inode(int tracefs, const char *name, char text[24])
{
	struct stat st;

	snprintf(text, 24, "%ju",
		 fstatat(tracefs, name, &st, 0) ? (uintmax_t)0 : (uintmax_t)st.st_ino);
}

int journal_mkdir(struct journal *journal, const char *name)
{
	char inode[24];
	int err, noted;

	folder_format_inode(journal->tracefs, name, inode);
	if (strcmp(inode, "0") != 0)
		return -EEXIST;
	err = journal_note(journal, KIND_MADE, name, "", "");
	if (err)
		return err;
	err = mkdirat(journal->tracefs, name, 0750) ? -errno : 0;
	if (!err)
		folder_format_inode(journal->tracefs, name, inode);
	noted = journal_note(journal, KIND_MADE, name, inode, "");
	if (noted && !err)
		unlinkat(journal->tracefs, name, AT_REMOVEDIR);
	return err ?: noted;
}

int journal_add_trigger(struct journal *journal, const char *name, const char *trigger)
{
	int err = journal_note(journal, KIND_TRIGGER, name, "", trigger);

	if (err)
		return err;
	err = trigger_write(journal->tracefs, name, trigger);
	if (err)
		journal_drop_entry(journal);
	return err;
}

int journal_renew(const struct journal *journal, const char *prefix)
{
	char now[4096];
	int ret = 0;

	for (size_t i = 0; i < journal->nr; i++) {
		const struct entry *entry = &journal->entries[i];
		int err;

		if (entry->kind != KIND_SET || !has_prefix(entry->name, prefix))
			continue;
		err = read_text_at(journal->tracefs, entry->name, now, sizeof(now));
		if (!err && strcmp(now, entry->after))
			err = setting_write(journal->tracefs, entry->name, entry->after);
		if (err && err != -ENOENT && !ret)
			ret = err;
	}
	return ret;
}

/* Adds a setting that was changed meanwhile. */
static void found_add_setting(struct found *found, const struct entry *entry, const char *now)
{
	size_t len = strlen(found->text);

	if (found->nr++ >= FOUND_MAX)
		return;
	/* Show only the relevant word. */
	if (entry->kind == KIND_OPTION && text_has_word(now, entry->before))
		now = entry->before;
	snprintf(found->text + len, sizeof(found->text) - len,
		 "%s%s is '%.200s' (the session had set '%.200s'", len ? ", " : "", entry->name,
		 now, entry->after);
	len = strlen(found->text);
	if (!strcmp(entry->before, now) || !strcmp(entry->before, entry->after))
		snprintf(found->text + len, sizeof(found->text) - len, ")");
	else
		snprintf(found->text + len, sizeof(found->text) - len, ", before that '%.200s')",
			 entry->before);
}

/* The kernel lists a trigger as ACTION:COUNT if FILTER, and removes one by its action. Another of
 * this action, which only others can have put there, has another filter. */
static int trigger_remove(const struct journal *journal, const struct entry *entry)
{
	const char *filter = strstr(entry->after, " if ");
	_cleanup_free_ char *removal =
		strfmt("!%.*s", (int)strcspn(entry->after, " "), entry->after);
	char now[4096];
	int err = read_text_at(journal->tracefs, entry->name, now, sizeof(now));

	if (!removal)
		return -ENOMEM;
	if (err == -ENOENT || (!err && (!filter || !strstr(now, filter))))
		return 0;
	if (!err)
		err = trigger_write(journal->tracefs, entry->name, removal);
	if (err)
		log_write(&journal->log, PERF_POKE_LOG_WARN, "cannot remove a trigger from %s: %s",
			  entry->name, strerror(-err));
	return err;
}

/* Others may have removed it, and made one of the same name. */
static int folder_remove(const struct journal *journal, const struct entry *entry)
{
	char inode[24];
	int err;

	folder_format_inode(journal->tracefs, entry->name, inode);
	if (!strcmp(inode, "0") || (entry->before[0] && strcmp(inode, entry->before) != 0))
		return 0;
	err = unlinkat(journal->tracefs, entry->name, AT_REMOVEDIR) ? -errno : 0;
	if (err)
		log_write(&journal->log, PERF_POKE_LOG_WARN, "cannot remove %s: %s", entry->name,
			  strerror(-err));
	/* -EBUSY would mean settings that tracers share. */
	return err == -EBUSY ? -EAGAIN : err;
}

/* Returns 0 if restored, or left alone because others changed it; else the reason why it cannot be
 * restored now. */
static int entry_restore(const struct journal *journal, const struct entry *entry, bool busy,
			 struct found *found)
{
	char now[4096];
	int err;

	if (entry->kind == KIND_LEFT)
		return 0;
	if (entry->kind == KIND_MADE)
		return folder_remove(journal, entry);
	if (entry->kind == KIND_TRIGGER)
		return trigger_remove(journal, entry);
	err = read_text_at(journal->tracefs, entry->name, now, sizeof(now));
	if (err == -ENOENT)
		return 0;
	if (!err && !entry_has_value(entry, now, entry->after)) {
		/* A dead session may have died before it set this or after it restored this. */
		if (journal->alive || !entry_has_value(entry, now, entry->before))
			found_add_setting(found, entry, now);
		return 0;
	}
	if (!strcmp(entry->before, entry->after))
		return 0;
	if (busy && !strncmp(entry->name, SHARED, strlen(SHARED)))
		return -EBUSY;
	err = setting_write(journal->tracefs, entry->name, entry->before);
	if (err)
		log_write(&journal->log, PERF_POKE_LOG_WARN, "cannot restore %s to '%s': %s",
			  entry->name, entry->before, strerror(-err));
	return err;
}

/* Returns nonzero if the file must stay. */
static int journal_restore(const struct journal *journal, bool busy)
{
	struct found found = {};
	char more[32] = "";
	int err, kept = 0;

	for (size_t i = journal->nr; i--;) {
		err = entry_restore(journal, &journal->entries[i], busy, &found);
		if (!kept || err == -EBUSY)
			kept = err;
	}
	if (found.nr > FOUND_MAX)
		snprintf(more, sizeof(more), ", and %zu more", found.nr - FOUND_MAX);
	if (found.nr)
		log_write(&journal->log, PERF_POKE_LOG_WARN,
			  "settings that have changed meanwhile are not restored: %s%s", found.text,
			  more);
	if (kept == -EBUSY)
		log_write(&journal->log, PERF_POKE_LOG_WARN,
			  "settings of timerlat are not restored while another tracer runs: once "
			  "it has ended, use perf-poke-ctl stop --all");
	else if (kept)
		log_write(&journal->log, PERF_POKE_LOG_WARN,
			  "not all settings are restored: try again with perf-poke-ctl stop --all");
	return kept;
}

void journal_abandon(struct journal *journal)
{
	if (!journal)
		return;
	for (size_t i = 0; i < journal->nr; i++)
		journal_free_entry(&journal->entries[i]);
	free(journal->entries);
	closep(&journal->fd);
	closep(&journal->dirfd);
	free(journal);
}

void journal_leave(struct journal *journal)
{
	if (journal)
		journal_note(journal, KIND_LEFT, "", "", "");
	journal_abandon(journal);
}

static int journal_open_dir(const char *dir, bool make)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (make && mkdir(dir, 0700) && errno != EEXIST)
		return -errno;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* These files direct our privileged writes: check their owner. */
	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid != geteuid() || st.st_mode & 022)
		return -EPERM;
	return TAKE_FD(fd);
}

static int journal_create_file(struct journal *journal)
{
	for (int i = 0; i < 1000000; i++) {
		snprintf(journal->file, sizeof(journal->file), PREFIX "%d", i);
		journal->fd = openat(journal->dirfd, journal->file,
				     O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
		if (journal->fd >= 0)
			return flock(journal->fd, LOCK_EX | LOCK_NB) ? -errno : 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Opens and locks the folder. While this lock is held, an unlocked file belongs to a dead session:
 * nobody is about to lock it. Another session may remove the folder before it is locked. */
static int journal_lock_dir(const char *dir)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		_cleanup_close_ int fd = journal_open_dir(dir, true);

		if (fd < 0 && fd != -ENOENT)
			return fd;
		if (fd >= 0 && flock(fd, LOCK_EX))
			return -errno;
		if (fd >= 0 && !tree_is_removed(fd))
			return TAKE_FD(fd);
	}
	return -EAGAIN;
}

int journal_open(struct journal **ret, const char *dir, int tracefs, const struct log *log)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	int err;

	if (!journal)
		return -ENOMEM;
	journal->dir = dir;
	journal->log = *log;
	journal->tracefs = tracefs;
	journal->alive = true;
	journal->fd = -1;
	journal->dirfd = journal_lock_dir(dir);
	err = journal->dirfd < 0 ? journal->dirfd : journal_create_file(journal);
	if (journal->dirfd >= 0)
		flock(journal->dirfd, LOCK_UN);
	if (err) {
		journal_abandon(journal);
		return log_error(
			log, err,
			"cannot save the settings to restore in %s, so none is changed: %s", dir,
			strerror(-err));
	}
	*ret = journal;
	return 0;
}

void journal_close(struct journal *journal, bool busy)
{
	if (!journal)
		return;
	if (!journal_restore(journal, busy) && !flock(journal->dirfd, LOCK_EX)) {
		unlinkat(journal->dirfd, journal->file, 0);
		/* Fails unless it is empty. */
		rmdir(journal->dir);
	}
	journal_abandon(journal);
}

/* A line is completed before its setting is changed, so an incomplete line is ignored. */
static int journal_parse(struct journal *journal, char *line)
{
	char *end = line + strlen(line), *before, *after;

	if (end == line || end[-1] != '\n')
		return 0;
	end[-1] = '\0';
	before = strchr(line, '\t');
	after = before ? strchr(before + 1, '\t') : NULL;
	if (!after)
		return 0;
	*before++ = *after++ = '\0';
	return journal_add_entry(journal, line[0], line + 1, before, after);
}

static int journal_read(struct journal *journal)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	int fd = dup(journal->fd);
	size_t size = 0;
	int err = 0;

	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	while (!err && getline(&line, &size, file) > 0)
		err = journal_parse(journal, line);
	return err;
}

static bool journal_was_left(const struct journal *journal)
{
	return journal->nr && journal->entries[journal->nr - 1].kind == KIND_LEFT;
}

/* Returns 1 if all of a killed session is restored, or 0 if it belongs to another or must wait. */
static int journal_recover_file(const char *dir, const char *name, int tracefs, bool busy,
				const struct log *log)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	int ret = 0;

	if (!journal)
		return -ENOMEM;
	journal->log = *log;
	journal->tracefs = tracefs;
	journal->dirfd = journal_open_dir(dir, false);
	journal->fd = journal->dirfd < 0
			      ? -1
			      : openat(journal->dirfd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	snprintf(journal->file, sizeof(journal->file), "%s", name);
	if (journal->fd >= 0 && !flock(journal->fd, LOCK_EX | LOCK_NB)) {
		ret = journal_read(journal);
		if (!ret && !journal_restore(journal, busy)) {
			unlinkat(journal->dirfd, journal->file, 0);
			ret = !journal_was_left(journal);
		}
	}
	journal_abandon(journal);
	return ret;
}

int journal_recover(const char *dir, int tracefs, bool busy, const struct log *log)
{
	_cleanup_close_ int dirfd = journal_open_dir(dir, false);
	_cleanup_closedir_ DIR *entries = NULL;
	struct dirent *entry;
	int ret, nr = 0;

	if (dirfd < 0)
		return dirfd == -ENOENT ? 0 : dirfd;
	if (flock(dirfd, LOCK_EX))
		return -errno;
	ret = opendir_at(&entries, dirfd, ".");
	while (ret >= 0 && (entry = readdir(entries))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			continue;
		ret = journal_recover_file(dir, entry->d_name, tracefs, busy, log);
		nr += ret > 0;
	}
	/* Removes the locked folder only, and only if empty. */
	if (!tree_is_removed(dirfd))
		rmdir(dir);
	return ret < 0 ? ret : nr;
}
