/*
 * keys.c
 *		Three threads that sleep. The first two have states, which are the values of a key or of a
 *		thread-local variable. The searches of CPython, Perl and Ruby accept such a state.
 *
 *		keys COUNT
 *
 * COUNT keys are made before that of the states; with "none" there is no key, but the variable.
 * Prints the address of the key, and each thread's number and state.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 3

typedef struct State
{
	uintptr_t self;				 /* CPython, Ruby: the thread's own number */
	const uintptr_t *perl_stack; /* Perl: the innermost stack */
	const uintptr_t *context;	 /* Ruby: the thread's context */
	uintptr_t more[17];
} State;

typedef struct Thread
{
	State state;
	uintptr_t context[16];
	int has_state;
	long tid;
} Thread;

static _Thread_local State *volatile variable;
static uintptr_t perl_stack[6] = { [5] = (uintptr_t) 1 << 32 }; /* of the type of a program */
static uintptr_t ruby_stack[64];
static pthread_key_t key;
static int has_key;
static Thread threads[THREADS];
static pthread_barrier_t begun;

/* Sets the thread's state, and sleeps. */
static void *
thread_run(void *argument)
{
	Thread *thread = argument;
	State *state = &thread->state;

	thread->tid = syscall(SYS_gettid);
	if (thread->has_state)
	{
		*state = (State){ (uintptr_t) pthread_self(), perl_stack, thread->context, { 0 } };
		thread->context[0] = (uintptr_t) ruby_stack;
		thread->context[1] = sizeof(ruby_stack) / sizeof(ruby_stack[0]);
		thread->context[2] = (uintptr_t) ruby_stack;
		thread->context[3] = (uintptr_t) state;
		if (!has_key)
			variable = state;
		else if (pthread_setspecific(key, state) != 0)
			abort();
	}
	pthread_barrier_wait(&begun);
	if (thread == threads)
	{
		printf("%p\n", (void *) &key);
		for (int i = 0; i < THREADS; i++)
			printf("%ld %p\n", threads[i].tid, (void *) &threads[i].state);
		printf("ready\n");
		fflush(stdout);
	}
	sleep(1000);
	return NULL;
}

int
main(int argument_count, char **arguments)
{
	has_key = argument_count == 2 && strcmp(arguments[1], "none") != 0;
	pthread_barrier_init(&begun, NULL, THREADS);
	for (int i = 0; has_key && i <= atoi(arguments[1]); i++)
	{
		if (pthread_key_create(&key, NULL) != 0)
			abort();
	}
	for (int i = 0; i < THREADS; i++)
	{
		pthread_t thread;

		threads[i].has_state = i < 2;
		if (i > 0 && pthread_create(&thread, NULL, thread_run, &threads[i]) != 0)
			abort();
	}
	thread_run(threads);
	return 0;
}
