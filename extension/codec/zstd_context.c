/*
 * zstd_context.c
 *		The zstd contexts of this process.
 */
#include "codec/zstd_context.h"

#include <zstd.h>
#include <zstd_errors.h>

#define LEVEL_QUICK	  1
#define LEVEL_REPEATS 6

/*
 * the longest minimum match and the smallest hash table that zstd accepts, so that it finds hardly
 * any match
 */
#define LITERALS_MIN_MATCH 7
#define LITERALS_HASH_LOG  6

static ZSTD_CCtx *compressor;
static ZSTD_DCtx *decompressor;

size_t
pfs_zstd_bound(size_t length)
{
	return ZSTD_compressBound(length);
}

bool
pfs_zstd_compress(void *target, size_t capacity, const void *source, size_t length,
				  PfsZstdSearch search, size_t *written)
{
	size_t result;

	if (compressor == NULL)
		compressor = ZSTD_createCCtx();
	if (compressor == NULL)
		return false;
	/*
	 * The context is shared by all callers: without the reset it would keep the parameters of the
	 * call before.
	 */
	ZSTD_CCtx_reset(compressor, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel,
						   search == PFS_ZSTD_REPEATS ? LEVEL_REPEATS : LEVEL_QUICK);
	if (search == PFS_ZSTD_LITERALS)
	{
		ZSTD_CCtx_setParameter(compressor, ZSTD_c_minMatch, LITERALS_MIN_MATCH);
		ZSTD_CCtx_setParameter(compressor, ZSTD_c_hashLog, LITERALS_HASH_LOG);
	}
	/*
	 * The unpacked length follows from the block entries, or stands in the chunk's header, so the
	 * frame need not repeat it.
	 */
	ZSTD_CCtx_setParameter(compressor, ZSTD_c_contentSizeFlag, 0);
	result = ZSTD_compress2(compressor, target, capacity, source, length);
	if (ZSTD_isError(result) && ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
		return false;
	/*
	 * Any other error means that the result did not fit in capacity, which is no failure of the
	 * caller.
	 */
	*written = ZSTD_isError(result) ? 0 : result;
	return true;
}

PfsZstdResult
pfs_zstd_decompress(void *target, size_t length, const void *source, size_t source_length)
{
	size_t result;

	if (decompressor == NULL)
		decompressor = ZSTD_createDCtx();
	if (decompressor == NULL)
		return PFS_ZSTD_NO_MEMORY;
	result = ZSTD_decompressDCtx(decompressor, target, length, source, source_length);
	if (ZSTD_isError(result) && ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
		return PFS_ZSTD_NO_MEMORY;
	/* A frame that unpacks to fewer bytes than the entry says is corrupt, too. */
	return result == length ? PFS_ZSTD_OK : PFS_ZSTD_CORRUPT;
}
