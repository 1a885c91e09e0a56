/*
 * probed_libraries.c
 *		Finds libraries to probe among the files that sampled processes map.
 */
#include "kernel/probed_libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/mapped_file.h"
#include "process/owner.h"

#define LOOK_NS	  (2 * NS_PER_S)
/* A library that no sampled process has mapped for this long is dropped. */
#define UNUSED_NS (600 * NS_PER_S)
/* limit of the probed libraries of one owner of processes, or of one disk */
#define SHARE_MAX (PFS_LAUNCH_LIBRARIES / 8)

/*
 * Returns a cookie whose place in the program's array is free. There are as many places as files.
 */
static uint64_t
libraries_free_cookie(ProbedLibraries *libraries)
{
	uint64_t place = 0;

	while (place + 1 < PFS_LAUNCH_LIBRARIES && libraries->cookies[place] != 0)
		place++;
	return ++libraries->numbers * PFS_LAUNCH_LIBRARIES + place;
}

/* Returns true if an owner has room for a library; the disk is asked if the owner is OWNER_NONE. */
static bool
libraries_have_share(const ProbedLibraries *libraries, uint64_t owner, uint64_t device)
{
	size_t count = 0;

	for (size_t i = 0; i < libraries->calls.file_count; i++)
	{
		const ProbedLibrary *library = &libraries->libraries[i];

		count += library->owner == owner && (owner != OWNER_NONE || library->device == device);
	}
	return count < SHARE_MAX;
}

/*
 * Chooses who is charged for a new library: the owner whose process mapped it first, or, if that
 * one has used up its share, the disk, provided that the file is root's. Otherwise a user could
 * keep the driver's library from others by mapping it beside many of his own. Returns false if the
 * library has no place.
 */
static bool
libraries_charge(const ProbedLibraries *libraries, const VisitedFile *visited, uint64_t *owner)
{
	struct stat status;

	if (libraries->calls.file_count == PFS_LAUNCH_LIBRARIES)
		return false;
	*owner = visited->owner;
	if (libraries_have_share(libraries, visited->owner, visited->device))
		return true;
	*owner = OWNER_NONE;
	/* file systems without a device of blocks may be the owner's own */
	return major(visited->device) != 0 && fstat(visited->fd, &status) == 0 && status.st_uid == 0 &&
		   libraries_have_share(libraries, OWNER_NONE, visited->device);
}

/* Called with each mapped library; adds the library if it is new. */
static void
libraries_visit(void *context, const VisitedFile *visited)
{
	ProbedLibraries *libraries = context;
	CallProbe *calls = &libraries->calls;
	ProbedLibrary *library = &libraries->libraries[calls->file_count];
	ProbedFile *file = &libraries->files[calls->file_count];
	uint64_t owner;

	for (size_t i = 0; i < calls->file_count; i++)
	{
		ProbedLibrary *known = &libraries->libraries[i];

		if (known->device == visited->device && known->inode == visited->inode)
		{
			known->seen_ns = libraries->now_ns;
			return;
		}
	}
	if (!libraries_charge(libraries, visited, &owner))
	{
		libraries->refused++;
		return;
	}
	/*
	 * The table may drop the file, with its name and descriptor, while it is probed: keep copies.
	 */
	*library = (ProbedLibrary){ .device = visited->device,
								.inode = visited->inode,
								.owner = owner,
								.name = strdup(visited->name),
								.seen_ns = libraries->now_ns,
								.cookie = libraries_free_cookie(libraries) };
	*file = (ProbedFile){ .name = library->name,
						  .fd = fcntl(visited->fd, F_DUPFD_CLOEXEC, 0),
						  .link = -1,
						  .cookies = { library->cookie } };
	if (library->name == NULL || file->fd < 0)
	{
		free(library->name);
		if (file->fd >= 0)
			close(file->fd);
		return;
	}
	libraries->cookies[library->cookie % PFS_LAUNCH_LIBRARIES] = library->cookie;
	calls->file_count++;
}

/* Drops a library. Returns false if its link cannot be closed at the moment. */
static bool
libraries_drop(ProbedLibraries *libraries, size_t index)
{
	CallProbe *calls = &libraries->calls;
	ProbedLibrary *library = &libraries->libraries[index];

	if (!call_probe_unlink(calls, &libraries->files[index]))
		return false;
	/* The program then accepts launches of another library of the same process. */
	libraries->cookies[library->cookie % PFS_LAUNCH_LIBRARIES] = 0;
	close(libraries->files[index].fd);
	free(library->name);
	calls->file_count--;
	libraries->files[index] = libraries->files[calls->file_count];
	*library = libraries->libraries[calls->file_count];
	return true;
}

/*
 * Adds libraries that processes have mapped since the last search, and drops libraries that none
 * has mapped for UNUSED_NS.
 */
static void
libraries_search(ProbedLibraries *libraries)
{
	CallProbe *calls = &libraries->calls;

	libraries->refused = 0;
	mapped_file_table_visit(calls->source.host->settings.files, libraries->prefix, libraries_visit,
							libraries);
	/* a library that stays mapped is refused in each search, and counted once */
	if (libraries->refused > libraries->refused_before)
		losses_add(calls->source.host->losses, LOSS_PROBES_REFUSED,
				   libraries->refused - libraries->refused_before);
	libraries->refused_before = libraries->refused;
	/* Backwards, because libraries_drop() moves the last library into the gap. */
	for (size_t i = calls->file_count; i-- > 0;)
	{
		if (libraries->now_ns - libraries->libraries[i].seen_ns > UNUSED_NS)
			(void) libraries_drop(libraries, i);
		else
			call_probe_follow(calls, &libraries->files[i]);
	}
}

void
probed_libraries_look(ProbedLibraries *libraries, int64_t now_ns)
{
	libraries->now_ns = (uint64_t) now_ns;
	if (libraries->now_ns - libraries->looked_ns < (uint64_t) LOOK_NS)
		return;
	libraries_search(libraries);
	libraries->looked_ns = libraries->now_ns;
}

void
probed_libraries_fini(ProbedLibraries *libraries)
{
	call_probe_fini(&libraries->calls);
	for (size_t i = 0; i < libraries->calls.file_count; i++)
		free(libraries->libraries[i].name);
}

int
probed_library_headers(const ProbedFile *file, ElfHeaders **result)
{
	ElfHeaders *headers = malloc(sizeof(*headers));
	ElfSource source = { .fd = file->fd };
	struct stat status;
	int error = headers == NULL ? -ENOMEM : fstat(file->fd, &status) != 0 ? -errno : 0;

	if (error == 0)
	{
		source.size_bytes = (uint64_t) status.st_size;
		error = elf_headers_read(headers, &source);
	}
	if (error != 0)
		free(headers);
	else
		*result = headers;
	return error;
}

bool
probed_library_symbol(ElfHeaders *headers, const char *name, bool writable, uint64_t *offset)
{
	uint32_t wanted = writable ? PF_W : PF_X;
	ExportedSymbol symbol;

	if (!exported_symbol_find(headers, name, 1U << (writable ? STT_OBJECT : STT_FUNC), &symbol))
		return false;
	/* The kernel places probes and semaphores by offsets in the file, not by addresses. */
	for (uint32_t i = 0; i < headers->segment_count; i++)
	{
		Elf64_Phdr segment;

		if (elf_headers_segment(headers, i, &segment) && segment.p_type == PT_LOAD &&
			(segment.p_flags & wanted) && symbol.address >= segment.p_vaddr &&
			symbol.address - segment.p_vaddr < segment.p_filesz)
		{
			*offset = segment.p_offset + (symbol.address - segment.p_vaddr);
			return true;
		}
	}
	return false;
}
