/*
 * worker_client.c
 *		Starts, asks and ends the worker process.
 *
 * 1. The first question starts this program again, with one end of a socket pair as standard input.
 *    If it sends no greeting, the next start waits for a pause.
 * 2. A request carries the descriptors of its files. Their owners pay for its time.
 * 3. If an answer misses the deadline, the next question waits for it first, then drops it: the
 *    costly part (an open file, its index) is there when the question is repeated. Answers about
 *    checksums and failures are kept.
 * 4. Any failure ends the process; the next request starts another one.
 */
#include "symbols/worker/worker_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/log.h"
#include "symbols/worker/worker.h"
#include "symbols/worker/worker_accounts.h"
#include "symbols/worker/worker_protocol.h"

/* Wall-clock time; the worker itself limits CPU time. */
#define ANSWER_TIMEOUT_NS	  INT64_C(10000000000)
#define REAP_TRIES			  100 /* a killed worker may be blocked in the kernel for a while */
#define REAP_PAUSE_NS		  (20 * NS_PER_MS)
#define PAUSE_FIRST_NS		  INT64_C(1000000000)
#define PAUSE_MAX_NS		  INT64_C(300000000000)
#define FAILURES_BEFORE_PAUSE 3
/* Cost of starting another process, charged in addition to the CPU time. */
#define FAILURE_COST_NS		  (20 * NS_PER_MS)
#define SETTLED_MAX			  16
#define STUCK_MAX			  8
/* Limit of notices in a row; an honest worker sends two for each binary. */
#define NOTICES_MAX			  256

/* The owners and devices of files in which a worker may block. */
typedef struct Blame
{
	uint64_t owners;
	uint64_t devices[WORKER_FILES_MAX]; /* 0: none */
} Blame;

/* The question on which the worker is working. */
typedef struct Outstanding
{
	WorkerRequest head; /* kind 0: there is no question */
	uint32_t limit;		/* largest allowed number of answers */
	Blame blame;		/* files of the question, whose owners are charged */
	int64_t asked_ns;
	int64_t cpu_ns; /* CPU time of the worker when the question was sent */
} Outstanding;

/* A worker that was killed but has not ended, because it waits for a file system. */
typedef struct Stuck
{
	pid_t pid; /* 0: slot is free */
	Blame blame;
} Stuck;

/*
 * Result of a question whose caller has stopped waiting. It becomes the answer if the question is
 * repeated.
 */
typedef struct Settled
{
	WorkerRequest head; /* kind 0: the slot is free */
	int status;
} Settled;

struct WorkerClient
{
	int socket; /* -1: there is no worker */
	_Atomic pid_t pid;
	Stuck stuck[STUCK_MAX];				/* workers that were killed but have not ended */
	uint64_t devices[WORKER_FILES_MAX]; /* devices of the files of the next question */
	WorkerNotice notice;				/* the last notice received */
	Blame suspects;						/* files whose closing may block when the worker ends */
	size_t memory_bytes;
	uint64_t failures;
	uint64_t refused;
	uint64_t unavailable;
	uint64_t left_out;
	uint64_t tables_loaded;
	uint64_t tables_damaged;
	uint32_t failures_in_row;
	int64_t pause_until_ns; /* CLOCK_MONOTONIC */
	WorkerAccounts accounts;
	Outstanding outstanding;
	Settled settled[SETTLED_MAX];
	uint32_t next_settled; /* slot to overwrite next */
	SymbolLine lines[WORKER_FRAMES_MAX];
	uint32_t answers;	 /* number of answers in the message */
	size_t answer_bytes; /* bytes of answers not taken yet */
	size_t taken_bytes;	 /* bytes of answers taken */
	char message[WORKER_MESSAGE_BYTES];
};

/* A request as it is sent: the addresses of a lookup, or a name, follow its head. */
typedef struct Question
{
	WorkerRequest head;
	union
	{
		uint64_t addresses[WORKER_ADDRESSES_MAX];
		char name[WORKER_NAME_BYTES];
	};
} Question;

int
worker_client_create(size_t memory_bytes, WorkerClient **client)
{
	WorkerClient *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return -ENOMEM;
	made->socket = -1;
	made->memory_bytes = memory_bytes;
	*client = made;
	return 0;
}

/* Returns true if a killed process has ended. A file system that does not answer may delay that. */
static bool
stuck_reap(Stuck *stuck, int *status)
{
	if (stuck->pid != 0 && waitpid(stuck->pid, status, WNOHANG) == 0)
		return false;
	stuck->pid = 0;
	return true;
}

/* Returns a free slot for the next worker that is killed; NULL if all are in use. */
static Stuck *
client_free_slot(WorkerClient *client)
{
	Stuck *found = NULL;
	int status;

	for (int i = 0; i < STUCK_MAX; i++)
	{
		if (stuck_reap(&client->stuck[i], &status))
			found = &client->stuck[i];
	}
	return found;
}

/*
 * Returns true if another worker would block, too: a stuck worker waits for a device of the
 * question's files, or stuck workers are blamed on every owner of the question.
 */
static bool
would_hang(const WorkerClient *client, uint64_t owners)
{
	uint64_t blamed = 0;

	for (int i = 0; i < STUCK_MAX; i++)
	{
		const Stuck *stuck = &client->stuck[i];

		if (stuck->pid == 0)
			continue;
		blamed |= stuck->blame.owners;
		for (int j = 0; j < WORKER_FILES_MAX * WORKER_FILES_MAX; j++)
		{
			uint64_t device = stuck->blame.devices[j / WORKER_FILES_MAX];

			if (device != 0 && device == client->devices[j % WORKER_FILES_MAX])
				return true;
		}
	}
	/* if some owner is not blamed, the file is not that owner's means to block workers */
	return owners != 0 && (owners & ~blamed) == 0;
}

/* Records the devices of a question's files, without asking their file systems. */
static void
note_devices(WorkerClient *client, const int fds[WORKER_FILES_MAX])
{
	for (int i = 0; i < WORKER_FILES_MAX; i++)
	{
		struct statx status;

		client->devices[i] = 0;
		if (fds[i] >= 0 &&
			statx(fds[i], "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0)
			client->devices[i] = makedev(status.stx_dev_major, status.stx_dev_minor);
	}
}

/* Returns the CPU time that the worker has used; 0 if it cannot be read. */
static int64_t
worker_cpu_ns(const WorkerClient *client)
{
	clockid_t clock;

	return clock_getcpuclockid(client->pid, &clock) == 0 ? clock_ns(clock) : 0;
}

/*
 * Charges the worker's CPU time for the current question, and extra_ns, to the question's owners.
 */
static void
charge_question(WorkerClient *client, int64_t extra_ns)
{
	const Outstanding *question = &client->outstanding;
	int64_t cost_ns = worker_cpu_ns(client) - question->cpu_ns;

	worker_accounts_charge(&client->accounts, question->blame.owners, clock_ns(CLOCK_MONOTONIC),
						   (cost_ns > 0 ? cost_ns : 0) + extra_ns);
}

/*
 * Ends the worker, if there is one. Ending closes its files; if that blocks, the files that may
 * block on closing are blamed, unless the caller passes others. Returns its status like waitpid().
 */
static int
end_worker(WorkerClient *client, const Blame *known)
{
	const struct timespec pause = { 0, REAP_PAUSE_NS };
	/* not NULL, because start_worker() made sure that a slot is free */
	Stuck *stuck = client_free_slot(client);
	int status = SIGKILL;

	if (client->socket < 0)
		return 0;
	/* a worker that is taken over may ignore every other signal */
	(void) kill(client->pid, SIGKILL);
	close(client->socket);
	client->socket = -1;
	stuck->pid = client->pid;
	stuck->blame = known != NULL ? *known : client->suspects;
	client->suspects = (Blame){ 0 };
	client->notice = (WorkerNotice){ 0 };
	client->outstanding.head.kind = 0;
	client->pid = 0;
	/* a worker that was killed ends within milliseconds, unless it waits for a file system */
	for (int i = 0; i < REAP_TRIES && !stuck_reap(stuck, &status); i++)
		(void) nanosleep(&pause, NULL);
	/* its memory would otherwise be held as long as the file system does not answer */
	if (stuck->pid != 0)
		child_release_memory(stuck->pid);
	return status;
}

void
worker_client_end(WorkerClient *client)
{
	(void) end_worker(client, NULL);
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
	(void) end_worker(client, NULL);
	free(client);
}

/* Starts a worker process on the socket. */
static int
spawn_worker(WorkerClient *client, int socket)
{
	char name[] = "profstore-collector";
	char argument[] = WORKER_ARGUMENT;
	char *arguments[] = { name, argument, NULL };
	char mark[sizeof(WORKER_MARK) + 24];
	char *environment[] = { mark, NULL };
	const ChildProgram program = { "/proc/self/exe", arguments, environment };
	pid_t pid;
	int err;

	(void) snprintf(mark, sizeof(mark), WORKER_MARK "=%zu", client->memory_bytes);
	err = child_start_with(&program, socket, STDIN_FILENO, &pid);
	if (err == 0)
		client->pid = pid;
	return err;
}

/*
 * Counts a failed start. After three in a row, starts pause: otherwise each question would start a
 * worker.
 */
static void
count_failed_start(WorkerClient *client)
{
	int64_t pause_ns = PAUSE_FIRST_NS;

	client->failures++;
	if (++client->failures_in_row < FAILURES_BEFORE_PAUSE)
		return;
	for (uint32_t i = FAILURES_BEFORE_PAUSE; i < client->failures_in_row && pause_ns < PAUSE_MAX_NS;
		 i++)
		pause_ns *= 2;
	client->pause_until_ns = clock_ns(CLOCK_MONOTONIC) + pause_ns;
}

/*
 * Returns false if this program cannot run as a worker. That is a defect of the program, so it is
 * logged once.
 */
static bool
may_start(void)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	if (symbolizer_worker_can_start())
		return true;
	if (!atomic_flag_test_and_set(&told))
		log_event(
			LOG_ERROR, "symbols", "could not start the symbol worker",
			log_text(
				"detail",
				"Environment variable PROFSTORE_SYMBOL_WORKER is set, or main() did not call symbolizer_worker_main()."));
	return false;
}

/* Sets the current question. */
static void
note_question(WorkerClient *client, const WorkerRequest *head, uint64_t owners)
{
	client->outstanding = (Outstanding){
		.head = *head,
		.limit = head->kind == WORKER_LOOKUP ? (uint32_t) head->argument : 1,
		.blame.owners = owners,
		.asked_ns = clock_ns(CLOCK_MONOTONIC),
		.cpu_ns = worker_cpu_ns(client),
	};
	if (head->kind != WORKER_HELLO)
		memcpy(client->outstanding.blame.devices, client->devices, sizeof(client->devices));
}

/*
 * Starts a worker if there is none; the worker will send a greeting. Returns 0; -EAGAIN if none can
 * be started now.
 */
static int
start_worker(WorkerClient *client)
{
	const WorkerRequest greeting = { .kind = WORKER_HELLO };
	int sockets[2];
	int err;

	if (client->socket >= 0)
		return 0;
	if (!may_start())
		return -EAGAIN;
	/* without a free slot a worker that hangs could not be abandoned */
	if (client->pause_until_ns > clock_ns(CLOCK_MONOTONIC) || client_free_slot(client) == NULL)
		return -EAGAIN;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
		return -EAGAIN;
	err = spawn_worker(client, sockets[1]);
	close(sockets[1]);
	if (err != 0)
	{
		close(sockets[0]);
		count_failed_start(client);
		return -EAGAIN;
	}
	client->socket = sockets[0];
	note_question(client, &greeting, 0);
	return 0;
}

void
worker_client_start(WorkerClient *client)
{
	(void) start_worker(client);
}

/* Sends a question with its descriptors. Returns 0 or -EPIPE. */
static int
send_question(WorkerClient *client, const Question *question, const int *fds, size_t fd_count)
{
	size_t behind_bytes = question->head.kind == WORKER_LOOKUP
							  ? question->head.argument * sizeof(question->addresses[0])
						  : question->head.kind == WORKER_DEMANGLE ? question->head.argument
																   : 0;
	union
	{
		struct cmsghdr header;
		char bytes[CMSG_SPACE(WORKER_FILES_MAX * sizeof(int))];
	} control;
	Question sent = *question;
	struct iovec part = { &sent, sizeof(sent.head) + behind_bytes };
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

/*
 * Waits for a message until the deadline or the worker's own limit; signals do not extend the wait.
 * Returns 0, -EINPROGRESS at the deadline, -ETIMEDOUT at the limit.
 */
static int
wait_for_answer(const WorkerClient *client, int64_t deadline_ns)
{
	int64_t limit_ns = client->outstanding.asked_ns + ANSWER_TIMEOUT_NS;
	int64_t until_ns = deadline_ns < limit_ns ? deadline_ns : limit_ns;
	struct pollfd answer = { .fd = client->socket, .events = POLLIN };

	for (;;)
	{
		int64_t left_ns = until_ns - clock_ns(CLOCK_MONOTONIC);
		int ready = poll(&answer, 1, left_ns > 0 ? (int) (left_ns / NS_PER_MS) + 1 : 0);

		if (ready > 0)
			return 0;
		/* poll() fails if memory is exhausted; waiting without it could last for ever */
		if (ready < 0 && errno != EINTR)
			return -ETIMEDOUT;
		if (clock_ns(CLOCK_MONOTONIC) >= until_ns)
			return until_ns == limit_ns ? -ETIMEDOUT : -EINPROGRESS;
	}
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
	*lines = (SymbolLines){ status == 0 || status == -ENOMEM ? count : 0, client->lines };
	return status;
}

static void
rewind_answers(WorkerClient *client)
{
	client->answer_bytes += client->taken_bytes;
	client->taken_bytes = 0;
}

/* Stores the message and returns true if it is a notice. */
static bool
take_notice(WorkerClient *client, const void *message, size_t size_bytes)
{
	WorkerNotice notice;

	if (size_bytes != sizeof(notice))
		return false;
	memcpy(&notice, message, sizeof(notice));
	if (notice.status != WORKER_NOTICE)
		return false;
	client->notice = notice;
	return true;
}

/*
 * Waits for the answer to the current question, and handles notices before it. Returns 0;
 * -EINPROGRESS at the deadline; -EPIPE, -ETIMEDOUT or -EPROTO like receive_answers().
 */
static int
receive_message(WorkerClient *client, int64_t deadline_ns)
{
	bool closing = client->outstanding.head.kind == WORKER_CLOSING;

	client->answer_bytes = 0;
	client->taken_bytes = 0;
	for (int i = 0; i < NOTICES_MAX; i++)
	{
		int err = wait_for_answer(client, deadline_ns);
		ssize_t got;

		if (err != 0)
			return err;
		/* 0 means that the worker ended; messages are never empty */
		got = recv(client->socket, client->message, sizeof(client->message), MSG_DONTWAIT);
		if (got <= 0)
			return -EPIPE;
		if (!take_notice(client, client->message, (size_t) got))
		{
			client->answer_bytes = (size_t) got;
			return closing ? -EPROTO : 0;
		}
		if (closing && client->notice.closes == 0)
			return 0;
	}
	return -EPROTO;
}

/*
 * Waits for the answers to the current question and checks them. Returns the status of the first
 * answer; -EINPROGRESS at the deadline; -EPIPE if the worker has ended; -ETIMEDOUT if it did not
 * answer; -EPROTO if its answer is invalid.
 */
static int
receive_answers(WorkerClient *client, int64_t deadline_ns)
{
	int err = receive_message(client, deadline_ns);
	SymbolLines lines;
	int first = 0;

	if (err != 0)
		return err;
	/* all answers are checked before the first one is used */
	client->answers = 0;
	while (client->answer_bytes > 0)
	{
		int status = worker_client_take(client, &lines);

		if (status == -EPROTO || status == -EPIPE || client->answers == client->outstanding.limit)
			return -EPROTO;
		if (client->answers++ == 0)
			first = status;
	}
	rewind_answers(client);
	return first;
}

/*
 * Adds the files of the current question to those that may block on closing, while there is room.
 */
static void
suspect_files(WorkerClient *client)
{
	const Blame *files = &client->outstanding.blame;

	client->suspects.owners |= files->owners;
	for (int i = 0; i < WORKER_FILES_MAX; i++)
	{
		for (int j = 0; files->devices[i] != 0 && j < WORKER_FILES_MAX; j++)
		{
			uint64_t *device = &client->suspects.devices[j];

			if (*device == 0)
				*device = files->devices[i];
			if (*device == files->devices[i])
				break;
		}
	}
}

/* Evaluates the flags in the reply to WORKER_OPEN. */
static void
note_opened(WorkerClient *client)
{
	SymbolLines opened;

	if (worker_client_take(client, &opened) == 0 && opened.count == 1)
	{
		client->left_out += (opened.lines[0].line & WORKER_LEFT_OUT_DWARF) != 0;
		if ((opened.lines[0].line & WORKER_MAY_HANG) != 0)
			suspect_files(client);
	}
	rewind_answers(client);
}

/* Returns the files for which the worker waits if it does not answer the current question. */
static Blame
hanging_files(const WorkerClient *client)
{
	const WorkerNotice *notice = &client->notice;

	if (notice->closes == 0)
		return client->outstanding.blame;
	return (Blame){ notice->owners, { notice->device } };
}

/*
 * Returns true if a worker ended because it was idle, or because another program killed it. This is
 * no failure.
 */
static bool
ended_quietly(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL;
}

/*
 * Waits until the current question ends. Returns its status; -EINPROGRESS if it continues;
 * -ECONNRESET if the worker ended, but not because of the question; -EIO if the worker failed with
 * the question.
 */
static int
settle_question(WorkerClient *client, int64_t deadline_ns)
{
	bool starting = client->outstanding.head.kind == WORKER_HELLO;
	int err = receive_answers(client, deadline_ns);
	Blame hanging = hanging_files(client);
	/* the worker blocks on closing a file that does not belong to the question */
	bool elsewhere = err == -ETIMEDOUT && client->notice.closes != 0 &&
					 client->outstanding.head.kind != WORKER_CLOSING;
	int status;

	if (err == -EINPROGRESS)
		return err;
	if (err != -EPIPE && err != -ETIMEDOUT && err != -EPROTO)
	{
		charge_question(client, 0);
		if (client->outstanding.head.kind == WORKER_OPEN && err == 0)
			note_opened(client);
		client->outstanding.head.kind = 0;
		client->failures_in_row = 0;
		return err;
	}
	/*
	 * a worker that waits for a file system uses no CPU time, but delays the questions of other
	 * owners
	 */
	client->outstanding.blame = hanging;
	charge_question(client, err == -ETIMEDOUT ? ANSWER_TIMEOUT_NS : FAILURE_COST_NS);
	status = end_worker(client, err == -ETIMEDOUT ? &hanging : NULL);
	/* no question is to blame if a worker does not start */
	if (starting)
	{
		count_failed_start(client);
		return -EIO;
	}
	/* the question is asked again by another worker, and no failure is counted */
	if (err == -EPIPE && ended_quietly(status))
		return -ECONNRESET;
	client->failures++;
	return elsewhere ? -ECONNRESET : -EIO;
}

/*
 * Stores the result of a question whose caller has stopped waiting, unless asking again would
 * answer at once.
 */
static void
keep_outcome(WorkerClient *client, const WorkerRequest *head, int status)
{
	if (head->kind == WORKER_HELLO || head->kind == WORKER_CLOSING || status == -ECONNRESET ||
		(status != -EIO && head->kind != WORKER_CHECKSUM && head->kind != WORKER_COMPARE))
		return;
	client->settled[client->next_settled++ % SETTLED_MAX] = (Settled){ *head, status };
}

/*
 * Returns true if a question repeats an earlier one. Questions about a checksum or comparison must
 * be about the same files, because their results are trusted. For a binary with which the worker
 * failed, all questions count as repeated.
 */
static bool
is_repeated(const WorkerRequest *head, const WorkerRequest *earlier)
{
	if (head->kind == WORKER_CHECKSUM || head->kind == WORKER_COMPARE)
		return memcmp(head, earlier, sizeof(*head)) == 0;
	return head->kind == earlier->kind && head->binary == earlier->binary;
}

/* Removes the stored result of a repeated question. Returns false if there is none. */
static bool
take_outcome(WorkerClient *client, const WorkerRequest *head, int *status)
{
	for (int i = 0; i < SETTLED_MAX; i++)
	{
		Settled *settled = &client->settled[i];

		if (!is_repeated(head, &settled->head))
			continue;
		*status = settled->status;
		settled->head.kind = 0;
		return true;
	}
	return false;
}

/*
 * Handles the notices of an idle worker. If the worker is closing a file, it is busy: closing then
 * becomes the current question, and is charged to the file's owners.
 */
static void
follow_notices(WorkerClient *client)
{
	const WorkerRequest closing = { .kind = WORKER_CLOSING };
	WorkerNotice notice;
	ssize_t got;

	for (int i = 0; i < NOTICES_MAX; i++)
	{
		got = recv(client->socket, &notice, sizeof(notice), MSG_DONTWAIT | MSG_TRUNC);
		if (got <= 0 || !take_notice(client, &notice, (size_t) got))
			break;
	}
	if (client->notice.closes == 0)
		return;
	note_question(client, &closing, client->notice.owners);
	client->outstanding.blame = hanging_files(client);
}

/*
 * Waits until a worker is running and idle. Returns 0, -EINPROGRESS, -EAGAIN, or -EIO if it does
 * not start.
 */
static int
make_free(WorkerClient *client, int64_t deadline_ns)
{
	for (;;)
	{
		int err = start_worker(client);
		WorkerRequest head;

		if (err == 0 && client->outstanding.head.kind == 0)
			follow_notices(client);
		head = client->outstanding.head;
		if (err != 0 || head.kind == 0)
			return err;
		err = settle_question(client, deadline_ns);
		if (err == -EINPROGRESS || (head.kind == WORKER_HELLO && err != 0))
			return err;
		/* the caller of that question has stopped waiting and will repeat it */
		keep_outcome(client, &head, err);
	}
}

/*
 * Asks a question and waits for its answer. Returns -EINPROGRESS at the deadline; the worker then
 * continues. If the worker has just ended because it was idle, or another program killed it, it is
 * replaced once without counting a failure.
 */
static int
client_ask_worker(WorkerClient *client, const Question *question, const int *fds, size_t fd_count,
				  const SymbolAsk *terms)
{
	int status;

	client->answer_bytes = 0;
	for (int attempt = 0;; attempt++)
	{
		int err = make_free(client, terms->deadline_ns);

		if (err != 0)
			return err;
		client->answer_bytes = 0; /* drop answers to an earlier question */
		if (take_outcome(client, &question->head, &status))
			return status;
		err = send_question(client, question, fds, fd_count);
		if (err == 0)
		{
			note_question(client, &question->head, terms->owners);
			err = settle_question(client, terms->deadline_ns);
		}
		else
			err = ended_quietly(end_worker(client, NULL)) ? -ECONNRESET : -EIO;
		if (err != -ECONNRESET)
			return err;
		/* a second end in a row is no coincidence, so it counts as a failure */
		if (attempt > 0)
		{
			client->failures++;
			return -EIO;
		}
	}
}

/* Opens a binary in the worker. */
static int
open_binary(WorkerClient *client, uint64_t binary, const WorkerFiles *files, const SymbolAsk *terms)
{
	Question open = { .head = { .kind = WORKER_OPEN, .binary = binary, .owners = terms->owners } };
	int fds[WORKER_FILES_MAX] = { files->binary };
	size_t count = 1;

	if (files->identity != NULL)
	{
		open.head.argument |= WORKER_WITH_IDENTITY;
		open.head.size_bytes = (uint64_t) files->identity->size_bytes;
		open.head.changed_s = files->identity->changed.tv_sec;
		open.head.changed_ns = files->identity->changed.tv_nsec;
	}
	if (files->no_dwarf)
		open.head.argument |= WORKER_NO_DWARF;
	if (files->raw_names)
		open.head.argument |= WORKER_RAW_NAMES;
	if (files->style == NAME_STYLE_SIMPLE)
		open.head.argument |= WORKER_SIMPLE_NAMES;
	else if (files->style == NAME_STYLE_NONE)
		open.head.argument |= WORKER_LINKAGE_NAMES;
	if (files->debug >= 0)
	{
		/* the order of descriptors is that of the flags in open_session() */
		open.head.argument |= WORKER_WITH_DEBUG;
		fds[count++] = files->debug;
	}
	if (files->alternative >= 0)
	{
		open.head.argument |= WORKER_WITH_ALTERNATIVE;
		fds[count++] = files->alternative;
	}
	if (files->package >= 0)
	{
		open.head.argument |= WORKER_WITH_PACKAGE;
		fds[count++] = files->package;
	}
	return client_ask_worker(client, &open, fds, count, terms);
}

/*
 * Makes the worker read an open binary's symbol table from disk. Returns 0 even if the table is
 * unusable.
 */
static int
load_table(WorkerClient *client, uint64_t binary, int fd, const SymbolAsk *terms)
{
	const Question load = { .head = { .kind = WORKER_LOAD, .binary = binary } };
	int err = client_ask_worker(client, &load, &fd, 1, terms);

	client->tables_loaded += err == 0;
	client->tables_damaged += err == -EBADMSG;
	return err == -EAGAIN || err == -EINPROGRESS || err == -EIO ? err : 0;
}

/* Returns true for an error of the worker itself; other errors are answers about an address. */
static bool
is_no_answer(int err)
{
	return err == -EAGAIN || err == -EINPROGRESS || err == -EIO || err == -ESTALE ||
		   err == -ENOLINK;
}

/*
 * Returns false if no owner can be charged for the question, or if the worker would block on its
 * files.
 */
static bool
may_ask(WorkerClient *client, const int fds[WORKER_FILES_MAX], uint64_t owners)
{
	note_devices(client, fds);
	/* this removes workers that have ended, so that they are not counted as stuck */
	(void) client_free_slot(client);
	return worker_accounts_may_ask(&client->accounts, owners, clock_ns(CLOCK_MONOTONIC)) &&
		   !would_hang(client, owners);
}

/* Reads the answer that requests a file. Returns false if the answer does not name the file. */
static bool
take_wanted(WorkerClient *client)
{
	size_t reply_bytes;
	uint32_t count;

	return worker_reply_decode(client->message + client->taken_bytes, client->answer_bytes,
							   client->lines, &count, &reply_bytes) == -ENOLINK &&
		   count == 1;
}

int
worker_client_ask(WorkerClient *client, uint64_t binary, const WorkerFiles *files,
				  const uint64_t *addresses, uint32_t count, const SymbolAsk *terms,
				  uint32_t *answered)
{
	Question lookup = { .head = { .kind = WORKER_LOOKUP, .binary = binary, .argument = count } };
	const int fds[WORKER_FILES_MAX] = { files->binary, files->debug, files->alternative,
										files->package };
	int err;

	if (!may_ask(client, fds, terms->owners))
	{
		client->refused += count;
		return -EAGAIN;
	}
	memcpy(lookup.addresses, addresses, count * sizeof(*addresses));
	err = client_ask_worker(client, &lookup, NULL, 0, terms);
	/* the worker is new, or closed the binary to save memory */
	if (err == -ESTALE)
	{
		err = open_binary(client, binary, files, terms);
		if (err == 0 && files->table >= 0)
			err = load_table(client, binary, files->table, terms);
		if (err != 0)
			return err;
		err = client_ask_worker(client, &lookup, NULL, 0, terms);
	}
	if (err == -EAGAIN)
		client->unavailable += count;
	/* lines[0] describes the requested file */
	if (err == -ENOLINK && !take_wanted(client))
		return -EIO;
	if (is_no_answer(err))
		return err == -ESTALE ? -EIO : err;
	*answered = client->answers;
	return 0;
}

WorkerWanted
worker_client_wanted(const WorkerClient *client)
{
	const SymbolLine *line = &client->lines[0];

	return (WorkerWanted){ strtoull(line->name, NULL, 16), line->filename };
}

int
worker_client_add_split(WorkerClient *client, uint64_t binary, uint64_t id, int fd,
						const SymbolAsk *terms)
{
	const Question split = { .head = { .kind = WORKER_SPLIT, .binary = binary, .argument = id } };
	const int fds[WORKER_FILES_MAX] = { fd, -1, -1, -1 };

	if (!may_ask(client, fds, terms->owners))
		return -EAGAIN;
	return client_ask_worker(client, &split, fds, fd >= 0 ? 1 : 0, terms);
}

int
worker_client_checksum(WorkerClient *client, uint64_t binary, int fd, const FileIdentity *identity,
					   uint32_t checksum, const SymbolAsk *terms)
{
	Question question = { .head = { .kind = WORKER_CHECKSUM,
									.binary = binary,
									.argument = checksum,
									.size_bytes = (uint64_t) identity->size_bytes,
									.changed_s = identity->changed.tv_sec,
									.changed_ns = identity->changed.tv_nsec,
									.device = identity->device,
									.inode = identity->inode } };
	const int fds[WORKER_FILES_MAX] = { fd, -1, -1, -1 };

	if (!may_ask(client, fds, terms->owners))
		return -EAGAIN;
	return client_ask_worker(client, &question, fds, 1, terms);
}

int
worker_client_compare(WorkerClient *client, uint64_t binary, int fd, uint64_t other, int other_fd,
					  const SymbolAsk *terms)
{
	Question question = { .head = { .kind = WORKER_COMPARE, .binary = binary, .argument = other } };
	const int fds[WORKER_FILES_MAX] = { fd, other_fd, -1, -1 };

	if (!may_ask(client, fds, terms->owners))
		return -EAGAIN;
	return client_ask_worker(client, &question, fds, 2, terms);
}

int
worker_client_demangle(WorkerClient *client, const char *name, uint64_t hash, NameStyle style,
					   const SymbolAsk *terms, SymbolLines *lines)
{
	Question question = { .head = { .kind = WORKER_DEMANGLE,
									.binary = hash,
									.argument = strlen(name),
									.size_bytes = style } };
	const int fds[WORKER_FILES_MAX] = { -1, -1, -1, -1 };
	int err;

	if (question.head.argument == 0 || question.head.argument > WORKER_NAME_BYTES)
		return -ENAMETOOLONG;
	if (!may_ask(client, fds, terms->owners))
		return -EAGAIN;
	memcpy(question.name, name, question.head.argument);
	err = client_ask_worker(client, &question, NULL, 0, terms);
	return err == 0 ? worker_client_take(client, lines) : err;
}

int
worker_client_keep(WorkerClient *client, uint64_t binary, int fd, const SymbolAsk *terms)
{
	const Question keep = { .head = { .kind = WORKER_KEEP, .binary = binary } };

	return client_ask_worker(client, &keep, &fd, 1, terms);
}

uint64_t
worker_client_tables_loaded(const WorkerClient *client)
{
	return client->tables_loaded;
}

uint64_t
worker_client_tables_damaged(const WorkerClient *client)
{
	return client->tables_damaged;
}

int64_t
worker_client_used(const WorkerClient *client, uint64_t owners)
{
	return worker_accounts_used(&client->accounts, owners, clock_ns(CLOCK_MONOTONIC));
}

uint64_t
worker_client_refused(const WorkerClient *client)
{
	return client->refused;
}

uint64_t
worker_client_unavailable(const WorkerClient *client)
{
	return client->unavailable;
}

uint64_t
worker_client_left_out(const WorkerClient *client)
{
	return client->left_out;
}

uint64_t
worker_client_failures(const WorkerClient *client)
{
	return client->failures;
}
