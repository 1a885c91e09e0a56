/*
 * worker_client.c
 *		Starts, asks and ends the worker process.
 *
 * 1. One process, started when it is first asked, from this very program, with one end of a socket
 *    pair as standard input. After failures it is not started again for a while.
 * 2. A request goes with the descriptors of its files; the answer is waited for within a time.
 * 3. Whatever goes wrong ends the process: the next request has a new one.
 */
#include "symbols/worker_client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "symbols/worker.h"
#include "symbols/worker_protocol.h"

#define ANSWER_TIMEOUT_MS	  10000 /* the worker's own limit is one of CPU time */
#define NS_PER_MS			  INT64_C(1000000)
#define REAP_TRIES			  100 /* a killed worker may be stuck in the kernel for a while */
#define REAP_PAUSE_NS		  (20 * NS_PER_MS)
#define PAUSE_FIRST_NS		  INT64_C(1000000000)
#define PAUSE_MAX_NS		  INT64_C(300000000000)
#define FAILURES_BEFORE_PAUSE 3

struct WorkerClient
{
	int socket; /* -1: no worker */
	_Atomic pid_t pid;
	pid_t unreaped; /* killed, but not ended yet; 0: none */
	uint64_t failures;
	uint32_t failures_in_row;
	int64_t pause_until_ns; /* CLOCK_MONOTONIC */
	SymbolLine lines[WORKER_FRAMES_MAX];
	uint32_t answers;	 /* in the message */
	size_t answer_bytes; /* of it that were not taken yet … */
	size_t taken_bytes;	 /* … and that were */
	char message[WORKER_MESSAGE_BYTES];
};

/* What is sent: addresses follow the head of a lookup. */
typedef struct Question
{
	WorkerRequest head;
	uint64_t addresses[WORKER_ADDRESSES_MAX];
} Question;

int
worker_client_create(WorkerClient **client)
{
	WorkerClient *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return -ENOMEM;
	made->socket = -1;
	*client = made;
	return 0;
}

/* True once the process that was killed last has ended; a file system that hangs may hold it. */
static bool
reap(WorkerClient *client, int *status)
{
	pid_t ended = client->unreaped == 0 ? 0 : waitpid(client->unreaped, status, WNOHANG);

	if (client->unreaped != 0 && ended == 0)
		return false;
	client->unreaped = 0;
	return true;
}

/* Ends the worker, if there is one. Returns its status, as waitpid tells it. */
static int
end_worker(WorkerClient *client)
{
	const struct timespec pause = { 0, REAP_PAUSE_NS };
	int status = SIGKILL;

	if (client->socket < 0)
		return 0;
	(void) kill(client->pid, SIGKILL);
	close(client->socket);
	client->socket = -1;
	client->unreaped = client->pid;
	client->pid = 0;
	for (int i = 0; i < REAP_TRIES && !reap(client, &status); i++)
		(void) nanosleep(&pause, NULL);
	return status;
}

void
worker_client_end(WorkerClient *client)
{
	(void) end_worker(client);
}

pid_t
worker_client_pid(const WorkerClient *client)
{
	return client->pid;
}

void
worker_client_free(WorkerClient *client)
{
	if (client == NULL)
		return;
	(void) end_worker(client);
	free(client);
}

static int
spawn(WorkerClient *client, int socket)
{
	char program[] = "/proc/self/exe";
	char name[] = "profstore-collector";
	char argument[] = WORKER_ARGUMENT;
	char *arguments[] = { name, argument, NULL };
	char mark[] = WORKER_MARK "=1";
	char *environment[] = { mark, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigset_t all;
	pid_t pid;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	err = posix_spawn_file_actions_init(&actions);
	if (err != 0)
		return -err;
	err = posix_spawnattr_init(&attributes);
	if (err == 0)
	{
		(void) posix_spawnattr_setsigmask(&attributes, &none);
		(void) posix_spawnattr_setsigdefault(&attributes, &all);
		(void) posix_spawnattr_setflags(&attributes,
										POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
		err = posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
		if (err == 0)
			err = posix_spawn(&pid, program, &actions, &attributes, arguments, environment);
		if (err == 0)
			client->pid = pid;
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* An answer that never came cost its time already: the pause begins at once. */
static void
count_failure(WorkerClient *client, bool timed_out)
{
	int64_t pause_ns = PAUSE_FIRST_NS;

	client->failures++;
	client->failures_in_row++;
	if (timed_out && client->failures_in_row < FAILURES_BEFORE_PAUSE)
		client->failures_in_row = FAILURES_BEFORE_PAUSE;
	if (client->failures_in_row < FAILURES_BEFORE_PAUSE)
		return;
	for (uint32_t i = FAILURES_BEFORE_PAUSE; i < client->failures_in_row && pause_ns < PAUSE_MAX_NS;
		 i++)
		pause_ns *= 2;
	client->pause_until_ns = clock_ns(CLOCK_MONOTONIC) + pause_ns;
}

/* An error of the program, not of the machine it runs on: told once. */
static bool
may_start(void)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	if (symbolizer_worker_can_start())
		return true;
	if (!atomic_flag_test_and_set(&told))
		log_event(LOG_ERROR, "symbols", "could not start the symbol worker",
				  log_text("detail", "The program would not serve as one."));
	return false;
}

/* A worker, if there is none; -EAGAIN where none can be had now. */
static int
start_worker(WorkerClient *client)
{
	int sockets[2];
	int status;
	int err;

	if (client->socket >= 0)
		return 0;
	if (!may_start())
		return -EAGAIN;
	if (client->pause_until_ns > clock_ns(CLOCK_MONOTONIC) || !reap(client, &status))
		return -EAGAIN;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
		return -EAGAIN;
	err = spawn(client, sockets[1]);
	close(sockets[1]);
	if (err != 0)
	{
		close(sockets[0]);
		count_failure(client, false);
		return -EAGAIN;
	}
	client->socket = sockets[0];
	return 0;
}

static int
send_question(WorkerClient *client, const Question *question, const int *fds, size_t fd_count)
{
	size_t address_count = question->head.kind == WORKER_LOOKUP ? question->head.argument : 0;
	union
	{
		struct cmsghdr header;
		char bytes[CMSG_SPACE(WORKER_FILES_MAX * sizeof(int))];
	} control;
	Question sent = *question;
	struct iovec part = { &sent, sizeof(sent.head) + address_count * sizeof(sent.addresses[0]) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd_count > 0)
	{
		memset(&control, 0, sizeof(control));
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, fd_count * sizeof(int));
	}
	return sendmsg(client->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -EPIPE : 0;
}

/* True when there is something to receive; signals do not prolong the wait. */
static bool
wait_for_answer(const WorkerClient *client)
{
	int64_t deadline_ns = clock_ns(CLOCK_MONOTONIC) + ANSWER_TIMEOUT_MS * NS_PER_MS;
	struct pollfd answer = { .fd = client->socket, .events = POLLIN };
	int64_t left_ns;

	while ((left_ns = deadline_ns - clock_ns(CLOCK_MONOTONIC)) > 0)
	{
		int ready = poll(&answer, 1, (int) (left_ns / NS_PER_MS) + 1);

		if (ready > 0)
			return true;
		if (ready < 0 && errno != EINTR)
			break;
	}
	return false;
}

int
worker_client_take(WorkerClient *client, SymbolLines *lines)
{
	size_t reply_bytes;
	uint32_t count;
	int status;

	if (client->answer_bytes == 0)
		return -EPROTO;
	status = worker_reply_decode(client->message + client->taken_bytes, client->answer_bytes,
								 client->lines, &count, &reply_bytes);
	if (status == -EPROTO)
		return status;
	client->taken_bytes += reply_bytes;
	client->answer_bytes -= reply_bytes;
	*lines = (SymbolLines){ status == 0 ? count : 0, client->lines };
	return status;
}

static void
rewind_answers(WorkerClient *client)
{
	client->answer_bytes += client->taken_bytes;
	client->taken_bytes = 0;
}

/*
 * Waits for the answers, one at least and limit at most, and checks them. The first one's status;
 * -EPIPE where the worker has gone, -ETIMEDOUT where it did not answer, -EPROTO where it answered
 * nonsense.
 */
static int
receive_answers(WorkerClient *client, uint32_t limit)
{
	SymbolLines lines;
	int first = 0;
	ssize_t got;

	if (!wait_for_answer(client))
		return -ETIMEDOUT;
	got = recv(client->socket, client->message, sizeof(client->message), MSG_DONTWAIT);
	if (got <= 0)
		return -EPIPE;
	client->answers = 0;
	client->answer_bytes = (size_t) got;
	client->taken_bytes = 0;
	while (client->answer_bytes > 0)
	{
		int status = worker_client_take(client, &lines);

		if (status == -EPROTO || status == -EPIPE || client->answers == limit)
			return -EPROTO;
		if (client->answers++ == 0)
			first = status;
	}
	rewind_answers(client);
	return first;
}

/*
 * One question and its answer. A worker that had just ended because it was idle (or was caught by
 * our signal while it ended) is replaced once, without counting.
 */
static int
ask(WorkerClient *client, const Question *question, const int *fds, size_t fd_count)
{
	uint32_t limit = question->head.kind == WORKER_LOOKUP ? (uint32_t) question->head.argument : 1;

	client->answer_bytes = 0;
	for (int attempt = 0;; attempt++)
	{
		int err = start_worker(client);
		int status;

		if (err != 0)
			return err;
		err = send_question(client, question, fds, fd_count);
		if (err == 0)
			err = receive_answers(client, limit);
		if (err != -EPIPE && err != -ETIMEDOUT && err != -EPROTO)
		{
			client->failures_in_row = 0;
			return err;
		}
		status = end_worker(client);
		if (err != -EPIPE || attempt > 0 ||
			!(WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL))
		{
			count_failure(client, err == -ETIMEDOUT);
			return -EIO;
		}
	}
}

/* Opens a binary in the worker. */
static int
open_binary(WorkerClient *client, uint64_t binary, const WorkerFiles *files)
{
	Question open = { .head = { .kind = WORKER_OPEN, .binary = binary } };
	int fds[WORKER_FILES_MAX] = { files->binary };
	size_t count = 1;

	if (files->no_dwarf)
		open.head.argument |= WORKER_NO_DWARF;
	if (files->raw_names)
		open.head.argument |= WORKER_RAW_NAMES;
	if (files->debug >= 0)
	{
		open.head.argument |= WORKER_WITH_DEBUG;
		fds[count++] = files->debug;
	}
	if (files->alternative >= 0)
	{
		open.head.argument |= WORKER_WITH_ALTERNATIVE;
		fds[count++] = files->alternative;
	}
	return ask(client, &open, fds, count);
}

/* An error of the worker itself; one of an address is its answer. */
static bool
is_no_answer(int err)
{
	return err == -EAGAIN || err == -EIO || err == -ESTALE;
}

int
worker_client_ask(WorkerClient *client, uint64_t binary, const WorkerFiles *files,
				  const uint64_t *addresses, uint32_t count, uint32_t *answered)
{
	Question lookup = { .head = { .kind = WORKER_LOOKUP, .binary = binary, .argument = count } };
	int err;

	memcpy(lookup.addresses, addresses, count * sizeof(*addresses));
	err = ask(client, &lookup, NULL, 0);
	if (err == -ESTALE)
	{
		err = open_binary(client, binary, files);
		if (err != 0)
			return err;
		err = ask(client, &lookup, NULL, 0);
	}
	if (is_no_answer(err))
		return err == -ESTALE ? -EIO : err;
	*answered = client->answers;
	return 0;
}

int
worker_client_lookup(WorkerClient *client, uint64_t binary, const WorkerFiles *files,
					 uint64_t address, SymbolLines *lines)
{
	uint32_t answered;
	int err = worker_client_ask(client, binary, files, &address, 1, &answered);

	return err != 0 ? err : worker_client_take(client, lines);
}

int
worker_client_checksum(WorkerClient *client, int fd, uint32_t checksum)
{
	Question question = { .head = { .kind = WORKER_CHECKSUM, .argument = checksum } };

	return ask(client, &question, &fd, 1);
}

uint64_t
worker_client_failures(const WorkerClient *client)
{
	return client->failures;
}
