/*
 * runtime.h
 *		Recognizes the language runtime of a process by the names of its mapped files.
 */
#ifndef COLLECTOR_RUNTIME_H
#define COLLECTOR_RUNTIME_H

#include "process/mapping_list.h"

/*
 * Returns "java", "python", "nodejs", …: by the executable's name or, if that is no runtime, by the
 * first library that is one; "" if neither is a runtime. The result is a string literal.
 */
const char *runtime_find(const char *exe, const MappingList *mappings);

#endif
