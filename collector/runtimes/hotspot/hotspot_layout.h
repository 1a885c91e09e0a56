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

/*
 * Fields by the names that versions give them: X(identifier, name, name). Values of statics are
 * addresses in the process, all others offsets.
 */
#define HOTSPOT_FIELDS(X)                                                             \
	X(CACHE_HEAP, "CodeCache._heap", NULL) /* up to 8 */                              \
	X(CACHE_HEAPS, "CodeCache._heaps", NULL)                                          \
	X(VERSION, "JDK_Version._current", NULL) /* JDK up to 22 */                       \
	X(MAJOR, "Abstract_VM_Version._vm_major_version", NULL)                           \
	X(UNIVERSE_HEAP, "Universe._collectedHeap", NULL)                                 \
	X(PERFORMANCE_DATA, "PerfMemory._start", NULL)                                    \
	X(BLOCK_USED, "HeapBlock::Header._used", NULL)                                    \
	X(ARRAY_LENGTH, "GrowableArrayBase._len", "GenericGrowableArray._len")            \
	X(ARRAY_DATA, "GrowableArray<int>._data", NULL)                                   \
	X(HEAP_MEMORY, "CodeHeap._memory", NULL)                                          \
	X(HEAP_SEGMENTS, "CodeHeap._segmap", NULL)                                        \
	X(HEAP_SEGMENT_BITS, "CodeHeap._log2_segment_size", NULL)                         \
	X(SPACE_LOW, "VirtualSpace._low_boundary", NULL)                                  \
	X(SPACE_HIGH, "VirtualSpace._high_boundary", NULL)                                \
	X(BLOB_NAME, "CodeBlob._name", NULL)                                              \
	X(BLOB_SIZE, "CodeBlob._size", NULL)                                              \
	X(BLOB_CODE, "CodeBlob._code_begin", NULL)		   /* JDK 9 to 22 */              \
	X(BLOB_CODE_OFFSET, "CodeBlob._code_offset", NULL) /* JDK up to 8, from 23 on */  \
	X(BLOB_DATA_OFFSET, "CodeBlob._data_offset", NULL)                                \
	X(BLOB_FRAME_SIZE, "CodeBlob._frame_size", NULL)                                  \
	X(BLOB_FRAME_COMPLETE, "CodeBlob._frame_complete_offset", NULL)                   \
	X(BLOB_MAPS, "CodeBlob._oop_maps", NULL)                                          \
	X(BLOB_MUTABLE, "CodeBlob._mutable_data", NULL) /* from 25 on */                  \
	X(BLOB_RELOCATION, "CodeBlob._relocation_size", NULL)                             \
	X(CODE_METHOD, "nmethod._method", "CompiledMethod._method")                       \
	X(CODE_ID, "nmethod._compile_id", NULL)                                           \
	X(CODE_STATE, "nmethod._state", NULL)                                             \
	X(CODE_IMMUTABLE, "nmethod._immutable_data", NULL) /* from 23 on */               \
	X(CODE_SCOPES_OFFSET, "nmethod._scopes_data_offset", NULL)                        \
	X(CODE_SCOPES, "nmethod._scopes_data_begin", "CompiledMethod._scopes_data_begin") \
	X(CODE_PLACES, "nmethod._scopes_pcs_offset", NULL)                                \
	X(CODE_DEPENDENCIES, "nmethod._dependencies_offset", NULL)                        \
	X(CODE_METADATA, "nmethod._metadata_offset", NULL)                                \
	X(PLACE_PC, "PcDesc._pc_offset", NULL)                                            \
	X(PLACE_SCOPE, "PcDesc._scope_decode_offset", NULL)                               \
	X(METHOD_CONSTANT, "Method._constMethod", NULL)                                   \
	X(CONSTANT_POOL, "ConstMethod._constants", NULL)                                  \
	X(CONSTANT_NAME, "ConstMethod._name_index", NULL)                                 \
	X(CONSTANT_CODE_BYTES, "ConstMethod._code_size", NULL)                            \
	X(CONSTANT_WORDS, "ConstMethod._constMethod_size", NULL)                          \
	X(CONSTANT_FLAGS, "ConstMethod._flags", "ConstMethod._flags._flags")              \
	X(POOL_HOLDER, "ConstantPool._pool_holder", NULL)                                 \
	X(POOL_FILE, "ConstantPool._source_file_name_index", NULL) /* from 15 on */       \
	X(CLASS_NAME, "Klass._name", NULL)                                                \
	X(CLASS_FILE, "InstanceKlass._source_file_name_index", NULL)                      \
	X(SYMBOL_LENGTH, "Symbol._length", NULL)                                          \
	X(SYMBOL_LENGTH_COUNT, "Symbol._length_and_refcount", NULL) /* 12 to 15 */        \
	X(SYMBOL_BODY, "Symbol._body", NULL)

typedef enum HotSpotField
{
#define HOTSPOT_FIELD_ID(identifier, name, other) HOTSPOT_##identifier,
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
