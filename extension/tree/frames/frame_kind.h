/*
 * frame_kind.h
 *		The kind of a frame: machine code, the kernel's, code made at run time, or the interpreter
 *		that executed it.
 *
 * Code without a file has a mapping in brackets, which names its runtime: "[python]". The agent,
 * perf maps and OTLP's profile.frame.type call some runtimes by other names. A kind has one name.
 */
#ifndef PFS_FRAME_KIND_H
#define PFS_FRAME_KIND_H

/*
 * Returns the kind of the frames of a mapping: native, kernel, jit, python, v8, hotspot, ruby, php,
 * perl, luajit, dotnet or beam; "" if the mapping does not show it, as one without a name.
 */
const char *pfs_frame_kind(const char *mapping);

#endif
