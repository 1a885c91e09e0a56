/*
 * hotspot_layout.h
 *		Offsets in HotSpot's structures, read from a process.
 */
#ifndef COLLECTOR_HOTSPOT_LAYOUT_H
#define COLLECTOR_HOTSPOT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime_types.h"
#include "runtimes/hotspot/hotspot_file.h"
#include "unwind/remote_memory.h"

/* Parts of structures that are read at once. */
typedef enum HotSpotPart
{
	HOTSPOT_PART_STATIC, /* a variable, which is read alone at its address */
	HOTSPOT_PART_ALONE,	 /* the field alone */
	HOTSPOT_PART_HEAD,	 /* the head of the description of a piece of code */
	HOTSPOT_PART_SYMBOL, /* the head of a symbol */
	HOTSPOT_PART_BLOCK,	 /* structures of HOTSPOT_SIZES */
	HOTSPOT_PART_CODE,
	HOTSPOT_PART_PLACE,
	HOTSPOT_PART_CONSTANT,
	HOTSPOT_PART_POOL
} HotSpotPart;

/*
 * Fields by the names that versions give them: X(identifier, bytes, part, name, name). The bytes
 * that are read of a field must lie within the part of its structure that is read, HOTSPOT_PART_.
 * Values of statics are addresses in the process, all others offsets.
 */
#define HOTSPOT_FIELDS(X)                                                                      \
	X(CACHE_HEAP, 8, STATIC, "CodeCache._heap", NULL) /* up to 8 */                            \
	X(CACHE_HEAPS, 8, STATIC, "CodeCache._heaps", NULL)                                        \
	X(VERSION, 8, STATIC, "JDK_Version._current", NULL) /* JDK up to 22 */                     \
	X(MAJOR, 8, STATIC, "Abstract_VM_Version._vm_major_version", NULL)                         \
	X(UNIVERSE_HEAP, 8, STATIC, "Universe._collectedHeap", NULL)                               \
	X(PERFORMANCE_DATA, 8, STATIC, "PerfMemory._start", NULL)                                  \
	X(BLOCK_USED, 1, BLOCK, "HeapBlock::Header._used", NULL)                                   \
	X(ARRAY_LENGTH, 8, ALONE, "GrowableArrayBase._len", "GenericGrowableArray._len")           \
	X(ARRAY_DATA, 8, ALONE, "GrowableArray<int>._data", NULL)                                  \
	X(HEAP_MEMORY, 8, ALONE, "CodeHeap._memory", NULL)                                         \
	X(HEAP_SEGMENTS, 8, ALONE, "CodeHeap._segmap", NULL)                                       \
	X(HEAP_SEGMENT_BITS, 8, ALONE, "CodeHeap._log2_segment_size", NULL)                        \
	X(SPACE_LOW, 8, ALONE, "VirtualSpace._low_boundary", NULL)                                 \
	X(SPACE_HIGH, 8, ALONE, "VirtualSpace._high_boundary", NULL)                               \
	X(BLOB_NAME, 8, HEAD, "CodeBlob._name", NULL)                                              \
	X(BLOB_SIZE, 8, HEAD, "CodeBlob._size", NULL)                                              \
	X(BLOB_CODE, 8, HEAD, "CodeBlob._code_begin", NULL)			/* JDK 9 to 22 */              \
	X(BLOB_CODE_OFFSET, 8, HEAD, "CodeBlob._code_offset", NULL) /* JDK up to 8, from 23 on */  \
	X(BLOB_DATA_OFFSET, 8, HEAD, "CodeBlob._data_offset", NULL)                                \
	X(BLOB_FRAME_SIZE, 8, HEAD, "CodeBlob._frame_size", NULL)                                  \
	X(BLOB_FRAME_COMPLETE, 8, HEAD, "CodeBlob._frame_complete_offset", NULL)                   \
	X(BLOB_MAPS, 8, HEAD, "CodeBlob._oop_maps", NULL)                                          \
	X(BLOB_MUTABLE, 8, HEAD, "CodeBlob._mutable_data", NULL) /* from 25 on */                  \
	X(BLOB_RELOCATION, 8, HEAD, "CodeBlob._relocation_size", NULL)                             \
	X(CODE_METHOD, 8, CODE, "nmethod._method", "CompiledMethod._method")                       \
	X(CODE_ID, 4, CODE, "nmethod._compile_id", NULL)                                           \
	X(CODE_STATE, 1, CODE, "nmethod._state", NULL)                                             \
	X(CODE_IMMUTABLE, 8, CODE, "nmethod._immutable_data", NULL) /* from 23 on */               \
	X(CODE_SCOPES_OFFSET, 4, CODE, "nmethod._scopes_data_offset", NULL)                        \
	X(CODE_SCOPES, 8, CODE, "nmethod._scopes_data_begin", "CompiledMethod._scopes_data_begin") \
	X(CODE_PLACES, 4, CODE, "nmethod._scopes_pcs_offset", NULL)                                \
	X(CODE_DEPENDENCIES, 4, CODE, "nmethod._dependencies_offset", NULL)                        \
	X(CODE_METADATA, 4, CODE, "nmethod._metadata_offset", NULL)                                \
	X(PLACE_PC, 4, PLACE, "PcDesc._pc_offset", NULL)                                           \
	X(PLACE_SCOPE, 4, PLACE, "PcDesc._scope_decode_offset", NULL)                              \
	X(METHOD_CONSTANT, 8, ALONE, "Method._constMethod", NULL)                                  \
	X(CONSTANT_POOL, 8, CONSTANT, "ConstMethod._constants", NULL)                              \
	X(CONSTANT_NAME, 2, CONSTANT, "ConstMethod._name_index", NULL)                             \
	X(CONSTANT_CODE_BYTES, 2, CONSTANT, "ConstMethod._code_size", NULL)                        \
	X(CONSTANT_WORDS, 4, CONSTANT, "ConstMethod._constMethod_size", NULL)                      \
	X(CONSTANT_FLAGS, 1, CONSTANT, "ConstMethod._flags", "ConstMethod._flags._flags")          \
	X(POOL_HOLDER, 8, POOL, "ConstantPool._pool_holder", NULL)                                 \
	X(POOL_FILE, 2, POOL, "ConstantPool._source_file_name_index", NULL) /* from 15 on */       \
	X(CLASS_NAME, 8, ALONE, "Klass._name", NULL)                                               \
	X(CLASS_FILE, 8, ALONE, "InstanceKlass._source_file_name_index", NULL)                     \
	X(SYMBOL_LENGTH, 2, SYMBOL, "Symbol._length", NULL)                                        \
	X(SYMBOL_LENGTH_COUNT, 4, SYMBOL, "Symbol._length_and_refcount", NULL) /* 12 to 15 */      \
	X(SYMBOL_BODY, 8, ALONE, "Symbol._body", NULL)

typedef enum HotSpotField
{
#define HOTSPOT_FIELD_ID(identifier, bytes, part, name, other) HOTSPOT_##identifier,
	HOTSPOT_FIELDS(HOTSPOT_FIELD_ID)
#undef HOTSPOT_FIELD_ID
	HOTSPOT_FIELDS_COUNT
} HotSpotField;

/* Structures whose size counts: X(identifier, name). */
#define HOTSPOT_SIZES(X)       \
	X(BLOCK, "HeapBlock")      \
	X(CODE, "nmethod")         \
	X(PLACE, "PcDesc")         \
	X(CONSTANT, "ConstMethod") \
	X(POOL, "ConstantPool")

typedef enum HotSpotSize
{
#define HOTSPOT_SIZE_ID(identifier, name) HOTSPOT_SIZE_##identifier,
	HOTSPOT_SIZES(HOTSPOT_SIZE_ID)
#undef HOTSPOT_SIZE_ID
	HOTSPOT_SIZES_COUNT
} HotSpotSize;

#define HOTSPOT_ABSENT UINT64_MAX

/* Size limit of structures that are read as a whole. */
#define HOTSPOT_STRUCT_BYTES 1024
#define HOTSPOT_SYMBOL_BYTES 12 /* bytes that are read of a symbol for its length */

typedef struct HotSpotLayout
{
	uint32_t major;						   /* version */
	uint64_t fields[HOTSPOT_FIELDS_COUNT]; /* HOTSPOT_ABSENT: the version lacks the field */
	uint32_t sizes[HOTSPOT_SIZES_COUNT];
	uint64_t unloaded; /* address of the number of unloaded classes; 0: unknown */
} HotSpotLayout;

typedef enum HotSpotReading
{
	HOTSPOT_READ,
	HOTSPOT_NOT_YET, /* the process has not started the virtual machine, or does not answer */
	HOTSPOT_UNKNOWN	 /* fields are missing, or have impossible values */
} HotSpotReading;

static inline bool
hotspot_has(const HotSpotLayout *layout, HotSpotField field)
{
	return layout->fields[field] != HOTSPOT_ABSENT;
}

/* Reads the tables of a process that maps the file with this bias. */
HotSpotReading hotspot_layout_read(RemoteMemory *memory, const HotSpotFile *file, uint64_t bias,
								   HotSpotLayout *layout);

/*
 * Returns whether each offset lies within the bytes that are read of its structure. The tables are
 * memory of the process, so they may contain anything.
 */
bool hotspot_layout_is_sane(const HotSpotLayout *layout);

/* Fills the data for the kernel's walk, including the heaps. */
HotSpotReading hotspot_layout_describe(RemoteMemory *memory, const HotSpotLayout *layout,
									   struct pfs_hotspot_layout *walk);

#endif
