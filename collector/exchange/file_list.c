/*
 * file_list.c
 *		Lists files below directories with fts(3).
 */
#include "exchange/file_list.h"

#include <errno.h>
#include <fts.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/directory.h"
#include "exchange/path_labels.h"

#define CAPACITY_MIN 64

/* Appends a copy of a path. */
static ExitCode
add_path(FileList *list, const char *path, Failure *failure)
{
	size_t capacity = list->capacity ? list->capacity * 2 : CAPACITY_MIN;

	if (list->count == list->capacity)
	{
		char **paths = realloc(list->paths, capacity * sizeof(paths[0]));

		if (paths == NULL)
			return failure_out_of_memory(failure);
		list->paths = paths;
		list->capacity = capacity;
	}
	list->paths[list->count] = strdup(path);
	if (list->paths[list->count] == NULL)
		return failure_out_of_memory(failure);
	list->count++;
	return EXIT_OK;
}

static ExitCode
unreadable_directory(const char *path, int error, Failure *failure)
{
	return failure_of_file(failure, "could not read directory", path, strerror(error));
}

static ExitCode
unreadable_file(const char *path, int error, Failure *failure)
{
	return failure_of_file(failure, "could not read file", path, strerror(error));
}

/* Handles one entry of the walk: skips hidden files and directories, adds matching files. */
static ExitCode
list_take_entry(FileList *list, FTS *walk, FTSENT *entry, const char *pattern, Failure *failure)
{
	bool is_hidden = entry->fts_level > FTS_ROOTLEVEL && entry->fts_name[0] == '.';
	int err;

	switch (entry->fts_info)
	{
		case FTS_D:
			if (is_hidden)
			{
				fts_set(walk, entry, FTS_SKIP);
				return EXIT_OK;
			}
			err = directory_check(entry->fts_path);
			return err == 0 ? EXIT_OK : unreadable_directory(entry->fts_path, -err, failure);
		case FTS_F:
			if (is_hidden)
				return EXIT_OK;
			if (pattern == NULL || path_pattern_matches(pattern, entry->fts_path))
				return add_path(list, entry->fts_path, failure);
			list->left_out++;
			return EXIT_OK;
		case FTS_DNR:
		case FTS_ERR:
		case FTS_NS:
			return unreadable_directory(entry->fts_path, entry->fts_errno, failure);
		default:
			return EXIT_OK;
	}
}

static int
file_list_compare_names(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static ExitCode
file_list_add_directory(FileList *list, const char *path, const char *pattern, Failure *failure)
{
	char *const roots[] = { (char *) (uintptr_t) path, NULL };
	FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, file_list_compare_names);
	ExitCode code = EXIT_OK;
	FTSENT *entry;

	if (walk == NULL)
		return unreadable_directory(path, errno, failure);
	while (code == EXIT_OK && (entry = fts_read(walk)) != NULL)
		code = list_take_entry(list, walk, entry, pattern, failure);
	if (code == EXIT_OK && errno != 0) /* fts_read() sets errno to 0 at the end of the walk */
		code = unreadable_directory(path, errno, failure);
	fts_close(walk);
	return code;
}

ExitCode
file_list_add(FileList *list, const char *operand, const char *pattern, Failure *failure)
{
	struct stat status;

	if (strcmp(operand, "-") != 0 && stat(operand, &status) == 0 && S_ISDIR(status.st_mode))
		return file_list_add_directory(list, operand, pattern, failure);
	return add_path(list, operand, failure);
}

static int
compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Reads the paths from the standard output of an earlier import. */
static ExitCode
read_stored(FileList *stored, const char *file, FILE *input, Failure *failure)
{
	char *line = NULL;
	size_t room = 0;
	ExitCode code = EXIT_OK;

	while (code == EXIT_OK && getline(&line, &room, input) >= 0)
	{
		char *end = NULL;

		/* The last ": " ends the path. A path may contain ": ", but the rest of the line cannot. */
		for (char *at = line; (at = strstr(at, ": ")) != NULL; at++)
			end = at;
		if (end == NULL)
			continue;
		*end = '\0';
		code = add_path(stored, line, failure);
	}
	if (code == EXIT_OK && !feof(input))
		code = unreadable_file(file, errno, failure);
	free(line);
	return code;
}

/* Removes the paths that the other list contains, which is sorted. */
static void
remove_stored(FileList *list, const FileList *stored)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
	{
		if (bsearch(&list->paths[i], stored->paths, stored->count, sizeof(char *), compare_paths))
			free(list->paths[i]);
		else
			list->paths[kept++] = list->paths[i];
	}
	list->count = kept;
}

ExitCode
file_list_skip(FileList *list, const char *file, size_t *skipped, Failure *failure)
{
	FileList stored = { NULL };
	size_t before = list->count;
	FILE *input = fopen(file, "re");
	ExitCode code;

	if (input == NULL)
		return unreadable_file(file, errno, failure);
	code = read_stored(&stored, file, input, failure);
	fclose(input);
	if (code == EXIT_OK && stored.count > 0)
	{
		qsort(stored.paths, stored.count, sizeof(char *), compare_paths);
		remove_stored(list, &stored);
	}
	*skipped = before - list->count;
	file_list_free(&stored);
	return code;
}

void
file_list_free(FileList *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->paths[i]);
	free(list->paths);
	*list = (FileList){ NULL };
}
