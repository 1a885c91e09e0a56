/*
 * symbol_name.h
 *		Which of several names of one address to show, shared by ELF and kernel symbols.
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
 * Marks that the ARM and RISC-V ABIs put between code and data ($a, $d, $t, $x, also with a
 * suffix), and local labels.
 */
bool symbol_name_is_mark(const char *name);

/* Cuts a symbol version: memcpy@@GLIBC_2.14. */
void symbol_name_cut_version(char *name);

/*
 * Orders names of equal rank, best first like strcmp: fewer leading underscores, then shorter, then
 * by bytes, so that the choice is the same on every host.
 */
int symbol_name_compare(const char *a, const char *b);

#endif
