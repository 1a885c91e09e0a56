/*
 * java_names.c
 *		Reads the names of addresses, one in each line; other lines are skipped.
 */
#include "formats/legacy/java_names.h"
#include "formats/legacy/cursor.h"

/* Removes the last "(...)" from a text, with the blanks before it. */
static bool
cut_parentheses(PfsText *text, PfsText *inner)
{
	uint32_t at = text->length;

	if (at == 0 || text->data[at - 1] != ')')
		return false;
	while (at > 0 && text->data[at - 1] != '(')
		at--;
	/* A blank must precede the parenthesis; otherwise it contains arguments of the method. */
	if (at < 2 || !pfs_is_blank(text->data[at - 2]))
		return false;
	*inner = pfs_part(*text, at, text->length - 1);
	*text = pfs_trim(pfs_part(*text, 0, at - 1));
	return true;
}

/*
 * Removes the number after the last colon; 0 for a number that is not a line. Returns false if
 * there is none.
 */
static PfsReadStatus
cut_number(PfsText *place, int32_t *line)
{
	uint32_t at = place->length;
	int64_t number;
	PfsReadStatus status;

	while (at > 0 && place->data[at - 1] != ':')
		at--;
	*line = 0;
	if (at < 2)
		return PFS_READ_MALFORMED;
	status = pfs_parse_int64(pfs_part(*place, at, place->length), &number);
	if (status == PFS_READ_OUT_OF_RANGE || (status == PFS_READ_OK && number > INT32_MAX))
		return PFS_READ_OUT_OF_RANGE;
	if (status != PFS_READ_OK)
		return status;
	/* Java writes -1 or -2 for methods without source lines. */
	*line = number > 0 ? (int32_t) number : 0;
	place->length = at - 1;
	return PFS_READ_OK;
}

static PfsText
base_name(PfsText path)
{
	uint32_t at = path.length;

	while (at > 0 && path.data[at - 1] != '/')
		at--;
	return pfs_part(path, at, path.length);
}

/* Adds the name of an address. Parentheses contain a source file with a line, or a library. */
static PfsReadStatus
java_names_add_name(PfsLegacyText *text, uint32_t location, PfsText name)
{
	PfsText file = { "", 0 };
	PfsText whole = name;
	int32_t line = 0;

	if (cut_parentheses(&name, &file))
	{
		PfsReadStatus status = cut_number(&file, &line);

		if (status == PFS_READ_OUT_OF_RANGE)
			return pfs_line_fail(&text->lines, status, "line number is out of range");
		/* Without a line the text is a library's path. */
		if (status != PFS_READ_OK)
			file = base_name(file);
	}
	else if (pfs_text_contains(whole, "generated stub/JIT"))
		name = pfs_static_text("STUB");
	return pfs_name_lines_add(&text->names, location, name, file, line)
			   ? PFS_READ_OK
			   : pfs_line_refused(&text->lines);
}

/* Reads the line of an address that some sample has and that no earlier line has named. */
static PfsReadStatus
java_names_read_line(PfsLegacyText *text, PfsText line)
{
	PfsCursor cursor = line;
	uint64_t address;
	uint32_t location;
	PfsReadStatus status;

	if (!pfs_take_words(&cursor, "0x"))
		return PFS_READ_OK;
	status = pfs_take_hex(&cursor, &address);
	if (status == PFS_READ_OUT_OF_RANGE)
		return pfs_line_fail(&text->lines, status, "address is out of range");
	if (status != PFS_READ_OK || cursor.length == 0 || !pfs_is_blank(cursor.data[0]))
		return PFS_READ_OK;
	location = pfs_address_find(&text->addresses, address);
	/* skip the name of an address that no sample has, or that was named before */
	if (location == PFS_NONE || text->profile->locations[location].line_count > 0)
		return PFS_READ_OK;
	/* line_count only marks the location as named until pfs_legacy_finish(). */
	text->profile->locations[location].line_count = 1;
	return java_names_add_name(text, location, pfs_trim(cursor));
}

PfsReadStatus
pfs_java_names_read(PfsLegacyText *text)
{
	PfsProfile *profile = text->profile;
	PfsReadStatus status = PFS_READ_OK;
	PfsText line;

	while (status == PFS_READ_OK && pfs_next_line(&text->lines, &line))
		status = java_names_read_line(text, line);
	if (status == PFS_READ_OK)
		status = pfs_legacy_finish(text);
	/* Addresses of compiled methods are valid only in the process that was recorded. */
	for (uint32_t i = 0; i < profile->location_count; i++)
		profile->locations[i].address = 0;
	return status;
}
