// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"
#include "test.h"

#include <sys/socket.h>
#include <sys/un.h>

int sd_journal_send(const char *format, ...);

static char entry[64];

/* Replaces libsystemd's. */
int sd_journal_send(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(entry, sizeof(entry), format, args);
	va_end(args);
	return 0;
}

struct manager {
	int fd;
	struct sockaddr_un address;
	char message[256];
};

static int manager_open(void **state)
{
	static struct manager m;

	m = (struct manager){ .address.sun_family = AF_UNIX };
	snprintf(m.address.sun_path, sizeof(m.address.sun_path), "/tmp/perf-poke-notify-%d",
		 getpid());
	m.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (m.fd < 0 || bind(m.fd, (struct sockaddr *)&m.address, sizeof(m.address)))
		return -1;
	*state = &m;
	return setenv("NOTIFY_SOCKET", m.address.sun_path, 1);
}

static int manager_close(void **state)
{
	struct manager *m = *state;

	close(m->fd);
	unlink(m->address.sun_path);
	return unsetenv("NOTIFY_SOCKET");
}

/* The next message, or "" when there is none. */
static const char *receive(struct manager *m)
{
	ssize_t n = recv(m->fd, m->message, sizeof(m->message) - 1, 0);

	if (n < 0)
		assert_int_equal(errno, EAGAIN);
	m->message[n < 0 ? 0 : n] = '\0';
	return m->message;
}

TEST_WITH(tells, manager_open, manager_close)
{
	struct manager *m = *state;

	if (!systemd_is_built()) {
		systemd_notify("READY=1");
		assert_false(systemd_wants_notify());
		assert_string_equal(receive(m), "");
		return;
	}
	assert_true(systemd_wants_notify());
	systemd_notify("READY=1");
	systemd_notify("MAINPID=7");
	assert_string_equal(receive(m), "READY=1");
	assert_string_equal(receive(m), "MAINPID=7");
	assert_string_equal(receive(m), "");
}

TEST_WITH(is_silent_unasked, manager_open, manager_close)
{
	struct manager *m = *state;

	unsetenv("NOTIFY_SOCKET");
	assert_false(systemd_wants_notify());
	systemd_notify("READY=1");
	assert_string_equal(receive(m), "");
}

/* A missing receiver is no error. */
TEST_WITH(survives_deaf_manager, manager_open, manager_close)
{
	struct manager *m = *state;

	close(m->fd);
	systemd_notify("READY=1");
	m->fd = -1;
}

TEST(entries_end_without_a_newline)
{
	if (!systemd_is_built())
		skip();
	assert_int_equal(systemd_write_journal(6, "one\n"), 0);
	assert_string_equal(entry, "MESSAGE=one");
	assert_int_equal(systemd_write_journal(6, "two"), 0);
	assert_string_equal(entry, "MESSAGE=two");
	assert_int_equal(systemd_write_journal(6, ""), 0);
	assert_string_equal(entry, "MESSAGE=");
}
