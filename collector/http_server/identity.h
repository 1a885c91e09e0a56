/*
 * identity.h
 *		Identifies clients: the tenant of a bearer token, or of a certificate.
 *
 * Each line of a file of tokens is "TENANT TOKEN", or "TENANT TOKEN upload" if its clients may
 * upload debug information; "#" begins a comment. Tokens are stored as hashes, and compared in
 * constant time.
 */
#ifndef COLLECTOR_HTTP_SERVER_IDENTITY_H
#define COLLECTOR_HTTP_SERVER_IDENTITY_H

#include <stdbool.h>

#include "program/failure.h"

#define IDENTITY_TENANT_MAX 128

typedef struct Identities Identities;

/*
 * Reads the file of tokens. Returns EXIT_OK; EXIT_IO if it cannot be read; EXIT_CONFIG, with path
 * and line in the detail, if a line is invalid; EXIT_INTERNAL on out of memory.
 */
ExitCode identities_read(const char *path, Identities **identities, Failure *failure);
void identities_free(Identities *identities); /* accepts NULL */

/*
 * Returns the tenant for a value of the header "authorization": a bearer token, or Basic
 * authentication, whose password is the token. NULL if the token is unknown.
 */
const char *identities_find(const Identities *identities, const char *authorization,
							bool *may_upload);

/* Limit of user and password of Basic authentication; a header is at most 4 kB. */
#define IDENTITY_BASIC_MAX 3072

/*
 * Reads a value of the header "authorization" as Basic authentication. Returns false if it is of
 * another kind. user and password point into text, which the caller must erase.
 */
bool identity_login(const char *authorization, char text[IDENTITY_BASIC_MAX + 1], const char **user,
					const char **password);

/*
 * Returns true if any token of the tenant has the right to upload. This decides for tenants that a
 * certificate identifies.
 */
bool identities_may_upload(const Identities *identities, const char *tenant);

#endif
