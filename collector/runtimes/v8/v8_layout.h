/*
 * v8_layout.h
 *		Offsets in V8's objects, read from the constants that each build exports for debuggers.
 *
 * A constant is a symbol "v8dbg_NAME" of a 32-bit number. Names end with the field's type, which
 * differs by version, so they are recognized by their start. A constant that a version lacks
 * follows from others.
 */
#ifndef COLLECTOR_V8_LAYOUT_H
#define COLLECTOR_V8_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime_types.h"

#define V8_CONSTANT_PREFIX "v8dbg_"

/* X(identifier, start of the name after the prefix). Names without "__" at the end are complete. */
#define V8_CONSTANTS(X)                                                      \
	X(SMI_SHIFT, "SmiShiftSize")                                             \
	X(FP_CONTEXT, "off_fp_context")                                          \
	X(FP_FUNCTION, "off_fp_function")                                        \
	X(FP_BYTECODES, "off_fp_bytecode_array")                                 \
	X(FP_OFFSET, "off_fp_bytecode_offset")                                   \
	X(MAP_TYPE, "class_Map__instance_type__")                                \
	X(TYPE_SHARED, "type_SharedFunctionInfo__")                              \
	X(TYPE_STREAM, "type_InstructionStream__")                               \
	X(TYPE_CODE, "type_Code__")                                              \
	X(TYPE_BYTECODES, "type_BytecodeArray__")                                \
	X(TYPE_SCOPE_INFO, "type_ScopeInfo__")                                   \
	X(TYPE_SCRIPT, "type_Script__")                                          \
	X(TYPE_CODE_WRAPPER, "type_CodeWrapper__")                               \
	X(FIRST_NO_STRING, "FirstNonstringType")                                 \
	X(FUNCTION_SHARED, "class_JSFunction__shared__")                         \
	X(SHARED_DATA, "class_SharedFunctionInfo__function_data__")              \
	X(SHARED_NAME, "class_SharedFunctionInfo__name_or_scope_info__")         \
	X(SHARED_SCRIPT, "class_SharedFunctionInfo__script__")                   \
	X(SHARED_SCRIPT_OLD, "class_SharedFunctionInfo__script_or_debug_info__") \
	X(SHARED_LENGTH, "class_SharedFunctionInfo__length__")                   \
	X(ARRAY_DATA, "class_FixedArray__data__")                                \
	X(ARRAY_LENGTH, "class_FixedArrayBase__length__")                        \
	X(BYTECODES_POSITIONS, "class_BytecodeArray__source_position_table__")   \
	X(BYTECODES_WRAPPER, "class_BytecodeArray__wrapper__")                   \
	X(BYTECODES_DATA, "class_BytecodeArray__data__")                         \
	X(SCRIPT_SOURCE, "class_Script__source__")                               \
	X(SCRIPT_NAME, "class_Script__name__")                                   \
	X(SCRIPT_LINE_ENDS, "class_Script__line_ends__")                         \
	X(STRING_LENGTH, "class_String__length__")                               \
	X(STRING_CHARACTERS, "class_SeqOneByteString__chars__")                  \
	X(CODE_START, "class_Code__instruction_start__")                         \
	X(CODE_SIZE, "class_Code__instruction_size__")                           \
	X(CODE_POSITIONS, "class_Code__source_position_table__")                 \
	X(CODE_DEOPT, "class_Code__deoptimization_data__")                       \
	X(CODE_FLAGS, "class_Code__flags__")                                     \
	X(KIND_BASELINE, "CodeKindBaseline")                                     \
	X(SCOPE_FIRST, "scopeinfo_idx_first_vars")                               \
	X(SCOPE_LOCALS, "scopeinfo_idx_ncontextlocals")                          \
	X(DEOPT_LITERALS, "DeoptimizationDataLiteralArrayIndex")                 \
	X(DEOPT_POSITIONS, "DeoptimizationDataInliningPositionsIndex")           \
	X(DEOPT_SHARED, "DeoptimizationDataSharedFunctionInfoIndex")             \
	X(DEOPT_WRAPPED, "DeoptimizationDataWrappedSharedFunctionInfoIndex")     \
	X(DEOPT_WRAPPER, "DeoptimizationDataSharedFunctionInfoWrapperIndex")

typedef enum V8Constant
{
#define V8_CONSTANT_ID(identifier, name) V8_##identifier,
	V8_CONSTANTS(V8_CONSTANT_ID)
#undef V8_CONSTANT_ID
	V8_CONSTANT_COUNT
} V8Constant;

typedef struct V8Constants
{
	uint32_t version[3]; /* major, minor, build */
	bool has[V8_CONSTANT_COUNT];
	int32_t values[V8_CONSTANT_COUNT];
} V8Constants;

/* Stores the constant with that name, without the prefix, if it is in the list above. */
void v8_constants_note(V8Constants *constants, const char *name, int32_t value);

/* Offsets are in bytes, except indexes of arrays, which are in elements. */
typedef struct V8Layout
{
	struct pfs_v8_layout walk; /* the part that the kernel's walk needs */
	uint16_t type_shared;
	uint16_t type_code; /* type of the object before machine code */
	uint16_t type_bytecodes;
	uint16_t type_scope_info;
	uint16_t string_types; /* types below it are strings */
	uint16_t shared_data;
	uint16_t shared_name;
	uint16_t shared_script;
	uint16_t array_length;
	uint16_t array_data;
	uint16_t bytecodes_positions;
	uint16_t bytecodes_data;
	uint16_t script_source;
	uint16_t script_name;
	uint16_t script_first_line;
	uint16_t string_length;
	uint16_t string_characters;
	uint16_t code_start;
	uint16_t code_size;
	uint16_t code_positions;
	uint16_t code_deopt;
	uint16_t code_flags;
	uint16_t kind_baseline; /* code of later kinds is optimized */
	uint16_t scope_data;
	uint16_t scope_first; /* index of the first variable's name */
	uint16_t scope_locals;
	uint16_t deopt_literals;
	uint16_t deopt_positions;
	uint16_t deopt_shared;
	bool has_streams; /* machine code is in another object, which leads to Code */
	bool has_kinds;	  /* Code's kind is a CodeKind: from 8.7 on */
	bool start_is_pointer;
	bool shared_is_wrapped;
	bool positions_in_scope; /* a ScopeInfo has the function's positions before the variables */
	uint8_t positions_shift; /* bits below the offset's difference in tables of positions */
} V8Layout;

/*
 * Derives the layout from constants. Returns false if the version is unknown, an underivable
 * constant is missing, or an offset is impossible.
 */
bool v8_layout_of(const V8Constants *constants, V8Layout *layout);

#endif
