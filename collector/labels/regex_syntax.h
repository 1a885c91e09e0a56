/*
 * regex_syntax.h
 *		Translates regular expressions of Go's package regexp (RE2) to PCRE2's syntax.
 *
 * Accepts RE2's syntax except: repeated assertions ("^*", "\b+") and repeated flags ("a(?i)*"), ")"
 * without "(", names of groups that are used twice, begin with a digit or are longer than 32 bytes,
 * groups nested deeper than REGEX_DEPTH_MAX, and Unicode classes beyond the general categories and
 * a dozen scripts. Refuses all that RE2 refuses: backreferences, lookaround, possessive and atomic
 * groups, and repetitions beyond 1000, also nested ones.
 */
#ifndef COLLECTOR_REGEX_SYNTAX_H
#define COLLECTOR_REGEX_SYNTAX_H

#define REGEX_ERROR_BYTES 200
#define REGEX_DEPTH_MAX	  100
#define REGEX_BYTES_MAX	  16384

/*
 * Returns the translated expression, owned by the caller. NULL if it is malformed, with the reason
 * in error (without a period).
 */
char *regex_translate(const char *pattern, char error[REGEX_ERROR_BYTES]);

#endif
