/*
 * shell.h
 *		Commands of the shell, for tests. A command that fails fails the test.
 */
#ifndef TEST_SHELL_H
#define TEST_SHELL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* cmocka needs the headers above. */
#include <cmocka.h>

__attribute__((format(printf, 1, 2))) static inline void
run(const char *format, ...)
{
	char command[2048];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	assert_in_range(length, 1, sizeof(command) - 1);
	if (system(command) != 0)
		fail_msg("command failed: %s", command);
}

#endif
