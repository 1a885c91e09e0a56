/*
 * crc32c.h
 *		CRC-32C (Castagnoli), as iSCSI, ext4 and PostgreSQL use it.
 */
#ifndef PFS_CRC32C_H
#define PFS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Returns the finished checksum of the bytes; that of "123456789" is e3069283. */
uint32_t pfs_crc32c(const void *bytes, size_t length);

/* Like pfs_crc32c(), but without the processor's CRC instruction; pfs_crc32c() falls back to it. */
uint32_t pfs_crc32c_portable(const void *bytes, size_t length);

#endif
