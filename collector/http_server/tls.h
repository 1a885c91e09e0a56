/*
 * tls.h
 *		TLS of the listening side: certificates, and those that clients must have.
 */
#ifndef COLLECTOR_HTTP_SERVER_TLS_H
#define COLLECTOR_HTTP_SERVER_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>

#include "base/failure.h"

/*
 * TLS 1.2 and later, ALPN "h2" before "http/1.1". client_ca NULL: clients need no certificate.
 * EXIT_CONFIG where a file cannot be used.
 */
ExitCode tls_create(const char *cert, const char *key, const char *client_ca, SSL_CTX **context,
					Failure *failure);

/* The common name of the client's verified certificate; false where there is none. */
bool tls_client_name(SSL *ssl, char *name, size_t room);

/* What OpenSSL last said, of this thread. */
void tls_error_text(char *text, size_t room);

#endif
