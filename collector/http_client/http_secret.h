/*
 * http_secret.h
 *		Secrets: as they stand in the configuration, or read from their files, now.
 */
#ifndef COLLECTOR_HTTP_SECRET_H
#define COLLECTOR_HTTP_SECRET_H

#include "http_client/http_request.h"

bool http_secret_is_given(const HttpSecret *secret);

/* To be freed by the caller, "" where none is given. NULL, and why in error: it cannot be had. */
char *http_secret_read(const HttpSecret *secret, char error[HTTP_ERROR_BYTES]);

/* The same of a file: all of it, but for blanks at its ends. */
char *http_secret_read_file(const char *path, char error[HTTP_ERROR_BYTES]);

#endif
