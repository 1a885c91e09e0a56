/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_tables.h
 *		Unwind tables in plain memory, for tests: the walker's C code runs without root and
 *		without a kernel.
 */
#ifndef PFS_MEMORY_TABLES_H
#define PFS_MEMORY_TABLES_H

#include "unwind/kernel_tables.h"

/* Returns NULL if out of memory. */
KernelTables *memory_tables_create(void);
void memory_tables_free(KernelTables *tables); /* accepts NULL */

#endif
