/*
 * tls.h
 *		TLS of a server: its certificate, and the authority that signs clients' certificates.
 */
#ifndef COLLECTOR_HTTP_SERVER_TLS_H
#define COLLECTOR_HTTP_SERVER_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>

#include "program/failure.h"

/*
 * Allows TLS 1.2 and later, with ALPN "h2" before "http/1.1". client_ca NULL: clients need no
 * certificate. Returns EXIT_CONFIG if a file is invalid.
 */
ExitCode tls_create(const char *cert, const char *key, const char *client_ca, SSL_CTX **context,
					Failure *failure);

/*
 * Copies the common name of the client's certificate; false if it has no valid certificate or name.
 */
bool tls_client_name(SSL *ssl, char *name, size_t room);

/* Describes OpenSSL's last error in this thread. */
void tls_error_text(char *text, size_t room);

#endif
