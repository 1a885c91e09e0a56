/*
 * file_binary.c
 *		Opens mapped files as binaries of the symbolizer.
 */
#include "agent/flusher/file_binary.h"

static int
file_binary_open(void *symbolizer, const MappedFilePlace *place, const char *name, void **content)
{
	const BinaryPlace at = { .path = place->path,
							 .otherwise = place->descriptor,
							 .device = place->device,
							 .inode = place->inode,
							 .owner = place->payer };
	Binary *binary;
	int result = binary_open_at(symbolizer, &at, name, &binary);

	if (result == 0)
		*content = binary;
	return result;
}

static void
close_binary(void *content)
{
	binary_release(content);
}

void
file_binary_open_pending(MappedFileTable *files, Symbolizer *symbolizer, int64_t deadline_ns)
{
	mapped_file_table_open_pending(files,
								   &(MappedFileOpener){ symbolizer, file_binary_open,
														close_binary },
								   deadline_ns);
}

Binary *
file_binary(MappedFileTable *files, MappedFile *file, Symbolizer *symbolizer)
{
	return mapped_file_content(files, file,
							   &(MappedFileOpener){ symbolizer, file_binary_open, close_binary });
}
