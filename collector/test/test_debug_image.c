/*
 * test_debug_image.c
 *		Container images as tar itself writes them, compressed and nested; and damaged ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "debuginfo/debug_image.h"

#define FILES_MAX 16

/* The files that a walk has found. */
typedef struct Found
{
	int count;
	int stop_after; /* 0: never */
	char names[FILES_MAX][IMAGE_NAME_BYTES];
	size_t sizes[FILES_MAX];
	uint32_t sums[FILES_MAX];
} Found;

static char directory[] = "/tmp/test_debug_image.XXXXXX";

static int
enter(void **state)
{
	return mkdtemp(directory) != NULL ? chdir(directory) : -1;
}

static int
leave(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return chdir("/") != 0 ? -1 : system(command);
}

static void
sh(const char *command)
{
	assert_int_equal(system(command), 0);
}

static uint32_t
sum_of(const uint8_t *bytes, size_t length, uint32_t sum)
{
	for (size_t i = 0; i < length; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

static bool
take(void *context, const char *name, int fd)
{
	Found *found = context;
	uint8_t bytes[4096];
	struct stat status;
	ssize_t got;

	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_nlink, 0);
	if (found->count < FILES_MAX)
	{
		snprintf(found->names[found->count], IMAGE_NAME_BYTES, "%s", name);
		found->sizes[found->count] = (size_t) status.st_size;
		for (off_t at = 0; (got = pread(fd, bytes, sizeof(bytes), at)) > 0; at += got)
			found->sums[found->count] = sum_of(bytes, (size_t) got, found->sums[found->count]);
	}
	return ++found->count != found->stop_after;
}

static ImageEnd
walk(const char *path, Found *found)
{
	const int stop_after = found->stop_after;
	int fd = open(path, O_RDONLY);
	ImageEnd end;

	*found = (Found){ .stop_after = stop_after };
	assert_true(fd >= 0);
	end = debug_image_walk(fd, take, found);
	close(fd);
	return end;
}

/* Writes a file of a size that begins like an ELF file; returns the sum of its bytes. */
static uint32_t
make_elf(const char *path, size_t size)
{
	uint8_t *bytes = malloc(size);
	FILE *file = fopen(path, "w");
	uint32_t sum;

	assert_non_null(bytes);
	assert_non_null(file);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t) (i * 7 + i / 253);
	memcpy(bytes, "\177ELF", 4);
	sum = sum_of(bytes, size, 0);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
	free(bytes);
	return sum;
}

static void
zstd_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "r");
	FILE *out = fopen(to, "w");
	size_t room = (size_t) 4 * 1024 * 1024;
	char *plain = malloc(room);
	char *packed = malloc(ZSTD_compressBound(room));
	size_t length = fread(plain, 1, room, in);

	length = ZSTD_compress(packed, ZSTD_compressBound(room), plain, length, 3);
	assert_int_equal(fwrite(packed, 1, length, out), length);
	fclose(in);
	fclose(out);
	free(plain);
	free(packed);
}

static void
assert_found(const char *path, const char *name, size_t size, uint32_t sum)
{
	Found found = { 0 };

	assert_int_equal(walk(path, &found), IMAGE_DONE);
	assert_int_equal(found.count, 1);
	assert_string_equal(found.names[0], name);
	assert_int_equal(found.sizes[0], size);
	assert_int_equal(found.sums[0], sum);
}

static void
test_formats(void **state)
{
	static const char *const formats[] = { "gnu", "pax", "ustar" };
	const size_t sizes[] = { 512, 513, 300000 };
	char command[512];

	for (size_t i = 0; i < 3; i++)
	{
		uint32_t sum;

		sh("rm -rf tree && mkdir -p tree/usr/bin && echo text >tree/text && ln -s text tree/link");
		sum = make_elf("tree/usr/bin/app", sizes[i]);
		snprintf(command, sizeof(command), "tar --format=%s -cf a.tar -C tree .", formats[i]);
		sh(command);
		assert_found("a.tar", "./usr/bin/app", sizes[i], sum);
		sh("gzip -kf a.tar");
		assert_found("a.tar.gz", "./usr/bin/app", sizes[i], sum);
		zstd_file("a.tar", "a.tar.zst");
		assert_found("a.tar.zst", "./usr/bin/app", sizes[i], sum);
		/* several gzip members in one file, as parallel compressors write them */
		sh("head -c 700 a.tar | gzip >two.gz && tail -c +701 a.tar | gzip >>two.gz");
		assert_found("two.gz", "./usr/bin/app", sizes[i], sum);
	}
}

static void
test_long_names(void **state)
{
	char name[200];
	char path[256];
	char expected[210];
	uint32_t sum;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	sh("rm -rf tree && mkdir tree");
	snprintf(path, sizeof(path), "tree/%s", name);
	snprintf(expected, sizeof(expected), "./%s", name);
	sum = make_elf(path, 1000);
	sh("tar --format=gnu -cf gnu.tar -C tree . && tar --format=pax -cf pax.tar -C tree .");
	assert_found("gnu.tar", expected, 1000, sum);
	assert_found("pax.tar", expected, 1000, sum);
}

/*
 * An image of "docker save": layers within a tar. Archives inside layers are not part of the image.
 */
static void
test_layers(void **state)
{
	Found found = { 0 };

	sh("rm -rf tree save && mkdir -p tree save/blobs/sha256");
	make_elf("tree/one", 600);
	sh("tar -cf save/blobs/sha256/aa -C tree .");
	make_elf("tree/two", 700);
	sh("tar -czf save/blobs/sha256/bb -C tree . && echo '{}' >save/index.json");
	sh("printf '\\037\\213\\010broken' >tree/three.gz && mv tree/one deep && tar -cf tree/deep.tar deep");
	sh("tar -cf save/blobs/sha256/cc -C tree . && tar -cf save.tar -C save .");
	assert_int_equal(walk("save.tar", &found), IMAGE_DONE);
	assert_int_equal(found.count, 4);
	found.stop_after = 2;
	assert_int_equal(walk("save.tar", &found), IMAGE_STOPPED);
	assert_int_equal(found.count, 2);
}

static void
test_broken(void **state)
{
	Found found = { 0 };
	char command[128];

	sh("rm -rf tree && mkdir tree");
	make_elf("tree/app", 3000);
	sh("tar --format=ustar -cf a.tar -C tree app && gzip -kf a.tar");
	for (int cut = 512; cut < 3512; cut += 100)
	{
		snprintf(command, sizeof(command), "head -c %d a.tar >cut", cut);
		sh(command);
		assert_int_equal(walk("cut", &found), IMAGE_BROKEN);
		assert_int_equal(found.count, 0);
	}
	sh("head -c 3512 a.tar >cut"); /* the file, without its padding */
	assert_int_equal(walk("cut", &found), IMAGE_BROKEN);
	assert_int_equal(found.count, 1);
	sh("head -c 100 a.tar.gz >cut");
	assert_int_not_equal(walk("cut", &found), IMAGE_DONE);
	assert_int_equal(found.count, 0);
	sh("tar -cf outer.tar cut a.tar && : >empty && echo text >text");
	assert_int_not_equal(walk("outer.tar", &found), IMAGE_NONE);
	assert_int_equal(found.count, 1); /* files of the whole archive beside the damaged one */
	assert_int_equal(walk("empty", &found), IMAGE_NONE);
	assert_int_equal(walk("text", &found), IMAGE_NONE);
	assert_int_equal(walk("tree/app", &found), IMAGE_NONE);
	/* a wrong checksum */
	sh("cp a.tar bad && printf x | dd of=bad bs=1 seek=1 conv=notrunc 2>/dev/null");
	assert_int_equal(walk("bad", &found), IMAGE_NONE);
}

/* Changes bytes of a header, and corrects its checksum. */
static void
patch_header(const char *path, size_t at, const char *bytes, size_t length)
{
	uint8_t header[512];
	char text[9];
	unsigned sum = 0;
	FILE *file = fopen(path, "r+");

	assert_non_null(file);
	assert_int_equal(fread(header, 1, sizeof(header), file), sizeof(header));
	memcpy(header + at, bytes, length);
	memset(header + 148, ' ', 8);
	for (size_t i = 0; i < sizeof(header); i++)
		sum += header[i];
	snprintf(text, sizeof(text), "%06o", sum);
	memcpy(header + 148, text, 7);
	rewind(file);
	assert_int_equal(fwrite(header, 1, sizeof(header), file), sizeof(header));
	fclose(file);
}

static void
test_sizes(void **state)
{
	Found found = { 0 };

	sh("rm -rf tree && mkdir tree");
	make_elf("tree/app", 3000);
	sh("tar --format=ustar -cf a.tar -C tree app && cp a.tar bad");
	patch_header("bad", 124, "77777777777", 12);
	assert_int_equal(walk("bad", &found), IMAGE_BROKEN);
	patch_header("bad", 124, "\x80\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
	assert_int_equal(walk("bad", &found), IMAGE_BROKEN);
	patch_header("bad", 124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
	assert_int_equal(walk("bad", &found), IMAGE_BROKEN);
	patch_header("bad", 124, "000000x0000", 12);
	assert_int_equal(walk("bad", &found), IMAGE_BROKEN);
	assert_int_equal(found.count, 0);
	patch_header("bad", 124, "\x80\0\0\0\0\0\0\0\0\0\x0b\xb8", 12); /* 3,000 as a binary number */
	assert_int_equal(walk("bad", &found), IMAGE_DONE);
	assert_int_equal(found.count, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats), cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_layers),	cmocka_unit_test(test_broken),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests_name("debug_image", tests, enter, leave);
}
