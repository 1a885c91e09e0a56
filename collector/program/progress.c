/*
 * progress.c
 *		Draws a progress bar by overwriting its line.
 */
#include "program/progress.h"

#include <stdio.h>
#include <unistd.h>

#define BAR_WIDTH 40

void
progress_draw(int64_t done, int64_t total, const char *text)
{
	char bar[BAR_WIDTH + 1];
	int64_t filled = done * BAR_WIDTH / total;

	if (!isatty(STDERR_FILENO))
		return;
	for (int64_t i = 0; i < BAR_WIDTH; i++)
		bar[i] = i < filled ? '#' : '.';
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r[%s] %s ", bar, text);
	fflush(stderr);
}

void
progress_end(void)
{
	if (isatty(STDERR_FILENO))
		fputc('\n', stderr);
}
