/*
 * symbol_name.h
 *		Chooses among several names of one address, for ELF and kernel symbols.
 */
#ifndef COLLECTOR_SYMBOL_NAME_H
#define COLLECTOR_SYMBOL_NAME_H

#include <stdbool.h>

typedef enum SymbolRank
{
	SYMBOL_RANK_LABEL, /* untyped: assembly */
	SYMBOL_RANK_LOCAL,
	SYMBOL_RANK_EXPORTED, /* global or weak */
} SymbolRank;

/*
 * Returns true for the marks of the ARM and RISC-V ABIs between code and data ($a, $d, $t, $x, also
 * with a suffix), and for local labels.
 */
bool symbol_name_is_mark(const char *name);

/* Removes a symbol version: memcpy@@GLIBC_2.14. */
void symbol_name_cut_version(char *name);

/*
 * Orders names of equal rank like strcmp(), best first: fewer leading underscores, then shorter,
 * then by bytes. So every host chooses the same name.
 */
int symbol_name_compare(const char *a, const char *b);

#endif
