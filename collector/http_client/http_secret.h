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

/* Reads a secret from a file, without white space at its ends; results as of http_secret_read(). */
char *http_secret_read_file(const char *path, char error[HTTP_ERROR_BYTES]);

#endif
