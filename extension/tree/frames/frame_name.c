/*
 * frame_name.c
 *		Names frames by granularity, and replaces missing names.
 */
#include "tree/frames/frame_name.h"

#include <inttypes.h>

static const char UNKNOWN[] = "[unknown]";

static const char *
mapping_name_of(const PfsLocation *location)
{
	return pfs_base_name(pfs_mapping_get(location->mapping_id)->file);
}

/* Returns the first text that is not empty. */
static const char *
first_known(const char *first, const char *second, const char *third)
{
	return *first ? first : *second ? second : third;
}

/* Returns mapping and address of a location as a name. */
static const char *
frame_place(const PfsLocation *location)
{
	const char *mapping = mapping_name_of(location);

	return psprintf("%s%s0x%" PRIx64, mapping, *mapping ? " " : "", location->address);
}

/*
 * Names code without symbols after its mapping, so that all such code of a mapping is one frame.
 * Without a mapping, names it by address.
 */
static const char *
name_without_function(const PfsLocation *location)
{
	const char *mapping = mapping_name_of(location);

	if (*mapping == '\0')
		return location->address == 0 ? UNKNOWN : frame_place(location);
	/* Names of the kernel's areas, such as [vdso], have brackets already. */
	return *mapping == '[' ? mapping : psprintf("[%s]", mapping);
}

PfsFrameFacts
pfs_frame_facts(const PfsLocation *location, uint32 line)
{
	PfsFrameFacts frame = { .location = location };

	if (line < location->line_count)
	{
		frame.line = &location->lines[line];
		frame.function = pfs_function_get(frame.line->function_id);
		frame.name = first_known(frame.function->name, frame.function->system_name, UNKNOWN);
	}
	else
		frame.name = name_without_function(location);
	return frame;
}

const char *
pfs_frame_name(const PfsFilters *filters, const PfsFrameFacts *frame)
{
	const char *mapping = mapping_name_of(frame->location);
	const char *file = frame->function ? frame->function->filename : "";

	switch (filters->granularity)
	{
		case PFS_BY_FUNCTION:
			return frame->name;
		case PFS_BY_LINE:
			/* Without a file the line alone would say nothing. */
			if (*file == '\0')
				return frame->name;
			return psprintf("%s %s:%d", frame->name, file, frame->line->line);
		case PFS_BY_FILE:
			return first_known(file, mapping, UNKNOWN);
		case PFS_BY_MAPPING:
			return first_known(mapping, "", UNKNOWN);
		case PFS_BY_MAPPING_FUNCTION:
			if (frame->function == NULL || *mapping == '\0')
				return frame->name;
			return psprintf("%s!%s", mapping, frame->name);
		case PFS_BY_MAPPING_FILE:
			if (*file == '\0' || *mapping == '\0')
				return first_known(file, mapping, UNKNOWN);
			return psprintf("%s!%s", mapping, file);
		case PFS_BY_ADDRESS:
			/* Profiles of interpreted code have no addresses. */
			if (frame->location->address == 0 && (frame->function != NULL || *mapping == '\0'))
				return frame->name;
			if (frame->function == NULL)
				return frame_place(frame->location);
			return psprintf("%s %s", frame->name, frame_place(frame->location));
		case PFS_BY_SOURCE_LINE:
			return pfs_filters_in_source(filters, frame) ? psprintf("%d", frame->line->line) : "";
	}
	pg_unreachable();
}

int32
pfs_frame_naming_id(PfsGranularity granularity, const PfsFrameFacts *frame)
{
	if (granularity == PFS_BY_FUNCTION)
		return frame->function ? frame->function->id : 0;
	return granularity == PFS_BY_MAPPING ? frame->location->mapping_id : 0;
}
