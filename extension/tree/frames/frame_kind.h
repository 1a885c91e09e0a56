/*
 * frame_kind.h
 *		The kind of a frame: machine code, the kernel's, code made at run time, or the interpreter
 *		that executed it.
 *
 * Code without a file has a mapping in brackets, which names its runtime: "[python]". For some
 * runtimes the agent, perf maps and OTLP's profile.frame.type use different names, which are mapped
 * to one kind.
 */
#ifndef PFS_FRAME_KIND_H
#define PFS_FRAME_KIND_H

/*
 * Returns the kind of the frames of a mapping: native, kernel, jit, python, v8, hotspot, ruby, php,
 * perl, luajit, dotnet or beam. Returns "" if the mapping does not show the kind, for example
 * because it has no name.
 */
const char *pfs_frame_kind(const char *mapping);

#endif
