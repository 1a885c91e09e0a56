/*
 * simple_name.h
 *		Short names of C++ functions, without templates' arguments and without parameters.
 */
#ifndef COLLECTOR_SIMPLE_NAME_H
#define COLLECTOR_SIMPLE_NAME_H

/*
 * Shortens a demangled name in place, as pprof does by default: "void ns::f<int>(int) const"
 * becomes "ns::f". Arguments of templates, parameters, qualifiers and types of results, and notes
 * on clones are removed. A name that is not understood loses less.
 */
void simple_name(char *name);

#endif
