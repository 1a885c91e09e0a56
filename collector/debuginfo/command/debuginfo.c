/*
 * debuginfo.c
 *		Walks the paths, and runs the requested action on each file.
 */
#include "debuginfo/command/debuginfo.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/log.h"
#include "base/regular_file.h"
#include "database/session.h"
#include "debuginfo/command/debug_find.h"
#include "debuginfo/debug_content.h"
#include "debuginfo/debug_extract.h"
#include "debuginfo/debug_image.h"
#include "debuginfo/debug_upload.h"
#include "debuginfo/source_files.h"
#include "program/stop_signals.h"

#define MODULE "debuginfo"

typedef struct Uploading
{
	Session session;
	uint64_t uploaded;
	uint64_t there;
	uint64_t skipped; /* files that name no code */
	uint64_t failed;
	SourceTree tree;
	SourceCount sources;
} Uploading;

size_t
debuginfo_flags(DebuginfoOptions *options, Flag flags[DEBUGINFO_FLAGS_MAX])
{
	const Flag own[] = {
		{ "output", FLAG_TEXT, &options->output, "FILE", "of extract: the file to write" },
		{ "sources", FLAG_TEXT, &options->source_tree, "DIR",
		  "of upload: store the source files below DIR, too" },
		{ "build-id", FLAG_TEXT, &options->origin.build_id, "ID",
		  "of sources: the build whose code comes from the files" },
		{ "git-ref", FLAG_TEXT, &options->origin.git_ref, "REF",
		  "of sources: git reference of the files, as in label service_git_ref" },
		{ "repository", FLAG_TEXT, &options->origin.repository, "URL",
		  "of sources: with --git-ref, the value of label service_repository" },
		{ "prefix", FLAG_TEXT, &options->origin.prefix, "DIR/",
		  "of sources: prefix of each path; default: / with --build-id, none with --git-ref" },
	};
	size_t count = 0;

	*options = (DebuginfoOptions){ 0 };
	flags[count++] = database_flag(&options->database);
	count += symbolize_source_flags(&options->sources, &flags[count]);
	count += log_flags(&options->log, &flags[count]);
	return flags_append(flags, count, own, sizeof(own) / sizeof(own[0]));
}

/* Reports a file that is left out. is_error: it counts as an error, because an operand named it. */
static void
leave_out(Uploading *uploading, const char *path, const char *reason, bool is_error)
{
	uploading->skipped++;
	uploading->failed += is_error;
	log_event(is_error ? LOG_ERROR : LOG_DEBUG, MODULE, "skipped a file", log_text("file", path),
			  log_text("reason", reason));
}

/* Returns why a file is left out. */
static const char *
reason_of(int error)
{
	switch (error)
	{
		case -ENOEXEC:
			return "it is not an ELF file";
		case -ENODATA:
			return "it has no build ID";
		case -ENOENT:
			return "it has neither symbols nor debug information";
		default:
			return strerror(-error);
	}
}

/* Uploads an open file. is_named: it is an error if nothing of the file can be uploaded. */
static DbOutcome
upload_elf(Uploading *uploading, int input, const char *path, bool is_named, DbError *error)
{
	char build_id[ELF_BUILD_ID_TEXT_BYTES];
	DebugUpload upload = { .build_id = build_id, .name = path, .tenant = "", .hash = "" };
	DebugContent content;
	int output = scratch_file_open();
	int failed = output < 0 ? -errno : debug_extract(input, output, build_id);
	DbOutcome outcome = DB_OK;

	if (failed == 0)
		failed = debug_content_read(output, &content);
	upload.has_lines = failed == 0 && content.has_lines;
	if (failed == 0)
		outcome = debug_upload(&uploading->session.connection, output, &upload, error);
	if (failed == 0 && outcome == DB_OK && uploading->tree.fd >= 0)
		outcome = source_files_store(&uploading->session.connection, input, build_id,
									 &uploading->tree, &uploading->sources, error);
	if (failed == 0 && outcome == DB_OK)
	{
		uploading->uploaded += !upload.was_there;
		uploading->there += upload.was_there;
		log_event(LOG_INFO, MODULE,
				  upload.was_there ? "debug information exists already"
								   : "uploaded debug information",
				  log_text("file", path), log_text("build_id", build_id),
				  log_number("bytes", upload.bytes), log_number("sent_bytes", upload.sent_bytes));
	}
	else if (failed != 0)
		leave_out(uploading, path, reason_of(failed), is_named);
	if (output >= 0)
		close(output);
	return outcome;
}

/* An image whose files are being uploaded. */
typedef struct ImageUpload
{
	Uploading *uploading;
	const char *path;
	DbOutcome outcome;
	DbError *error;
} ImageUpload;

/* Implements ImageFile: uploads one ELF file of an image. */
static bool
upload_image_file(void *context, const char *name, int fd)
{
	ImageUpload *image = context;
	char path[PATH_MAX + IMAGE_NAME_BYTES];

	snprintf(path, sizeof(path), "%s: %s", image->path, name);
	image->outcome = upload_elf(image->uploading, fd, path, false, image->error);
	return image->outcome == DB_OK && !stop_asked();
}

static DbOutcome
upload_image(Uploading *uploading, int input, const char *path, bool is_named, DbError *error)
{
	static const char *const reasons[] = {
		[IMAGE_NONE] = "it is neither an ELF file nor an archive",
		[IMAGE_BROKEN] =
			"the archive, or one within it, is damaged; the files before the damage were uploaded",
		[IMAGE_TOO_BIG] = "the archive unpacks to more than 64 GB",
		[IMAGE_NO_ROOM] = "out of memory, or of space for temporary files",
	};
	ImageUpload image = { uploading, path, DB_OK, error };
	const ImageEnd end = debug_image_walk(input, upload_image_file, &image);

	/* a blob of an OCI layout need not be an archive, but it must not be a damaged one */
	if (end != IMAGE_DONE && end != IMAGE_STOPPED)
		leave_out(uploading, path, reasons[end], is_named || end != IMAGE_NONE);
	return image.outcome;
}

/*
 * Uploads a file. is_archive: a file that is not ELF may be a container image, or a layer of one.
 */
static DbOutcome
upload_file(Uploading *uploading, const char *path, bool is_named, bool is_archive, DbError *error)
{
	int input = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[SELFMAG] = "";
	DbOutcome outcome = DB_OK;

	if (input < 0)
		leave_out(uploading, path, strerror(errno), is_named);
	else if (is_archive && pread(input, magic, sizeof(magic), 0) == sizeof(magic) &&
			 memcmp(magic, ELFMAG, SELFMAG) != 0)
		outcome = upload_image(uploading, input, path, is_named, error);
	else
		outcome = upload_elf(uploading, input, path, is_named, error);
	if (input >= 0)
		close(input);
	return outcome;
}

/* Returns true if a file is blobs/ALGORITHM/DIGEST of an OCI image layout. */
static bool
is_layout_blob(const FTSENT *entry)
{
	const FTSENT *blobs = entry->fts_level > 2 ? entry->fts_parent->fts_parent : NULL;
	char path[PATH_MAX];

	return blobs != NULL && strcmp(blobs->fts_name, "blobs") == 0 &&
		   snprintf(path, sizeof(path), "%.*s/oci-layout", (int) blobs->fts_parent->fts_pathlen,
					entry->fts_path) < (int) sizeof(path) &&
		   access(path, F_OK) == 0;
}

/* Reports a file or a directory that cannot be read. */
static void
uploading_note_unreadable(Uploading *uploading, const char *path, int error)
{
	uploading->failed++;
	log_event(LOG_ERROR, MODULE, "could not read a file", log_text("file", path),
			  log_text("reason", strerror(error)));
}

/*
 * Uploads the files below the paths. Does not follow symbolic links, and stays on the file system
 * of each path.
 */
static DbOutcome
upload_paths(Uploading *uploading, char **paths, DbError *error)
{
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV | FTS_COMFOLLOW, NULL);
	DbOutcome outcome = DB_OK;
	FTSENT *entry = NULL;
	int err;

	if (tree == NULL)
	{
		db_error_set(error, NULL, "out of memory", NULL, NULL);
		return DB_REFUSED;
	}
	errno = 0;
	while (outcome == DB_OK && !stop_asked() && (entry = fts_read(tree)) != NULL)
	{
		if (entry->fts_info == FTS_D && (err = directory_check_entered(entry)) != 0)
		{
			uploading_note_unreadable(uploading, entry->fts_path, -err);
			(void) fts_set(tree, entry, FTS_SKIP);
		}
		else if (entry->fts_info == FTS_F)
			outcome = upload_file(uploading, entry->fts_path, entry->fts_level == 0,
								  entry->fts_level == 0 || is_layout_blob(entry), error);
		else if (entry->fts_info == FTS_ERR || entry->fts_info == FTS_DNR ||
				 entry->fts_info == FTS_NS)
			uploading_note_unreadable(uploading, entry->fts_path, entry->fts_errno);
	}
	/* fts_read() sets errno to 0 at the end of the walk */
	if (entry == NULL && errno != 0)
	{
		uploading->failed++;
		log_event(LOG_ERROR, MODULE, "could not list all files",
				  log_text("reason", strerror(errno)));
	}
	(void) fts_close(tree);
	return outcome;
}

static ExitCode
run_upload(const DebuginfoOptions *options, char **paths, Failure *failure)
{
	Uploading uploading = { .session.connection.wake_fd = -1, .tree.fd = -1 };
	int failed =
		options->source_tree != NULL ? source_tree_open(&uploading.tree, options->source_tree) : 0;
	DbError error;
	DbOutcome outcome;

	if (failed != 0)
	{
		source_tree_close(&uploading.tree);
		failure_set(failure, EXIT_CONFIG, "could not open the directory of source files");
		failure_detail(failure, "%s: %s.", options->source_tree, strerror(-failed));
		return failure->code;
	}
	outcome = session_open(&uploading.session, options->database, &error);

	if (outcome == DB_OK)
	{
		connection_log_notices(&uploading.session.connection, MODULE);
		outcome = upload_paths(&uploading, paths, &error);
	}
	connection_close(&uploading.session.connection);
	source_tree_close(&uploading.tree);
	if (outcome != DB_OK)
	{
		*failure = error.failure;
		return failure->code;
	}
	printf("%llu uploaded, %llu were there, %llu left out\n",
		   (unsigned long long) uploading.uploaded, (unsigned long long) uploading.there,
		   (unsigned long long) uploading.skipped);
	if (options->source_tree != NULL)
		printf("%llu source files stored, %llu not found\n",
			   (unsigned long long) uploading.sources.stored,
			   (unsigned long long) uploading.sources.missing);
	if (uploading.failed == 0)
		return EXIT_OK;
	failure_set(failure, EXIT_IO, "could not upload all files");
	return failure->code;
}

static ExitCode
run_extract(const DebuginfoOptions *options, const char *path, Failure *failure)
{
	char build_id[ELF_BUILD_ID_TEXT_BYTES];
	int input = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int output = -1;
	int error = input < 0 ? -errno : 0;

	if (error == 0)
		output = open(options->output, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (error == 0 && output < 0)
		error = -errno;
	if (error == 0)
		error = debug_extract(input, output, build_id);
	if (error != 0 && output >= 0)
		unlink(options->output);
	if (error == 0)
		printf("%s\n", build_id);
	if (input >= 0)
		close(input);
	if (output >= 0)
		close(output);
	if (error == 0)
		return EXIT_OK;
	return failure_of_file(failure, "could not extract debug information", path, reason_of(error));
}

static ExitCode
run_list(const DebuginfoOptions *options, Failure *failure)
{
	static const Statement statement = {
		.sql =
			"SELECT convert_to(coalesce(string_agg(format(E'%s  %s  %s  %s\\n', d.build_id, d.state, "
			"pg_size_pretty(d.bytes), d.name), '' ORDER BY d.started, d.id), ''), 'UTF8') "
			"FROM profstore.debuginfo AS d",
		.failure = "could not list debug information",
	};
	Connection connection = { .wake_fd = -1 };
	Result *result = NULL;
	DbError error;
	DbOutcome outcome = connection_open(&connection, options->database, &error);

	if (outcome == DB_OK)
		outcome = connection_run(&connection, &statement, 1, &result, &error);
	if (outcome == DB_OK)
		fputs(result_bytes(result, 0, NULL), stdout);
	else
		*failure = error.failure;
	result_free(result);
	connection_close(&connection);
	return outcome == DB_OK ? EXIT_OK : failure->code;
}

ExitCode
debuginfo_run(const DebuginfoOptions *options, char **operands, size_t count)
{
	const char *action = count > 0 ? operands[0] : "";
	Failure failure;
	DbError error;
	ExitCode code;

	if (!conninfo_check(options->database, &error))
	{
		failure = error.failure;
		code = failure.code = EXIT_CONFIG;
	}
	else if (strcmp(action, "upload") == 0 && count > 1)
	{
		stop_signals_catch(false);
		operands[count] = NULL; /* the entries after it are those from which flags were removed */
		code = run_upload(options, operands + 1, &failure);
	}
	else if (strcmp(action, "extract") == 0 && count == 2 && options->output != NULL)
		code = run_extract(options, operands[1], &failure);
	else if (strcmp(action, "list") == 0 && count == 1)
		code = run_list(options, &failure);
	else if (strcmp(action, "find") == 0 && count > 1)
	{
		SymbolizeOptions sources = options->sources;

		stop_signals_catch(false);
		sources.database = options->database;
		code = debug_find(&sources, operands + 1, count - 1, &failure);
	}
	else if (strcmp(action, "sources") == 0 && count > 1)
	{
		stop_signals_catch(false);
		code =
			debug_sources(options->database, &options->origin, operands + 1, count - 1, &failure);
	}
	else
	{
		code = failure_set(&failure, EXIT_USAGE, "nothing to do");
		failure_hint(
			&failure,
			"Use \"debuginfo upload PATH...\", \"debuginfo sources PATH...\", "
			"\"debuginfo extract PATH --output FILE\", \"debuginfo list\" or \"debuginfo find FILE|BUILD_ID...\".");
	}
	if (code == EXIT_OK && stop_asked())
	{
		code = failure_set(&failure, EXIT_IO, "debuginfo was interrupted");
		failure_hint(&failure, "Repeat the command, because some files may be left.");
	}
	if (code != EXIT_OK)
		failure_log(&failure, MODULE);
	return code;
}
