/*
 * identity.h
 *		Who a client is: the tenant of a bearer token, or of a certificate.
 *
 * A file of tokens has a line "TENANT TOKEN" each; "#" begins a comment. Tokens are kept as
 * hashes, and compared in a time that says nothing about them.
 */
#ifndef COLLECTOR_HTTP_SERVER_IDENTITY_H
#define COLLECTOR_HTTP_SERVER_IDENTITY_H

#include <stdbool.h>

#include "base/failure.h"

#define IDENTITY_TENANT_MAX 128

typedef struct Identities Identities;

/* EXIT_IO or EXIT_CONFIG, with the line, where the file cannot be used. */
ExitCode identities_read(const char *path, Identities **identities, Failure *failure);
void identities_free(Identities *identities); /* accepts NULL */

/* The tenant of a value of the header "authorization"; NULL: nobody's. */
const char *identities_find(const Identities *identities, const char *authorization);

#endif
