/*
 * http_secret.h
 *		Secrets: texts of the configuration, or contents of files, which are read when needed.
 */
#ifndef COLLECTOR_HTTP_SECRET_H
#define COLLECTOR_HTTP_SECRET_H

#include "http_client/http_request.h"

bool http_secret_is_given(const HttpSecret *secret);

/*
 * Returns the secret, or "" if none is set; the caller frees it. Returns NULL, with error set, if
 * the file cannot be read.
 */
char *http_secret_read(const HttpSecret *secret, char error[HTTP_ERROR_BYTES]);

/* Like http_secret_read(), but reads the file at path and removes white space at both ends. */
char *http_secret_read_file(const char *path, char error[HTTP_ERROR_BYTES]);

#endif
