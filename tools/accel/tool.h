/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the verbs of the command share: options, messages, devices, files, listings, progress.
 * A verb is one file cmd_VERB.c that defines verb_VERB; main.c has the table of them.
 */
#ifndef ACCEL_TOOL_H
#define ACCEL_TOOL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <accel/accel.h>

struct json_object;
struct tool;

/* Exit codes; see accel(1). gzip's "warning" shares 2 with usage, as it does in gzip. */
enum tool_exit {
	TOOL_OK = 0,
	TOOL_FAILED = 1,	/* a job or a file failed */
	TOOL_USAGE = 2,
	TOOL_WARNING = 2,	/* decompress: done, but something behind the data was ignored */
	TOOL_NODEV = 3,
	TOOL_BUSY = 4,
};

/* ---- Verbs and options (main.c, opts.c) ---- */

/* An option, once: getopt's tables and the help are made from it. A table ends with an entry of zeros. */
struct tool_opt {
	int code;		/* what opts_next() returns: the letter, or OPT_LONG + n if there is none */
	const char *name;	/* long name or NULL */
	const char *arg;	/* name of its argument in the help; NULL: it takes none */
	const char *help;	/* NULL: left out of the help (it shares a line with another) */
	const char *show;	/* what the help shows for the option itself, NULL: made from the above */
};

#define OPT_LONG 0x100

#define VERB_DEVICE	(1u << 0)	/* has -d/-D/--device, --software, --hardware */
#define VERB_JSON	(1u << 1)	/* has -o/--output-format text|json */
#define VERB_GZIP_D	(1u << 2)	/* -d is gzip's --decompress unless a device name follows */
#define VERB_COMMAND	(1u << 3)	/* options end at the first operand (a command line follows) */

struct verb {
	const char *name;
	const char *summary;		/* one line, no full stop */
	const char *usage;		/* what follows "accel VERB"; alternatives separated by \n */
	const struct tool_opt *opts;	/* NULL: only those that flags and every verb have */
	const struct tool_opt *more_opts;	/* a second table, for what several verbs share, or NULL */
	const char *notes;		/* behind the options in the help, or NULL */
	unsigned int flags;		/* VERB_* */
	int (*run)(struct tool *t, int argc, char **argv);	/* argv[0]: the verb; returns the exit code */
	const struct verb *const *subs;	/* instead of run: "accel VERB SUB", ends with NULL */
};

/* One run of the command. */
struct tool {
	const struct verb *verb;
	char name[48];			/* "accel compress", "accel ec encode" */
	const char *device;		/* -d, or NULL */
	const char *discover, *root;	/* --discover, --root; see where_opts */
	bool software, hardware;	/* --software, --hardware */
	bool json;			/* -o json */
	bool quiet;			/* warnings and progress off; set by the verb's -q */
	int status;			/* of opts_next() when it says OPTS_STOP */
	struct accel_ctx *ctx;		/* tool_ctx() */
	struct accel_dev *dev;		/* tool_dev() */
};

enum { OPTS_END = -1, OPTS_STOP = -2 };

/*
 * The next option's code, its argument in optarg; OPTS_END: operands begin at argv[optind]; OPTS_STOP: help
 * was printed or the usage was wrong (said so already): return t->status.
 */
int opts_next(struct tool *t, int argc, char **argv);
/* Help of t->verb on f. */
void opts_help(const struct tool *t, FILE *f);
/* Whether text can only be meant as a device name: soft:..., uuid:..., name:..., tcp://..., /dev/nvme... */
bool opts_is_device(const char *text);

/*
 * A number from the command line: decimal (leading zeros mean nothing) or 0x hexadecimal, with k, M, G, T
 * (or Ki, KiB, ...: powers of 1024) or kB, MB, GB, TB (powers of 1000). 0, or TOOL_USAGE with a message that
 * names option and text. Signs, spaces, an empty text and overflow are refused.
 */
int opts_number(struct tool *t, const char *option, const char *text, uint64_t min, uint64_t max,
		uint64_t *value);
/* The same without message: 0, -EINVAL or -ERANGE. */
int opts_parse_number(const char *text, uint64_t *value);
/* Index of text in names (ends with NULL), or -1 after a message that lists them. */
int opts_choice(struct tool *t, const char *option, const char *text, const char *const *names);

/* ---- Messages on stderr, one line each (msg.c). Control characters of names are shown escaped. ---- */

/* "NAME: SUBJECT: ..." (subject NULL: left out). Returns TOOL_FAILED. */
int tool_error(const struct tool *t, const char *subject, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same unless -q; returns TOOL_WARNING. */
int tool_warning(const struct tool *t, const char *subject, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "NAME: ... (see NAME --help)". Returns TOOL_USAGE. */
int tool_usage(const struct tool *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * A system call on a file failed with err (positive): the reason and, where there is one, what to do about
 * it. doing: "open", "write", ... or NULL. Quiet for EPIPE. Returns TOOL_FAILED.
 */
int tool_file_error(const struct tool *t, const char *file, const char *doing, int err);
/*
 * A library call failed with err (negative): reason and advice. subject: the device or file. Returns
 * TOOL_NODEV for ENODEV/ENOENT/EACCES, TOOL_BUSY for EBUSY, else TOOL_FAILED.
 */
int tool_lib_error(const struct tool *t, const char *subject, int err);
/* The same, quiet if so many messages of the library have told already. */
int tool_lib_failed(const struct tool *t, const char *subject, int err, unsigned int said);
/* A job ended with a status that is not OK. Returns TOOL_FAILED (TOOL_BUSY for BUSY and NO_RESOURCES). */
int tool_job_error(const struct tool *t, const char *subject, const struct accel_result *result);

/* ---- Devices (dev.c) ---- */

/* Where to look beyond this system's nodes and this process: a table for verbs that have it as more_opts. */
extern const struct tool_opt where_opts[];
/* Takes an option of that table; false: it is none. */
bool tool_where(struct tool *t, int c);
/* The library instance, made at the first call; NULL after a message. */
struct accel_ctx *tool_ctx(struct tool *t);
/*
 * The device of this run: -d, or the best that has op and alg (0: any), hardware before software. Kept in
 * t->dev; main() closes it. 0, or an exit code after a message.
 */
int tool_dev(struct tool *t, uint16_t op, uint16_t alg);
/*
 * All of a verb that has no options of its own and takes one device, by -d or as its argument. 0 without
 * t->dev: --help was asked for and printed, there is nothing more to do.
 */
int tool_one_dev(struct tool *t, int argc, char **argv, const char *verb);
/* The same without opening it; false: return *rc. */
bool tool_one_name(struct tool *t, int argc, char **argv, const char *verb, int *rc);
/* "soft: (software accelerator)" or "/dev/nvme0n1 (NoLoad)": for messages that say who did the work. */
const char *tool_dev_label(const struct tool *t, char *buf, size_t nbytes);

/* ---- Files (file.c, file_out.c) ---- */

struct file_in {
	int fd;
	bool is_stdin;
	const char *name;		/* for messages: the path, or "stdin" */
	struct stat st;
	unsigned int nhead, head_used;	/* of file_peek() */
	uint8_t head[64];
};

#define FILE_NOFOLLOW	(1u << 0)	/* a symbolic link is refused */
#define FILE_REGULAR	(1u << 1)	/* only a regular file (stdin may be anything) */
#define FILE_ONE_LINK	(1u << 2)	/* refuse a file that has other hard links */

/*
 * path "-": standard input. 0, or after a message TOOL_FAILED, or TOOL_WARNING for what gzip only skips: a
 * directory, a special file, a file with other hard links.
 */
int file_open(struct tool *t, const char *path, unsigned int flags, struct file_in *in);
/* Reads until n bytes or the end; the count, or -1 after a message. */
ssize_t file_read(struct tool *t, struct file_in *in, void *buf, size_t n);
/* The first bytes (at most 64), which file_read() will give again; only before the first file_read(). */
ssize_t file_peek(struct tool *t, struct file_in *in, const uint8_t **head);
/* The same at an offset. */
ssize_t file_pread(struct tool *t, struct file_in *in, void *buf, size_t n, uint64_t off);
void file_close(struct file_in *in);

/*
 * Output that appears under its name only when all of it is there: it is written to a temporary file in
 * the same directory, which file_commit() renames. The path "-" or NULL is standard output; devices, pipes
 * and sockets are written directly.
 */
struct file_out {
	int fd;				/* -1: not open */
	int dirfd;
	bool is_stdout, direct, replace;
	char *path;			/* for messages: the path, or "stdout" */
	char *base;			/* last component */
	char tmp[32];			/* name of the temporary file in dirfd */
	uint64_t nbytes;		/* written so far */
};

#define OUT_FORCE	(1u << 0)	/* replace what is there without asking */
#define OUT_SYNC	(1u << 1)	/* fsync file and directory */
#define OUT_BINARY	(1u << 2)	/* refuse to write to a terminal unless OUT_FORCE */
#define OUT_NO_ASK	(1u << 3)	/* refuse what is there without asking even on a terminal */

/* 0, or TOOL_FAILED after a message. */
int file_create(struct tool *t, const char *path, unsigned int flags, struct file_out *out);
/* All of it; 0, or TOOL_FAILED after a message (none for a closed pipe). */
int file_write(struct tool *t, struct file_out *out, const void *buf, size_t n);
/* Finishes: owner, mode, times of like (NULL: 0666 & ~umask), OUT_SYNC, close, rename. 0 or TOOL_FAILED. */
int file_commit(struct tool *t, struct file_out *out, const struct stat *like, unsigned int flags);
/* Gives up: nothing stays. Harmless after file_commit() or without file_create(). */
void file_abort(struct file_out *out);
/* SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ: remove the temporary file, then end by that signal. */
void file_signals(void);

/* ---- Listings: made as JSON once, printed as JSON or as text from the same values (out_*.c) ---- */

typedef void (*out_text_fn)(FILE *f, struct json_object *root);

/* Prints root by t->json, flushes, releases root. 0, or TOOL_FAILED if standard output failed. */
int out_listing(struct tool *t, struct json_object *root, out_text_fn text);
/* Flushes stdout; 0, or TOOL_FAILED (quiet for a closed pipe). Each verb that prints ends with it. */
int out_flush(struct tool *t);
/* The same after a long output, which fails while it is printed: err is errno of then, or 0. */
int out_flush_after(struct tool *t, int err);

enum out_kind { OUT_TEXT, OUT_NUMBER, OUT_BYTES, OUT_RATE, OUT_NS, OUT_RATIO, OUT_YESNO };

struct out_column {
	const char *key;		/* of the JSON object */
	const char *title;
	enum out_kind kind;
};

/* An array of objects as a table; columns end with a zero entry. empty: printed if there are none. */
void out_table(FILE *f, struct json_object *array, const struct out_column *columns, const char *empty);
/* One object as lines "title: value". */
void out_fields(FILE *f, struct json_object *object, const struct out_column *fields);

/* JSON helpers over json-c; text that is not UTF-8 is made valid. */
void out_add_str(struct json_object *object, const char *key, const char *text);
void out_add_num(struct json_object *object, const char *key, uint64_t value);
void out_add_int(struct json_object *object, const char *key, int64_t value);
void out_add_real(struct json_object *object, const char *key, double value);
void out_add_bool(struct json_object *object, const char *key, bool value);
void out_add_hex(struct json_object *object, const char *key, const void *bytes, size_t n);

/* "4.2 MiB (4404019 bytes)", "4.2 MiB", "512 bytes". Returns buf. */
char *out_size(char *buf, size_t nbytes, uint64_t value);
char *out_size_exact(char *buf, size_t nbytes, uint64_t value);
char *out_hex(char *buf, const void *bytes, size_t n);	/* buf: 2 n + 1 bytes */

/* ---- Progress on a terminal for work of more than a second (progress.c) ---- */

struct progress {
	bool on, shown;
	uint64_t total;			/* bytes; 0: unknown */
	uint64_t start_ns, last_ns;
	const char *what;
};

void progress_start(struct progress *p, const struct tool *t, const char *what, uint64_t total);
void progress_update(struct progress *p, uint64_t done);
void progress_end(struct progress *p);
uint64_t tool_now_ns(void);		/* monotonic */

/* ---- Streams over files (pump.c) ---- */

/*
 * Feeds a stream from in and writes what comes out to out (NULL: there is none) without copies; finishes
 * it. 0, or an exit code after a message.
 */
int pump(struct tool *t, struct accel_stream *stream, struct file_in *in, struct file_out *out,
	 struct progress *progress);

/*
 * Who did the work of a stream: "soft: (software accelerator), software", or that it was the CPU of this process, in
 * whole or in part, and why; what: the thing that could not be cut into jobs. Returns buf.
 */
const char *pump_who(const struct tool *t, const struct accel_stream_info *info, const char *what, char *buf,
		     size_t nbytes);
/* One word for it: the executor's, or "cpu" if the CPU of this process did most of it in the device's place. */
const char *pump_executor(const struct accel_stream_info *info);
/* Whether a device that was named by -d, and is not in this process, was not given all of the work. */
bool pump_passed_over(const struct tool *t, const struct accel_stream_info *info);

/* ---- The verbs ---- */

extern const struct verb verb_list, verb_info, verb_compress, verb_decompress, verb_ec, verb_digest,
	verb_checksum, verb_seal, verb_open, verb_lease, verb_lease_lock, verb_lock, verb_stats,
	verb_selftest, verb_bench, verb_target, verb_crypto, verb_p2p;

#endif
