/*
 * kernel_version.c
 *		Parses the kernel's version from uname and from the distribution's files.
 */
#include "kernel/kernel_version.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "process/proc_file.h"

#define SIGNATURE_LIMIT_BYTES 4096

/* Parses "6.1" or "6.1.55", with any text after it. Returns false if there is no such number. */
static bool
parse_number(const char *text, KernelVersion *version)
{
	KernelVersion parsed = { 0 };
	int fields = sscanf(text, "%4u.%4u.%4u", &parsed.major, &parsed.minor, &parsed.patch);

	if (!isdigit((unsigned char) text[0]) || fields < 2)
		return false;
	*version = parsed;
	return true;
}

/*
 * Finds in text a version with the same major and minor number, and takes its patch level. An epoch
 * ("1:6.1.54") may precede the version.
 */
static void
find_patch(const char *text, KernelVersion *version)
{
	for (const char *word = text; *word != '\0';)
	{
		size_t length = strcspn(word, " \t\n");
		const char *epoch = memchr(word, ':', length);
		KernelVersion found;

		if (parse_number(epoch != NULL ? epoch + 1 : word, &found) &&
			found.major == version->major && found.minor == version->minor &&
			found.patch > version->patch)
			version->patch = found.patch;
		word += length;
		word += strspn(word, " \t\n");
	}
}

bool
kernel_version_parse(const char *release, const char *build, const char *signature,
					 KernelVersion *version)
{
	if (!parse_number(release, version))
		return false;
	/*
	 * A patch level in the release is the kernel's own. Distributions that keep one release for all
	 * patch levels write 0.
	 */
	if (version->patch == 0)
	{
		find_patch(build, version);
		find_patch(signature, version);
	}
	return true;
}

bool
kernel_version_locks_up(const KernelVersion *version)
{
	if (version->major == 5)
		return version->minor == 19;
	if (version->major != 6)
		return false;
	return version->minor == 0 || (version->minor == 1 && version->patch < 36) ||
		   version->minor == 2 || (version->minor == 3 && version->patch < 10);
}

/*
 * Returns true if the kernel checks user copies (CONFIG_HARDENED_USERCOPY), recognized by the
 * function that does it. Without the check the kernel does not take the lock.
 */
static bool
hardens_user_copies(void)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	char line[1024];
	char name[256];
	bool found = symbols == NULL;

	/*
	 * If the symbols cannot be read, the check is assumed to exist: refusing is better than a
	 * lockup.
	 */
	while (!found && fgets(line, sizeof(line), symbols) != NULL)
		found =
			sscanf(line, "%*s %*s %255s", name) == 1 && strcmp(name, "__check_object_size") == 0;
	if (symbols != NULL)
		fclose(symbols);
	return found;
}

bool
kernel_locks_up(char *text, size_t size)
{
	struct utsname names;
	char *signature = NULL;
	KernelVersion version;
	bool known;

	text[0] = '\0';
	if (uname(&names) != 0)
		return false;
	snprintf(text, size, "%s", names.release);
	if (proc_file_read("/proc/version_signature", SIGNATURE_LIMIT_BYTES, &signature, NULL) != 0)
		signature = NULL;
	known = kernel_version_parse(names.release, names.version, signature != NULL ? signature : "",
								 &version);
	free(signature);
	return known && kernel_version_locks_up(&version) && hardens_user_copies();
}
