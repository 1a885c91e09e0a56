/*
 * http_secret.c
 *		Reads secrets, which are small texts, from files.
 */
#include "http_client/http_secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/regular_file.h"

#define SECRET_BYTES_MAX 65536
#define BLANKS			 " \t\r\n"

static char *
secret_fail(char error[HTTP_ERROR_BYTES], const char *path, const char *reason)
{
	snprintf(error, HTTP_ERROR_BYTES, "Could not read \"%s\": %s", path, reason);
	return NULL;
}

bool
http_secret_is_given(const HttpSecret *secret)
{
	return secret->text != NULL || secret->file != NULL;
}

char *
http_secret_read_file(const char *path, char error[HTTP_ERROR_BYTES])
{
	const char *problem;
	FILE *file = regular_file_open(path, &problem);
	char *text = malloc(SECRET_BYTES_MAX + 1);
	size_t length;
	int read_error;

	if (file == NULL || text == NULL)
	{
		secret_fail(error, path, file == NULL ? problem : strerror(errno));
		if (file != NULL)
			fclose(file);
		free(text);
		return NULL;
	}
	length = fread(text, 1, SECRET_BYTES_MAX + 1, file);
	read_error = ferror(file) ? errno : 0;
	fclose(file);
	if (read_error != 0 || length > SECRET_BYTES_MAX || memchr(text, '\0', length) != NULL)
	{
		free(text);
		return secret_fail(error, path,
						   read_error != 0 ? strerror(read_error)
										   : "it is too large or contains a zero byte");
	}
	while (length > 0 && strchr(BLANKS, text[length - 1]) != NULL)
		length--;
	text[length] = '\0';
	memmove(text, text + strspn(text, BLANKS), strlen(text + strspn(text, BLANKS)) + 1);
	return text;
}

char *
http_secret_read(const HttpSecret *secret, char error[HTTP_ERROR_BYTES])
{
	char *text;

	if (secret->file != NULL)
		return http_secret_read_file(secret->file, error);
	text = strdup(secret->text != NULL ? secret->text : "");
	if (text == NULL)
		snprintf(error, HTTP_ERROR_BYTES, "Out of memory");
	return text;
}
