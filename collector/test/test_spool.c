/*
 * test_spool.c
 *		Batches on disk: images, files, files found after a crash, and damage.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* cmocka needs the headers above */
#include <cmocka.h>

#include "base/clock.h"
#include "shell.h"
#include "spool/batch_image.h"
#include "spool/spool.h"
#include "writer/queue.h"

#define BUDGET ((size_t) 16 << 20)

static char directory[] = "/tmp/test_spool.XXXXXX";
static char path[64];

/* Returns a batch with an item of each kind, whose numbers depend on n. */
static Batch *
make_batch(int n)
{
	Batch *batch = NULL;
	uint32_t mapping, functions[2], locations[2], stacks[2], series[2];
	char name[32];

	snprintf(name, sizeof(name), "f%d", n);
	assert_int_equal(batch_create(BUDGET, &batch), 0);
	assert_int_equal(batch_add_mapping(batch, &(BatchMapping){ "abcd", "/bin/x" }, &mapping), 0);
	assert_int_equal(batch_add_function(batch, &(BatchFunction){ name, "_Z1f", "f.c", -1 },
										&functions[0]),
					 0);
	assert_int_equal(batch_add_function(batch, &(BatchFunction){ "g", "g", "", 0 }, &functions[1]),
					 0);
	{
		BatchLine lines[] = { { functions[0], 7 }, { functions[1], -3 } };
		BatchLocation known = { mapping, UINT64_MAX, 2, lines };
		BatchLocation nameless = { BATCH_NO_MAPPING, 0, 1, &lines[1] };

		assert_int_equal(batch_add_location(batch, &known, &locations[0]), 0);
		assert_int_equal(batch_add_location(batch, &nameless, &locations[1]), 0);
	}
	assert_int_equal(batch_add_stack(batch, &(BatchStack){ "ef01", 2, locations }, &stacks[0]), 0);
	assert_int_equal(batch_add_stack(batch, &(BatchStack){ "", 0, NULL }, &stacks[1]), 0);
	{
		BatchLabel labels[] = { { "b", "2" }, { "a", "\xC3\xA4" } };

		assert_int_equal(batch_add_series(batch, &(BatchSeries){ "a:b:c:d:e", 2, labels, -5 },
										  &series[0]),
						 0);
		assert_int_equal(batch_add_series(batch, &(BatchSeries){ "a:b:c:d:e:delta", 0, NULL, 0 },
										  &series[1]),
						 0);
	}
	for (int i = 0; i < 4; i++)
	{
		BatchSample sample = { .time_us = i % 2 ? INT64_MIN + i : INT64_MAX - n,
							   .series = series[i / 2],
							   .stack = stacks[i / 2],
							   .value = i % 2 ? INT64_MIN : INT64_MAX };
		BatchTrace trace = { .sample = sample, .trace = { 1, 2, (uint8_t) i }, .span = { 9 } };

		assert_int_equal(batch_add_sample(batch, &sample), 0);
		assert_int_equal(batch_add_trace(batch, &trace), 0);
	}
	assert_int_equal(batch_add_loss(batch, "ring_full", 12), 0);
	assert_int_equal(batch_add_unwound(batch, &(BatchUnwound){ "/bin/x", 20, 19 }), 0);
	{
		const char *comments[] = { "one", "two" };
		BatchNote note = { series[0], 2, comments, "cpu", "https://x", NULL, "keep" };

		assert_int_equal(batch_add_note(batch, &note), 0);
	}
	assert_int_equal(batch_add_receipt(batch, (const uint8_t *) "0123456789abcdef"), 0);
	assert_int_equal(batch_add_receipt(batch, (const uint8_t *) "0123456789abcdef"), 0);
	return batch;
}

static BatchImage
image_of(const Batch *batch)
{
	BatchImage image = { NULL };

	assert_int_equal(batch_image_write(&image, batch), 0);
	return image;
}

static void
assert_equal_batches(const Batch *a, const Batch *b)
{
	BatchImage image_a = image_of(a);
	BatchImage image_b = image_of(b);

	assert_int_equal(image_a.length, image_b.length);
	assert_memory_equal(image_a.bytes, image_b.bytes, image_a.length);
	free(image_a.bytes);
	free(image_b.bytes);
}

/*
 * A batch that is read has every member of every item; the image is compared with the items, not
 * with itself.
 */
static void
test_image(void **state)
{
	Batch *batch = make_batch(3);
	Batch *copy;
	BatchImage image = image_of(batch);
	const BatchFunction *functions;
	const BatchLocation *locations;
	const BatchStack *stacks;
	const BatchSeries *series;
	const BatchSample *samples, *expected;
	const BatchTrace *traces;
	const BatchNote *notes;
	const BatchLoss *losses;
	const BatchUnwound *unwound;
	const BatchReceipt *receipts;

	assert_int_equal(batch_image_read(image.bytes, image.length, BUDGET, &copy), 0);
	assert_int_equal(batch_functions(copy, &functions), 2);
	assert_string_equal(functions[0].name, "f3");
	assert_string_equal(functions[0].system_name, "_Z1f");
	assert_string_equal(functions[0].filename, "f.c");
	assert_int_equal(functions[0].start_line, -1);
	assert_int_equal(batch_locations(copy, &locations), 2);
	assert_true(locations[0].address == UINT64_MAX && locations[0].mapping == 0);
	assert_int_equal(locations[0].line_count, 2);
	assert_int_equal(locations[0].lines[1].function, 1);
	assert_int_equal(locations[0].lines[1].line, -3);
	assert_true(locations[1].mapping == BATCH_NO_MAPPING && locations[1].address == 0);
	assert_int_equal(batch_stacks(copy, &stacks), 2);
	assert_string_equal(stacks[0].partition, "ef01");
	assert_int_equal(stacks[0].depth, 2);
	assert_int_equal(stacks[0].locations[1], 1);
	assert_int_equal(stacks[1].depth, 0);
	assert_int_equal(batch_series(copy, &series), 2);
	assert_int_equal(series[0].label_count, 2);
	assert_string_equal(series[0].labels[0].name, "a");
	assert_string_equal(series[0].labels[0].value, "\xC3\xA4");
	assert_int_equal(series[0].period, -5);
	assert_int_equal(batch_samples(copy, &samples), 4);
	assert_int_equal(batch_samples(batch, &expected), 4);
	for (int i = 0; i < 4; i++)
	{
		assert_true(samples[i].time_us == expected[i].time_us);
		assert_true(samples[i].value == expected[i].value);
		assert_int_equal(samples[i].series, expected[i].series);
		assert_int_equal(samples[i].stack, expected[i].stack);
	}
	assert_int_equal(batch_traces(copy, &traces), 4);
	assert_int_equal(traces[3].trace[2], 3);
	assert_int_equal(traces[3].span[0], 9);
	assert_true(traces[3].sample.value == INT64_MIN);
	assert_int_equal(batch_losses(copy, &losses), 1);
	assert_int_equal(losses[0].count, 12);
	assert_int_equal(batch_unwound(copy, &unwound), 1);
	assert_int_equal(unwound[0].complete, 19);
	assert_int_equal(batch_notes(copy, &notes), 1);
	assert_string_equal(notes[0].comments[1], "two");
	assert_string_equal(notes[0].doc_url, "https://x");
	assert_string_equal(notes[0].drop_frames, "");
	assert_string_equal(notes[0].keep_frames, "keep");
	assert_int_equal(batch_receipts(copy, &receipts), 2);
	assert_memory_equal(receipts[1].bytes, "0123456789abcdef", 16);
	batch_free(copy);
	batch_free(batch);
	free(image.bytes);
}

/* No prefix of an image is accepted, and no changed byte does harm. */
static void
test_damaged_images(void **state)
{
	Batch *batch = make_batch(1);
	BatchImage image = image_of(batch);
	Batch *copy;
	int refused = 0;

	for (size_t length = 0; length < image.length; length++)
		assert_int_equal(batch_image_read(image.bytes, length, BUDGET, &copy), -EBADMSG);
	for (size_t at = 0; at < image.length; at++)
		for (int change = 1; change < 256; change += 17)
		{
			int err;

			image.bytes[at] ^= (uint8_t) change;
			err = batch_image_read(image.bytes, image.length, BUDGET, &copy);
			assert_true(err == 0 || err == -EBADMSG || err == -ENOMEM);
			refused += err != 0;
			if (err == 0)
				batch_free(copy);
			image.bytes[at] ^= (uint8_t) change;
		}
	assert_true(refused > 1000);
	assert_int_equal(batch_image_read(image.bytes, image.length, 1000, &copy), -ENOMEM);
	batch_free(batch);
	free(image.bytes);
}

/* --- the directory --- */

static Spool *
open_spool(void)
{
	Failure failure = { 0 };
	Spool *spool = NULL;

	if (spool_open(path, &spool, &failure) != EXIT_OK)
		fail_msg("%s: %s", failure.message, failure.detail);
	return spool;
}

static SpooledBatch
put(Spool *spool, char writer, uint64_t number, uint64_t parent)
{
	SpooledBatch spooled = { .id.number = number, .parent = parent, .samples = number };
	Batch *batch = make_batch((int) number);

	memset(spooled.id.writer, writer, sizeof(spooled.id.writer));
	assert_int_equal(spool_put(spool, batch, &spooled), 0);
	batch_free(batch);
	return spooled;
}

static size_t
count_files(void)
{
	DIR *files = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(files)) != NULL)
		count += strstr(entry->d_name, ".batch") != NULL;
	closedir(files);
	return count;
}

/* A spool that is opened again has the batches that were put and not removed, in order. */
static void
test_found(void **state)
{
	Spool *spool = open_spool();
	const SpooledBatch *found;
	SpooledBatch removed;
	Batch *batch, *expected;

	put(spool, 'b', 2048, 0);
	removed = put(spool, 'b', 3072, 0);
	put(spool, 'a', 1024, 0);
	put(spool, 'b', 1024, 0);
	assert_int_equal(spool_remove(spool, &removed), 0);
	spool_close(spool);

	spool = open_spool();
	/* of two writers, the one whose first number was put first comes first */
	assert_int_equal(spool_found(spool, &found), 3);
	assert_int_equal(spool_damaged(spool), 0);
	assert_true(found[0].id.writer[0] == 'a' && found[0].id.number == 1024);
	assert_true(found[1].id.writer[0] == 'b' && found[1].id.number == 1024);
	assert_true(found[2].id.writer[0] == 'b' && found[2].id.number == 2048);
	assert_int_equal(found[2].samples, 2048);
	assert_int_equal(spool_bytes(spool),
					 found[0].file_bytes + found[1].file_bytes + found[2].file_bytes);
	assert_int_equal(spool_take(spool, &found[2], &batch), 0);
	expected = make_batch(2048);
	assert_equal_batches(batch, expected);
	batch_free(batch);
	batch_free(expected);
	assert_int_equal(spool_take(spool, &removed, &batch), -ENOENT);
	for (int i = 0; i < 3; i++)
		assert_int_equal(spool_remove(spool, &found[i]), 0);
	assert_int_equal(spool_bytes(spool), 0);
	assert_int_equal(count_files(), 0);
	spool_close(spool);
}

/* Pieces whose whole batch still exists come from an unfinished division. */
static void
test_pieces(void **state)
{
	Spool *spool = open_spool();
	const SpooledBatch *found;
	SpooledBatch whole = put(spool, 'a', 1024, 0);
	SpooledBatch piece;

	put(spool, 'a', 1025, 1024);
	put(spool, 'a', 1026, 1024);
	spool_close(spool);
	spool = open_spool();
	assert_int_equal(spool_found(spool, &found), 1);
	assert_int_equal(found[0].id.number, 1024);
	assert_int_equal(count_files(), 1);

	/* without the whole batch the pieces are used, and likewise pieces of a piece */
	piece = put(spool, 'a', 1025, 1024);
	put(spool, 'a', 1026, 1024);
	put(spool, 'a', 1027, 1026);
	assert_int_equal(spool_remove(spool, &whole), 0);
	spool_close(spool);
	spool = open_spool();
	assert_int_equal(spool_found(spool, &found), 2);
	assert_int_equal(found[0].id.number, 1025);
	assert_int_equal(found[1].id.number, 1026);
	assert_int_equal(found[1].parent, 1024);
	assert_int_equal(spool_remove(spool, &piece), 0);
	assert_int_equal(spool_remove(spool, &found[1]), 0);
	spool_close(spool);
	assert_int_equal(count_files(), 0);
}

/* Changes a byte of the only file, or cuts the file. */
static void
harm(off_t at, bool cut)
{
	char command[256];

	snprintf(command, sizeof(command),
			 cut ? "truncate -s %ld %s/*.batch"
				 : "printf '\\377\\376' | dd bs=1 seek=%ld conv=notrunc "
				   "status=none of=$(echo %s/*.batch)",
			 (long) at, path);
	assert_int_equal(system(command), 0);
}

/* A damaged header is found when the directory is opened, a damaged body when the batch is read. */
static void
test_damage(void **state)
{
	static const struct
	{
		off_t at;
		bool cut;
		bool is_head;
	} cases[] = { { 0, false, true },  { 8, false, true },	  { 32, false, true },
				  { 90, false, true }, { 40, true, true },	  { 0, true, true },
				  { 150, true, true }, { 100, false, false }, { 200, false, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		Spool *spool = open_spool();
		const SpooledBatch *found;
		Batch *batch;

		put(spool, 'a', 1024, 0);
		spool_close(spool);
		harm(cases[i].at, cases[i].cut);
		spool = open_spool();
		assert_int_equal(spool_damaged(spool), cases[i].is_head);
		assert_int_equal(spool_found(spool, &found), !cases[i].is_head);
		if (!cases[i].is_head)
		{
			assert_int_equal(spool_take(spool, &found[0], &batch), -EBADMSG);
			assert_int_equal(spool_remove(spool, &found[0]), 0);
		}
		spool_close(spool);
		assert_int_equal(count_files(), 0);
	}
}

/* A file that a killed process had begun to write is ignored, and other files stay. */
static void
test_leftovers(void **state)
{
	Spool *spool;
	const SpooledBatch *found;
	char command[256];

	snprintf(command, sizeof(command),
			 "cd %s && touch 00-00.batch.new && echo x >notes && echo x >notes.new && "
			 "echo x >other.batch",
			 path);
	assert_int_equal(system(command), 0);
	spool = open_spool();
	assert_int_equal(spool_found(spool, &found), 0);
	assert_int_equal(spool_damaged(spool), 1);
	assert_int_equal(count_files(), 0);
	snprintf(command, sizeof(command), "test -e %s/notes && test -e %s/notes.new", path, path);
	assert_int_equal(system(command), 0);
	spool_close(spool);
}

/* A file of the suffix that cannot be read stays and is counted; here, a directory. */
static void
test_unreadable_file(void **state)
{
	Spool *spool;
	const SpooledBatch *found;

	run("mkdir %s/00-00.batch", path);
	spool = open_spool();
	assert_int_equal(spool_found(spool, &found), 0);
	assert_int_equal(spool_damaged(spool), 0);
	assert_int_equal(spool_unreadable(spool), 1);
	spool_close(spool);
	run("rmdir %s/00-00.batch", path);
	spool = open_spool();
	assert_int_equal(spool_unreadable(spool), 0);
	spool_close(spool);
}

static void
assert_refused(const char *place, const char *message)
{
	Failure failure = { 0 };
	Spool *spool = NULL;

	assert_int_equal(spool_open(place, &spool, &failure), EXIT_CONFIG);
	assert_string_equal(failure.message, message);
	assert_non_null(strstr(failure.detail, place));
}

static void
test_refused_directories(void **state)
{
	Spool *spool = open_spool();

	assert_refused(path, "spool directory is in use by another process");
	spool_close(spool);
	assert_int_equal(chmod(path, 0770), 0);
	assert_refused(path, "spool directory has another owner, or others may write into it");
	assert_int_equal(chmod(path, 0700), 0);
	assert_refused("/nonexistent/spool", "could not open the spool directory");
	assert_refused("/etc/passwd", "could not open the spool directory");
}

static bool unlinking_fails;

/* The linker prefers these functions to those of libc, so spool.c calls them. */
int
unlinkat(int fd, const char *name, int flags)
{
	if (unlinking_fails)
	{
		errno = EIO;
		return -1;
	}
	return (int) syscall(SYS_unlinkat, fd, name, flags);
}

static int flushed_file_systems;

int
syncfs(int fd)
{
	flushed_file_systems++;
	return (int) syscall(SYS_syncfs, fd);
}

/* A piece that cannot be removed would be stored after its whole batch. */
static void
test_piece_stays(void **state)
{
	Spool *spool = open_spool();

	put(spool, 'a', 1024, 0);
	put(spool, 'a', 1025, 1024);
	spool_close(spool);
	unlinking_fails = true;
	assert_refused(path, "could not put the batches of the spool directory in order");
	unlinking_fails = false;
	assert_int_equal(count_files(), 2);
	run("rm %s/*.batch", path);
}

/* The name of a new directory is on disk before the first batch is. */
static void
test_new_directory(void **state)
{
	run("rm -r %s", path);
	flushed_file_systems = 0;
	spool_close(open_spool());
	assert_int_equal(flushed_file_systems, 1);
	spool_close(open_spool());
	assert_int_equal(flushed_file_systems, 1);
}

/* If a file cannot be written, no part of it is left. */
static void
test_full_disk(void **state)
{
	char command[256];
	SpooledBatch spooled = { .id.number = 1024 };
	Batch *batch;
	Spool *spool;

	if (geteuid() != 0)
		skip();
	snprintf(command, sizeof(command), "mount -t tmpfs -o size=16k,mode=700 none %s", path);
	if (system(command) != 0)
		skip();
	snprintf(command, sizeof(command), "head -c 12000 /dev/zero >%s/filler; rm -f %s/lock", path,
			 path);
	assert_int_equal(system(command), 0);
	spool = open_spool();
	batch = make_batch(1);
	for (int i = 0; i < 3; i++)
	{
		snprintf(command, sizeof(command), "head -c 100000 /dev/zero >%s/filler2 2>/dev/null",
				 path);
		(void) !system(command);
		assert_int_equal(spool_put(spool, batch, &spooled), -ENOSPC);
		assert_int_equal(count_files(), 0);
		assert_int_equal(spool_bytes(spool), 0);
	}
	snprintf(command, sizeof(command), "rm %s/filler2", path);
	assert_int_equal(system(command), 0);
	assert_int_equal(spool_put(spool, batch, &spooled), 0);
	assert_int_equal(spool_remove(spool, &spooled), 0);
	batch_free(batch);
	spool_close(spool);
	snprintf(command, sizeof(command), "umount %s", path);
	assert_int_equal(system(command), 0);
}

/* --- a power cut --- */

#define NAMES_MAX 16

/*
 * What a disk keeps if the power fails: the names that the directory had when it was last flushed,
 * and the bytes that each file had when it was. A file that was never flushed is empty.
 */
static struct
{
	bool records;
	char bytes[64]; /* directory of the flushed bytes, by number of inode */
	size_t count;
	char names[NAMES_MAX][NAME_MAX + 1];
	ino_t inodes[NAMES_MAX];
	size_t cuts; /* number of moments at which the power was cut */
} disk;

static void
disk_flush_directory(int fd)
{
	DIR *entries = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY));
	struct dirent *entry;

	assert_non_null(entries);
	disk.count = 0;
	while ((entry = readdir(entries)) != NULL)
	{
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, "lock") == 0)
			continue;
		assert_true(disk.count < NAMES_MAX);
		snprintf(disk.names[disk.count], sizeof(disk.names[0]), "%s", entry->d_name);
		disk.inodes[disk.count++] = entry->d_ino;
	}
	closedir(entries);
}

/*
 * Opens the files that a power cut would leave. Returns the number of whole batches; none may be
 * damaged.
 */
static size_t
batches_after_cut(const Batch *batch)
{
	char left[80];
	const SpooledBatch *found;
	Failure failure = { 0 };
	Spool *spool = NULL;
	size_t count;

	snprintf(left, sizeof(left), "%s/left", directory);
	run("rm -rf %s && mkdir -m 700 %s", left, left);
	for (size_t i = 0; i < disk.count; i++)
		run("cp %s/%lu %s/%s 2>/dev/null || : >%s/%s", disk.bytes, (unsigned long) disk.inodes[i],
			left, disk.names[i], left, disk.names[i]);
	disk.records = false;
	assert_int_equal(spool_open(left, &spool, &failure), EXIT_OK);
	assert_int_equal(spool_damaged(spool), 0);
	count = spool_found(spool, &found);
	for (size_t i = 0; i < count; i++)
	{
		Batch *read = NULL;

		assert_int_equal(spool_take(spool, &found[i], &read), 0);
		assert_equal_batches(batch, read);
		batch_free(read);
	}
	spool_close(spool);
	disk.records = true;
	disk.cuts++;
	return count;
}

static const Batch *cut_batch;
static size_t cut_before; /* number of batches that must be there at each cut */

/* The linker prefers this function to that of libc, so spool.c calls it. */
int
fsync(int fd)
{
	struct stat status;

	if (disk.records)
	{
		size_t count = batches_after_cut(cut_batch);

		assert_true(count == cut_before || count == cut_before + 1);
		assert_int_equal(fstat(fd, &status), 0);
		if (S_ISDIR(status.st_mode))
			disk_flush_directory(fd);
		else
			run("cat /proc/%d/fd/%d >%s/%lu", getpid(), fd, disk.bytes,
				(unsigned long) status.st_ino);
	}
	return (int) syscall(SYS_fsync, fd);
}

/* A batch that spool_put() has written is there whole if the power fails at any later moment. */
static void
test_power_cut(void **state)
{
	Batch *batch = make_batch(1);
	Spool *spool = open_spool();

	snprintf(disk.bytes, sizeof(disk.bytes), "%s/bytes", directory);
	run("mkdir %s", disk.bytes);
	cut_batch = batch;
	disk.records = true;
	for (int i = 0; i < 3; i++)
	{
		SpooledBatch spooled = { .id.number = (uint64_t) (1024 * (i + 1)), .samples = 4 };

		cut_before = (size_t) i;
		assert_int_equal(spool_put(spool, batch, &spooled), 0);
		assert_int_equal(batches_after_cut(batch), i + 1);
	}
	disk.records = false;
	assert_true(disk.cuts >= 9);
	spool_close(spool);
	batch_free(batch);
	run("rm -rf %s/*", path);
}

/* --- jumps of the clock --- */

static int64_t
age_of_file(int64_t put_us)
{
	SpooledBatch file = { .put_us = put_us };
	QueuedBatch *item = queued_batch_of_file(&file);
	int64_t age_ns;

	assert_non_null(item);
	age_ns = clock_ns(CLOCK_MONOTONIC) - item->queued_ns;
	queued_batch_free(item);
	return age_ns / NS_PER_S;
}

/* A clock that was set back, or was not set when a file was written, lets no batch expire. */
static void
test_clock_jumps(void **state)
{
	const int64_t now_us = clock_ns(CLOCK_REALTIME) / 1000;
	const int64_t hour_us = INT64_C(3600) * 1000 * 1000;

	assert_in_range(age_of_file(now_us - hour_us), 3600, 3660);
	assert_in_range(age_of_file(now_us + hour_us), 0, 60);
	assert_in_range(age_of_file(now_us + 24 * 365 * hour_us), 0, 60);
	assert_in_range(age_of_file(0), 0, 60);
	assert_in_range(age_of_file(hour_us), 0, 60);
	assert_in_range(age_of_file(INT64_MAX), 0, 60);
	assert_in_range(age_of_file(INT64_MIN), 0, 60);
}

static int
setup(void **state)
{
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/spool", directory);
	return 0;
}

static int
teardown(void **state)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_image),			cmocka_unit_test(test_damaged_images),
		cmocka_unit_test(test_found),			cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_damage),			cmocka_unit_test(test_leftovers),
		cmocka_unit_test(test_unreadable_file), cmocka_unit_test(test_piece_stays),
		cmocka_unit_test(test_new_directory),	cmocka_unit_test(test_refused_directories),
		cmocka_unit_test(test_full_disk),		cmocka_unit_test(test_power_cut),
		cmocka_unit_test(test_clock_jumps),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
