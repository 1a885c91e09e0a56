/*
 * source_files.c
 *		Lists the source files of all units, reads those that are in the tree, and sends several at
 *		a time.
 */
#include "debuginfo/source_files.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/open_file.h"
#include "program/stop_signals.h"

/* Limit of the different paths that are taken from one file with debug information. */
#define FILES_MAX 200000

/* A source file that debug information names. */
typedef struct SourceFile
{
	char *path;
	const char *directory; /* directory in which the compiler ran; valid as long as the Dwarf */
} SourceFile;

/* The units of a program name the same files again and again. */
typedef struct SourceList
{
	SourceFile *files;
	size_t count;
	size_t room;
	bool is_full; /* the limit of paths is reached; the list is sorted */
	uint64_t left_out;
} SourceList;

int
source_tree_open(SourceTree *tree, const char *path)
{
	tree->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	tree->path = tree->fd >= 0 ? realpath(path, NULL) : NULL;
	return tree->path != NULL ? 0 : -errno;
}

void
source_tree_close(SourceTree *tree)
{
	if (tree->fd >= 0)
		close(tree->fd);
	free(tree->path);
}

static int
source_files_compare_files(const void *a, const void *b)
{
	return strcmp(((const SourceFile *) a)->path, ((const SourceFile *) b)->path);
}

static int
source_files_compare_path(const void *path, const void *file)
{
	return strcmp(path, ((const SourceFile *) file)->path);
}

/* Sorts the list, and drops repeated paths. */
static void
source_list_drop_repeated(SourceList *list)
{
	size_t kept = 0;

	if (list->count == 0)
		return;
	qsort(list->files, list->count, sizeof(list->files[0]), source_files_compare_files);
	for (size_t i = 0; i < list->count; i++)
	{
		if (kept > 0 && strcmp(list->files[kept - 1].path, list->files[i].path) == 0)
			free(list->files[i].path);
		else
			list->files[kept++] = list->files[i];
	}
	list->count = kept;
}

/* Makes room for more paths: drops repeated ones, and grows the list if many others are left. */
static int
source_list_make_room(SourceList *list)
{
	size_t room = list->room == 0 ? 256 : 2 * list->room;
	SourceFile *files;

	source_list_drop_repeated(list);
	list->is_full = list->count >= FILES_MAX;
	if (list->is_full || (list->room > 0 && list->count <= list->room / 2))
		return 0;
	files = realloc(list->files, room * sizeof(*files));
	if (files == NULL)
		return -ENOMEM;
	list->files = files;
	list->room = room;
	return 0;
}

static int
source_list_add(SourceList *list, const char *path, const char *directory)
{
	if (list->count == list->room && !list->is_full && source_list_make_room(list) != 0)
		return -ENOMEM;
	if (list->is_full)
	{
		list->left_out += bsearch(path, list->files, list->count, sizeof(list->files[0]),
								  source_files_compare_path) == NULL;
		return 0;
	}
	list->files[list->count] = (SourceFile){ strdup(path), directory };
	return list->files[list->count++].path != NULL ? 0 : -ENOMEM;
}

static int
source_list_read_unit(SourceList *list, Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	const char *directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	Dwarf_Files *files;
	size_t count;
	int error = 0;

	if (dwarf_getsrcfiles(unit, &files, &count) != 0)
		return 0;
	for (size_t i = 0; error == 0 && i < count; i++)
	{
		const char *path = dwarf_filesrc(files, i, NULL, NULL);

		if (path != NULL && path[0] != '\0' && strlen(path) <= SOURCE_PATH_BYTES)
			error = source_list_add(list, path, directory != NULL ? directory : "");
	}
	return error;
}

/* Lists each path once. */
static int
source_list_read(SourceList *list, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	int error = 0;

	while (error == 0 && dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		error = source_list_read_unit(list, &die);
	if (error == 0)
		source_list_drop_repeated(list);
	return error;
}

static void
source_list_fini(SourceList *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->files[i].path);
	free(list->files);
}

/* Returns the part of a path below a directory; NULL if it is not below it. */
static const char *
path_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	while (length > 0 && directory[length - 1] == '/')
		length--;
	return length > 0 && strncmp(path, directory, length) == 0 && path[length] == '/'
			   ? path + length + 1
			   : NULL;
}

/* Opens a source file inside of the tree. Returns a descriptor or -errno. */
static int
source_file_open(const SourceFile *file, const SourceTree *tree, struct stat *status)
{
	const char *const below[] = { path_below(file->path, tree->path),
								  path_below(file->path, file->directory),
								  file->path[0] != '/' ? file->path : NULL };
	int fd = -ENOENT;

	for (size_t i = 0; fd < 0 && i < sizeof(below) / sizeof(below[0]); i++)
		if (below[i] != NULL)
			fd = open_file_inside(tree->fd, below[i], status);
	return fd;
}

static DbOutcome
source_list_store(const SourceList *list, Connection *connection, const char *build_id,
				  const SourceTree *tree, SourceCount *count, DbError *error)
{
	SourceBatch batch = { .connection = connection, .origin = build_id, .count = count };
	DbOutcome outcome = DB_OK;

	count->missing += list->left_out;
	for (size_t i = 0; outcome == DB_OK && i < list->count && !stop_asked(); i++)
	{
		struct stat status;
		int fd = source_file_open(&list->files[i], tree, &status);

		outcome = source_batch_add(&batch, list->files[i].path, fd, error);
		if (fd >= 0)
			close(fd);
	}
	return source_batch_end(&batch, outcome, error);
}

DbOutcome
source_files_store(Connection *connection, int fd, const char *build_id, const SourceTree *tree,
				   SourceCount *count, DbError *error)
{
	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	SourceList list = { NULL };
	DbOutcome outcome = DB_OK;

	if (dwarf == NULL)
		return DB_OK; /* the file has only symbols, which name no source files */
	if (source_list_read(&list, dwarf) == 0)
		outcome = source_list_store(&list, connection, build_id, tree, count, error);
	else
	{
		db_error_set(error, NULL, "out of memory", NULL, NULL);
		outcome = DB_REFUSED;
	}
	source_list_fini(&list);
	dwarf_end(dwarf);
	return outcome;
}
