/*
 * file_id.h
 *		Identifier of a file that has no build ID.
 */
#ifndef COLLECTOR_FILE_ID_H
#define COLLECTOR_FILE_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/elf/elf_file.h"

#define FILE_ID_BYTES 16

/*
 * Computes OpenTelemetry's "htlhash" (head, tail, length): the first 16 bytes of SHA-256 over the
 * first 4096 bytes, the last 4096 bytes, and the length as 64-bit big-endian number. It is equal on
 * every host, and costs two pages of any file. Returns false if the file cannot be read.
 */
bool file_id_compute(const ElfSource *source, uint8_t id[FILE_ID_BYTES]);

#endif
