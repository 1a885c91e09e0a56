/*
 * profstore.h
 *		What every room of the extension may use: the server's base header and version shims.
 *
 * codec/ does not include this file, because it includes no server header.
 */
#ifndef PFS_PROFSTORE_H
#define PFS_PROFSTORE_H

#include "postgres.h"

#include "compat.h"

#endif
