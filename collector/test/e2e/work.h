/*
 * work.h
 *		What the libraries and programs of work.c have in common.
 */
#ifndef E2E_WORK_H
#define E2E_WORK_H

/* Uses ms milliseconds of this process's CPU time, in the function that is named by WORK. */
void work_for(long ms);

#endif
