/*
 * file_id.h
 *		What stands for a build ID where a file has none.
 */
#ifndef COLLECTOR_FILE_ID_H
#define COLLECTOR_FILE_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/elf_file.h"

#define FILE_ID_BYTES 16

/*
 * OpenTelemetry's "htlhash" (head, tail, length): the first 16 bytes of SHA-256 over the first 4096
 * bytes, the last 4096 bytes, and the length as 64 bits, big-endian. The same on every host, at the
 * cost of two pages whatever the file's size. False where the file cannot be read.
 */
bool file_id_compute(const ElfSource *source, uint8_t id[FILE_ID_BYTES]);

#endif
