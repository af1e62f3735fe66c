// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/pins.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "io.h"

/* A name looks taken while another process removes a dead session. */
#define CLAIM_TRIES 10
#define CLAIM_PAUSE_US 2000

struct pins {
	char folder[SESSION_NAME_MAX + 1];
	int dirfd;
	int fd;	      /* of the folder, locked */
	int64_t rtla; /* result of rtla_offer_program() */
};

static void copy_replacing(char *to, const char *from, char replaced, char by)
{
	size_t len = strnlen(from, SESSION_NAME_MAX);

	for (size_t i = 0; i < len; i++)
		to[i] = from[i] == replaced ? by : from[i];
	to[len] = '\0';
}

void pins_folder_name(char *to, const char *name)
{
	copy_replacing(to, name, '.', ':');
}

void pins_session_name(char *to, const char *folder)
{
	copy_replacing(to, folder, ':', '.');
}

static int pins_mount_bpffs(const struct log *log)
{
	struct statfs fs;

	if (statfs(PINS_BPFFS, &fs))
		return -errno;
	if ((unsigned long)fs.f_type == BPF_FS_MAGIC)
		return 0;
	if (mount("bpf", PINS_BPFFS, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		return -errno;
	log_write(log, PERF_POKE_LOG_INFO, "mounted bpffs on " PINS_BPFFS);
	return 0;
}

struct path {
	char text[sizeof(PINS_DIR) + 16];
};

static struct path pins_user_path(uid_t uid)
{
	struct path path;

	snprintf(path.text, sizeof(path.text), uid ? PINS_DIR "-%u" : PINS_DIR, uid);
	return path;
}

/* The user must own the folder: bpffs lets everybody create it by default. */
int pins_open_dir(uid_t uid)
{
	_cleanup_close_ int fd =
		open(pins_user_path(uid).text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? -ESTALE : -errno;
	if (fstat(fd, &st))
		return -errno;
	return st.st_uid == uid ? TAKE_FD(fd) : -ESTALE;
}

static int is_folder_of_user(const struct dirent *entry)
{
	struct path path;
	uid_t uid;

	if (sscanf(entry->d_name, "perf-poke-%u", &uid) != 1)
		return 0;
	path = pins_user_path(uid);
	return uid && !strcmp(path.text + strlen(PINS_BPFFS "/"), entry->d_name);
}

int pins_list_users(uid_t **ret)
{
	struct dirent **names = NULL;
	int nr = geteuid() ? 0 : scandir(PINS_BPFFS, &names, is_folder_of_user, NULL);
	uid_t *users = calloc((nr > 0 ? nr : 0) + 1, sizeof(*users));

	if (users)
		users[0] = geteuid();
	for (int i = 0; i < nr; i++) {
		if (users)
			sscanf(names[i]->d_name, "perf-poke-%u", &users[i + 1]);
		free(names[i]);
	}
	free(names);
	*ret = users;
	return users ? (nr > 0 ? nr : 0) + 1 : -ENOMEM;
}

/* -EAGAIN: try again. */
static int pins_make_dir(const struct log *log)
{
	const struct path path = pins_user_path(geteuid());
	bool made = !mkdir(path.text, 0700);
	_cleanup_close_ int fd = -1;
	struct stat st;
	int err = 0;

	if (!made && errno != EEXIST)
		return -errno;
	fd = pins_open_dir(geteuid());
	if (fd < 0 && made) {
		rmdir(path.text);
	} else if (fd == -ESTALE) {
		/* Root removes another user's folder at root's path. */
		err = geteuid() ? -EPERM : tree_remove(AT_FDCWD, PINS_DIR);
		if (!err)
			log_write(log, PERF_POKE_LOG_WARN,
				  "removed " PINS_DIR ", which another user had created");
	}
	if (fd < 0)
		return err ? err : fd == -ENOENT || fd == -ESTALE ? -EAGAIN : fd;
	if (fstat(fd, &st))
		return -errno;
	if ((st.st_mode & 0777) != 0700 && fchmod(fd, 0700))
		return -errno;
	return TAKE_FD(fd);
}

int pins_open_session(int dirfd, const char *folder)
{
	int fd = openat(dirfd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Tries a shared lock, so that two observers do not take each other for the controller. */
bool pins_is_alive(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB))
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

/* Succeeds for the last session only. */
void pins_remove_user_dir(uid_t uid)
{
	if (!rmdir(pins_user_path(uid).text))
		rtla_remove_map();
}

/* Does not wait for the lock: a new session may be about to take it. */
int pins_remove_dead(int dirfd, const char *folder, int fd)
{
	return tree_remove_unlocked(dirfd, folder, fd);
}

/* Locks the new folder, or removes it: without a lock it would look like a dead session. */
static int pins_lock_folder(struct pins *pins)
{
	int err;

	pins->fd = pins_open_session(pins->dirfd, pins->folder);
	if (pins->fd >= 0 && !flock(pins->fd, LOCK_EX))
		return 0;
	err = pins->fd < 0 ? pins->fd : -errno;
	closep(&pins->fd);
	unlinkat(pins->dirfd, pins->folder, AT_REMOVEDIR);
	return err == -ENOENT || err == -EINTR ? -EAGAIN : err;
}

/* -EAGAIN: another process made or removed the folder at the same time. */
static int pins_try_claim_name(struct pins *pins, const struct log *log)
{
	int err;

	closep(&pins->fd);
	closep(&pins->dirfd);
	pins->dirfd = pins_make_dir(log);
	if (pins->dirfd < 0)
		return pins->dirfd;
	tree_remove_leftovers(pins->dirfd, "", false);
	if (mkdirat(pins->dirfd, pins->folder, 0700))
		return errno == EEXIST || errno == ENOENT ? -EAGAIN : -errno;
	err = pins_lock_folder(pins);
	if (err)
		return err;
	if (tree_is_removed(pins->fd)) {
		closep(&pins->fd);
		return -EAGAIN;
	}
	return fchmod(pins->fd, 0700) ? -errno : 0;
}

static int pins_claim_name(struct pins *pins, const char *name, const struct log *log)
{
	int err = -EAGAIN;

	for (int i = 0; i < CLAIM_TRIES && err == -EAGAIN; i++) {
		if (i)
			usleep(CLAIM_PAUSE_US);
		err = pins_try_claim_name(pins, log);
	}
	if (err == -EAGAIN)
		return log_error(log, -EEXIST,
				 "session '%s': name is taken: use another, or stop that session "
				 "(perf-poke-ctl stop %s)",
				 name, name);
	return err;
}

int session_pins_open(struct pins **ret, const char *name, const struct trigger *trigger,
		      const struct log *log)
{
	char path[sizeof(struct path) + SESSION_NAME_MAX + 1];
	struct pins *pins = calloc(1, sizeof(*pins));
	int err;

	if (!pins)
		return -ENOMEM;
	pins->dirfd = pins->fd = -1;
	pins->rtla = -ENOENT;
	pins_folder_name(pins->folder, name);
	snprintf(path, sizeof(path), "%s/%s", pins_user_path(geteuid()).text, pins->folder);
	err = pins_mount_bpffs(log);
	if (!err)
		err = pins_claim_name(pins, name, log);
	if (!err)
		err = trigger_pin(trigger, path);
	if (err) {
		session_pins_free(pins);
		return err;
	}
	/* Failures are ignored: a session works without it. */
	pins->rtla = rtla_offer_program(trigger_rtla_fd(trigger));
	if (pins->rtla < 0 && pins->rtla != -ENOENT)
		log_write(log, PERF_POKE_LOG_WARN,
			  "cannot use " RTLA_PIN
			  ": %s: rtla's --bpf-action will not find the session",
			  strerror((int)-pins->rtla));
	*ret = pins;
	return 0;
}

void session_pins_free(struct pins *pins)
{
	if (!pins)
		return;
	rtla_withdraw_program(pins->rtla);
	if (pins->fd >= 0)
		tree_remove(pins->dirfd, pins->folder);
	closep(&pins->fd);
	if (pins->dirfd >= 0)
		pins_remove_user_dir(geteuid());
	closep(&pins->dirfd);
	free(pins);
}

void session_pins_abandon(struct pins *pins)
{
	if (!pins)
		return;
	closep(&pins->fd);
	closep(&pins->dirfd);
	free(pins);
}
