/*
 * test_stuck_symbols.c
 *		Files that stop answering while their symbols are read, or when they are closed: no thread
 *		waits for them for long.
 */
#include "stuck_fixture.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/stat.h>

#include "agent/flusher/file_binary.h"
#include "symbols/binary.h"

/* Maps a file, unmaps it, and returns it by its path. */
static MappedFile *
acquire(Fixture *fixture)
{
	const ProcMapping mapped = {
		.start = 4096, .end = 8192, .name = fuse.path, .inode = FUSE_FILE_NODE
	};
	MappedFile *file;

	assert_int_equal(mapped_file_acquire_mapping(fixture->files, 0, (uint32_t) getpid(), &mapped,
												 &file),
					 0);
	return file;
}

static uint64_t
symbol_timeouts(const Symbolizer *symbolizer)
{
	SymbolizerStats stats;

	symbolizer_stats(symbolizer, &stats);
	return stats.timeouts;
}

/*
 * A file may also stop answering when its symbols are read, which must not take away those of other
 * programs.
 */
static void
test_symbols(void **state)
{
	const SymbolizerOptions options = { .cache_bytes = 1 << 20 };
	Fixture *fixture = *state;
	MappedFileStats stats;
	Symbolizer *symbolizer;
	Binary *binary;
	MappedFile *file;

	if (!have_fuse)
		skip();
	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	file = acquire(fixture);
	mapped_file_retain_sampled(fixture->files, file);
	fuse_file_hold(&fuse, FUSE_READ);
	for (int i = 0; i < 5; i++)
	{
		file_binary_open_pending(fixture->files, symbolizer, INT64_MAX);
		assert_null(file_binary(fixture->files, file, symbolizer));
	}
	/* once, and then the file is not read for a time */
	assert_int_equal(symbol_timeouts(symbolizer), 1);
	assert_int_equal(binary_open(symbolizer, "/proc/self/exe", "self", &binary), 0);
	binary_release(binary);
	fuse_file_let_go(&fuse);

	/* closing it may wait as well */
	fuse_file_hold(&fuse, FUSE_FLUSH);
	mapped_file_release(fixture->files, file);
	mapped_file_release(fixture->files, file);
	mapped_file_table_sweep(fixture->files);
	wait_until_held();
	mapped_file_table_stats(fixture->files, &stats);
	assert_int_equal(stats.timeouts, 1);
	assert_false(atomic_load(&overdue));
	fuse_file_let_go(&fuse);
	symbolizer_free(symbolizer);
}

/*
 * A file that cannot be closed, because the permitted number of threads wait for its device, is
 * still open, and so it counts among its owner's files.
 */
static void
test_closing(void **state)
{
	Fixture *fixture = *state;
	MappedFileStats before;
	MappedFileStats stats;
	MappedFile *file;

	if (!have_fuse)
		skip();
	mapped_file_table_stats(fixture->files, &before);
	fuse_file_hold(&fuse, FUSE_FLUSH);
	for (size_t i = 0; i < PROBER_DEVICE_STUCK + 2; i++)
	{
		file = acquire(fixture);
		mapped_file_release(fixture->files, file);
		mapped_file_table_sweep(fixture->files);
		mapped_file_table_stats(fixture->files, &stats);
		assert_int_equal(stats.count - before.count,
						 i < PROBER_DEVICE_STUCK ? 0 : i + 1 - PROBER_DEVICE_STUCK);
	}
	mapped_file_table_limit(fixture->files, before.count + 2, 0);
	assert_int_equal(mapped_file_acquire_executable(fixture->files, 1, (uint32_t) getpid(), "self",
													&file),
					 -EMFILE);
	fuse_file_let_go(&fuse);
	for (int i = 0; i < 1000 && stats.count > before.count; i++)
	{
		usleep(1000);
		mapped_file_table_sweep(fixture->files);
		mapped_file_table_stats(fixture->files, &stats);
	}
	assert_int_equal(stats.count, before.count);
	assert_false(atomic_load(&overdue));
}

/* A device whose files do not answer keeps few threads, however many of its files are read. */
static void
test_symbols_device(void **state)
{
	BinaryPlace place = { .path = fuse.path };
	struct stat status;
	Patience patience;
	Binary *binary;

	(void) state;
	if (!have_fuse)
		skip();
	assert_int_equal(stat(fuse.path, &status), 0);
	place.device = status.st_dev;
	place.inode = status.st_ino;
	assert_int_equal(patience_init(&patience), 0);
	fuse_file_hold(&fuse, FUSE_READ);
	for (int i = 0; i < PROBER_DEVICE_STUCK + 2; i++)
		assert_int_equal(binary_create(&patience, &place, "file", &binary), -EAGAIN);
	assert_int_equal(prober_stuck(patience.prober), PROBER_DEVICE_STUCK);
	fuse_file_let_go(&fuse);
	patience_fini(&patience);
}

/*
 * Opens the file, again if that was not answered in time. An emulated processor needs longer than
 * the watchdog allows for many files, but not for one.
 */
static void
open_answered(Patience *patience, const BinaryPlace *place, Binary **binary)
{
	int error;

	rewind_watchdog();
	while ((error = binary_create(patience, place, "file", binary)) == -EAGAIN &&
		   !atomic_load(&overdue))
		usleep(1000);
	assert_int_equal(error, 0);
}

#define CLOSED_TOGETHER 300

/*
 * Binaries whose descriptors cannot be closed prevent further closes on their device, and if there
 * are many, those of any program's file system, but not those of the kernel's.
 */
static void
test_symbols_closing(void **state)
{
	static Binary *binaries[CLOSED_TOGETHER];
	static const Elf64_Ehdr empty_program = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phnum = 1, /* at the beginning of the file, and so of an unknown kind */
	};
	const BinaryPlace anywhere = { .path = fuse.path };
	const BinaryPlace host = { .path = "/proc/self/exe" };
	BinaryPlace place = { .path = fuse.path };
	struct stat status;
	Patience patience;
	Binary *binary;

	(void) state;
	if (!have_fuse)
		skip();
	memcpy(fuse.data, &empty_program, sizeof(empty_program));
	assert_int_equal(stat(fuse.path, &status), 0);
	place.device = status.st_dev;
	assert_int_equal(patience_init(&patience), 0);
	for (int i = 0; i < CLOSED_TOGETHER; i++)
		open_answered(&patience, &place, &binaries[i]);
	fuse_file_hold(&fuse, FUSE_FLUSH);
	for (int i = 0; i < CLOSED_TOGETHER; i++)
	{
		rewind_watchdog();
		binary_close(binaries[i], &patience);
		binary_free(binaries[i]);
		if (i == PROBER_DEVICE_STUCK + PATIENCE_DEVICE_OPEN_MAX)
			assert_int_equal(patience_room(&patience, place.device), PATIENCE_ROOM_NONE);
	}
	assert_int_equal(patience.open_count, CLOSED_TOGETHER - PROBER_DEVICE_STUCK);
	assert_int_equal(binary_create(&patience, &place, "file", &binary), -EAGAIN);
	assert_int_equal(binary_create(&patience, &anywhere, "file", &binary), -EAGAIN);
	assert_int_equal(binary_create(&patience, &host, "self", &binary), 0);
	binary_free(binary);
	fuse_file_let_go(&fuse);
	for (int i = 0; i < 1000 && patience_room(&patience, place.device) != PATIENCE_ROOM_ALL; i++)
		usleep(1000);
	open_answered(&patience, &place, &binary);
	binary_free(binary);
	memset(fuse.data, 0, sizeof(fuse.data));
	assert_false(atomic_load(&overdue));
	patience_fini(&patience);
}

/* Nor is the search for separate debug files a reason to wait. */
static void
test_debug_files(void **state)
{
	const SymbolizerOptions options = { .cache_bytes = 1 << 20,
										.debug_directory = fuse.directory,
										.inlined_lines = true };
	const uint64_t address = 0x1000;
	Symbolizer *symbolizer;
	SymbolLines lines;
	Binary *binary;
	Dl_info library;

	if (!have_fuse)
		skip();
	assert_int_not_equal(dladdr((void *) (uintptr_t) &getpid, &library), 0);
	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	assert_int_equal(binary_open(symbolizer, library.dli_fname, "libc", &binary), 0);
	fuse_file_hold(&fuse, FUSE_LOOKUP);
	for (int i = 0; i < 5; i++)
		assert_int_equal(binary_symbolize(binary, address, &lines), 0);
	binary_prepare(binary, &address, 1, &SYMBOL_ASK_PATIENT);
	wait_until_held();
	assert_int_equal(symbol_timeouts(symbolizer), 1);
	assert_false(atomic_load(&overdue));
	fuse_file_let_go(&fuse);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_symbols, stuck_setup, stuck_teardown),
		cmocka_unit_test_setup_teardown(test_symbols_device, stuck_setup, stuck_teardown),
		cmocka_unit_test_setup_teardown(test_symbols_closing, stuck_setup, stuck_teardown),
		cmocka_unit_test_setup_teardown(test_closing, stuck_setup, stuck_teardown),
		cmocka_unit_test_setup_teardown(test_debug_files, stuck_setup, stuck_teardown),
	};

	return cmocka_run_group_tests(tests, stuck_begin, stuck_end);
}
