/*
 * tls.c
 *		TLS with OpenSSL.
 */
#include "http_server/tls.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

void
tls_error_text(char *text, size_t room)
{
	unsigned long error = ERR_peek_last_error();

	ERR_error_string_n(error, text, room);
	/* OpenSSL has no error if the peer closed the connection. */
	if (error == 0)
		snprintf(text, room, "the connection was closed");
	ERR_clear_error();
}

/* Chooses the first of our protocols that the client also supports. */
static int
choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *length,
				const unsigned char *offered, unsigned offered_length, void *context)
{
	static const unsigned char ours[] = "\x02h2\x08http/1.1";
	unsigned char *found;

	if (SSL_select_next_proto(&found, length, ours, sizeof(ours) - 1, offered, offered_length) !=
		OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*chosen = found;
	return SSL_TLSEXT_ERR_OK;
}

/* Reports the first error of OpenSSL's queue, which is the reason for the others. */
static ExitCode
tls_refused(const char *message, const char *file, SSL_CTX *context, Failure *failure)
{
	unsigned long first = ERR_peek_error();
	/* OpenSSL has no texts for errors of the system. */
	const char *reason =
		ERR_SYSTEM_ERROR(first) ? strerror(ERR_GET_REASON(first)) : ERR_reason_error_string(first);

	failure_set(failure, EXIT_CONFIG, message);
	failure_detail(failure, "%s: %s.", file, reason != NULL ? reason : "OpenSSL gives no reason");
	failure_hint(failure,
				 "The files must be in PEM format, and the key must be the certificate's.");
	ERR_clear_error();
	SSL_CTX_free(context);
	return failure->code;
}

ExitCode
tls_create(const char *cert, const char *key, const char *client_ca, SSL_CTX **result,
		   Failure *failure)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	STACK_OF(X509_NAME) * names;

	if (context == NULL)
		return failure_set(failure, EXIT_INTERNAL, "could not set up TLS");
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	/*
	 * The output buffer may move between two attempts to write it; idle connections hold no
	 * buffers.
	 */
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
								  SSL_MODE_RELEASE_BUFFERS);
	/* Without this id, clients with certificates could not resume sessions. */
	SSL_CTX_set_session_id_context(context, (const unsigned char *) "profstore", 9);
	SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
	if (SSL_CTX_use_certificate_chain_file(context, cert) != 1)
		return tls_refused("could not use the certificate", cert, context, failure);
	if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
		return tls_refused("could not use the key of the certificate", key, context, failure);
	if (client_ca != NULL)
	{
		if (SSL_CTX_load_verify_file(context, client_ca) != 1)
			return tls_refused("could not use the certificates of clients", client_ca, context,
							   failure);
		names = SSL_load_client_CA_file(client_ca);
		if (names == NULL)
			return tls_refused("could not use the certificates of clients", client_ca, context,
							   failure);
		SSL_CTX_set_client_CA_list(context, names);
		SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	}
	*result = context;
	return EXIT_OK;
}

bool
tls_client_name(SSL *ssl, char *name, size_t room)
{
	X509 *certificate = SSL_get1_peer_certificate(ssl);
	int length = -1;

	if (certificate != NULL && SSL_get_verify_result(ssl) == X509_V_OK)
		length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
										   (int) room);
	X509_free(certificate);

	/* a name with a zero byte, or a truncated one, would be mistaken for another name */
	return length > 0 && (size_t) length == strlen(name) && (size_t) length < room - 1;
}
