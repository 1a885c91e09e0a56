/*
 * flags_file.c
 *		Each line becomes an argument "--name=value", which is parsed as if it had been typed.
 */
#include "base/flags_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r"

static ExitCode
unreadable(const char *path, const char *reason, Failure *failure)
{
	failure_set(failure, EXIT_IO, "could not read the configuration");
	failure_detail(failure, "\"%s\": %s.", path, reason);
	return failure->code;
}

/*
 * Writes a line at "to" as an argument, without blanks around name and value; NULL where it says
 * nothing. "to" has room for four bytes more than the line.
 */
static char *
make_argument(const char *line, size_t length, char *to)
{
	size_t begin = strspn(line, BLANKS);
	const char *equals;
	size_t name;
	size_t value;

	while (length > begin && strchr(BLANKS, line[length - 1]) != NULL)
		length--;
	if (begin >= length || line[begin] == '#')
		return NULL;
	equals = memchr(line + begin, '=', length - begin);
	if (equals == NULL)
	{
		sprintf(to, "--%.*s", (int) (length - begin), line + begin);
		return to;
	}
	name = (size_t) (equals - line);
	while (name > begin && strchr(BLANKS, line[name - 1]) != NULL)
		name--;
	value = (size_t) (equals + 1 - line);
	value += strspn(line + value, BLANKS);
	value = value < length ? value : length;
	sprintf(to, "--%.*s=%.*s", (int) (name - begin), line + begin, (int) (length - value),
			line + value);
	return to;
}

static ExitCode
parse_lines(FlagsFile *file, const char *path, const char *lines, const Flag *flags,
			size_t flag_count, Failure *failure)
{
	char *to = file->text;
	int number = 1;

	for (const char *line = lines; *line != '\0'; number++)
	{
		size_t length = strcspn(line, "\n");
		char *argument = make_argument(line, length, to);

		if (argument != NULL && flags_parse(flags, flag_count, 1, &argument, failure) != EXIT_OK)
		{
			char words[sizeof(failure->detail)];

			snprintf(words, sizeof(words), "%s", failure->detail);
			failure_detail(failure, "%s, line %d: %s", path, number, words);
			return failure->code;
		}
		if (argument != NULL)
			to += strlen(argument) + 1;
		line += length + (line[length] == '\n');
	}
	return EXIT_OK;
}

ExitCode
flags_file_read(FlagsFile *file, const char *path, const Flag *flags, size_t flag_count,
				Failure *failure)
{
	char lines[FLAGS_FILE_BYTES_MAX + 1];
	FILE *input = fopen(path, "re");
	size_t length;
	bool failed;

	*file = (FlagsFile){ NULL };
	if (input == NULL)
		return unreadable(path, strerror(errno), failure);
	length = fread(lines, 1, sizeof(lines), input);
	failed = ferror(input) != 0;
	fclose(input);
	if (failed)
		return unreadable(path, "It cannot be read", failure);
	if (length > FLAGS_FILE_BYTES_MAX)
		return unreadable(path, "It is larger than 64 kB", failure);
	lines[length] = '\0';
	if (strlen(lines) != length)
		return unreadable(path, "It holds a zero byte", failure);

	/* "--" and the end take what the line break and a blank or two may not have */
	file->text = malloc(4 * length + 4);
	if (file->text == NULL)
		return failure_set(failure, EXIT_INTERNAL, "out of memory");
	return parse_lines(file, path, lines, flags, flag_count, failure);
}

void
flags_file_fini(FlagsFile *file)
{
	free(file->text);
	file->text = NULL;
}
