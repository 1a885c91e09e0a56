/*
 * runtime.h
 *		Which language's runtime a process has, by the names of what it maps.
 */
#ifndef COLLECTOR_RUNTIME_H
#define COLLECTOR_RUNTIME_H

#include "process/mapping_list.h"

/*
 * "java", "python", "nodejs", …: that of the executable's name, else of the first library; "" for
 * none. A literal.
 */
const char *runtime_find(const char *exe, const MappingList *mappings);

#endif
