// SPDX-License-Identifier: GPL-2.0-only
#include "capture/captures.h"

#include <string.h>
#include <sys/stat.h>

#include "helpers.h"

static void put(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), FOLDER_DEFAULT "/%s/capture.json", name);
	put_file(folder->fd, path, text);
}

static void put_capture(const char *name, int second, int sequence, const char *poked)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"schema\":1,\"spike\":{\"sequence\":%d,\"cpu\":1,\"time_ns\":5,\"poked\":%s,"
		 "\"wall_time\":\"2026-11-21T07:01:%02d.000000Z\"},"
		 "\"recorder\":{\"kind\":\"events\"}}",
		 sequence, poked, second);
	put(name, text);
}

/* Checks the chosen capture, or the message. */
static void check(const char *word, const char *path, const char *said)
{
	_cleanup_free_ char *chosen = NULL;
	_cleanup_free_ char *err = NULL;
	struct console con = { 0 };
	int r;

	err = WRITTEN(file, con.err = file; r = folder_choose(&con, word, &chosen));
	assert_string_equal(err, said);
	assert_int_equal(r, path ? 0 : strstr(said, "required") ? -ENOENT : -ENOTDIR);
	if (path)
		assert_string_equal(chosen, path);
}

TEST(chooses)
{
	const char *none = "perf-poke-ctl: CAPTURE is required: no capture in " FOLDER_DEFAULT "\n";
	_cleanup_free_ char *path = NULL;

	check(NULL, NULL, none);
	put_file(folder->fd, FOLDER_DEFAULT, "");
	check(NULL, NULL, "perf-poke-ctl: '" FOLDER_DEFAULT "': Not a directory\n");
	assert_int_equal(unlink(FOLDER_DEFAULT), 0);
	assert_int_equal(mkdir(FOLDER_DEFAULT, 0700), 0);
	put("broken", "{");
	check(NULL, NULL, none);

	/* Names would sort otherwise; hidden captures are incomplete. */
	put_capture("a", 3, 7, "true");
	put_capture("b", 1, 8, "false");
	put_capture("c", 2, 7, "true");
	put_capture(".partial", 4, 9, "true");
	check(NULL, FOLDER_DEFAULT "/a", "");
	check(FOLDER_DEFAULT, FOLDER_DEFAULT "/a", "");
	check(FOLDER_DEFAULT "/b", FOLDER_DEFAULT "/b", "");
	check("/nowhere", "/nowhere", "");

	assert_int_equal(folder_poked(FOLDER_DEFAULT, 7, &path), 0);
	assert_string_equal(path, FOLDER_DEFAULT "/a");
	assert_int_equal(folder_poked(FOLDER_DEFAULT, 8, &path), -ENOENT);
	assert_int_equal(folder_poked("/nowhere", 7, &path), -ENOENT);
}

int main(void)
{
	return run_all(enter_folder, leave_folder);
}
