// SPDX-License-Identifier: GPL-2.0-only
/* Lines of a terminal, folded at its width. What is not a terminal gets lines as they are. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/param.h>

/* Continuation lines are indented as the last text that begins before this column. */
#define INDENT_MAX 32
#define COLUMNS_MIN 40

struct console_fold {
	FILE *out; /* the terminal */
	size_t columns;
	char *line;
	size_t length, size;
};

/* The number of bytes of the UTF-8 text that these columns hold. */
static size_t fold_fitting_bytes(const char *text, size_t columns)
{
	size_t bytes = 0;

	for (; text[bytes]; bytes++) {
		if ((text[bytes] & 0xc0) != 0x80 && !columns--)
			break;
	}
	return bytes;
}

/* Where the text of a table's last column, or of a line with a name in front, begins. */
static size_t fold_indent(const char *line)
{
	size_t lead = strspn(line, " "), indent = lead + 2;

	for (size_t at = lead; line[at] && at < INDENT_MAX; at++) {
		if (line[at] == ' ' && line[at - 1] == ' ' && line[at + 1] != ' ')
			indent = at + 1;
	}
	return indent;
}

/* The end of what is printed in this row: before a space, if there is one in it. A word that no row
 * holds stays in one piece: it may be a path. */
static size_t fold_row_end(const char *text, size_t columns, size_t first)
{
	size_t end = fold_fitting_bytes(text, columns);

	if (!text[end])
		return end;
	for (size_t at = end; at > first; at--) {
		if (text[at] == ' ' && text[at - 1] != ' ')
			return at;
	}
	return first + strcspn(text + first, " ");
}

static void fold_put_line(struct console_fold *fold, const char *line)
{
	size_t indent = MIN(fold_indent(line), fold->columns / 2);
	size_t end = fold_row_end(line, fold->columns, strspn(line, " "));
	size_t left;

	fprintf(fold->out, "%.*s", (int)end, line);
	for (line += end; *(line += strspn(line, " ")); line += end) {
		/* A long word gets as much of the row as it needs. */
		left = strcspn(line, " ");
		left = indent + left > fold->columns && left < fold->columns ? fold->columns - left
									     : indent;
		end = fold_row_end(line, fold->columns - left, 0);
		fprintf(fold->out, "\n%*s%.*s", (int)left, "", (int)end, line);
	}
	fputc('\n', fold->out);
}

static ssize_t fold_write(void *cookie, const char *text, size_t size)
{
	struct console_fold *fold = cookie;

	for (size_t i = 0; i < size; i++) {
		if (fold->length + 1 >= fold->size) {
			char *line = realloc(fold->line, fold->size * 2 + 256);

			if (!line)
				return 0;
			fold->line = line;
			fold->size = fold->size * 2 + 256;
		}
		fold->line[fold->length++] = text[i];
		if (text[i] != '\n')
			continue;
		fold->line[fold->length - 1] = '\0';
		fold_put_line(fold, fold->line);
		fold->length = 0;
	}
	fflush(fold->out);
	return ferror(fold->out) ? 0 : (ssize_t)size;
}

size_t terminal_columns(FILE *file)
{
	struct winsize size = { 0 };

	return ioctl(fileno(file), TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

size_t console_terminal_columns(const struct console *con)
{
	size_t columns = terminal_columns(con->out);

	return columns ? MAX(columns, COLUMNS_MIN) : 0;
}

void console_fold(struct console *con)
{
	const cookie_io_functions_t functions = { .write = fold_write };
	size_t columns = console_terminal_columns(con);
	struct console_fold *fold;
	FILE *out;

	if (!columns)
		return;
	fold = calloc(1, sizeof(*fold));
	out = fold ? fopencookie(fold, "w", functions) : NULL;
	if (!out) {
		free(fold);
		return;
	}
	*fold = (struct console_fold){ .out = con->out, .columns = columns };
	con->columns = fold->columns;
	con->fold = fold;
	con->out = out;
}

void console_unfold(struct console *con)
{
	struct console_fold *fold = con->fold;

	if (!fold)
		return;
	fclose(con->out);
	fprintf(fold->out, "%.*s", (int)fold->length, fold->line ?: "");
	con->out = fold->out;
	con->fold = NULL;
	con->columns = 0;
	free(fold->line);
	free(fold);
}

#define CLEAR_SCREEN "\033[H\033[J"

void console_clear_screen(struct console *con)
{
	fflush(con->out);
	fputs(CLEAR_SCREEN, con->fold ? con->fold->out : con->out);
}
