/*
 * perl_file.c
 *		Reads symbols of Perl, and has the offsets of its versions.
 */
#include "runtimes/perl/perl_file.h"

#include <string.h>

#include "files/exported_symbol.h"

#define SYMBOL_LOOP		"Perl_runops_standard"
#define SYMBOL_KEY		"PL_thr_key"
#define SYMBOL_COP		"PL_curcop"
#define SYMBOL_STACK	"PL_curstackinfo"
#define SYMBOL_REVISION "PL_revision"
#define SYMBOL_VERSION	"PL_version"

#define OBJECTS	  (1U << STT_OBJECT)
#define FUNCTIONS (1U << STT_FUNC)

static const char *const loops[] = { SYMBOL_LOOP, "Perl_runops_debug" };

/*
 * The function that calls the interpreter's loop for an eval is not exported. In the binary it lies
 * among the functions of pp_ctl.c, between the end of Perl_cx_dump, which is the last function of
 * scope.c, and the end of Perl_pp_break.
 */
#define SYMBOL_BEFORE_EVALS	 "Perl_cx_dump"
#define SYMBOL_LAST_OF_EVALS "Perl_pp_break"
#define EVALS_BYTES			 (256 * 1024)

bool
perl_layout_of(uint32_t version, struct pfs_perl_layout *layout)
{
	if (version < PERL_VERSION_FIRST || version > PERL_VERSION_LAST)
		return false;
	*layout = (struct pfs_perl_layout){ .state_cop = version >= 34 ? 0xd0 : 0xe0,
										.state_stack = version >= 34 ? 0xe0 : 0xf0,
										.stack_type = version >= 32 ? 0x2c / 4 : 0x28 / 4,
										.context_function = version >= 32 ? 9 : 8,
										.has_short_contexts = version < 32,
										.has_names_behind_body = version >= 36 };
	return true;
}

/* Reads a constant of one byte. Returns -1 if the file has none with this name. */
static int
perl_number(ElfHeaders *headers, const char *name)
{
	ExportedSymbol symbol;
	uint8_t number;

	if (!exported_symbol_find(headers, name, OBJECTS, &symbol) ||
		!elf_headers_read_at(headers, symbol.address, &number, sizeof(number)))
		return -1;
	return number;
}

/* Finds the code of a function. A function that is not exported has none. */
static LoopCode
perl_find_function(ElfHeaders *headers, const char *name)
{
	ExportedSymbol symbol;

	if (!exported_symbol_find(headers, name, FUNCTIONS, &symbol) ||
		symbol.size_bytes > UINT64_MAX - symbol.address)
		return (LoopCode){ .start = 0 };
	return (LoopCode){ .start = symbol.address, .end = symbol.address + symbol.size_bytes };
}

static void
perl_find_loops(ElfHeaders *headers, PerlFile *file)
{
	LoopCode before = perl_find_function(headers, SYMBOL_BEFORE_EVALS);
	LoopCode last = perl_find_function(headers, SYMBOL_LAST_OF_EVALS);

	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
		file->loops[i] = perl_find_function(headers, loops[i]);
	if (before.end != 0 && last.end > before.end && last.end - before.end <= EVALS_BYTES)
		file->loops[PERL_LOOPS - 1] =
			(LoopCode){ .start = before.end, .end = last.end, .is_resumer = true };
}

/*
 * Finds the key of threads' interpreters, or the variables of the interpreter of Perl that is built
 * without threads. Returns false if the file exports neither.
 */
static bool
perl_find_state(ElfHeaders *headers, PerlFile *file)
{
	ExportedSymbol cop;
	ExportedSymbol stack;

	if (exported_symbol_find(headers, SYMBOL_KEY, OBJECTS, &stack))
	{
		file->key = stack.address;
		return true;
	}
	if (!exported_symbol_find(headers, SYMBOL_COP, OBJECTS, &cop) ||
		!exported_symbol_find(headers, SYMBOL_STACK, OBJECTS, &stack))
		return false;
	file->layout.state_cop = cop.address;
	file->layout.state_stack = stack.address;
	file->layout.is_single = 1;
	return true;
}

bool
perl_file_read(const ElfSource *source, PerlFile *file)
{
	ElfHeaders headers;
	ExportedSymbol loop;
	int version;

	memset(file, 0, sizeof(*file));
	if (elf_headers_read(&headers, source) != 0 ||
		!exported_symbol_find(&headers, SYMBOL_LOOP, FUNCTIONS, &loop))
		return false;
	perl_find_loops(&headers, file);
	version = perl_number(&headers, SYMBOL_VERSION);
	if (perl_number(&headers, SYMBOL_REVISION) != 5 || version < 0 ||
		!perl_layout_of((uint32_t) version, &file->layout) || !perl_find_state(&headers, file))
		return true;
	file->version = (uint32_t) version;
	return true;
}
