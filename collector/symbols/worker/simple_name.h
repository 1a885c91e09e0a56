/*
 * simple_name.h
 *		Makes short names of C++ functions, without template arguments and parameters.
 */
#ifndef COLLECTOR_SIMPLE_NAME_H
#define COLLECTOR_SIMPLE_NAME_H

/*
 * Shortens a demangled name in place, as pprof does by default: "void ns::f<int>(int) const"
 * becomes "ns::f". Removes template arguments, parameters, qualifiers, types of results, and notes
 * about clones. If a name is not understood, less is removed.
 */
void simple_name(char *name);

#endif
