/*
 * worker.c
 *		The worker process: reads symbols and DWARF and demangles names, so that a hostile file can
 *		harm this process only.
 *
 * It starts with a socket as standard input and drops its rights (worker_sandbox.h). It limits
 * itself: SIGPROF ends it if a request takes too much CPU time, and allocations beyond the memory
 * limit fail. It ends when the collector closes the socket or asks nothing for a while, so an idle
 * collector has no worker.
 */
#include "symbols/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <lzma.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/elf_headers.h"
#include "files/open_file.h"
#include "symbols/elf/symbol_table_file.h"
#include "symbols/worker/demangler.h"
#include "symbols/worker/symbol_session.h"
#include "symbols/worker/worker_protocol.h"
#include "symbols/worker/worker_sandbox.h"

#define WORKER_SOCKET		   STDIN_FILENO
#define WORKER_SESSIONS		   64 /* limit of open binaries */
#define DESCRIPTORS_MAX		   (5 * WORKER_SESSIONS + 16)
#define WORKER_IDLE_TRIM_MS	   1000
#define WORKER_IDLE_EXIT_MS	   120000
#define WORKER_CPU_MS		   2000 /* limit of CPU time of a question */
#define WORKER_CPU_DEMANGLE_MS 250
/* Time for answering as many addresses as possible in one message. */
#define WORKER_ANSWER_NS	   INT64_C(20000000)
#define WORKER_DATA_MIN		   (32UL << 20) /* the worker needs at least this much memory */
#define WORKER_DATA_DEFAULT	   (128UL << 20)
/* Eighths of the memory limit. Above this, binaries are closed before another one is opened. */
#define WORKER_BUSY_SHARE	   4
/*
 * Eighths of the memory limit. If one binary increases the memory by more, all binaries are closed.
 */
#define WORKER_GROWTH_SHARE	   2
/* eighths of the memory limit that an idle worker may hold as private memory */
#define WORKER_KEPT_SHARE	   2
/* Lets other programs go first, but gets its share on a busy machine. */
#define WORKER_NICE			   2
#define WORKER_CHECKSUM_MAX	   (1ULL << 30) /* largest file whose checksum is computed */
#define WORKER_COMPARE_MAX	   (1ULL << 28) /* largest size of files that are compared */

typedef struct Session
{
	uint64_t binary;
	uint64_t used; /* value of Worker.clock at the last use; 0: the slot is free */
	bool raw_names;
	NameStyle style;
	uint64_t with_files; /* flags of the WORKER_OPEN request that state which files exist */
	int fd;				 /* descriptor of the binary; owned by symbols */
	struct stat status;	 /* status of the binary when it was opened */
	uint64_t owners;	 /* accounts for which the binary was opened */
	bool may_hang;		 /* closing may block, because a file is on a user-space file system */
	SymbolSession *symbols;
} Session;

typedef struct Worker
{
	Session sessions[WORKER_SESSIONS];
	uint64_t clock;
	/*
	 * Bytes of private memory above which all binaries are closed. They are opened again when
	 * needed.
	 */
	size_t private_limit;
	Demangler demangler;
	char paths[WORKER_FRAMES_MAX][WORKER_STRING_MAX];
	/* room for a message, and for one more answer that may not fit into it */
	char message[2 * WORKER_MESSAGE_BYTES];
} Worker;

typedef struct MemoryUse
{
	size_t private; /* resident bytes except pages of files, which belong to the page cache */
	size_t data;	/* bytes of address space for private writable memory */
} MemoryUse;

static int statm_fd = -1; /* descriptor of /proc/self/statm, opened before the sandbox forbids it */
static size_t data_limit; /* bytes that may be allocated */
static bool can_serve;	  /* the program called symbolizer_worker_main() */

/* Reads the memory use of this process; all fields are 0 if that fails. */
static MemoryUse
memory_use(void)
{
	size_t page_bytes = (size_t) sysconf(_SC_PAGESIZE);
	char text[128];
	ssize_t length = pread(statm_fd, text, sizeof(text) - 1, 0);
	MemoryUse use = { 0 };
	size_t resident;
	size_t shared;
	size_t data;

	/* without the figures no binary is closed early; RLIMIT_DATA still holds */
	if (length <= 0)
		return use;
	text[length] = '\0';
	if (sscanf(text, "%*s %zu %zu %*s %*s %zu", &resident, &shared, &data) == 3 &&
		resident >= shared)
		use = (MemoryUse){ (resident - shared) * page_bytes, data * page_bytes };
	return use;
}

static void
set_limit(int resource, rlim_t value)
{
	struct rlimit limit = { value, value };

	(void) setrlimit(resource, &limit);
}

/*
 * Works around a defect of kernels before 6.11: in a descriptor table made by close_range() they
 * may regard descriptors as used that were used in the collector, 64 at a time. Closing one of each
 * 64 corrects that.
 */
static void
free_numbers(void)
{
	for (int fd = 64; fd < DESCRIPTORS_MAX; fd += 64)
	{
		if (dup2(WORKER_SOCKET, fd) == fd)
			close(fd);
	}
}

static void
set_limits(void)
{
	/*
	 * The priority is relative to the collector's, which is higher while the collector starts,
	 * because its first questions are urgent.
	 */
	(void) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + WORKER_NICE);
	set_limit(RLIMIT_CORE, 0);
	/* the only files that the worker writes are symbol tables */
	set_limit(RLIMIT_FSIZE, SYMBOL_TABLE_FILE_MAX);
	set_limit(RLIMIT_NOFILE, DESCRIPTORS_MAX);
	data_limit =
		(size_t) strtoull(getenv(WORKER_MARK) != NULL ? getenv(WORKER_MARK) : "", NULL, 10);
	/* a value that is no number is 0, which means the default */
	if (data_limit < WORKER_DATA_MIN)
		data_limit = data_limit == 0 ? WORKER_DATA_DEFAULT : WORKER_DATA_MIN;
	/* a sanitizer uses more address space than the limit from the start */
	if (memory_use().data < data_limit)
		set_limit(RLIMIT_DATA, data_limit);
}

/* Returns a number of eighths of the memory limit, in bytes. */
static size_t
limit_eighths(int share)
{
	return data_limit / 8 * (size_t) share;
}

/* Makes SIGPROF end the process after it has used this much more CPU time. */
static void
limit_cpu_time(int ms)
{
	struct itimerval timer = { .it_value = { ms / 1000, ms % 1000 * 1000 } };

	(void) setitimer(ITIMER_PROF, &timer, NULL);
}

/* A DemanglerLimit: after the names of an answer the limit is again that of a question. */
static void
limit_demangling(bool is_demangling)
{
	limit_cpu_time(is_demangling ? WORKER_CPU_DEMANGLE_MS : WORKER_CPU_MS);
}

static Session *
find_session(Worker *worker, uint64_t binary)
{
	for (int i = 0; i < WORKER_SESSIONS; i++)
	{
		Session *session = &worker->sessions[i];

		if (session->used != 0 && session->binary == binary)
		{
			session->used = ++worker->clock;
			return session;
		}
	}
	return NULL;
}

static void
send_notice(const Session *session, bool closes)
{
	const WorkerNotice notice = { .status = WORKER_NOTICE,
								  .closes = closes,
								  .owners = session->owners,
								  .device = session->status.st_dev };

	(void) send(WORKER_SOCKET, &notice, sizeof(notice), MSG_NOSIGNAL);
}

/*
 * Closes a binary. The server of a user-space file system can delay the close without limit, during
 * any request. Notices are sent before and after, so that the collector blames only the owners of
 * these files.
 */
static void
close_session(Session *session)
{
	if (session->used == 0)
		return;
	if (session->may_hang)
		send_notice(session, true);
	symbol_session_close(session->symbols);
	if (session->may_hang)
		send_notice(session, false);
	memset(session, 0, sizeof(*session));
}

static void
close_sessions(Worker *worker)
{
	for (int i = 0; i < WORKER_SESSIONS; i++)
		close_session(&worker->sessions[i]);
	malloc_trim(0);
}

static int
compare_use(const void *a, const void *b)
{
	uint64_t left = ((const Session *) a)->used;
	uint64_t right = ((const Session *) b)->used;

	return (left > right) - (left < right);
}

/* Closes binaries, least recently used first, until private memory is within the limit. */
static void
close_down_to(Worker *worker, size_t limit_bytes)
{
	if (memory_use().private <= limit_bytes)
		return;
	/* free slots have 0 as their last use and come first */
	qsort(worker->sessions, WORKER_SESSIONS, sizeof(worker->sessions[0]), compare_use);
	for (int i = 0; i < WORKER_SESSIONS && memory_use().private > limit_bytes; i++)
	{
		if (worker->sessions[i].used == 0)
			continue;
		close_session(&worker->sessions[i]);
		malloc_trim(0);
	}
}

static void
worker_close_fds(const int fds[WORKER_FILES_MAX])
{
	for (int i = 0; i < WORKER_FILES_MAX; i++)
	{
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

/* Returns true if a file has the size and ctime that it had when the collector opened it. */
static bool
is_wanted_file(const WorkerRequest *request, const struct stat *status)
{
	return (request->argument & WORKER_WITH_IDENTITY) == 0 ||
		   ((uint64_t) status->st_size == request->size_bytes &&
			status->st_ctim.tv_sec == request->changed_s &&
			status->st_ctim.tv_nsec == request->changed_ns);
}

/*
 * Returns true if a binary and its debug files were not modified since they were opened. Copies
 * share its answers, and the owner of one copy must not be able to change those of others.
 */
static bool
is_unchanged(const Session *session)
{
	struct stat now;

	return fstat(session->fd, &now) == 0 && now.st_size == session->status.st_size &&
		   now.st_ctim.tv_sec == session->status.st_ctim.tv_sec &&
		   now.st_ctim.tv_nsec == session->status.st_ctim.tv_nsec &&
		   symbol_session_is_unchanged(session->symbols);
}

/* Sets the limit to which private memory may grow before all binaries are closed. */
static void
set_private_limit(Worker *worker)
{
	worker->private_limit = memory_use().private + limit_eighths(WORKER_GROWTH_SHARE);
	if (worker->private_limit < limit_eighths(WORKER_BUSY_SHARE))
		worker->private_limit = limit_eighths(WORKER_BUSY_SHARE);
}

/*
 * Adds DWARF to a binary that is open without it, so that its symbol table is not made again.
 * Returns false if no such binary with these files is open.
 */
static bool
add_dwarf(Worker *worker, const WorkerRequest *request)
{
	Session *session = find_session(worker, request->binary + 1);

	if ((request->argument & (WORKER_NO_DWARF | WORKER_RAW_NAMES)) != 0 || session == NULL ||
		session->with_files != (request->argument & WORKER_WITH_FILES) || !is_unchanged(session))
		return false;
	symbol_session_read_dwarf(session->symbols, data_limit);
	session->binary = request->binary;
	set_private_limit(worker);
	return true;
}

/*
 * Opens a binary in the least recently used slot, and closes further binaries if memory is short.
 * Owns the descriptors. Returns 0, -EINVAL, -ENOEXEC or -ENOMEM.
 */
static int
open_session(Worker *worker, const WorkerRequest *request, const int fds[WORKER_FILES_MAX])
{
	bool with_debug = (request->argument & WORKER_WITH_DEBUG) != 0;
	bool with_alternative = (request->argument & WORKER_WITH_ALTERNATIVE) != 0;
	bool with_package = (request->argument & WORKER_WITH_PACKAGE) != 0;
	const SessionFiles files = {
		.binary = fds[0],
		.debug = with_debug ? fds[1] : -1,
		.alternative = with_alternative ? fds[1 + with_debug] : -1,
		.package = with_package ? fds[1 + with_debug + with_alternative] : -1,
	};
	Session *session = &worker->sessions[0];
	int err;

	if (fds[0] < 0 || (with_debug && files.debug < 0) ||
		(with_alternative && files.alternative < 0) || (with_package && files.package < 0))
	{
		worker_close_fds(fds);
		return -EINVAL;
	}
	/* the binary is open with other descriptors of the same files */
	if (add_dwarf(worker, request))
	{
		worker_close_fds(fds);
		return 0;
	}
	/* the first slot is then free, or that of the binary that was used least recently */
	qsort(worker->sessions, WORKER_SESSIONS, sizeof(worker->sessions[0]), compare_use);
	close_down_to(worker, limit_eighths(WORKER_BUSY_SHARE));
	close_session(session);
	if (fstat(files.binary, &session->status) != 0 || !is_wanted_file(request, &session->status))
	{
		worker_close_fds(fds);
		return -ENOEXEC;
	}
	session->fd = files.binary;
	session->owners = request->owners;
	session->may_hang = !open_file_is_of_kernel(files.binary) ||
						(with_debug && !open_file_is_of_kernel(files.debug)) ||
						(with_alternative && !open_file_is_of_kernel(files.alternative)) ||
						(with_package && !open_file_is_of_kernel(files.package));
	err = symbol_session_open(&files, (request->argument & WORKER_NO_DWARF) == 0, data_limit,
							  &session->symbols);
	if (err != 0)
		return err;
	session->raw_names = (request->argument & WORKER_RAW_NAMES) != 0;
	session->style = (request->argument & WORKER_SIMPLE_NAMES) != 0	   ? NAME_STYLE_SIMPLE
					 : (request->argument & WORKER_LINKAGE_NAMES) != 0 ? NAME_STYLE_NONE
																	   : NAME_STYLE_FULL;
	session->with_files = request->argument & WORKER_WITH_FILES;
	session->binary = request->binary;
	session->used = ++worker->clock;
	set_private_limit(worker);
	return 0;
}

/*
 * Opens a binary. The reply is a line without a name whose number is a set of WORKER_LEFT_OUT_DWARF
 * and WORKER_MAY_HANG.
 */
static size_t
answer_open(Worker *worker, const WorkerRequest *request, const int fds[WORKER_FILES_MAX])
{
	SymbolLine opened = { .name = "", .system_name = "", .filename = "" };
	int err = open_session(worker, request, fds);
	const Session *session;

	if (err != 0)
		return worker_reply_encode(worker->message, err, NULL, 0);
	session = find_session(worker, request->binary);
	opened.line = (symbol_session_left_out(session->symbols) ? WORKER_LEFT_OUT_DWARF : 0) |
				  (session->may_hang ? WORKER_MAY_HANG : 0);
	return worker_reply_encode(worker->message, 0, &opened, 1);
}

/* Closes all binaries if private memory exceeds the limit, because indexes of DWARF only grow. */
static void
limit_private(Worker *worker)
{
	if (memory_use().private > worker->private_limit)
		close_sessions(worker);
}

/*
 * Reduces memory when the worker becomes idle. Binaries stay open for the questions of the next
 * interval, because decompressing and indexing again would cost more. Pages of files are released;
 * the page cache keeps them.
 */
static void
give_back(Worker *worker)
{
	close_down_to(worker, limit_eighths(WORKER_KEPT_SHARE));
	for (int i = 0; i < WORKER_SESSIONS; i++)
	{
		if (worker->sessions[i].used != 0)
			symbol_session_give_back(worker->sessions[i].symbols);
	}
	malloc_trim(0); /* return free memory between remaining allocations to the kernel */
}

/* Makes the line of a frame; its names are valid until demangler_release(). */
static void
make_line(Worker *worker, int index, const DwarfFrame *frame, const Session *session,
		  SymbolLine *line)
{
	bool is_mangled = frame->linkage_name != NULL && !session->raw_names;
	const char *demangled =
		is_mangled && session->style != NAME_STYLE_NONE
			? demangler_name(&worker->demangler, frame->linkage_name, session->style)
			: NULL;

	line->name = demangled != NULL ? demangled : frame->name;
	/* the linkage name of an unnamed function ends with keys, which must not be shown */
	if (is_mangled && session->style == NAME_STYLE_NONE && frame->line != SYMBOL_LINE_UNNAMED)
		line->name = frame->linkage_name;
	line->system_name = frame->linkage_name != NULL ? frame->linkage_name : frame->name;
	line->filename = frame->filename;
	line->start_line = frame->start_line;
	line->line = frame->line;
	if (frame->directory[0] != '\0')
	{
		(void) snprintf(worker->paths[index], sizeof(worker->paths[index]), "%s/%s",
						frame->directory, frame->filename);
		line->filename = worker->paths[index];
	}
}

/* Writes the answer that requests the file of a split unit. */
static size_t
ask_for_split(SymbolSession *symbols, char *reply)
{
	DwarfWanted wanted = dwarf_session_wanted(symbol_session_dwarf(symbols));
	char path[WORKER_STRING_MAX];
	char id[2 * sizeof(wanted.id) + 1];
	SymbolLine line = { .name = id, .system_name = id, .filename = path };

	(void) snprintf(id, sizeof(id), "%" PRIx64, wanted.id);
	if (wanted.name[0] == '/' || wanted.directory[0] == '\0')
		(void) snprintf(path, sizeof(path), "%s", wanted.name);
	else
		(void) snprintf(path, sizeof(path), "%s/%s", wanted.directory, wanted.name);
	return worker_reply_encode(reply, -ENOLINK, &line, 1);
}

/*
 * Answers about one address. Returns the size of the answer. Sets *wants_split if the answer is a
 * request for a file.
 */
static size_t
answer_address(Worker *worker, Session *session, uint64_t address, char *reply, bool *wants_split)
{
	DwarfFrame frames[WORKER_FRAMES_MAX];
	SymbolLine lines[WORKER_FRAMES_MAX];
	size_t size_bytes;
	int32_t status;
	int count;

	count = symbol_session_lookup(session->symbols, address, frames, WORKER_FRAMES_MAX);
	*wants_split = count == -ENOLINK;
	if (*wants_split)
		return ask_for_split(session->symbols, reply);
	for (int i = 0; i < count; i++)
		make_line(worker, i, &frames[i], session, &lines[i]);
	status = symbol_session_exhausted(session->symbols) ? -ENOMEM : 0;
	size_bytes = worker_reply_encode(reply, status, lines, (uint32_t) count);
	demangler_release(&worker->demangler);
	return size_bytes;
}

/* Answers about addresses: at least one, and as many as fit into the message and the time. */
static size_t
answer_lookup(Worker *worker, const WorkerRequest *request)
{
	Session *session = find_session(worker, request->binary);
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + WORKER_ANSWER_NS;
	uint64_t addresses[WORKER_ADDRESSES_MAX];
	size_t size_bytes = 0;

	if (session != NULL && !is_unchanged(session))
	{
		close_session(session);
		session = NULL;
	}
	if (session == NULL)
		return worker_reply_encode(worker->message, -ESTALE, NULL, 0);
	/* the answers overwrite the request */
	memcpy(addresses, worker->message + sizeof(*request), request->argument * sizeof(*addresses));
	for (uint64_t i = 0; i < request->argument; i++)
	{
		bool wants_split;
		size_t more = answer_address(worker, session, addresses[i], worker->message + size_bytes,
									 &wants_split);

		/* a request for a file must be the only answer, so the collector repeats that address */
		if (i > 0 && (wants_split || size_bytes + more > WORKER_MESSAGE_BYTES))
			break;
		size_bytes += more;
		if (wants_split || clock_ns(CLOCK_MONOTONIC) >= until_ns)
			break;
	}
	/* a file may have been modified while it was read */
	if (is_unchanged(session))
		return size_bytes;
	close_session(session);
	return worker_reply_encode(worker->message, -ESTALE, NULL, 0);
}

/* Compares the CRC-32 of a file. Owns the descriptor. Returns 0 or -EBADMSG. */
static int
worker_compare_checksum(int fd, uint32_t expected)
{
	ElfSource source = { .fd = fd };
	uint8_t block[16384];
	uint32_t checksum = 0;
	struct stat status;
	bool read = fd >= 0 && fstat(fd, &status) == 0 && status.st_size <= (off_t) WORKER_CHECKSUM_MAX;
	uint64_t at = 0;

	source.size_bytes = read ? (uint64_t) status.st_size : 0;
	while (read && at < source.size_bytes)
	{
		uint64_t left = source.size_bytes - at;
		size_t step = left < sizeof(block) ? (size_t) left : sizeof(block);

		read = elf_source_read(&source, at, block, step);
		checksum = lzma_crc32(block, step, checksum);
		at += step;
	}
	if (fd >= 0)
		close(fd);
	return read && checksum == expected ? 0 : -EBADMSG;
}

/* Compares two files byte by byte. Owns the descriptors. Returns 0 or -EBADMSG. */
static int
worker_compare_files(const int fds[WORKER_FILES_MAX])
{
	static uint8_t blocks[2][65536];
	struct stat status[2];
	bool equal = fds[0] >= 0 && fds[1] >= 0 && fstat(fds[0], &status[0]) == 0 &&
				 fstat(fds[1], &status[1]) == 0 && status[0].st_size == status[1].st_size &&
				 status[0].st_size <= (off_t) WORKER_COMPARE_MAX &&
				 open_file_is_of_kernel(fds[0]) && open_file_is_of_kernel(fds[1]);
	uint64_t size_bytes = equal ? (uint64_t) status[0].st_size : 0;

	for (uint64_t at = 0; equal && at < size_bytes; at += sizeof(blocks[0]))
	{
		uint64_t left = size_bytes - at;
		size_t step = left < sizeof(blocks[0]) ? (size_t) left : sizeof(blocks[0]);

		for (int i = 0; equal && i < 2; i++)
		{
			const ElfSource source = { .fd = fds[i], .size_bytes = size_bytes };

			equal = elf_source_read(&source, at, blocks[i], step);
		}
		equal = equal && memcmp(blocks[0], blocks[1], step) == 0;
	}
	worker_close_fds(fds);
	return equal ? 0 : -EBADMSG;
}

/* Reads or writes the symbol table of an open binary. Owns the descriptor. */
static int
exchange_table(Worker *worker, const WorkerRequest *request, const int fds[WORKER_FILES_MAX])
{
	const Session *session = find_session(worker, request->binary);
	int err = -ENOENT;

	if (session != NULL && fds[0] >= 0)
		err = request->kind == WORKER_LOAD ? symbol_session_load_table(session->symbols, fds[0])
										   : symbol_session_keep_table(session->symbols, fds[0]);
	worker_close_fds(fds);
	return err;
}

/* Gives a binary the file of a split unit. Owns the descriptor. */
static int
add_split(Worker *worker, const WorkerRequest *request, int fds[WORKER_FILES_MAX])
{
	const Session *session = find_session(worker, request->binary);
	DwarfSession *dwarf = session != NULL ? symbol_session_dwarf(session->symbols) : NULL;

	if (dwarf == NULL)
	{
		worker_close_fds(fds);
		return -ESTALE;
	}
	dwarf_session_add_split(dwarf, request->argument, fds[0]);
	fds[0] = -1;
	worker_close_fds(fds);
	return 0;
}

/* Demangles a name that belongs to no binary. Returns the size of the reply. */
static size_t
answer_demangle(Worker *worker, const WorkerRequest *request)
{
	NameStyle style =
		request->size_bytes == NAME_STYLE_SIMPLE ? NAME_STYLE_SIMPLE : NAME_STYLE_FULL;
	char name[WORKER_NAME_BYTES + 1];
	SymbolLine line = { .name = name, .system_name = name, .filename = "" };
	const char *demangled;
	size_t size_bytes;

	memcpy(name, worker->message + sizeof(*request), request->argument);
	name[request->argument] = '\0';
	demangled = demangler_name(&worker->demangler, name, style);
	if (demangled != NULL)
		line.name = demangled;
	size_bytes = worker_reply_encode(worker->message, 0, &line, 1);
	demangler_release(&worker->demangler);
	return size_bytes;
}

/*
 * Answers the request in worker->message, replacing the message by the reply. Returns the size of
 * the reply.
 */
static size_t
answer_request(Worker *worker, size_t size_bytes, int fds[WORKER_FILES_MAX])
{
	WorkerRequest request;
	int err = -EINVAL;

	memcpy(&request, worker->message, sizeof(request));
	limit_cpu_time(WORKER_CPU_MS);
	if (size_bytes == sizeof(request) && request.kind == WORKER_OPEN)
		return answer_open(worker, &request, fds);
	else if (size_bytes == sizeof(request) && request.kind == WORKER_CHECKSUM)
		err = worker_compare_checksum(fds[0], (uint32_t) request.argument);
	else if (size_bytes == sizeof(request) && request.kind == WORKER_COMPARE)
		err = worker_compare_files(fds);
	else if (size_bytes == sizeof(request) &&
			 (request.kind == WORKER_LOAD || request.kind == WORKER_KEEP))
		err = exchange_table(worker, &request, fds);
	else if (size_bytes == sizeof(request) && request.kind == WORKER_SPLIT)
		err = add_split(worker, &request, fds);
	else if (request.kind == WORKER_LOOKUP && request.argument > 0 &&
			 request.argument <= WORKER_ADDRESSES_MAX &&
			 size_bytes == sizeof(request) + request.argument * sizeof(uint64_t))
		return answer_lookup(worker, &request);
	else if (request.kind == WORKER_DEMANGLE && request.argument > 0 &&
			 request.argument <= WORKER_NAME_BYTES &&
			 size_bytes == sizeof(request) + request.argument)
	{
		worker_close_fds(fds);
		return answer_demangle(worker, &request);
	}
	else
		worker_close_fds(fds);
	return worker_reply_encode(worker->message, err, NULL, 0);
}

/* Sets how long receive_request() waits for a request. */
static void
set_patience(int ms)
{
	struct timeval patience = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	(void) setsockopt(WORKER_SOCKET, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

/*
 * Receives a request and its descriptors; missing ones are -1. Returns its size; 0 if the socket is
 * closed; -1 if none came in time.
 */
static ssize_t
receive_request(Worker *worker, int fds[WORKER_FILES_MAX])
{
	union
	{
		struct cmsghdr header;
		char bytes[CMSG_SPACE(WORKER_FILES_MAX * sizeof(int))];
	} control;
	struct iovec part = { worker->message, WORKER_MESSAGE_BYTES };
	struct msghdr message = { .msg_iov = &part,
							  .msg_iovlen = 1,
							  .msg_control = control.bytes,
							  .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *header;
	ssize_t got;

	/* after a stop and continue, recvmsg() returns early, so wait again */
	do
		got = recvmsg(WORKER_SOCKET, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	for (int i = 0; i < WORKER_FILES_MAX; i++)
		fds[i] = -1;
	if (got < 0 && errno == EAGAIN)
		return -1;
	/* the collector has closed the socket */
	if (got < (ssize_t) sizeof(WorkerRequest))
		return 0;
	header = CMSG_FIRSTHDR(&message);
	if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
	return got;
}

/*
 * Waits for a request: at first for a short time with all binaries open, then for longer with
 * reduced memory. Returns the size of the request; 0 if the worker must end.
 */
static ssize_t
wait_for_request(Worker *worker, int fds[WORKER_FILES_MAX])
{
	ssize_t size_bytes = receive_request(worker, fds);

	if (size_bytes >= 0)
		return size_bytes;
	(void) setpriority(PRIO_PROCESS, 0, WORKER_NICE);
	give_back(worker);
	set_patience(WORKER_IDLE_EXIT_MS);
	size_bytes = receive_request(worker, fds);
	set_patience(WORKER_IDLE_TRIM_MS);
	return size_bytes > 0 ? size_bytes : 0;
}

/*
 * Sends the greeting, then answers requests until the socket is closed or no request comes for a
 * while. Returns the exit status.
 */
static int
worker_serve(void)
{
	Worker *worker = calloc(1, sizeof(*worker));
	ssize_t size_bytes;
	int fds[WORKER_FILES_MAX];

	if (worker == NULL)
		return EXIT_FAILURE;
	demangler_init(&worker->demangler, limit_demangling);
	set_patience(WORKER_IDLE_TRIM_MS);
	size_bytes = (ssize_t) worker_reply_encode(worker->message, 0, NULL, 0);
	if (send(WORKER_SOCKET, worker->message, (size_t) size_bytes, MSG_NOSIGNAL) < 0)
		_exit(EXIT_SUCCESS); /* the collector has ended */
	while ((size_bytes = wait_for_request(worker, fds)) > 0)
	{
		size_t reply_bytes;

		reply_bytes = answer_request(worker, (size_t) size_bytes, fds);
		if (send(WORKER_SOCKET, worker->message, reply_bytes, MSG_NOSIGNAL) < 0)
			break;
		limit_private(worker);
	}
	close_sessions(worker);
	free(worker);
	return EXIT_SUCCESS;
}

bool
symbolizer_worker_can_start(void)
{
	return can_serve && getenv(WORKER_MARK) == NULL;
}

void
symbolizer_worker_main(int argc, char **argv)
{
	can_serve = true;
	if (argc != 2 || strcmp(argv[1], WORKER_ARGUMENT) != 0)
		return;
	/* without this the process's name would be that of /proc/self/exe */
	(void) prctl(PR_SET_NAME, WORKER_NAME, 0, 0, 0);
	/*
	 * Signals that stop all processes of a terminal or a unit are meant for the collector, which
	 * closes the socket when it ends.
	 */
	(void) signal(SIGHUP, SIG_IGN);
	(void) signal(SIGINT, SIG_IGN);
	(void) signal(SIGTERM, SIG_IGN);
	(void) close_range(STDERR_FILENO + 1, UINT_MAX, 0);
	statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	free_numbers();
	set_limits();
	_exit(worker_sandbox_enter() ? worker_serve() : EXIT_FAILURE);
}
