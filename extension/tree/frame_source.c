/*
 * frame_source.c
 *		A location's line as file, line and mapping.
 */
#include "tree/frame_source.h"

#include "dictionary/dictionary.h"

static const char *
known(const char *text)
{
	return *text == '\0' ? NULL : text;
}

PfsFrameSource
pfs_frame_source(int32 location_id, uint32 line_index)
{
	PfsFrameSource source = { NULL, 0, NULL };
	const PfsLocation *location;

	if (location_id == 0)
		return source;
	location = pfs_location_get(location_id);
	source.mapping = known(pfs_mapping_get(location->mapping_id)->file);
	if (location->line_count > 0)
	{
		const PfsLine *line = &location->lines[line_index];
		const PfsFunction *function = pfs_function_get(line->function_id);

		source.file = known(function->filename);
		source.line = function->start_line > 0 ? function->start_line : line->line;
	}
	return source;
}
