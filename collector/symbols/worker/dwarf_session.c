/*
 * dwarf_session.c
 *		Finds the frames of an address in DWARF.
 *
 * The ranges of the units of a file are indexed when it is opened, those of functions when a lookup
 * needs them (function_index.h). .debug_aranges is not used, because some compilers do not write
 * it.
 */
#include "symbols/worker/dwarf_session.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/hash.h"
#include "symbols/dwarf/dwarf_lines.h"
#include "symbols/dwarf/dwarf_package.h"
#include "symbols/worker/address_ranges.h"
#include "symbols/worker/function_index.h"

/* limit of references from an inlined call to the declaration of its function */
#define REFERENCES_MAX 16
#define DESCRIBED_KEPT 4096 /* number of functions whose descriptions are cached */

static const DwarfFrame no_frame = { .name = "", .directory = "", .filename = "" };

/* The parts of sections that belong to a split unit. */
typedef struct Split
{
	DwarfPackage own; /* package of its own file; zeroed if the unit is in the session's package */
	DwarfFile part;
} Split;

typedef struct Unit
{
	DwarfUnit *unit;	/* has the line table */
	DwarfUnit *content; /* has the functions */
	Split *split;		/* split unit of a skeleton; NULL: not known, or there is none */
	bool split_known;
	FunctionIndex functions; /* functions of content */
} Unit;

/* Names and declaration of a function, collected from several entries: the copy, its origin, … */
typedef struct Described
{
	const DwarfUnit *unit; /* the function's unit and entry; NULL: the slot of the cache is free */
	uint64_t offset;
	const char *name;
	const char *linkage_name;
	DwarfFrame declared; /* file of the declaration */
	uint64_t line;
} Described;

struct DwarfSession
{
	DwarfFds fds;
	Elf *elf;
	Elf *alt_elf;
	DwarfFile file;
	DwarfFile alt;
	DwarfPackage package; /* zeroed if there is none */
	uint64_t room_bytes;  /* memory that is left for unpacking sections */
	const DwarfUnit *wanted;
	DwarfLines *lines;
	AddressRanges code;	  /* ranges of the executable sections */
	AddressRanges ranges; /* ranges of units; their values are indexes of units */
	Unit *units;
	size_t unit_count;
	size_t unit_room;
	Described
		*described; /* cache of DESCRIBED_KEPT descriptions, because inlined functions recur */
	bool exhausted; /* memory was exhausted in the last lookup */
};

static int
index_code(DwarfSession *session)
{
	Elf_Scn *section = NULL;
	int err = 0;

	while (err == 0 && (section = elf_nextscn(session->elf, section)) != NULL)
	{
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) != NULL && (header.sh_flags & SHF_EXECINSTR) != 0)
			err = address_ranges_add(&session->code, header.sh_addr,
									 header.sh_addr + header.sh_size, 0);
	}
	return err != 0 ? err : address_ranges_sort(&session->code);
}

/*
 * Adds a unit with its ranges to the session's index. In DWARF 2 a unit has only one range, so
 * compilers give the part in .text. Functions outside of it (.text.startup, .text.unlikely) are
 * found by their own ranges.
 */
static int
add_unit(DwarfSession *session, DwarfUnit *added)
{
	uint32_t number = (uint32_t) session->unit_count;
	Unit *unit;
	DwarfEntry root;
	bool any = false;
	int err = grow_array(&session->units, &session->unit_room, session->unit_count,
						 sizeof(*session->units));

	if (err != 0)
		return err;
	unit = &session->units[session->unit_count++];
	*unit = (Unit){ .unit = added, .content = added };
	unit->functions = (FunctionIndex){ .unit = added, .code = &session->code };
	unit->split_known = added->kind != DWARF_UNIT_SKELETON;
	if (dwarf_unit_read_root_entry(added, &root))
		err = code_ranges_add(&session->code, &root, &session->ranges, number, &any);
	if (err != 0 || (any && added->sizes.version > 2))
		return err;

	/* a unit without ranges gets the ranges of its functions */
	err = function_index_list_all(&unit->functions);
	for (size_t i = 0; i < unit->functions.ranges.count && err == 0; i++)
	{
		const AddressRange *range = &unit->functions.ranges.items[i];

		err = address_ranges_add(&session->ranges, range->low, range->low + range->size_bytes,
								 number);
	}
	return err;
}

/* Indexes all units of the file. */
static int
index_units(DwarfSession *session)
{
	int err = dwarf_units_read(&session->file);

	for (uint32_t i = 0; err == 0 && i < session->file.unit_count; i++)
	{
		DwarfUnit *unit = &session->file.units[i];

		if ((unit->type == 0 || unit->type == DW_UT_compile || unit->type == DW_UT_skeleton) &&
			dwarf_unit_read_root(unit, NULL) && unit->kind != DWARF_UNIT_OTHER)
			err = add_unit(session, unit);
	}
	return err != 0 ? err : address_ranges_sort(&session->ranges);
}

/* Opens the supplement; without it some names are missing. Returns 0, -EFBIG or -ENOMEM. */
static int
session_open_supplement(DwarfSession *session)
{
	if (session->fds.alternative < 0)
		return 0;
	session->alt_elf = elf_begin(session->fds.alternative, ELF_C_READ_MMAP, NULL);
	if (session->alt_elf == NULL)
		return 0;
	if (!dwarf_elf_fits(session->alt_elf, false, &session->room_bytes))
		return -EFBIG;
	if (dwarf_file_init(&session->alt, session->alt_elf, false) != 0)
		return 0;
	session->file.supplement = &session->alt;
	return dwarf_units_read(&session->alt);
}

/* Opens the file, its supplement and its package. Returns 0, -EFBIG, -ENODATA or -ENOMEM. */
static int
open_files(DwarfSession *session)
{
	int err;

	session->elf = elf_begin(session->fds.file, ELF_C_READ_MMAP, NULL);
	if (session->elf == NULL)
		return -ENODATA;
	if (!dwarf_elf_fits(session->elf, false, &session->room_bytes))
		return -EFBIG;
	err = dwarf_file_init(&session->file, session->elf, false);
	if (err == 0)
		err = session_open_supplement(session);
	if (err != 0 || session->fds.package < 0)
		return err;
	err = dwarf_package_open(&session->package, session->fds.package, &session->room_bytes);
	return err == -ENODATA ? 0 : err;
}

static void
session_close_fds(const DwarfFds *fds)
{
	close(fds->file);
	if (fds->alternative >= 0)
		close(fds->alternative);
	if (fds->package >= 0)
		close(fds->package);
}

int
dwarf_session_open(const DwarfFds *fds, size_t unpacked_max, DwarfSession **session)
{
	DwarfSession *made = calloc(1, sizeof(*made));
	int err;

	if (made == NULL)
	{
		session_close_fds(fds);
		return -ENOMEM;
	}
	made->fds = *fds;
	made->room_bytes = unpacked_max;
	elf_version(EV_CURRENT);
	err = open_files(made);
	if (err == 0)
		err = dwarf_lines_create(&made->lines);
	if (err == 0)
		err = index_code(made);
	if (err == 0)
		err = index_units(made);
	if (err == 0)
		*session = made;
	else
		dwarf_session_close(made);
	return err;
}

static void
split_free(Split *split)
{
	if (split == NULL)
		return;
	dwarf_file_fini(&split->part);
	dwarf_package_close(&split->own);
	free(split);
}

static void
fini_unit(Unit *unit)
{
	function_index_fini(&unit->functions);
	split_free(unit->split);
}

void
dwarf_session_close(DwarfSession *session)
{
	if (session == NULL)
		return;
	dwarf_lines_free(session->lines);
	for (size_t i = 0; i < session->unit_count; i++)
		fini_unit(&session->units[i]);
	free(session->units);
	free(session->described);
	address_ranges_fini(&session->ranges);
	address_ranges_fini(&session->code);
	dwarf_file_fini(&session->file);
	dwarf_file_fini(&session->alt);
	dwarf_package_close(&session->package);
	elf_end(session->elf);
	elf_end(session->alt_elf);
	session_close_fds(&session->fds);
	free(session);
}

static void
give_back_file(Elf *elf)
{
	uintptr_t page_bytes = (uintptr_t) sysconf(_SC_PAGESIZE);
	size_t length = 0;
	char *bytes = elf != NULL ? elf_rawfile(elf, &length) : NULL;

	/*
	 * Pointers to the start of a page are mappings; other pointers are memory that libelf
	 * allocated, which must stay.
	 */
	if (bytes != NULL && (uintptr_t) bytes % page_bytes == 0)
		(void) madvise(bytes, length, MADV_DONTNEED);
}

void
dwarf_session_give_back(DwarfSession *session)
{
	give_back_file(session->elf);
	give_back_file(session->alt_elf);
	dwarf_package_give_back(&session->package);
	for (size_t i = 0; i < session->unit_count; i++)
	{
		if (session->units[i].split != NULL)
			dwarf_package_give_back(&session->units[i].split->own);
	}
}

/*
 * Uses the functions of a skeleton's unit from a package, which may be that of split. Owns split.
 * Returns false if the package lacks the unit.
 */
static bool
use_split(Unit *unit, const DwarfPackage *package, Split *split)
{
	const AddressRanges *code = unit->functions.code;
	DwarfUnit *content =
		split != NULL ? dwarf_package_find(package, unit->unit, &split->part) : NULL;

	if (content == NULL)
	{
		split_free(split);
		return false;
	}
	unit->split = split;
	unit->content = content;
	/* a skeleton without ranges was listed when the file was opened */
	function_index_fini(&unit->functions);
	unit->functions = (FunctionIndex){ .unit = content, .code = code };
	unit->split_known = true;
	return true;
}

DwarfWanted
dwarf_session_wanted(const DwarfSession *session)
{
	const DwarfUnit *unit = session->wanted;

	return (DwarfWanted){ .id = unit->split_id,
						  .directory = unit->directory != NULL ? unit->directory : "",
						  .name = unit->split_name };
}

/* Returns the skeleton of a split unit whose file is not known; NULL if there is none. */
static Unit *
find_skeleton(DwarfSession *session, uint64_t id)
{
	for (size_t i = 0; i < session->unit_count; i++)
	{
		if (!session->units[i].split_known && session->units[i].unit->split_id == id)
			return &session->units[i];
	}
	return NULL;
}

void
dwarf_session_add_split(DwarfSession *session, uint64_t id, int fd)
{
	Unit *unit = find_skeleton(session, id);
	Split *split = unit != NULL && fd >= 0 ? calloc(1, sizeof(*split)) : NULL;

	if (unit != NULL)
		unit->split_known = true;
	/* allocate it first, because tables refer to the address of its file */
	if (split != NULL && dwarf_package_open(&split->own, fd, &session->room_bytes) == 0)
		(void) use_split(unit, &split->own, split);
	else
		free(split);
	if (fd >= 0)
		close(fd);
}

/* Looks for the split unit of a skeleton. Returns false if its file is not known yet. */
static bool
session_find_split(DwarfSession *session, Unit *unit)
{
	if (unit->split_known)
		return true;
	if (session->package.bytes != NULL &&
		use_split(unit, &session->package, calloc(1, sizeof(Split))))
		return true;
	unit->split_known = unit->unit->split_name == NULL;
	session->wanted = unit->unit;
	return unit->split_known;
}

/* Sets a frame's path. If the path is relative, the directory of unit applies. */
static void
set_path(DwarfFrame *frame, const DwarfUnit *unit, const char *path)
{
	frame->filename = path;
	frame->directory = "";
	if (frame->filename[0] != '/' && frame->filename[0] != '\0' && unit->directory != NULL)
		frame->directory = unit->directory;
}

/*
 * Sets a frame's path to the file whose number is an attribute. The number refers to the file table
 * of the attribute's unit, which may differ from the function's unit after link-time optimization.
 */
static void
set_path_by_number(const DwarfSession *session, DwarfFrame *frame, const DwarfEntry *entry,
				   DwarfSlot slot)
{
	/* a split unit uses the files and the directory of its skeleton */
	const DwarfUnit *unit = entry->unit->skeleton != NULL ? entry->unit->skeleton : entry->unit;
	uint64_t number;
	const char *path;

	if (!dwarf_entry_number(entry, slot, &number))
		return;
	path = dwarf_lines_path(session->lines, unit, number);
	if (path != NULL)
		set_path(frame, unit, path);
}

/*
 * Returns true for languages whose linkage names differ from the names in the source. A function
 * without a linkage name then has no full name.
 */
static bool
is_mangling_language(uint16_t language)
{
	switch (language)
	{
		case DW_LANG_C_plus_plus:
		case DW_LANG_C_plus_plus_03:
		case DW_LANG_C_plus_plus_11:
		case DW_LANG_C_plus_plus_14:
		case DW_LANG_ObjC_plus_plus:
		case DW_LANG_Rust:
		case DW_LANG_D:
		case DW_LANG_Swift:
			return true;
		default:
			return false;
	}
}

/* Adds the attributes of an entry that earlier entries lack. */
static void
describe_entry(const DwarfSession *session, const DwarfEntry *entry, Described *described)
{
	if (described->name == NULL)
		described->name = dwarf_entry_string(entry, DWARF_NAME);
	if (described->linkage_name == NULL)
		described->linkage_name = dwarf_entry_string(entry, DWARF_LINKAGE_NAME);
	if (described->declared.filename[0] == '\0')
		set_path_by_number(session, &described->declared, entry, DWARF_DECL_FILE);
	if (described->line == 0)
		(void) dwarf_entry_number(entry, DWARF_DECL_LINE, &described->line);
}

/*
 * Follows the references of an entry to the entries that describe the function, and collects their
 * attributes.
 */
static void
collect_description(const DwarfSession *session, const DwarfEntry *function, Described *described)
{
	DwarfEntry entry = *function;
	DwarfEntry next;

	*described = (Described){ .unit = entry.unit, .offset = entry.offset, .declared = no_frame };
	describe_entry(session, &entry, described);
	for (int i = 0; i < REFERENCES_MAX; i++)
	{
		if (!dwarf_entry_follow(&entry, DWARF_ORIGIN, &next) &&
			!dwarf_entry_follow(&entry, DWARF_SPECIFICATION, &next))
			break;
		entry = next;
		describe_entry(session, &entry, described);
	}
}

/* Returns true for an entry with a reference to its function and no description of its own. */
static bool
is_bare(const DwarfEntry *entry)
{
	const uint32_t own =
		1U << DWARF_NAME | 1U << DWARF_LINKAGE_NAME | 1U << DWARF_DECL_FILE | 1U << DWARF_DECL_LINE;

	return dwarf_entry_has(entry, DWARF_ORIGIN) && (entry->has & own) == 0;
}

/*
 * Returns the description of a function, or of an inlined copy of it. It is valid until the next
 * call.
 */
static const Described *
session_describe(DwarfSession *session, const DwarfEntry *function)
{
	static const Described unknown = { .declared = {
										   .name = "", .directory = "", .filename = "" } };
	DwarfUnit *unit = function->unit;
	uint64_t offset = function->offset;
	DwarfEntry entry;
	Described *slot;

	if (session->described == NULL)
		session->described = calloc(DESCRIBED_KEPT, sizeof(*session->described));
	if (session->described == NULL)
	{
		session->exhausted = true;
		return &unknown;
	}
	if (is_bare(function) && !dwarf_entry_target(function, DWARF_ORIGIN, &unit, &offset))
		return &unknown; /* its origin is in a supplement that is missing */
	slot = &session->described[hash_word((uint64_t) (uintptr_t) unit, offset) % DESCRIBED_KEPT];
	if (slot->unit == unit && slot->offset == offset)
		return slot;
	if (offset == function->offset && unit == function->unit)
		collect_description(session, function, slot);
	else if (dwarf_entry_read(unit, offset, &entry) && entry.tag != 0)
		collect_description(session, &entry, slot);
	else
		return &unknown;
	return slot;
}

/*
 * Sets names and start line of a function, or of an inlined copy of it; filename and line must be
 * set already.
 */
static void
describe_function(DwarfSession *session, const DwarfEntry *function, DwarfFrame *frame)
{
	const Described *described = session_describe(session, function);

	frame->linkage_name = described->linkage_name;
	frame->name = described->name != NULL ? described->name : "";
	frame->needs_symbol =
		described->name == NULL ||
		(frame->linkage_name == NULL && is_mangling_language(function->unit->language));

	/*
	 * The start line counts only if the function is declared in the frame's file, because the
	 * frame's line may be in an included file. Equal paths have one address (dwarf_lines.h).
	 */
	if (described->line <= INT32_MAX &&
		(frame->filename[0] == '\0' ||
		 (described->declared.filename == frame->filename &&
		  strcmp(described->declared.directory, frame->directory) == 0)))
		frame->start_line = (int32_t) described->line;
}

/* Reads the entry of a scope. */
static bool
session_read_scope(const Unit *unit, const Scope *scope, DwarfEntry *entry)
{
	return dwarf_entry_read(unit->content, unit->content->root + scope->entry, entry);
}

/*
 * Makes the frames of a chain of scopes, from the innermost outwards. *frame has the path and line
 * of the address. Returns the number of frames.
 */
static int
make_frames(DwarfSession *session, const Unit *unit, const ScopeChain *chain, DwarfFrame frame,
			DwarfFrame *frames, int max)
{
	DwarfEntry entry;
	int count = 0;

	/*
	 * Each call site has the line of the next frame. If there are too many frames, the middle ones
	 * are dropped.
	 */
	for (uint32_t i = chain->innermost; i > 0; i = chain->scopes[i].parent)
	{
		uint64_t number;

		if (!session_read_scope(unit, &chain->scopes[i], &entry))
			continue;
		describe_function(session, &entry, &frame);
		/*
		 * the name may be in a supplement that was not found; the caller's line is known even then
		 */
		if (count < max - 1 && frame.name[0] != '\0')
			frames[count++] = frame;
		frame = no_frame;
		set_path_by_number(session, &frame, &entry, DWARF_CALL_FILE);
		if (dwarf_entry_number(&entry, DWARF_CALL_LINE, &number) && number <= INT32_MAX)
			frame.line = (int32_t) number;
	}
	if (session_read_scope(unit, &chain->scopes[0], &entry))
		describe_function(session, &entry, &frame);
	frames[count++] = frame;
	return count;
}

/* Finds the frames as dwarf_session_lookup(), except for those that do not fit into memory. */
static int
session_find_frames(DwarfSession *session, uint64_t address, DwarfFrame *frames, int max)
{
	DwarfFrame frame = no_frame;
	ScopeChain chain;
	const char *path;
	uint32_t value;
	Unit *unit;
	int err;

	if (!address_ranges_find(&session->ranges, address, &value))
		return 0;
	unit = &session->units[value];
	if (!session_find_split(session, unit))
		return -ENOLINK;
	err = function_index_find(&unit->functions, address, &chain);
	session->exhausted = err == -ENOMEM;
	if (dwarf_lines_find(session->lines, unit->unit, address, &path, &frame.line))
		set_path(&frame, unit->unit, path);
	if (err == 0)
		return make_frames(session, unit, &chain, frame, frames, max);
	frame.needs_symbol = true;
	frames[0] = frame;
	return frame.filename[0] != '\0';
}

int
dwarf_session_lookup(DwarfSession *session, uint64_t address, DwarfFrame *frames, int max)
{
	int count;

	session->exhausted = false;
	count = session_find_frames(session, address, frames, max);
	if (dwarf_lines_exhausted(session->lines))
	{
		session->exhausted = true;
		/* a description without its file would be used again without a sign that it lacks it */
		free(session->described);
		session->described = NULL;
	}
	return count;
}

bool
dwarf_session_exhausted(const DwarfSession *session)
{
	return session->exhausted;
}
