/*
 * identity.c
 *		Tokens and their tenants.
 */
#include "http_server/identity.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/grow.h"
#include "base/utf8.h"

#define BEARER "Bearer "
#define BASIC  "Basic "

typedef struct Identity
{
	char tenant[IDENTITY_TENANT_MAX];
	unsigned char token[SHA256_DIGEST_LENGTH];
	bool may_upload;
} Identity;

struct Identities
{
	Identity *items;
	size_t count;
	size_t capacity;
};

static void
hash(const char *token, unsigned char result[SHA256_DIGEST_LENGTH])
{
	SHA256((const unsigned char *) token, strlen(token), result);
}

static ExitCode
unreadable_tokens(const char *path, int error, Failure *failure)
{
	return failure_of_file(failure, "could not read the file of tokens", path, strerror(error));
}

static ExitCode
wrong_line(const char *path, int line, Failure *failure)
{
	failure_set(failure, EXIT_CONFIG, "could not read the file of tokens");
	failure_detail(
		failure,
		"%s: line %d is not \"TENANT TOKEN\" or \"TENANT TOKEN upload\", or its tenant is too long.",
		path, line);
	return failure->code;
}

/* Parses one line of the file of tokens; comments and blank lines are skipped. */
static ExitCode
identity_read_line(Identities *identities, char *text, const char *path, int line, Failure *failure)
{
	char *rest = NULL;
	const char *tenant = strtok_r(text, " \t\r\n", &rest);
	const char *token = strtok_r(NULL, " \t\r\n", &rest);
	const char *right = token != NULL ? strtok_r(NULL, " \t\r\n", &rest) : NULL;
	Identity *item;

	if (tenant == NULL || tenant[0] == '#')
		return EXIT_OK;
	if (token == NULL || (right != NULL && strcmp(right, "upload") != 0) ||
		strtok_r(NULL, " \t\r\n", &rest) != NULL || strlen(tenant) >= IDENTITY_TENANT_MAX ||
		!utf8_valid(tenant))
		return wrong_line(path, line, failure);
	if (grow_array(&identities->items, &identities->capacity, identities->count,
				   sizeof(Identity)) != 0)
		return failure_out_of_memory(failure);
	item = &identities->items[identities->count++];
	strcpy(item->tenant, tenant);
	/* Only the hashes of tokens stay in memory. */
	hash(token, item->token);
	item->may_upload = right != NULL;
	return EXIT_OK;
}

ExitCode
identities_read(const char *path, Identities **identities, Failure *failure)
{
	Identities *self = calloc(1, sizeof(Identities));
	FILE *file = self != NULL ? fopen(path, "re") : NULL;
	ExitCode code = EXIT_OK;
	char *text = NULL;
	size_t room = 0;

	if (file == NULL)
	{
		free(self);
		return unreadable_tokens(path, errno, failure);
	}
	for (int line = 1; code == EXIT_OK && getline(&text, &room, file) >= 0; line++)
		code = identity_read_line(self, text, path, line, failure);
	if (code == EXIT_OK && ferror(file))
		code = unreadable_tokens(path, errno, failure);
	/* The buffer contains the token of the last line. */
	if (text != NULL)
		OPENSSL_cleanse(text, room);
	free(text);
	fclose(file);
	if (code == EXIT_OK)
		*identities = self;
	else
		identities_free(self);
	return code;
}

void
identities_free(Identities *identities)
{
	if (identities == NULL)
		return;
	free(identities->items);
	free(identities);
}

/* Finds the tenant of a token by its hash, in constant time. */
static const Identity *
identity_of_token(const Identities *identities, const char *token)
{
	unsigned char hashed[SHA256_DIGEST_LENGTH];
	const Identity *found = NULL;

	hash(token, hashed);
	for (size_t i = 0; i < identities->count; i++)
		if (CRYPTO_memcmp(identities->items[i].token, hashed, sizeof(hashed)) == 0)
			found = &identities->items[i];
	return found;
}

/* Decodes USER:PASSWORD from base64, and splits it at the colon. */
static bool
identity_decode_basic(const char *encoded, char text[IDENTITY_BASIC_MAX + 1], const char **user,
					  const char **password)
{
	const size_t length = strlen(encoded);
	char *colon;
	int decoded;

	/* EVP_DecodeBlock() reads groups of four characters. */
	if (length == 0 || length % 4 != 0 || length / 4 * 3 > IDENTITY_BASIC_MAX)
		return false;
	decoded =
		EVP_DecodeBlock((unsigned char *) text, (const unsigned char *) encoded, (int) length);
	if (decoded < 0)
		return false;
	text[decoded] = '\0'; /* padding decodes to zero bytes, which end the text, too */
	colon = strchr(text, ':');
	if (colon == NULL)
		return false;
	*colon = '\0';
	*user = text;
	*password = colon + 1;
	return true;
}

bool
identity_login(const char *authorization, char text[IDENTITY_BASIC_MAX + 1], const char **user,
			   const char **password)
{
	return strncasecmp(authorization, BASIC, strlen(BASIC)) == 0 &&
		   identity_decode_basic(authorization + strlen(BASIC), text, user, password);
}

const char *
identities_find(const Identities *identities, const char *authorization, bool *may_upload)
{
	const Identity *found = NULL;
	char text[IDENTITY_BASIC_MAX + 1];
	const char *token = NULL;
	const char *user;

	*may_upload = false;
	if (authorization == NULL)
		return NULL;
	if (strncasecmp(authorization, BEARER, strlen(BEARER)) == 0)
		token = authorization + strlen(BEARER);
	else if (!identity_login(authorization, text, &user, &token))
		token = NULL;
	if (token != NULL)
		found = identity_of_token(identities, token);
	/* The decoded text contains a password. */
	OPENSSL_cleanse(text, sizeof(text));
	if (found == NULL)
		return NULL;
	*may_upload = found->may_upload;
	return found->tenant;
}

bool
identities_may_upload(const Identities *identities, const char *tenant)
{
	for (size_t i = 0; i < identities->count; i++)
		if (identities->items[i].may_upload && strcmp(identities->items[i].tenant, tenant) == 0)
			return true;
	return false;
}
