/*
 * memory_map.c
 *		Converts lines to ranges, ranges to mappings, and finds the mappings of locations.
 *
 * 1. Ranges of code are listed; contiguous ranges of a file are joined.
 * 2. The first program that is no library becomes the first mapping.
 * 3. Ranges are sorted by address, so that locations find theirs. The ranges of a map do not
 *    overlap; in a file in which they do, the one that begins last counts.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/clean_text.h"
#include "formats/legacy/cursor.h"
#include "formats/legacy/memory_map.h"

/*
 * Limit of the variables in one map, because all of them are compared at each "$" of a file name.
 */
#define VARIABLES_MAX	  16
#define VARIABLE_NAME_MAX 255 /* in bytes; limits the comparison at each "$" */

/* Name of huge pages to which a program's code was copied. */
#define HUGE_PAGES "/anon_hugepage"

typedef struct Variable
{
	PfsText name;
	PfsText value;
} Variable;

typedef struct Range
{
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
	uint32_t mapping;
} Range;

typedef struct Map
{
	PfsLineReader *lines;
	PfsProfile *profile;
	Variable variables[VARIABLES_MAX];
	uint32_t variable_count;
	Range *ranges; /* one for each mapping of the profile */
	uint32_t count;
} Map;

/* The parts of a line that were read. */
typedef struct Entry
{
	Range range;
	PfsText permissions;
	PfsText file;
	PfsText build_id;
} Entry;

bool
pfs_is_memory_map(PfsText line)
{
	return pfs_text_contains(line, "--- Memory map: ---") ||
		   pfs_text_contains(line, "MAPPED_LIBRARIES:");
}

void
pfs_memory_map_find(PfsLineReader *lines)
{
	PfsText line;

	while (pfs_next_line(lines, &line) && !pfs_is_memory_map(line))
		;
}

/* --- step 1: lines --- */

/* Removes a prefix such as "file.cc:12] ". */
static PfsText
without_log_prefix(PfsText line)
{
	uint32_t end = 0;
	uint32_t at;

	/*
	 * Reads "file.cc:12] " backwards from the bracket: a blank after it, digits before it, then a
	 * colon and a name.
	 */
	while (end < line.length && line.data[end] != '[' && line.data[end] != ']')
		end++;
	if (end + 1 >= line.length || line.data[end] != ']' || !pfs_is_blank(line.data[end + 1]))
		return line;
	for (at = end; at > 0 && pfs_is_digit(line.data[at - 1]);)
		at--;
	/* At least one digit, and at least one character of the file's name before the colon. */
	if (at == end || at < 2 || line.data[at - 1] != ':')
		return line;
	return pfs_part(line, end + 2, line.length);
}

/* Parses a token that is entirely a hexadecimal number. */
static bool
is_hex(PfsText token, uint64_t *number)
{
	return pfs_take_hex(&token, number) == PFS_READ_OK && token.length == 0;
}

static bool
take_address(PfsCursor *cursor, uint64_t *address)
{
	PfsCursor at = *cursor;

	pfs_skip_blanks(&at);
	if (at.length > 2 && at.data[0] == '0' && at.data[1] == 'x')
		at = pfs_part(at, 2, at.length);
	/* The cursor moves only if an address was read, so that the caller can try another form. */
	if (pfs_take_hex(&at, address) != PFS_READ_OK)
		return false;
	*cursor = at;
	return true;
}

/* Reads "start-limit" or "start limit", with an optional colon. */
static bool
take_range(PfsCursor *cursor, Range *range)
{
	if (!take_address(cursor, &range->start) || cursor->length == 0 ||
		(cursor->data[0] != '-' && !pfs_is_blank(cursor->data[0])))
		return false;
	*cursor = pfs_part(*cursor, 1, cursor->length);
	if (!take_address(cursor, &range->limit))
		return false;
	pfs_take_words(cursor, ":");
	/* Another character, as in "400000-401000z", shows that the line is not a range. */
	return cursor->length == 0 || pfs_is_blank(cursor->data[0]);
}

static PfsText
peek_token(PfsCursor cursor)
{
	return pfs_take_token(&cursor);
}

static bool
is_permissions(PfsText token)
{
	for (uint32_t i = 0; i < token.length; i++)
		if (token.data[i] == '\0' || strchr("-rwxp", token.data[i]) == NULL)
			return false;
	return token.length > 0;
}

/* Reads "offset device inode file", the kernel's format. */
static bool
take_kernel_form(PfsCursor *cursor, Entry *entry)
{
	PfsCursor at = *cursor;
	PfsText device;
	PfsText inode;
	uint64_t number;
	int64_t decimal;

	/*
	 * All of the kernel's fields must match; otherwise the cursor stays and the brief form is
	 * tried.
	 */
	if (!is_hex(pfs_take_token(&at), &entry->range.offset))
		return false;
	device = pfs_take_token(&at);
	if (pfs_take_hex(&device, &number) != PFS_READ_OK || !pfs_take_words(&device, ":") ||
		!is_hex(device, &number))
		return false;
	inode = pfs_take_token(&at);
	if (pfs_take_number(&inode, &decimal) != PFS_READ_OK || inode.length > 0)
		return false;
	entry->file = pfs_take_token(&at);
	return true;
}

/* Reads "file (@offset) build-id". */
static void
take_brief_form(PfsCursor *cursor, Entry *entry)
{
	PfsText token = peek_token(*cursor);

	entry->range.offset = 0;
	/* A token that begins with a parenthesis is the offset of a range without a file. */
	if (token.length > 0 && token.data[0] != '(')
		entry->file = pfs_take_token(cursor);
	if (pfs_take_words(cursor, "(@"))
	{
		if (pfs_take_hex(cursor, &entry->range.offset) != PFS_READ_OK ||
			!pfs_take_words(cursor, ")"))
			return;
	}
	entry->build_id = pfs_take_token(cursor);
}

static bool
parse_entry(PfsText line, Entry *entry)
{
	PfsCursor cursor = line;

	*entry = (Entry){ .file = { "", 0 }, .build_id = { "", 0 } };
	if (!take_range(&cursor, &entry->range))
		return false;
	if (is_permissions(peek_token(cursor)))
		entry->permissions = pfs_take_token(&cursor);
	/* The two forms differ after the permissions: "offset device inode" or a file's name. */
	if (!take_kernel_form(&cursor, entry))
		take_brief_form(&cursor, entry);
	return true;
}

static PfsReadStatus
add_variable(Map *map, PfsText line)
{
	const char *sign = memchr(line.data, '=', line.length);
	PfsText name;
	uint32_t at;

	/* A line that is neither a range nor an assignment is ignored. */
	if (sign == NULL)
		return PFS_READ_OK;
	at = (uint32_t) (sign - line.data);
	name = pfs_trim(pfs_part(line, 0, at));
	if (name.length == 0)
		return PFS_READ_OK;
	if (name.length > VARIABLE_NAME_MAX)
		return pfs_line_fail(map->lines, PFS_READ_TOO_LARGE, "name of a variable is too long");
	if (map->variable_count == VARIABLES_MAX)
		return pfs_line_fail(map->lines, PFS_READ_TOO_LARGE, "memory map has too many variables");
	map->variables[map->variable_count++] =
		(Variable){ name, pfs_trim(pfs_part(line, at + 1, line.length)) };
	return PFS_READ_OK;
}

/* Returns the variable whose name follows a "$". */
static const Variable *
map_find_variable(const Map *map, PfsText text)
{
	for (uint32_t i = 0; i < map->variable_count; i++)
	{
		PfsText name = map->variables[i].name;

		/*
		 * Names are not delimited in the text, so the first variable whose name is a prefix counts:
		 * "$build" in "$build/lib.so".
		 */
		if (name.length <= text.length && memcmp(name.data, text.data, name.length) == 0)
			return &map->variables[i];
	}
	return NULL;
}

/* Replaces variables by their values. If out is NULL, only counts the bytes. */
static uint64_t
expand(const Map *map, PfsText file, char *out)
{
	uint64_t length = 0;

	for (uint32_t at = 0; at < file.length;)
	{
		PfsText piece = pfs_part(file, at, at + 1);
		uint32_t taken = 1;

		if (file.data[at] == '$')
		{
			const Variable *variable = map_find_variable(map, pfs_part(file, at + 1, file.length));

			if (variable != NULL)
			{
				piece = variable->value;
				taken += variable->name.length;
			}
		}
		/* The first pass counts, the second writes to memory of exactly that length. */
		if (out != NULL && piece.length > 0)
			memcpy(out + length, piece.data, piece.length);
		length += piece.length;
		at += taken;
	}
	return length;
}

/* Replaces variables in a file's name, if it contains any. */
static bool
expand_file(const Map *map, PfsText *file)
{
	PfsProfile *profile = map->profile;
	uint64_t length = expand(map, *file, NULL);
	char *out;

	if (map->variable_count == 0 || memchr(file->data, '$', file->length) == NULL)
		return true;
	/* A value may be long and be used at many "$", so the length may exceed 32 bits. */
	if (length > UINT32_MAX)
	{
		profile->budget->exhausted = true;
		return false;
	}
	out = pfs_scratch_alloc(&profile->texts, profile->budget, (size_t) length + 1);
	if (out == NULL)
		return false;
	expand(map, *file, out);
	*file = (PfsText){ out, (uint32_t) length };
	return true;
}

static bool
may_be_equal(PfsText a, PfsText b)
{
	return a.length == 0 || b.length == 0 ||
		   (a.length == b.length && memcmp(a.data, b.data, a.length) == 0);
}

/* Returns true if an entry continues the last range in the same file. */
static bool
continues(const Map *map, const Entry *entry)
{
	const Range *last;
	const PfsProfileMapping *mapping;

	if (map->count == 0)
		return false;
	last = &map->ranges[map->count - 1];
	mapping = &map->profile->mappings[map->count - 1];
	/*
	 * The last range of the map continues only if it touches the new one, and no field that both
	 * lines have differs.
	 */
	return last->limit == entry->range.start && may_be_equal(mapping->file, entry->file) &&
		   may_be_equal(mapping->build_id, entry->build_id) &&
		   (last->offset == 0 || entry->range.offset == 0 ||
			last->offset + (last->limit - last->start) == entry->range.offset);
}

/* Adds a range of code as a mapping, or extends the last one. */
static PfsReadStatus
add_entry(Map *map, Entry *entry)
{
	PfsProfile *profile = map->profile;
	PfsProfileMapping *mapping;

	/* A map of the kernel lists data, too; without permissions every line counts as code. */
	if (entry->permissions.length > 0 && !pfs_text_contains(entry->permissions, "x"))
		return PFS_READ_OK;
	if (!expand_file(map, &entry->file) || !pfs_text_clean(profile, &entry->file) ||
		!pfs_text_clean(profile, &entry->build_id))
		return pfs_line_refused(map->lines);
	if (continues(map, entry))
	{
		mapping = &profile->mappings[map->count - 1];
		map->ranges[map->count - 1].limit = entry->range.limit;
		/* The more complete of both lines gives the file and the build id. */
		if (entry->file.length > 0)
			mapping->file = entry->file;
		if (entry->build_id.length > 0)
			mapping->build_id = entry->build_id;
		return PFS_READ_OK;
	}
	if (!PFS_GROW(profile->budget, profile->mappings, profile->mapping_count) ||
		/* Ranges and mappings are parallel arrays until place_locations() sorts the ranges. */
		!PFS_GROW(profile->budget, map->ranges, map->count))
		return pfs_line_refused(map->lines);
	profile->mappings[profile->mapping_count++] =
		(PfsProfileMapping){ entry->build_id, entry->file };
	map->ranges[map->count++] = entry->range;
	return PFS_READ_OK;
}

static PfsReadStatus
map_read_lines(Map *map)
{
	PfsReadStatus status = PFS_READ_OK;
	PfsText line;

	while (status == PFS_READ_OK && pfs_next_line(map->lines, &line))
	{
		Entry entry;

		line = without_log_prefix(line);
		/*
		 * A line that is no range may be an assignment "name=value", whose variable later lines
		 * use.
		 */
		status = parse_entry(line, &entry) ? add_entry(map, &entry) : add_variable(map, line);
	}
	return status;
}

/* --- step 2: the program --- */

/* Returns true for "x.so", "x.so.6", "x.so_1". */
static bool
is_library(PfsText file)
{
	for (uint32_t at = 0; at + 3 <= file.length; at++)
	{
		if (memcmp(file.data + at, ".so", 3) != 0)
			continue;
		if (at + 3 == file.length)
			return true;
		if (at + 4 < file.length && strchr("._", file.data[at + 3]) != NULL &&
			pfs_is_digit(file.data[at + 4]))
			return true;
	}
	return false;
}

static bool
is_program(PfsText file)
{
	return file.length > 0 && file.data[0] != '[' && !is_library(file);
}

/* Exchanges the first mapping with that of the program. */
static void
put_program_first(Map *map)
{
	PfsProfileMapping *mappings = map->profile->mappings;

	/* Libraries and "[vdso]" may precede the program, but pprof takes the first mapping for it. */
	for (uint32_t i = 0; i < map->count; i++)
		if (is_program(mappings[i].file))
		{
			PfsProfileMapping mapping = mappings[0];
			Range range = map->ranges[0];

			mappings[0] = mappings[i];
			mappings[i] = mapping;
			map->ranges[0] = map->ranges[i];
			map->ranges[i] = range;
			return;
		}
}

/* Assigns code on huge pages to the file of the following range. */
static void
drop_huge_pages(Map *map)
{
	PfsProfile *profile = map->profile;
	PfsCursor file;

	/* Only a range that ends where the next one begins can be the copy of the next file's code. */
	if (map->count < 2 || map->ranges[0].limit != map->ranges[1].start)
		return;
	file = profile->mappings[0].file;
	if (!pfs_take_words(&file, HUGE_PAGES))
		return;
	memmove(profile->mappings, profile->mappings + 1, (map->count - 1) * sizeof(PfsProfileMapping));
	memmove(map->ranges, map->ranges + 1, (map->count - 1) * sizeof(Range));
	profile->mapping_count--;
	map->count--;
}

/* --- step 3: locations --- */

static int
map_range_compare(const void *a, const void *b)
{
	const Range *left = a;
	const Range *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	/* Of two ranges with one start the one read first comes last, so find_range() prefers it. */
	return (left->mapping < right->mapping) - (left->mapping > right->mapping);
}

/* Returns the range of an address, NULL if there is none. */
static const Range *
find_range(const Map *map, uint64_t address)
{
	uint32_t low = 0;
	uint32_t high = map->count;
	const Range *range;

	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;

		/*
		 * Finds the first range that begins after the address; the range before it may contain the
		 * address.
		 */
		if (map->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0 && address < map->ranges[low - 1].limit)
		return &map->ranges[low - 1];
	/* the address may lie in the part of a file before its mapped range */
	range = low < map->count ? &map->ranges[low] : NULL;
	return range != NULL && range->offset <= range->start && range->start - range->offset <= address
			   ? range
			   : NULL;
}

/* Returns an address in the file; unmapped parts of a file are at their offsets, too. */
static uint64_t
range_file_address(const Range *range, uint64_t address)
{
	/* The range maps the file from range->offset on, at range->start. */
	if (address >= range->start)
		return pfs_file_address(address, range->start, range->limit, range->offset);
	return pfs_file_address(address, range->start - range->offset, range->limit, 0);
}

/* Sets the mapping of each location, and converts its address to one in the mapping's file. */
static void
place_locations(Map *map)
{
	PfsProfile *profile = map->profile;

	/*
	 * Sorting separates the ranges from the mappings, so each range keeps the number of its
	 * mapping.
	 */
	for (uint32_t i = 0; i < map->count; i++)
		map->ranges[i].mapping = i;
	if (map->count > 0)
		qsort(map->ranges, map->count, sizeof(Range), map_range_compare);
	for (uint32_t i = 0; i < profile->location_count; i++)
	{
		PfsProfileLocation *location = &profile->locations[i];
		/* Address 0 means that the location has none. */
		const Range *range = location->address == 0 ? NULL : find_range(map, location->address);

		if (range == NULL)
			continue;
		location->mapping = range->mapping;
		location->address = range_file_address(range, location->address);
	}
}

PfsReadStatus
pfs_memory_map_read(PfsLineReader *lines, PfsProfile *profile)
{
	PfsAllocator allocator = profile->budget->allocator;
	Map map = { .lines = lines, .profile = profile };
	PfsReadStatus status = map_read_lines(&map);

	if (status == PFS_READ_OK)
	{
		put_program_first(&map);
		drop_huge_pages(&map);
		place_locations(&map);
	}
	if (map.ranges != NULL)
		allocator.realloc(allocator.context, map.ranges, 0);
	return status;
}
