/*
 * crc32c.c
 *		CRC-32C, by the processor's instruction if there is one, otherwise by tables.
 */
#include "codec/crc32c.h"

#include <stdbool.h>

#include "codec/bytes.h"

/* the polynomial 1EDC6F41 with its bits reversed, because the least significant bit goes first */
#define CRC32C_REVERSED 0x82F63B78u

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t
crc32c_hardware(uint32_t crc, const uint8_t *bytes, size_t length)
{
	/* The instruction takes and returns 64 bits, of which the upper 32 are 0. */
	uint64_t wide = crc;

	for (; length >= 8; bytes += 8, length -= 8)
		wide = __builtin_ia32_crc32di(wide, pfs_load64(bytes));
	crc = (uint32_t) wide;
	for (; length > 0; bytes++, length--)
		crc = __builtin_ia32_crc32qi(crc, *bytes);
	return crc;
}

static bool
have_hardware(void)
{
	return __builtin_cpu_supports("sse4.2");
}

#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)

#include <arm_acle.h>

static uint32_t
crc32c_hardware(uint32_t crc, const uint8_t *bytes, size_t length)
{
	for (; length >= 8; bytes += 8, length -= 8)
		crc = __crc32cd(crc, pfs_load64(bytes));
	for (; length > 0; bytes++, length--)
		crc = __crc32cb(crc, *bytes);
	return crc;
}

static bool
have_hardware(void)
{
	return true;
}

#else

static uint32_t
crc32c_hardware(uint32_t crc, const uint8_t *bytes, size_t length)
{
	(void) bytes;
	(void) length;
	return crc;
}

static bool
have_hardware(void)
{
	return false;
}

#endif

/*
 * Slicing by eight: table k holds the contribution of a byte that is followed by k bytes. The
 * tables are filled at first use without a lock, because only one thread of a process calls the
 * codec.
 */
static uint32_t
crc32c_tables(uint32_t crc, const uint8_t *bytes, size_t length)
{
	static uint32_t tables[8][256];

	if (tables[0][1] == 0)
	{
		for (uint32_t byte = 256; byte-- > 0;)
		{
			uint32_t word = byte;

			for (int bit = 0; bit < 8; bit++)
				word = word >> 1 ^ (word & 1 ? CRC32C_REVERSED : 0);
			tables[0][byte] = word;
		}
		/* Table k is table k - 1 advanced by one more zero byte. */
		for (int back = 1; back < 8; back++)
			for (int byte = 0; byte < 256; byte++)
				tables[back][byte] =
					tables[back - 1][byte] >> 8 ^ tables[0][tables[back - 1][byte] & 0xff];
	}
	for (; length >= 8; bytes += 8, length -= 8)
	{
		/* The checksum so far has 32 bits, so it changes only the first four of the eight bytes. */
		uint64_t word = pfs_load64(bytes) ^ crc;

		crc = 0;
		for (int byte = 0; byte < 8; byte++)
			/* The first byte is followed by seven others, so it takes table 7. */
			crc ^= tables[7 - byte][word >> (8 * byte) & 0xff];
	}
	for (; length > 0; bytes++, length--)
		crc = crc >> 8 ^ tables[0][(crc ^ *bytes) & 0xff];
	return crc;
}

uint32_t
pfs_crc32c(const void *bytes, size_t length)
{
	if (have_hardware())
		return ~crc32c_hardware(~0u, bytes, length);
	return pfs_crc32c_portable(bytes, length);
}

uint32_t
pfs_crc32c_portable(const void *bytes, size_t length)
{
	return ~crc32c_tables(~0u, bytes, length);
}
