/*
 * debug_files.c
 *		Searches for separate debug files.
 *
 * The processes in a container control its file system. Therefore paths are resolved below its
 * root, so that a link cannot lead to a file of the host, and only regular files are opened. The
 * file system may not answer, so the search runs on a thread that can be abandoned. The caller's
 * thread asks the symbol worker for checksums.
 */
#include "symbols/elf/debug_files.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/open_file.h"

#define WAIT_NS		 UINT64_C(1000000000)
#define DEBUG_SUFFIX ".debug"
#define ROOTS		 2 /* the process's root and the host's */
#define FOUND_MANY	 (ROOTS * 3)

/* A candidate for the debug file. */
typedef struct Found
{
	ElfFile file;
	FileIdentity identity;
	/* if the path of a supplement is relative, the file's folder has been put before it */
	DebugLinks links;
	bool proven; /* proven by its build ID; otherwise its checksum must match */
} Found;

/* One search. It owns all its data, because the caller may have given up waiting. */
typedef struct Search
{
	Probe probe;
	void (*find)(struct Search *search);
	int (*describe)(ElfFile *file, const ElfSource *source);
	uint32_t root_pid;
	dev_t device; /* device of the binary */
	uid_t owner;
	char *name;
	char *directory;
	ElfBuildId build_id; /* wanted build ID */
	char *link;			 /* NULL: search by build ID only */
	int root_fds[ROOTS];
	int root_count;
	int foreign_fd; /* index in root_fds of the process's root; -1: none */
	Found found[FOUND_MANY];
	uint32_t count;
} Search;

/* Reads .gnu_debuglink: name, NUL, padding to 4 bytes, checksum. A name with a slash is refused. */
static void
read_link(DebugLinks *links, const ElfFile *file)
{
	const ElfExtent *section = &file->debug_link;
	char name[NAME_MAX + 1];
	uint64_t checksum_at;

	if (!elf_source_string(&file->source, section, 0, name, sizeof(name)) || name[0] == '\0' ||
		strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return;
	checksum_at = (strlen(name) + 1 + 3) & ~3ULL;
	if (checksum_at + sizeof(links->checksum) > section->size_bytes ||
		!elf_source_read(&file->source, section->offset + checksum_at, &links->checksum,
						 sizeof(links->checksum)))
		return;
	links->link = strdup(name);
}

/*
 * Reads .gnu_debugaltlink: the path of the supplement that dwz made for several debug files, NUL,
 * and the supplement's build ID.
 */
static void
read_alternative(DebugLinks *links, const ElfFile *file)
{
	const ElfExtent *section = &file->debug_alt_link;
	ElfBuildId *id = &links->alternative_id;
	char path[PATH_MAX];
	size_t length;

	if (!elf_source_string(&file->source, section, 0, path, sizeof(path)))
		return;
	length = strlen(path) + 1;
	if (length >= section->size_bytes || section->size_bytes - length > sizeof(id->bytes) ||
		!elf_source_read(&file->source, section->offset + length, id->bytes,
						 section->size_bytes - length))
		return;
	id->size_bytes = (uint32_t) (section->size_bytes - length);
	links->alternative = strdup(path);
}

void
debug_links_read(DebugLinks *links, const ElfFile *file)
{
	*links = (DebugLinks){ 0 };
	read_link(links, file);
	read_alternative(links, file);
}

void
debug_links_fini(DebugLinks *links)
{
	free(links->link);
	free(links->alternative);
	*links = (DebugLinks){ 0 };
}

/*
 * Returns true if a file has another build ID than the wanted one, or has none and there is no
 * checksum to compare.
 */
static bool
is_another(const Search *search, const ElfFile *file, bool *proven)
{
	const ElfBuildId *wanted = &search->build_id;

	*proven = wanted->size_bytes > 0 && file->build_id.size_bytes > 0;
	if (*proven)
		return elf_build_ids_differ(&file->build_id, wanted);
	return search->link == NULL;
}

/*
 * Returns true if the binary's owner, or root, owns the file. Otherwise a binary could name private
 * files of other users, below any root, and have their functions shown.
 */
static bool
belongs_to_owner(const Search *search, const struct stat *status)
{
	return status->st_uid == search->owner || status->st_uid == 0;
}

/*
 * Returns true if a file may be used. A process can mount other files over its directories while
 * other processes map the same binary, so below its root a file counts only if a user who can write
 * the binary can write the file. is_named: the path contains the binary's name, or a name in the
 * binary, and is not in the directory of debug files.
 */
static bool
counts_there(const Search *search, int root_fd, const struct stat *status, bool is_named)
{
	return root_fd != search->foreign_fd
			   ? !is_named || belongs_to_owner(search, status)
			   : status->st_dev == search->device && belongs_to_owner(search, status);
}

/*
 * Makes the path of a supplement. A relative path is completed with the folder of the file that
 * names it, and cannot leave the root that is searched. If the result is too long, the path stays
 * relative and is not tried.
 */
static char *
supplement_path(const char *alternative, const char *file)
{
	const char *end = strrchr(file, '/');
	char path[PATH_MAX];
	int length;

	if (alternative[0] == '/' || end == NULL)
		return strdup(alternative);
	length = snprintf(path, sizeof(path), "%.*s/%s", (int) (end - file), file, alternative);
	return strdup(length < (int) sizeof(path) ? path : alternative);
}

/* Reads the references of a file at a path. */
static void
read_links_at(DebugLinks *links, const ElfFile *file, const char *path)
{
	char *alternative;

	debug_links_read(links, file);
	if (links->alternative == NULL)
		return;
	alternative = supplement_path(links->alternative, path);
	free(links->alternative);
	links->alternative = alternative;
}

/*
 * Adds the file of a path to the candidates if it may be the wanted one; is_named as for
 * counts_there(). Returns true if its build ID proves it.
 */
static bool
try_path(Search *search, int root_fd, const char *path, bool is_named)
{
	Found *found = &search->found[search->count];
	struct stat status;
	ElfSource source = { .fd = open_file_inside(root_fd, path, &status) };

	if (source.fd < 0)
		return false;
	source.size_bytes = (uint64_t) status.st_size;
	found->identity = file_identity_of(&status);
	if (counts_there(search, root_fd, &status, is_named) &&
		search->describe(&found->file, &source) == 0)
	{
		if (!is_another(search, &found->file, &found->proven))
		{
			read_links_at(&found->links, &found->file, path);
			search->count++;
			return found->proven;
		}
		elf_file_fini(&found->file);
	}
	close(source.fd);
	return false;
}

/* Tries DIR/.build-id/xx/yyyy.debug. */
static bool
try_build_id(Search *search, int root_fd)
{
	const ElfBuildId *id = &search->build_id;
	char digits[ELF_BUILD_ID_TEXT_BYTES];
	char path[PATH_MAX];

	if (id->size_bytes < 2 || search->directory[0] == '\0')
		return false;
	elf_build_id_text(id, digits);
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", search->directory, digits,
			 digits + 2);
	return try_path(search, root_fd, path, false);
}

/* Tries the three places of a file that .gnu_debuglink names. */
static bool
try_link(Search *search, int root_fd)
{
	const char *name = search->name;
	const char *end = strrchr(name, '/');
	int length = end != NULL ? (int) (end - name) : 0;
	char path[PATH_MAX];

	if (name[0] != '/' || end - name > PATH_MAX)
		return false;
	snprintf(path, sizeof(path), "%.*s/%s", length, name, search->link);
	if (strcmp(path, name) != 0 && try_path(search, root_fd, path, true))
		return true;
	snprintf(path, sizeof(path), "%.*s/.debug/%s", length, name, search->link);
	if (try_path(search, root_fd, path, true))
		return true;
	if (search->directory[0] == '\0')
		return false;
	snprintf(path, sizeof(path), "%s%.*s/%s", search->directory, length, name, search->link);
	return try_path(search, root_fd, path, false);
}

/* Searches the debug file: by build ID below each root, then by name. */
static void
find_debug_file(Search *search)
{
	char *link = search->link;

	/* for the paths below, only a file with the build ID counts */
	search->link = NULL;
	for (int i = 0; i < search->root_count; i++)
	{
		if (try_build_id(search, search->root_fds[i]))
			return;
	}
	search->link = link;
	for (int i = 0; i < search->root_count && link != NULL; i++)
	{
		if (try_link(search, search->root_fds[i]))
			return;
	}
}

static void
find_supplement(Search *search)
{
	for (int i = 0; i < search->root_count; i++)
	{
		if (try_build_id(search, search->root_fds[i]) ||
			(search->name[0] == '/' && try_path(search, search->root_fds[i], search->name, true)))
			return;
	}
}

/*
 * Opens the file at a path, whose content the worker checks later; is_named as for counts_there().
 * Returns false if there is no usable file.
 */
static bool
search_take_path(Search *search, int root_fd, const char *path, bool is_named)
{
	Found *found = &search->found[0];
	struct stat status;
	int fd = open_file_inside(root_fd, path, &status);

	if (fd < 0)
		return false;
	if (!counts_there(search, root_fd, &status, is_named))
	{
		close(fd);
		return false;
	}
	found->file.source = (ElfSource){ .fd = fd, .size_bytes = (uint64_t) status.st_size };
	found->identity = file_identity_of(&status);
	found->proven = true;
	search->count = 1;
	return true;
}

/* Like search_take_path(), but formats the path. Returns false also if the path is too long. */
__attribute__((format(printf, 4, 5))) static bool
take_made_path(Search *search, int root_fd, bool is_named, const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	return length < (int) sizeof(path) && search_take_path(search, root_fd, path, is_named);
}

/* Tries the package of a binary below one root. */
static bool
try_package(Search *search, int root_fd)
{
	const char *name = search->name;
	const char *directory = search->directory;
	int length = (int) strlen(name);
	int stem = length - (int) strlen(DEBUG_SUFFIX);
	char digits[ELF_BUILD_ID_TEXT_BYTES];

	if (name[0] != '/')
		return false;
	if (take_made_path(search, root_fd, true, "%s.dwp", name) ||
		(stem > 0 && strcmp(name + stem, DEBUG_SUFFIX) == 0 &&
		 take_made_path(search, root_fd, true, "%.*s.dwp", stem, name)))
		return true;
	if (directory[0] == '\0')
		return false;
	if (take_made_path(search, root_fd, false, "%s%s.dwp", directory, name))
		return true;
	if (search->build_id.size_bytes < 2)
		return false;
	elf_build_id_text(&search->build_id, digits);
	return take_made_path(search, root_fd, false, "%s/.build-id/%.2s/%s.dwp", directory, digits,
						  digits + 2);
}

static void
find_package(Search *search)
{
	for (int i = 0; i < search->root_count; i++)
	{
		if (try_package(search, search->root_fds[i]))
			return;
	}
}

/* Searches for the file of a split unit, whose path is in link. */
static void
search_find_split(Search *search)
{
	const char *name = search->name;
	const char *end = strrchr(name, '/');
	const char *base = strrchr(search->link, '/');

	for (int i = 0; i < search->root_count; i++)
	{
		int root_fd = search->root_fds[i];

		if ((search->link[0] == '/' && search_take_path(search, root_fd, search->link, true)) ||
			(name[0] == '/' && take_made_path(search, root_fd, true, "%.*s/%s", (int) (end - name),
											  name, base != NULL ? base + 1 : search->link)))
			return;
	}
}

static void
run_search(Probe *probe)
{
	Search *search = (Search *) probe;

	search->foreign_fd = -1;
	for (int i = search->root_pid != 0 ? 0 : 1; i < ROOTS; i++)
	{
		search->root_fds[search->root_count] = open_root(i == 0 ? search->root_pid : 0);
		if (i == 0)
			search->foreign_fd = search->root_fds[0];
		search->root_count += search->root_fds[search->root_count] >= 0;
	}
	search->find(search);
	for (int i = 0; i < search->root_count; i++)
		close(search->root_fds[i]);
}

/*
 * Closes the candidates. If patience is not NULL, another thread closes a file whose close may
 * block.
 */
static void
end_search(Search *search, Patience *patience)
{
	for (uint32_t i = 0; i < search->count; i++)
	{
		Found *found = &search->found[i];

		if (found->file.source.fd >= 0 && patience != NULL)
			patience_close(patience, found->file.source.fd);
		else if (found->file.source.fd >= 0)
			close(found->file.source.fd);
		elf_file_fini(&found->file);
		debug_links_fini(&found->links);
	}
	free(search->name);
	free(search->directory);
	free(search->link);
	free(search);
}

/* Frees a search together with the files that the caller did not take. */
static void
discard_search(Probe *probe)
{
	end_search((Search *) probe, NULL);
}

/* The parameters of a search. */
typedef struct Quest
{
	void (*find)(Search *search);
	int (*describe)(ElfFile *file, const ElfSource *source);
	const ElfBuildId *build_id;
	const char *name;
	const char *link; /* NULL: none */
} Quest;

/* Runs a search. Returns 0 with the finished search, -EAGAIN or -ENOMEM. */
static int
start_search(const Quest *quest, const DebugPlaces *places, Search **result)
{
	Search *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return -ENOMEM;
	made->probe = (Probe){ .run = run_search,
						   .discard = discard_search,
						   .subject.pid = (uint32_t) places->root_pid };
	made->find = quest->find;
	made->describe = quest->describe;
	made->root_pid = places->root_pid;
	made->device = places->device;
	made->owner = places->owner;
	made->build_id = *quest->build_id;
	made->name = strdup(quest->name);
	made->directory = strdup(places->directory);
	made->link = quest->link != NULL ? strdup(quest->link) : NULL;
	if (made->name == NULL || made->directory == NULL ||
		(quest->link != NULL && made->link == NULL))
	{
		end_search(made, NULL);
		return -ENOMEM;
	}
	if (patience_run(places->patience, &made->probe, WAIT_NS) != 0)
		return -EAGAIN;
	*result = made;
	return 0;
}

/*
 * Chooses the first candidate that is proven or has the right checksum; its file belongs to the
 * caller. Returns 0, even if there is none; -EINPROGRESS or -EAGAIN if a checksum is not known yet.
 */
static int
choose_found(Search *searched, const DebugPlaces *places, uint32_t checksum, ElfFile *file,
			 FileIdentity *identity, DebugLinks *links)
{
	for (uint32_t i = 0; i < searched->count; i++)
	{
		Found *found = &searched->found[i];
		int err = found->proven ? 0
								: places->compare_checksum(places->context, found->file.source.fd,
														   &found->identity, checksum);

		if (err == -EINPROGRESS || err == -EAGAIN)
			return -EINPROGRESS;
		if (err != 0)
			continue;
		*file = found->file;
		*identity = found->identity;
		*links = found->links;
		memset(&found->file, 0, sizeof(found->file));
		found->file.source.fd = -1;
		found->links = (DebugLinks){ 0 };
		return 0;
	}
	return 0;
}

static int
open_debug_file(DebugFiles *files, const DebugWanted *wanted, const DebugPlaces *places,
				DebugLinks *links)
{
	const Quest quest = { find_debug_file, elf_file_init, wanted->build_id, places->name,
						  wanted->links->link };
	Search *searched;
	int err = start_search(&quest, places, &searched);

	if (err != 0)
		return err;
	err = choose_found(searched, places, wanted->links->checksum, &files->debug, &files->identity,
					   links);
	end_search(searched, places->patience);
	return err;
}

/* Opens the supplement of the file with DWARF, by the build ID or the path in that file. */
static int
search_open_supplement(DebugFiles *files, const DebugLinks *links, const DebugPlaces *places)
{
	Quest quest = { find_supplement, elf_file_init_supplement, &links->alternative_id, NULL, NULL };
	DebugLinks none = { 0 };
	Search *searched;
	ElfFile file = { .source.fd = -1 };
	char *path;
	int err;

	if (links->alternative == NULL)
		return 0;
	path = supplement_path(links->alternative, places->name);
	if (path == NULL)
		return -ENOMEM;
	quest.name = path;
	err = start_search(&quest, places, &searched);
	free(path);
	if (err != 0)
		return err;
	err = choose_found(searched, places, 0, &file, &files->alt_identity, &none);
	if (file.source.fd >= 0)
	{
		files->alt_fd = file.source.fd;
		elf_file_fini(&file);
		debug_links_fini(&none);
	}
	end_search(searched, places->patience);
	return err;
}

/* Opens the package of the split units of the file that has DWARF. */
static int
open_package(DebugFiles *files, const DebugWanted *wanted, const DebugPlaces *places)
{
	const Quest quest = { find_package, NULL, wanted->build_id, places->name, NULL };
	DebugLinks none = { 0 };
	ElfFile file = { .source.fd = -1 };
	Search *searched;
	int err;

	if (!wanted->has_dwarf && !files->debug.has_dwarf)
		return 0;
	err = start_search(&quest, places, &searched);
	if (err != 0)
		return err;
	err = choose_found(searched, places, 0, &file, &files->package_identity, &none);
	files->package_fd = file.source.fd;
	end_search(searched, places->patience);
	return err;
}

int
debug_split_open(const char *path, const DebugPlaces *places, int *fd)
{
	const ElfBuildId no_id = { 0 };
	const Quest quest = { search_find_split, NULL, &no_id, places->name, path };
	DebugLinks none = { 0 };
	ElfFile file = { .source.fd = -1 };
	FileIdentity identity;
	Search *searched;
	int err = start_search(&quest, places, &searched);

	if (err != 0)
		return err;
	err = choose_found(searched, places, 0, &file, &identity, &none);
	*fd = file.source.fd;
	end_search(searched, places->patience);
	return err;
}

int
debug_files_open(DebugFiles *files, const DebugWanted *wanted, const DebugPlaces *places)
{
	DebugLinks links = { 0 };
	int err = 0;

	*files = DEBUG_FILES_NONE;
	if (!wanted->has_dwarf)
		err = open_debug_file(files, wanted, places, &links);
	if (err == 0)
		err = search_open_supplement(files, wanted->has_dwarf ? wanted->links : &links, places);
	if (err == 0)
		err = open_package(files, wanted, places);
	debug_links_fini(&links);
	if (err != 0)
		debug_files_close(files, places->patience);
	return err;
}

void
debug_files_close(DebugFiles *files, Patience *patience)
{
	if (files->debug.source.fd >= 0)
		patience_close(patience, files->debug.source.fd);
	if (files->alt_fd >= 0)
		patience_close(patience, files->alt_fd);
	if (files->package_fd >= 0)
		patience_close(patience, files->package_fd);
	elf_file_fini(&files->debug);
	*files = DEBUG_FILES_NONE;
}
