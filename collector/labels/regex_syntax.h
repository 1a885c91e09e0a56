/*
 * regex_syntax.h
 *		Regular expressions as Go's package regexp has them (RE2), in PCRE2's words.
 *
 * What is accepted is RE2's syntax but for: assertions that are repeated ("^*", "\b+"), flags that
 * are ("a(?i)*"), ")" without "(", names of groups that come twice, begin with a digit or are
 * longer than 32 bytes, groups nested more than REGEX_DEPTH_MAX deep, and Unicode classes beyond
 * general categories and a dozen scripts. What RE2 refuses is refused: backreferences, assertions
 * that look around, possessive and atomic groups, repetitions beyond 1000, also nested ones.
 */
#ifndef COLLECTOR_REGEX_SYNTAX_H
#define COLLECTOR_REGEX_SYNTAX_H

#define REGEX_ERROR_BYTES 200
#define REGEX_DEPTH_MAX	  100
#define REGEX_BYTES_MAX	  16384

/*
 * The same expression for PCRE2, to be freed by the caller. NULL where it is none, as error says
 * without a full stop.
 */
char *regex_translate(const char *pattern, char error[REGEX_ERROR_BYTES]);

#endif
