/*
 * module.h
 *		Entry point of the module.
 */
#ifndef PFS_MODULE_H
#define PFS_MODULE_H

PGDLLEXPORT void _PG_init(void);

#endif
