/*
 * dwarf_session.c
 *		Finds frames of an address in DWARF.
 *
 * Two indexes of ranges are built: units of a file when it is opened, functions and inlined calls
 * of a unit at its first lookup. .debug_aranges is not used, because some compilers do not write
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
#include "symbols/dwarf/dwarf_lines.h"
#include "symbols/dwarf/dwarf_package.h"
#include "symbols/dwarf/dwarf_ranges.h"
#include "symbols/worker/address_ranges.h"

#define DEPTH_MAX	   128 /* of entries; deeper ones are ignored */
#define REFERENCES_MAX 16  /* from an inlined call to the declaration of its function */
#define NO_SCOPE	   UINT32_MAX

static const DwarfFrame no_frame = { .name = "", .directory = "", .filename = "" };

/* A function, or a call that is inlined in one. Scopes precede those that are inside of them. */
typedef struct Scope
{
	uint32_t entry;	 /* its place behind the unit's root */
	uint32_t parent; /* scope around an inlined call; NO_SCOPE: this is a function */
} Scope;

/* The parts of sections that belong to a split unit. */
typedef struct Split
{
	DwarfPackage own; /* of its own file; zeroed if it is in the session's package */
	DwarfFile part;
} Split;

typedef struct Unit
{
	DwarfUnit *unit;	/* has the line table */
	DwarfUnit *content; /* has the functions */
	Split *split;		/* of a skeleton; NULL: not known, or there is none */
	bool split_known;
	bool indexed;
	Scope *scopes;
	size_t scope_count;
	size_t scope_room;
	AddressRanges ranges; /* of scopes; values: scope_value() */
} Unit;

struct DwarfSession
{
	DwarfFds fds;
	Elf *elf;
	Elf *alt_elf;
	DwarfFile file;
	DwarfFile alt;
	DwarfPackage package; /* zeroed: none */
	uint64_t room_bytes;  /* for sections that will be unpacked */
	const DwarfUnit *wanted;
	DwarfLines *lines;
	AddressRanges code;	  /* executable sections */
	AddressRanges ranges; /* of units; values: indexes of units */
	Unit *units;
	size_t unit_count;
	size_t unit_room;
};

/*
 * Checks whether a range lies in executable code. Linkers leave the DWARF of discarded functions at
 * addresses near 0, where it must not hide the real functions.
 */
static bool
is_code(const DwarfSession *session, uint64_t address)
{
	uint32_t value;

	return address_ranges_find(&session->code, address, &value);
}

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
	address_ranges_sort(&session->code);
	return err;
}

/* Adds the ranges of an entry that lie in code, and notes whether it has any. */
static int
add_ranges(DwarfSession *session, const DwarfEntry *entry, AddressRanges *ranges, uint32_t value,
		   bool *any)
{
	DwarfRanges walk;
	uint64_t low;
	uint64_t high;
	int err = 0;

	dwarf_ranges_begin(&walk, entry);
	while (err == 0 && dwarf_ranges_next(&walk, &low, &high))
	{
		*any = true;
		if (is_code(session, low))
			err = address_ranges_add(ranges, low, high, value);
	}
	return err;
}

/*
 * Returns the value of a scope's ranges: of equal ranges the one of the smallest value is found,
 * which must be the innermost scope.
 */
static uint32_t
scope_value(size_t index)
{
	return UINT32_MAX - (uint32_t) index;
}

/*
 * Adds a function or an inlined call, with its ranges, to a unit's index. *scope is the scope
 * around it, and becomes its own: NO_SCOPE for a function without code.
 */
static int
session_add_scope(DwarfSession *session, Unit *unit, const DwarfEntry *entry, uint32_t *scope)
{
	uint64_t place = entry->offset - unit->content->root;
	bool is_call = entry->tag == DW_TAG_inlined_subroutine;
	bool any = false;
	int err;

	if (is_call && *scope == NO_SCOPE)
		return 0;
	if (place >= UINT32_MAX || unit->scope_count >= NO_SCOPE)
	{
		*scope = NO_SCOPE;
		return 0;
	}
	err = grow_array(&unit->scopes, &unit->scope_room, unit->scope_count, sizeof(*unit->scopes));
	if (err == 0)
		err = add_ranges(session, entry, &unit->ranges, scope_value(unit->scope_count), &any);
	if (err == 0 && !any && !is_call)
		*scope = NO_SCOPE;
	else if (err == 0)
	{
		unit->scopes[unit->scope_count] = (Scope){ (uint32_t) place, is_call ? *scope : NO_SCOPE };
		*scope = (uint32_t) unit->scope_count++;
	}
	return err;
}

static void
shrink_scopes(Unit *unit)
{
	Scope *scopes = realloc(unit->scopes, (unit->scope_count + 1) * sizeof(*scopes));

	if (scopes != NULL)
		unit->scopes = scopes;
}

/* Adds functions and inlined calls of a unit to its index. */
static int
index_unit(DwarfSession *session, Unit *unit)
{
	DwarfUnit *content = unit->content;
	uint32_t around[DEPTH_MAX] = { NO_SCOPE }; /* scopes around entries of each depth */
	uint64_t at = content->root;
	unsigned depth = 0;
	DwarfEntry entry;
	int err = 0;

	if (unit->indexed)
		return 0;
	while (err == 0)
	{
		uint32_t scope = depth < DEPTH_MAX ? around[depth] : NO_SCOPE;
		unsigned before = depth;

		if (!dwarf_entry_next_scope(content, at, &depth, &entry))
			break;
		while (before < depth && ++before < DEPTH_MAX)
			around[before] = scope;
		at = entry.next;
		if (entry.tag == 0)
			depth -= depth > 0;
		else if (!dwarf_tag_holds_scopes(entry.tag))
			at = dwarf_entry_after(&entry);
		else
		{
			if (depth < DEPTH_MAX &&
				(entry.tag == DW_TAG_subprogram || entry.tag == DW_TAG_inlined_subroutine))
				err = session_add_scope(session, unit, &entry, &scope);
			depth += entry.has_children;
			if (entry.has_children && depth < DEPTH_MAX)
				around[depth] = scope;
		}
	}
	if (err != 0)
	{
		/* the next attempt begins anew, because scopes of this one would count twice */
		unit->scope_count = 0;
		unit->ranges.count = 0;
		return err;
	}
	shrink_scopes(unit);
	address_ranges_sort(&unit->ranges);
	unit->indexed = true;
	return 0;
}

/*
 * Adds a unit with its ranges to the session's index. DWARF 2 cannot describe a unit of several
 * parts, so compilers give the part in .text, and functions outside of it (.text.startup,
 * .text.unlikely) are found by their own ranges.
 */
static int
add_unit(DwarfSession *session, DwarfUnit *added)
{
	Unit *unit;
	DwarfEntry root;
	bool any = false;
	int err = grow_array(&session->units, &session->unit_room, session->unit_count,
						 sizeof(*session->units));

	if (err != 0)
		return err;
	unit = &session->units[session->unit_count++];
	*unit = (Unit){ .unit = added, .content = added };
	unit->split_known = added->kind != DWARF_UNIT_SKELETON;
	if (dwarf_unit_read_root_entry(added, &root))
		err =
			add_ranges(session, &root, &session->ranges, (uint32_t) session->unit_count - 1, &any);
	if (err != 0 || (any && added->sizes.version > 2))
		return err;

	/* a unit without ranges of its own has the ranges of its functions */
	err = index_unit(session, unit);
	for (size_t i = 0; i < unit->ranges.count && err == 0; i++)
	{
		const AddressRange *range = &unit->ranges.items[i];

		if (unit->scopes[scope_value(range->value)].parent == NO_SCOPE)
			err = address_ranges_add(&session->ranges, range->low, range->low + range->size_bytes,
									 (uint32_t) session->unit_count - 1);
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
	address_ranges_sort(&session->ranges);
	return err;
}

/* Opens the supplement; without it names are missing. Returns 0, -EFBIG or -ENOMEM. */
static int
session_open_supplement(DwarfSession *session)
{
	if (session->fds.alternative < 0)
		return 0;
	session->alt_elf = elf_begin(session->fds.alternative, ELF_C_READ_MMAP, NULL);
	if (session->alt_elf == NULL)
		return 0;
	if (!dwarf_elf_fits(session->alt_elf, &session->room_bytes))
		return -EFBIG;
	if (dwarf_file_init(&session->alt, session->alt_elf, false) != 0)
		return 0;
	session->file.supplement = &session->alt;
	return dwarf_units_read(&session->alt);
}

/* Opens the file and what belongs to it. Returns 0, -EFBIG, -ENODATA or -ENOMEM. */
static int
open_files(DwarfSession *session)
{
	int err;

	session->elf = elf_begin(session->fds.file, ELF_C_READ_MMAP, NULL);
	if (session->elf == NULL)
		return -ENODATA;
	if (!dwarf_elf_fits(session->elf, &session->room_bytes))
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
	address_ranges_fini(&unit->ranges);
	free(unit->scopes);
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

	/* a mapping begins at a page; other pointers are memory that libelf allocated and must stay */
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
 * Takes the functions of a skeleton's unit from a package, which may be the split's own. Takes the
 * split. Returns false if they are not there.
 */
static bool
use_split(Unit *unit, const DwarfPackage *package, Split *split)
{
	DwarfUnit *content =
		split != NULL ? dwarf_package_find(package, unit->unit, &split->part) : NULL;

	if (content == NULL)
	{
		split_free(split);
		return false;
	}
	unit->split = split;
	unit->content = content;
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
	/* opened at its final address, because tables refer to their file */
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

/*
 * Sets a frame's path. unit is the one whose directory applies if the path is relative.
 */
static void
set_path(DwarfFrame *frame, const DwarfUnit *unit, const char *path)
{
	frame->filename = path;
	frame->directory = "";
	if (frame->filename[0] != '/' && frame->filename[0] != '\0' && unit->directory != NULL)
		frame->directory = unit->directory;
}

/*
 * Sets a frame's path to the file whose number an attribute holds. The file table is that of the
 * attribute's unit, which can differ from the function's after link-time optimization.
 */
static void
set_path_by_number(const DwarfSession *session, DwarfFrame *frame, const DwarfEntry *entry,
				   DwarfSlot slot)
{
	/* a split unit has the files and the directory of its skeleton */
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
 * Returns true for languages whose linkage names differ from the names in the source: a function
 * without a linkage name is then not fully named.
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

/* Attributes of a function, collected from its entries: a copy, its origin, the declaration. */
typedef struct Described
{
	const char *name;
	const char *linkage_name;
	DwarfFrame declared; /* its file */
	uint64_t line;
} Described;

/* Adds what an entry says and earlier ones did not. */
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
 * Sets names and start line of a function or an inlined copy of it; filename and line are set
 * already.
 */
static void
describe_function(const DwarfSession *session, const DwarfEntry *function, DwarfFrame *frame)
{
	Described described = { .declared = no_frame };
	DwarfEntry entry = *function;
	DwarfEntry next;

	describe_entry(session, &entry, &described);
	for (int i = 0; i < REFERENCES_MAX; i++)
	{
		if (!dwarf_entry_follow(&entry, DWARF_ORIGIN, &next) &&
			!dwarf_entry_follow(&entry, DWARF_SPECIFICATION, &next))
			break;
		entry = next;
		describe_entry(session, &entry, &described);
	}
	frame->linkage_name = described.linkage_name;
	frame->name = described.name != NULL ? described.name : "";
	frame->needs_symbol =
		described.name == NULL ||
		(frame->linkage_name == NULL && is_mangling_language(function->unit->language));

	/*
	 * the start line counts only if the function's file is the frame's: the line may be from an
	 * included file
	 */
	if (described.line <= INT32_MAX &&
		(frame->filename[0] == '\0' ||
		 (strcmp(described.declared.filename, frame->filename) == 0 &&
		  strcmp(described.declared.directory, frame->directory) == 0)))
		frame->start_line = (int32_t) described.line;
}

/* Reads the entry of a scope. */
static bool
session_read_scope(const Unit *unit, uint32_t scope, DwarfEntry *entry)
{
	return dwarf_entry_read(unit->content, unit->content->root + unit->scopes[scope].entry, entry);
}

int
dwarf_session_lookup(DwarfSession *session, uint64_t address, DwarfFrame *frames, int max)
{
	DwarfFrame frame = no_frame;
	DwarfEntry entry;
	const char *path;
	uint32_t value;
	uint32_t scope;
	Unit *unit;
	int count = 0;

	if (!address_ranges_find(&session->ranges, address, &value))
		return 0;
	unit = &session->units[value];
	if (!session_find_split(session, unit))
		return -ENOLINK;
	if (index_unit(session, unit) != 0)
		return -ENOMEM;
	if (dwarf_lines_find(session->lines, unit->unit, address, &path, &frame.line))
		set_path(&frame, unit->unit, path);
	if (!address_ranges_find(&unit->ranges, address, &value))
	{
		frame.needs_symbol = true;
		frames[0] = frame;
		return frame.filename[0] != '\0';
	}

	/*
	 * from the innermost frame outwards: each call site gives the line of the next frame; if there
	 * are too many, the middle ones are dropped
	 */
	for (scope = scope_value(value); unit->scopes[scope].parent != NO_SCOPE;
		 scope = unit->scopes[scope].parent)
	{
		uint64_t number;

		if (!session_read_scope(unit, scope, &entry))
			continue;
		describe_function(session, &entry, &frame);
		/* names may be in a supplement that was not found; the caller's line is then known still */
		if (count < max - 1 && frame.name[0] != '\0')
			frames[count++] = frame;
		frame = no_frame;
		set_path_by_number(session, &frame, &entry, DWARF_CALL_FILE);
		if (dwarf_entry_number(&entry, DWARF_CALL_LINE, &number) && number <= INT32_MAX)
			frame.line = (int32_t) number;
	}
	if (session_read_scope(unit, scope, &entry))
		describe_function(session, &entry, &frame);
	frames[count++] = frame;
	return count;
}
