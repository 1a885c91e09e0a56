/*
 * python_file.c
 *		Reads sections and symbols of CPython.
 */
#include "runtimes/cpython/python_file.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/elf/elf_file.h"

#define STATE_SECTION  ".PyRuntime"
#define SYMBOL_VERSION "Py_Version"
#define SYMBOL_STATE   "_PyRuntime"
#define SYMBOL_TYPE	   "PyCode_Type"
#define SYMBOL_LOOP	   "_PyEval_EvalFrameDefault"
#define SYMBOL_COLD	   "_PyEval_EvalFrameDefault.cold"
#define SYMBOL_THREAD  "PyGILState_GetThisThreadState"

#define OBJECTS	  (1U << STT_OBJECT | 1U << STT_NOTYPE)
#define FUNCTIONS (1U << STT_FUNC | 1U << STT_NOTYPE)

typedef struct Reading
{
	ElfHeaders headers;
	ElfFile file;
	PythonFile *python;
} Reading;

/* Returns N of a file name "python3.N…" or "libpython3.N…"; 0 for other names. */
static uint32_t
minor_of_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	unsigned long minor;

	if (strncmp(name, "lib", 3) == 0)
		name += 3;
	if (strncmp(name, "python3.", 8) != 0)
		return 0;
	minor = strtoul(name + 8, NULL, 10);
	return minor < 100 ? (uint32_t) minor : 0;
}

/* Returns N of the version 3.N; 0 if it is another version or unknown. */
static uint32_t
find_minor(Reading *reading, const char *name)
{
	ElfSymbol symbol;
	uint32_t version;

	if (elf_file_find_any_symbol(&reading->file, SYMBOL_VERSION, OBJECTS, &symbol) &&
		elf_headers_read_at(&reading->headers, symbol.address, &version, sizeof(version)))
		return version >> 24 == 3 ? version >> 16 & 0xff : 0;
	return minor_of_name(name);
}

static bool
find_layout(Reading *reading, uint32_t minor, PythonLayout *layout)
{
	uint64_t words[PYTHON_OFFSETS_WORDS];
	ElfSymbol state;

	if (minor < PYTHON_MINOR_OFFSETS)
		return python_layout_of_version(minor, layout);
	return elf_file_find_any_symbol(&reading->file, SYMBOL_STATE, OBJECTS, &state) &&
		   elf_headers_read_at(&reading->headers, state.address, words, sizeof(words)) &&
		   python_layout_of_offsets(minor, words, layout);
}

static void
python_file_find_loops(Reading *reading, LoopCode loops[PYTHON_LOOPS])
{
	static const char *const names[PYTHON_LOOPS] = { SYMBOL_LOOP, SYMBOL_COLD };

	for (int i = 0; i < PYTHON_LOOPS; i++)
	{
		ElfSymbol symbol;

		if (elf_file_find_any_symbol(&reading->file, names[i], FUNCTIONS, &symbol) &&
			symbol.size_bytes <= UINT64_MAX - symbol.address)
			loops[i] = (LoopCode){ symbol.address, symbol.address + symbol.size_bytes };
	}
}

static void
read_python(Reading *reading, const char *name)
{
	PythonFile *python = reading->python;
	uint32_t minor = find_minor(reading, name);
	ElfSymbol symbol;

	python->is_python = true;
	if (!find_layout(reading, minor, &python->layout))
	{
		python->layout = (PythonLayout){ 0 };
		return;
	}
	if (elf_file_find_any_symbol(&reading->file, SYMBOL_TYPE, OBJECTS, &symbol))
		python->code_type = symbol.address;
	if (elf_file_find_any_symbol(&reading->file, SYMBOL_THREAD, FUNCTIONS, &symbol) &&
		elf_headers_read_at(&reading->headers, symbol.address, python->state_bytes,
							sizeof(python->state_bytes)))
		python->state_code = symbol.address;
	if (minor <= 10)
		python_file_find_loops(reading, python->loops);
}

void
python_file_read(const ElfSource *source, const char *name, PythonFile *python)
{
	Reading reading = { .python = python };
	ElfSymbol loop;
	Elf64_Shdr state;

	memset(python, 0, sizeof(*python));
	if (elf_headers_read(&reading.headers, source) != 0 || !reading.headers.is_64_bit)
		return;
	if (!elf_headers_find_section(&reading.headers, STATE_SECTION, &state) &&
		minor_of_name(name) == 0)
		return;
	/* a program that only loads CPython's library has no loop of its own */
	if (elf_file_init(&reading.file, source) == 0 &&
		elf_file_find_any_symbol(&reading.file, SYMBOL_LOOP, FUNCTIONS, &loop))
		read_python(&reading, name);
	elf_file_fini(&reading.file);
}
