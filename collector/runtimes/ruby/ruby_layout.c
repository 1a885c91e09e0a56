/*
 * ruby_layout.c
 *		The table of offsets by version.
 */
#include "runtimes/ruby/ruby_layout.h"

#include <stddef.h>

static const RubyLayout layouts[] = {
	{ 2, 5, 48, 12, 112, 200, 0, true, false, false, 0 },
	{ 2, 6, 56, 8, 120, 136, 144, true, false, false, 0 },
	{ 2, 7, 56, 8, 120, 136, 144, true, false, false, 0 },
	{ 3, 0, 56, 8, 120, 136, 144, true, true, false, 0 },
	{ 3, 1, 64, 12, 120, 136, 144, true, true, false, 0 },
	{ 3, 2, 64, 12, 112, 128, 136, false, true, true, 0 },
	{ 3, 3, 56, 12, 112, 128, 136, false, true, true, 1 << 12 },
	{ 3, 4, 56, 12, 112, 128, 136, false, true, true, 1 << 13 },
};

const RubyLayout *
ruby_layout_of_version(int32_t major, int32_t minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
	{
		if (layouts[i].major == major && layouts[i].minor == minor)
			return &layouts[i];
	}
	return NULL;
}
