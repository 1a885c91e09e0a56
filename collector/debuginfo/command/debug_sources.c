/*
 * debug_sources.c
 *		Walks directories and archives, and adds each file to a batch.
 */
#include "debuginfo/command/debug_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"
#include "database/session.h"
#include "debuginfo/debug_image.h"
#include "debuginfo/source_batch.h"
#include "program/stop_signals.h"

#define ORIGIN_BYTES 600 /* more than the database accepts */

/* A directory or an archive whose files are stored. */
typedef struct Storing
{
	SourceBatch batch;
	const char *prefix;
	DbOutcome outcome;
	DbError *error;
} Storing;

/* Adds a file by its path below the prefix. Returns false to stop. */
static bool
storing_add(Storing *storing, const char *name, int fd)
{
	char path[PATH_MAX + IMAGE_NAME_BYTES];

	while (strncmp(name, "./", 2) == 0)
		name += 2;
	while (storing->prefix[0] != '\0' && name[0] == '/')
		name++;
	snprintf(path, sizeof(path), "%s%s", storing->prefix, name);
	storing->outcome = source_batch_add(&storing->batch, path, fd, storing->error);
	return storing->outcome == DB_OK && !stop_asked();
}

/* Implements ImageFile. */
static bool
store_archived_file(void *context, const char *name, int fd)
{
	return storing_add(context, name, fd);
}

/* Sets *failure to the reason for which a directory cannot be read. Returns false. */
static bool
sources_fail_unreadable(const char *path, int error, Failure *failure)
{
	failure_of_file(failure, "could not read a directory of source files", path, strerror(error));
	return false;
}

/* Stores the files below a directory, without those of git itself. Follows no links. */
static void
store_directory(Storing *storing, char *path, Failure *failure)
{
	char *paths[] = { path, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV | FTS_COMFOLLOW, NULL);
	bool goes_on = true;
	const char *name;
	FTSENT *entry;
	int err;

	if (tree == NULL)
	{
		failure_out_of_memory(failure);
		return;
	}
	while (goes_on && (entry = fts_read(tree)) != NULL)
	{
		if (entry->fts_info == FTS_D && entry->fts_level > 0 &&
			strcmp(entry->fts_name, ".git") == 0)
			(void) fts_set(tree, entry, FTS_SKIP);
		else if (entry->fts_info == FTS_D && (err = directory_check_entered(entry)) != 0)
			goes_on = sources_fail_unreadable(entry->fts_path, -err, failure);
		else if (entry->fts_info == FTS_F)
		{
			int fd = open(entry->fts_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

			name = entry->fts_path + strlen(path);
			goes_on = storing_add(storing, name + strspn(name, "/"), fd);
			if (fd >= 0)
				close(fd);
		}
		else if (entry->fts_info == FTS_ERR || entry->fts_info == FTS_DNR ||
				 entry->fts_info == FTS_NS)
			goes_on = sources_fail_unreadable(entry->fts_path, entry->fts_errno, failure);
	}
	if (goes_on && errno != 0) /* fts_read() sets errno to 0 at the end of the walk */
		(void) sources_fail_unreadable(path, errno, failure);
	(void) fts_close(tree);
}

static void
store_archive(Storing *storing, int fd, const char *path, Failure *failure)
{
	static const char *const reasons[] = {
		[IMAGE_NONE] = "It is neither a directory nor a tar archive.",
		[IMAGE_BROKEN] = "The archive is broken or ends early.",
		[IMAGE_TOO_BIG] = "The archive unpacks to more than 64 GB.",
		[IMAGE_NO_ROOM] = "Out of memory, or of space for temporary files.",
	};
	const ImageEnd end =
		debug_image_walk_files(fd, SOURCE_TEXT_BYTES, store_archived_file, storing);

	if (end == IMAGE_DONE || end == IMAGE_STOPPED)
		return;
	failure_set(failure, EXIT_IO, "could not read an archive of source files");
	failure_detail(failure, "%s: %s", path, reasons[end]);
}

/* Stores the files of one path. Sets *failure, or the outcome, if that fails. */
static void
store_path(Storing *storing, char *path, Failure *failure)
{
	const bool is_input = strcmp(path, "-") == 0;
	int fd = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		failure_of_file(failure, "could not open source files", path, strerror(errno));
	else if (S_ISDIR(status.st_mode))
		store_directory(storing, path, failure);
	else
		store_archive(storing, fd, path, failure);
	if (fd >= 0 && !is_input)
		close(fd);
}

/* Writes the files' origin. Returns false, with *failure set, if the options name none or two. */
static bool
find_origin(const DebugSourcesOptions *options, char *origin, Failure *failure)
{
	const bool has_repository = options->repository != NULL;

	if ((options->build_id != NULL) == (options->git_ref != NULL) ||
		(options->build_id != NULL && has_repository))
	{
		failure_set(failure, EXIT_USAGE, "no build ID or git reference given");
		failure_hint(failure, "Use either --build-id, or --git-ref with or without --repository.");
		return false;
	}
	if (options->build_id != NULL)
		snprintf(origin, ORIGIN_BYTES, "%s", options->build_id);
	else
		snprintf(origin, ORIGIN_BYTES, "git:%s%s%s", has_repository ? options->repository : "",
				 has_repository ? "@" : "", options->git_ref);
	return true;
}

ExitCode
debug_sources(const char *database, const DebugSourcesOptions *options, char **paths, size_t count,
			  Failure *failure)
{
	Session session = { .connection.wake_fd = -1 };
	char origin[ORIGIN_BYTES];
	SourceCount stored = { 0 };
	DbError error;
	Storing storing = {
		.batch = { .connection = &session.connection, .origin = origin, .count = &stored },
		.prefix = options->prefix,
		.error = &error
	};

	if (!find_origin(options, origin, failure))
		return failure->code;
	failure->code = EXIT_OK;
	if (options->prefix == NULL)
		storing.prefix = options->build_id != NULL ? "/" : "";
	storing.outcome = session_open(&session, database, &error);
	for (size_t i = 0;
		 storing.outcome == DB_OK && failure->code == EXIT_OK && i < count && !stop_asked(); i++)
		store_path(&storing, paths[i], failure);
	storing.outcome = source_batch_end(&storing.batch, storing.outcome, &error);
	connection_close(&session.connection);
	if (storing.outcome != DB_OK)
	{
		*failure = error.failure;
		return failure->code;
	}
	printf("%llu source files stored, %llu left out\n", (unsigned long long) stored.stored,
		   (unsigned long long) stored.missing);
	return failure->code;
}
