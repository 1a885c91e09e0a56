/*
 * symbol_session.c
 *		Looks up an address in DWARF; in the symbol table if that has more; without DWARF in Go's
 *		function table; and if none of these has it, in the unwind information.
 */
#include "symbols/worker/symbol_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/elf/debug_files.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/file_identity.h"
#include "symbols/elf/go_table.h"
#include "symbols/elf/mini_debug.h"
#include "symbols/elf/symbol_table.h"
#include "symbols/elf/symbol_table_file.h"
#include "symbols/elf/unnamed_functions.h"
#include "symbols/worker/symbol_line.h"

#define GO_FRAMES_MAX 64 /* limit of the inlined calls of Go */
#define WATCHED_MAX	  3	 /* debug file, supplement, package */

/* A separate debug file, as it was before it was read. */
typedef struct WatchedFile
{
	int fd; /* owned by others */
	FileIdentity identity;
} WatchedFile;

struct SymbolSession
{
	SessionFiles files;
	WatchedFile watched[WATCHED_MAX];
	uint32_t watched_count;
	ElfFile binary;
	ElfFile debug;
	MiniDebug mini;
	DwarfSession *dwarf; /* NULL: there is none, or it must not be read */
	bool left_out;		 /* DWARF is not read, because it would take too much memory */
	const ElfFile *symbol_files[SYMBOL_TABLE_FILES_MAX];
	uint32_t symbol_file_count;
	SymbolTable *table; /* made at the first lookup that needs it */
	bool table_failed;	/* making the table failed, and is not tried again */
	bool table_loaded;	/* the table was read from disk */
	GoTable *go;		/* opened when first needed; NULL: none */
	bool go_tried;
	UnnamedFunctions *unnamed; /* read when first needed; NULL: none */
	bool unnamed_tried;
	size_t room_bytes; /* memory that the process may allocate */
	char name[SYMBOL_NAME_MAX_BYTES];
	char start[UNNAMED_TEXT_BYTES]; /* name and system_name of an unnamed function */
	char identity[UNNAMED_TEXT_BYTES];
};

static int
symbol_session_describe_file(int fd, ElfFile *file)
{
	ElfSource source = { .fd = fd };
	struct stat status;

	if (fstat(fd, &status) != 0)
		return -ENOEXEC;
	source.size_bytes = (uint64_t) status.st_size;
	return elf_file_init(file, &source);
}

static void
close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Records what a file is before it is read. Returns false if that is not known. */
static bool
watch_file(SymbolSession *session, int fd)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return false;
	session->watched[session->watched_count++] = (WatchedFile){ fd, file_identity_of(&status) };
	return true;
}

bool
symbol_session_is_unchanged(const SymbolSession *session)
{
	for (uint32_t i = 0; i < session->watched_count; i++)
	{
		const WatchedFile *watched = &session->watched[i];
		struct stat status;
		FileIdentity now;

		if (fstat(watched->fd, &status) != 0)
			return false;
		now = file_identity_of(&status);
		if (memcmp(&now, &watched->identity, sizeof(now)) != 0)
			return false;
	}
	return true;
}

/*
 * Describes the debug file. Returns false if it cannot be used: its build ID, which the collector
 * has compared, is another one if it was overwritten since.
 */
static bool
use_debug_file(SymbolSession *session)
{
	int fd = session->files.debug;

	if (fd < 0 || !watch_file(session, fd))
		return false;
	if (symbol_session_describe_file(fd, &session->debug) == 0)
	{
		if (!elf_build_ids_differ(&session->debug.build_id, &session->binary.build_id))
			return true;
		elf_file_fini(&session->debug);
	}
	/* it stays watched, because it may become the right file again */
	session->debug = (ElfFile){ 0 };
	return false;
}

/* Returns true if a file is, by its build ID, the supplement that the file with DWARF names. */
static bool
is_supplement_of(const ElfFile *file, int fd)
{
	ElfSource source = { .fd = fd };
	struct stat status;
	DebugLinks links;
	ElfFile supplement;
	bool is_it = false;

	if (fstat(fd, &status) != 0)
		return false;
	source.size_bytes = (uint64_t) status.st_size;
	debug_links_read(&links, file);
	if (elf_file_init_supplement(&supplement, &source) == 0)
	{
		is_it = !elf_build_ids_differ(&supplement.build_id, &links.alternative_id);
		elf_file_fini(&supplement);
	}
	debug_links_fini(&links);
	return is_it;
}

static void
close_unused(int *fd)
{
	close_fd(*fd);
	*fd = -1;
}

/* Watches the supplement and the package of the file with DWARF, and closes what is not usable. */
static void
watch_companions(SymbolSession *session, const ElfFile *file)
{
	int *alternative = &session->files.alternative;
	int *package = &session->files.package;

	if (*alternative >= 0 && !watch_file(session, *alternative))
		close_unused(alternative);
	else if (*alternative >= 0 && !is_supplement_of(file, *alternative))
	{
		session->watched_count--;
		close_unused(alternative);
	}
	if (*package >= 0 && !watch_file(session, *package))
		close_unused(package);
}

/* Opens DWARF with duplicates of the descriptors, which the DWARF session closes. */
static void
open_dwarf(SymbolSession *session, size_t room_bytes)
{
	bool is_separate = !session->binary.has_dwarf;
	int from = is_separate ? session->files.debug : session->files.binary;
	uint32_t watched = session->watched_count;
	int err;
	int fd;

	if (is_separate && (from < 0 || !session->debug.has_dwarf))
		return;
	fd = dup(from);
	if (fd < 0)
		return;
	watch_companions(session, is_separate ? &session->debug : &session->binary);
	err = dwarf_session_open(&(DwarfFds){ fd, session->files.alternative, session->files.package },
							 room_bytes / 2, &session->dwarf);
	/* the sections, or the list of the units, would take too much memory */
	session->left_out = err == -EFBIG || err == -ENOMEM;
	/* supplement and package are closed then */
	if (err != 0)
		session->watched_count = watched;
	session->files.alternative = -1;
	session->files.package = -1;
}

int
symbol_session_open(const SessionFiles *files, bool with_dwarf, size_t room_bytes,
					SymbolSession **session)
{
	SymbolSession *made = calloc(1, sizeof(*made));
	int err = -ENOMEM;

	if (made == NULL)
	{
		close_fd(files->binary);
		close_fd(files->debug);
		close_fd(files->alternative);
		close_fd(files->package);
		return err;
	}
	made->files = *files;
	made->room_bytes = room_bytes;
	err = symbol_session_describe_file(files->binary, &made->binary);
	if (err != 0)
	{
		symbol_session_close(made);
		return err;
	}
	made->symbol_files[made->symbol_file_count++] = &made->binary;
	if (use_debug_file(made))
		made->symbol_files[made->symbol_file_count++] = &made->debug;
	else if (made->binary.symbols[ELF_SYMTAB].count == 0 &&
			 mini_debug_open(&made->binary, room_bytes, &made->mini))
		made->symbol_files[made->symbol_file_count++] = &made->mini.file;
	if (with_dwarf)
		open_dwarf(made, room_bytes);
	*session = made;
	return 0;
}

void
symbol_session_close(SymbolSession *session)
{
	if (session == NULL)
		return;
	dwarf_session_close(session->dwarf);
	symbol_table_free(session->table);
	go_table_close(session->go);
	unnamed_functions_free(session->unnamed);
	mini_debug_close(&session->mini);
	elf_file_fini(&session->binary);
	elf_file_fini(&session->debug);
	close_fd(session->files.binary);
	close_fd(session->files.debug);
	close_fd(session->files.alternative);
	close_fd(session->files.package);
	free(session);
}

void
symbol_session_read_dwarf(SymbolSession *session, size_t room_bytes)
{
	if (session->dwarf == NULL)
		open_dwarf(session, room_bytes);
}

int
symbol_session_load_table(SymbolSession *session, int fd)
{
	int err;

	if (session->table != NULL)
		return 0;
	err = symbol_table_read(session->symbol_files, session->symbol_file_count, fd, &session->table);
	session->table_loaded = err == 0;
	return err;
}

int
symbol_session_keep_table(SymbolSession *session, int fd)
{
	if (session->table_loaded)
		return -EALREADY;
	if (session->table == NULL)
		return -ENOENT;
	return symbol_table_write(session->table, session->symbol_files, session->symbol_file_count,
							  fd);
}

DwarfSession *
symbol_session_dwarf(SymbolSession *session)
{
	return session->dwarf;
}

bool
symbol_session_left_out(const SymbolSession *session)
{
	return session->left_out;
}

void
symbol_session_give_back(SymbolSession *session)
{
	if (session->dwarf != NULL)
		dwarf_session_give_back(session->dwarf);
}

/* Returns the name of the symbol that covers an address; NULL if there is none. */
static const char *
find_symbol(SymbolSession *session, uint64_t address)
{
	uint64_t start;

	if (session->table == NULL && !session->table_failed)
		session->table_failed =
			symbol_table_create(session->symbol_files, session->symbol_file_count,
								&session->table) != 0;
	if (session->table == NULL ||
		!symbol_table_find(session->table, session->symbol_files, address, session->name, &start))
		return NULL;
	return session->name;
}

/*
 * Makes the frames of a Go function that covers an address. Go's table names functions as DWARF
 * does. A symbol's name may differ: the linker appends a calling convention (runtime.goexit.abi0).
 * The symbol is better if the table leaves out type arguments: main.spin[...]. Returns the number
 * of frames.
 */
static int
find_go_functions(SymbolSession *session, uint64_t address, const char *symbol, DwarfFrame *frames,
				  int max)
{
	GoFunction functions[GO_FRAMES_MAX];
	int count;

	if (!session->go_tried)
		(void) go_table_open(&session->binary.source, &session->go);
	session->go_tried = true;
	if (session->go == NULL)
		return 0;
	count =
		go_table_find(session->go, address, functions, max < GO_FRAMES_MAX ? max : GO_FRAMES_MAX);
	for (int i = 0; i < count; i++)
	{
		const GoFunction *function = &functions[i];
		bool is_cut = i == count - 1 && symbol != NULL && strstr(function->name, "[...]") != NULL;

		frames[i] = (DwarfFrame){ .name = is_cut ? symbol : function->name,
								  .directory = "",
								  .filename = function->file,
								  .start_line = function->start_line,
								  .line = function->line };
		frames[i].linkage_name = frames[i].name;
	}
	return count;
}

/* Makes the frame of a function that has no symbol. */
static bool
find_unnamed(SymbolSession *session, uint64_t address, DwarfFrame *frame)
{
	if (!session->unnamed_tried)
		(void) unnamed_functions_read(&session->binary, session->room_bytes, &session->unnamed);
	session->unnamed_tried = true;
	if (session->unnamed == NULL ||
		!unnamed_functions_find(session->unnamed, &session->binary, address, session->start,
								session->identity))
		return false;
	*frame = (DwarfFrame){ .name = session->start,
						   .linkage_name = session->identity,
						   .directory = "",
						   .filename = "",
						   .line = SYMBOL_LINE_UNNAMED };
	return true;
}

/* Finds the frames of an address by symbols and debug information. */
static int
find_named(SymbolSession *session, uint64_t address, DwarfFrame *frames, int max)
{
	int count =
		session->dwarf == NULL ? 0 : dwarf_session_lookup(session->dwarf, address, frames, max);
	DwarfFrame *outermost;
	const char *symbol;

	if (count < 0 || (count > 0 && !frames[count - 1].needs_symbol))
		return count;
	symbol = find_symbol(session, address);
	if (count == 0)
	{
		count = find_go_functions(session, address, symbol, frames, max);
		if (count > 0)
			return count;
		if (symbol == NULL)
			return 0;
		frames[0] =
			(DwarfFrame){ .name = symbol, .linkage_name = symbol, .directory = "", .filename = "" };
		return 1;
	}
	outermost = &frames[count - 1];
	if (symbol != NULL)
	{
		outermost->linkage_name = symbol;
		if (outermost->name[0] == '\0')
			outermost->name = symbol;
	}
	else if (outermost->name[0] == '\0')
		count--; /* drop a last frame that has lines but no function */
	return count;
}

int
symbol_session_lookup(SymbolSession *session, uint64_t address, DwarfFrame *frames, int max)
{
	int count = find_named(session, address, frames, max);

	return count != 0 ? count : find_unnamed(session, address, &frames[0]);
}

bool
symbol_session_exhausted(const SymbolSession *session)
{
	return session->dwarf != NULL && dwarf_session_exhausted(session->dwarf);
}
