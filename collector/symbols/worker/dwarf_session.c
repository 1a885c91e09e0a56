/*
 * dwarf_session.c
 *		Finds frames of an address with libdw.
 *
 * libdw can find scopes itself, but it walks a whole unit for each address and relies on
 * .debug_aranges, which some compilers do not write. Therefore two indexes of ranges are built
 * here: units of a file when it is opened, functions of a unit at its first lookup. Only the
 * inlined calls of one function are then walked. dwarf_lines reads the line tables.
 */
#include "symbols/worker/dwarf_session.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/worker/address_ranges.h"
#include "symbols/worker/dwarf_lines.h"

#define DIE_DEPTH_MAX	 128 /* nested scopes; deeper ones are ignored */
#define INLINE_DEPTH_MAX 256

static const DwarfFrame no_frame = { .name = "", .directory = "", .filename = "" };

typedef struct Unit
{
	Dwarf_Die die;	   /* has the line table */
	Dwarf_Die content; /* has the functions; in another file for split DWARF */
	bool indexed;
	AddressRanges functions; /* values: offsets of DIEs */
} Unit;

struct DwarfSession
{
	int fd;
	int alt_fd;
	Elf *elf;
	Elf *alt_elf;
	Dwarf *dwarf;
	Dwarf *alt;
	DwarfLines *lines;
	DwarfLines *alt_lines; /* NULL: no supplement */
	AddressRanges code;	   /* executable sections */
	AddressRanges ranges;  /* of units; values: indexes of units */
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
	uint64_t value;

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

static int
add_die_ranges(DwarfSession *session, Dwarf_Die *die, AddressRanges *ranges, uint64_t value,
			   bool *any)
{
	Dwarf_Addr base;
	Dwarf_Addr low;
	Dwarf_Addr high;
	ptrdiff_t offset = 0;
	int err = 0;

	while (err == 0 && (offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0)
	{
		*any = true;
		if (is_code(session, low))
			err = address_ranges_add(ranges, low, high, value);
	}
	return err;
}

/* Returns true if scopes with code can lie inside of a DIE. */
static bool
holds_functions(int tag)
{
	switch (tag)
	{
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_interface_type:
		case DW_TAG_subprogram:
		case DW_TAG_lexical_block:
		case DW_TAG_common_block:
			return true;
		default:
			return false;
	}
}

/* Adds the functions below a DIE to the unit's index. */
static int
index_functions(DwarfSession *session, Unit *unit, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;
	bool any = false;
	int err = 0;

	if (depth > DIE_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return 0;
	do
	{
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			err = add_die_ranges(session, &die, &unit->functions, dwarf_dieoffset(&die), &any);
		if (err == 0 && holds_functions(tag))
			err = index_functions(session, unit, &die, depth + 1);
	} while (err == 0 && dwarf_siblingof(&die, &die) == 0);
	return err;
}

static int
index_unit(DwarfSession *session, Unit *unit)
{
	int err;

	if (unit->indexed)
		return 0;
	err = index_functions(session, unit, &unit->content, 0);
	address_ranges_sort(&unit->functions);
	unit->indexed = err == 0;
	return err;
}

/*
 * Adds a unit with its ranges to the session's index. DWARF 2 cannot describe a unit of several
 * parts, so compilers give the part in .text, and functions outside of it (.text.startup,
 * .text.unlikely) are found by their own ranges.
 */
static int
add_unit(DwarfSession *session, const Dwarf_Die *die, const Dwarf_Die *content, Dwarf_Half version)
{
	Unit *unit;
	bool any = false;
	int err;

	if (session->unit_count == session->unit_room)
	{
		size_t room = session->unit_room == 0 ? 64 : session->unit_room * 2;
		Unit *units = realloc(session->units, room * sizeof(*units));

		if (units == NULL)
			return -ENOMEM;
		session->units = units;
		session->unit_room = room;
	}
	unit = &session->units[session->unit_count++];
	*unit = (Unit){ .die = *die, .content = *content };
	err = add_die_ranges(session, &unit->die, &session->ranges, session->unit_count - 1, &any);
	if (err != 0 || (any && version > 2))
		return err;

	/* a unit without ranges of its own has the ranges of its functions */
	err = index_unit(session, unit);
	for (size_t i = 0; i < unit->functions.count && err == 0; i++)
		err = address_ranges_add(&session->ranges, unit->functions.items[i].low,
								 unit->functions.items[i].high, session->unit_count - 1);
	return err;
}

/* Indexes all units of the file. */
static int
index_units(DwarfSession *session)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	Dwarf_Die split;
	Dwarf_Half version;
	uint8_t type;
	int err = 0;

	while (err == 0 && dwarf_get_units(session->dwarf, cu, &cu, &version, &type, &die, &split) == 0)
	{
		if (type == DW_UT_compile)
			err = add_unit(session, &die, &die, version);
		else if (type == DW_UT_skeleton)
			err = add_unit(session, &die, split.addr != NULL ? &split : &die, version);
	}
	address_ranges_sort(&session->ranges);
	return err;
}

/* Returns the size of an unpacked debug section from its header; 0 if it is not compressed. */
static uint64_t
unpacked_size(Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
	uint8_t old_header[12]; /* "ZLIB", and the size in 64 bits, big-endian */
	GElf_Chdr compressed;
	Elf_Data *data;
	uint64_t size_bytes;

	if ((header->sh_flags & SHF_COMPRESSED) != 0)
		return gelf_getchdr(section, &compressed) != NULL ? compressed.ch_size : UINT64_MAX;
	if (strncmp(name, ".zdebug", strlen(".zdebug")) != 0)
		return 0;
	data = elf_rawdata(section, NULL);
	if (data == NULL || data->d_size < sizeof(old_header))
		return 0;
	memcpy(&size_bytes, (const char *) data->d_buf + 4, sizeof(size_bytes));
	return be64toh(size_bytes);
}

/*
 * Subtracts from the room what libdw unpacks when it opens a file: all compressed sections with
 * debug information. Returns false if they do not fit.
 */
static bool
fits_unpacked(Elf *elf, uint64_t *room_bytes)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return true;
	while ((section = elf_nextscn(elf, section)) != NULL)
	{
		GElf_Shdr header;
		const char *name;
		uint64_t size_bytes;

		if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		size_bytes = name != NULL ? unpacked_size(section, &header, name) : 0;
		if (size_bytes > *room_bytes)
			return false;
		*room_bytes -= size_bytes;
	}
	return true;
}

/* Opens libdw sessions of the file and its supplement. Returns 0, -EFBIG or -ENODATA. */
static int
open_files(DwarfSession *session, uint64_t unpacked_max)
{
	session->elf = elf_begin(session->fd, ELF_C_READ_MMAP, NULL);
	if (session->elf == NULL)
		return -ENODATA;
	if (!fits_unpacked(session->elf, &unpacked_max))
		return -EFBIG;
	session->dwarf = dwarf_begin_elf(session->elf, DWARF_C_READ, NULL);
	if (session->dwarf == NULL)
		return -ENODATA;
	if (session->alt_fd < 0)
		return 0;
	session->alt_elf = elf_begin(session->alt_fd, ELF_C_READ_MMAP, NULL);
	if (session->alt_elf == NULL)
		return 0;
	if (!fits_unpacked(session->alt_elf, &unpacked_max))
		return -EFBIG;
	session->alt = dwarf_begin_elf(session->alt_elf, DWARF_C_READ, NULL);
	return 0;
}

int
dwarf_session_open(int fd, int alt_fd, size_t unpacked_max, DwarfSession **session)
{
	DwarfSession *made = calloc(1, sizeof(*made));
	int err;

	if (made == NULL)
	{
		close(fd);
		if (alt_fd >= 0)
			close(alt_fd);
		return -ENOMEM;
	}
	made->fd = fd;
	made->alt_fd = alt_fd;
	elf_version(EV_CURRENT);
	err = open_files(made, unpacked_max);
	if (err == 0)
	{
		if (made->alt != NULL)
			dwarf_setalt(made->dwarf, made->alt);
		err = dwarf_lines_create(made->elf, &made->lines);
		if (err == 0 && made->alt != NULL)
			err = dwarf_lines_create(made->alt_elf, &made->alt_lines);
		if (err == 0)
			err = index_code(made);
		if (err == 0)
			err = index_units(made);
	}
	if (err == 0)
		*session = made;
	else
		dwarf_session_close(made);
	return err;
}

void
dwarf_session_close(DwarfSession *session)
{
	if (session == NULL)
		return;
	for (size_t i = 0; i < session->unit_count; i++)
		address_ranges_fini(&session->units[i].functions);
	free(session->units);
	address_ranges_fini(&session->ranges);
	address_ranges_fini(&session->code);
	dwarf_lines_free(session->lines);
	dwarf_lines_free(session->alt_lines);
	dwarf_end(session->dwarf);
	dwarf_end(session->alt);
	elf_end(session->elf);
	elf_end(session->alt_elf);
	close(session->fd);
	if (session->alt_fd >= 0)
		close(session->alt_fd);
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
}

/*
 * Sets a frame's path. unit is the DIE of the unit, whose directory applies if the path is
 * relative.
 */
static void
set_path(DwarfFrame *frame, Dwarf_Die *unit, const char *path)
{
	Dwarf_Attribute attribute;
	const char *directory = NULL;

	frame->filename = path;
	frame->directory = "";
	if (frame->filename[0] == '/' || frame->filename[0] == '\0')
		return;
	if (dwarf_attr(unit, DW_AT_comp_dir, &attribute) != NULL)
		directory = dwarf_formstring(&attribute);
	if (directory != NULL)
		frame->directory = directory;
}

/*
 * Sets a frame's path to the file whose number an attribute holds. The file table is that of the
 * attribute's unit, which can differ from the function's after link-time optimization.
 * dwarf_decl_file() does this too, but aborts on split units.
 */
static void
set_path_by_number(const DwarfSession *session, DwarfFrame *frame, Dwarf_Attribute *attribute)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(attribute->cu);
	DwarfLines *lines = dwarf == session->dwarf ? session->lines : NULL;
	Dwarf_Die unit;
	Dwarf_Word number;
	const char *path;

	if (dwarf == session->alt)
		lines = session->alt_lines;
	if (lines == NULL || dwarf_formudata(attribute, &number) != 0 ||
		dwarf_cu_die(attribute->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) == NULL)
		return;
	path = dwarf_lines_path(lines, dwarf_dieoffset(&unit), number);
	if (path != NULL)
		set_path(frame, &unit, path);
}

static const char *
attribute_string(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, name, &attribute) != NULL ? dwarf_formstring(&attribute)
															   : NULL;
}

/*
 * Returns true for languages whose linkage names differ from the names in the source: a function
 * without a linkage name is then not fully named.
 */
static bool
is_mangling_language(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (dwarf_cu_die(die->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) == NULL)
		return false;
	switch (dwarf_srclang(&unit))
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

/*
 * Sets names and start line of a function or an inlined copy of it; filename and line are set
 * already.
 */
static void
describe_function(const DwarfSession *session, Dwarf_Die *die, DwarfFrame *frame)
{
	const char *name = attribute_string(die, DW_AT_name);
	DwarfFrame declared = no_frame;
	Dwarf_Attribute attribute;
	int line;

	frame->linkage_name = attribute_string(die, DW_AT_linkage_name);
	if (frame->linkage_name == NULL)
		frame->linkage_name = attribute_string(die, DW_AT_MIPS_linkage_name);
	frame->name = name != NULL ? name : "";
	frame->needs_symbol =
		name == NULL || (frame->linkage_name == NULL && is_mangling_language(die));

	/*
	 * the start line counts only if the function's file is the frame's: the line may be from an
	 * included file
	 */
	if (dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) != NULL)
		set_path_by_number(session, &declared, &attribute);
	if (dwarf_decl_line(die, &line) == 0 &&
		(frame->filename[0] == '\0' || (strcmp(declared.filename, frame->filename) == 0 &&
										strcmp(declared.directory, frame->directory) == 0)))
		frame->start_line = line;
}

/* A search of inlined calls around an address, outermost first. */
typedef struct InlineWalk
{
	Dwarf_Addr address;
	int count;
	Dwarf_Die calls[INLINE_DEPTH_MAX];
} InlineWalk;

/*
 * Finds the child DIE that covers the address and may hold inlined calls. Blocks without addresses
 * are searched if no other child covers it.
 */
static bool
covering_child(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *found)
{
	Dwarf_Die die;
	bool vague = false;

	if (dwarf_child(parent, &die) != 0)
		return false;
	do
	{
		int tag = dwarf_tag(&die);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
			tag != DW_TAG_try_block && tag != DW_TAG_catch_block && tag != DW_TAG_with_stmt)
			continue;
		if (dwarf_haspc(&die, address) > 0)
		{
			*found = die;
			return true;
		}
		if (!vague && tag == DW_TAG_lexical_block && !dwarf_hasattr(&die, DW_AT_low_pc) &&
			!dwarf_hasattr(&die, DW_AT_ranges))
		{
			*found = die;
			vague = true;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return vague;
}

static void
walk_inlined(InlineWalk *walk, const Dwarf_Die *function)
{
	Dwarf_Die die = *function;

	for (int depth = 0; depth < DIE_DEPTH_MAX; depth++)
	{
		Dwarf_Die child;

		if (!covering_child(&die, walk->address, &child))
			return;
		if (dwarf_tag(&child) == DW_TAG_inlined_subroutine && walk->count < INLINE_DEPTH_MAX)
			walk->calls[walk->count++] = child;
		die = child;
	}
}

int
dwarf_session_lookup(DwarfSession *session, uint64_t address, DwarfFrame *frames, int max)
{
	InlineWalk walk = { .address = address };
	DwarfFrame frame = no_frame;
	Dwarf_Die function;
	const char *path;
	uint64_t value;
	Unit *unit;
	int count = 0;

	if (!address_ranges_find(&session->ranges, address, &value))
		return 0;
	unit = &session->units[value];
	if (index_unit(session, unit) != 0)
		return -ENOMEM;
	if (dwarf_lines_find(session->lines, dwarf_dieoffset(&unit->die), address, &path, &frame.line))
		set_path(&frame, &unit->die, path);
	if (!address_ranges_find(&unit->functions, address, &value) ||
		dwarf_offdie(dwarf_cu_getdwarf(unit->content.cu), value, &function) == NULL)
	{
		frame.needs_symbol = true;
		frames[0] = frame;
		return frame.filename[0] != '\0';
	}

	/*
	 * from the innermost frame outwards: each call site gives the line of the next frame; if there
	 * are too many, the middle ones are dropped
	 */
	walk_inlined(&walk, &function);
	for (int i = walk.count - 1; i >= 0; i--)
	{
		Dwarf_Attribute attribute;
		Dwarf_Word number;

		describe_function(session, &walk.calls[i], &frame);
		/* names may be in a supplement that was not found; the caller's line is then known still */
		if (count < max - 1 && frame.name[0] != '\0')
			frames[count++] = frame;
		frame = no_frame;
		if (dwarf_attr(&walk.calls[i], DW_AT_call_file, &attribute) != NULL)
			set_path_by_number(session, &frame, &attribute);
		if (dwarf_attr(&walk.calls[i], DW_AT_call_line, &attribute) != NULL &&
			dwarf_formudata(&attribute, &number) == 0 && number <= INT32_MAX)
			frame.line = (int32_t) number;
	}
	describe_function(session, &function, &frame);
	frames[count++] = frame;
	return count;
}
