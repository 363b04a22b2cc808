/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys from files, passphrases from files and from the terminal. */
#define _GNU_SOURCE
#include "seal_key.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <termios.h>
#include <unistd.h>

void seal_wipe(void *p, size_t n)
{
	OPENSSL_cleanse(p, n);
}

/* At most room bytes; TOOL_FAILED if there are more. */
static int read_secret(struct tool *t, const char *path, uint8_t *buf, size_t room, size_t *n)
{
	struct file_in in;
	ssize_t got;

	if (file_open(t, path, 0, &in))
		return TOOL_FAILED;
	if (S_ISREG(in.st.st_mode) && in.st.st_mode & 077)
		tool_warning(t, path, "others than its owner may read it (chmod 600 mends that)");
	got = file_read(t, &in, buf, room);
	file_close(&in);
	if (got < 0)
		return TOOL_FAILED;
	*n = (size_t)got;
	if (*n == room)
		return tool_error(t, path, "is too long for a key or passphrase");
	return 0;
}

static int hex_value(int c)
{
	return isdigit(c) ? c - '0' : tolower(c) - 'a' + 10;
}

/* Decodes n hexadecimal digits in place; false if there is anything else among them. */
static bool unhex(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isxdigit(p[i]))
			return false;
	for (size_t i = 0; i < n / 2; i++)
		p[i] = (uint8_t)(hex_value(p[2 * i]) << 4 | hex_value(p[2 * i + 1]));
	return true;
}

static int key_from_file(struct tool *t, const char *path, struct seal_secret *s)
{
	size_t n, digits;

	if (read_secret(t, path, s->bytes, sizeof(s->bytes), &n))
		return TOOL_FAILED;
	s->is_pass = false;
	s->len = n;
	for (digits = n; digits && isspace(s->bytes[digits - 1]); digits--)
		;
	/* Digits first: 32 of them are a key of 128 bits in hexadecimal, not 32 bytes of key. */
	if ((digits == 32 || digits == 64) && unhex(s->bytes, digits))
		s->len = digits / 2;
	if (s->len == 16 || s->len == 32)
		return 0;
	return tool_error(t, path, "is no key: 16 or 32 bytes are needed, or as many in hexadecimal");
}

static int set_pass(struct tool *t, const char *subject, struct seal_secret *s, size_t n)
{
	uint8_t *end = memchr(s->bytes, '\n', n);

	s->is_pass = true;
	s->len = end ? (size_t)(end - s->bytes) : n;
	if (s->len && s->bytes[s->len - 1] == '\r')
		s->len--;
	return s->len ? 0 : tool_error(t, subject, "the passphrase is empty");
}

static int pass_from_file(struct tool *t, const char *path, struct seal_secret *s)
{
	size_t n;
	int rc = read_secret(t, path, s->bytes, sizeof(s->bytes), &n);

	return rc ? rc : set_pass(t, path, s, n);
}

/* What the terminal or somebody else may end or stop us with. */
static void ask_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGQUIT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGTSTP);
}

static bool any_pending(const sigset_t *set)
{
	sigset_t pending;

	sigpending(&pending);
	return sigandset(&pending, &pending, set) == 0 && !sigisemptyset(&pending);
}

/* A line, or -1 with EINTR as soon as one of the signals, held back, is there. */
static ssize_t read_line(int tty, const sigset_t *held, uint8_t *buf, size_t room)
{
	struct pollfd pfd = { .fd = tty, .events = POLLIN };

	while (!any_pending(held)) {
		int n = poll(&pfd, 1, 100);

		if (n > 0)
			return read(tty, buf, room);
		if (n < 0 && errno != EINTR)
			return -1;
	}
	errno = EINTR;
	return -1;
}

static ssize_t ask_quietly(int tty, const char *prompt, const sigset_t *held, uint8_t *buf, size_t room)
{
	struct termios old, quiet;
	ssize_t n;
	int err;

	if (tcgetattr(tty, &old))
		return -1;
	quiet = old;
	quiet.c_lflag &= ~(tcflag_t)ECHO;
	if (tcsetattr(tty, TCSAFLUSH, &quiet) || write(tty, prompt, strlen(prompt)) < 0)
		n = -1;
	else
		n = read_line(tty, held, buf, room);
	err = errno;
	tcsetattr(tty, TCSAFLUSH, &old);
	if (write(tty, "\n", 1) < 0 && n >= 0)
		return -1;
	errno = err;
	return n;
}

/* No signal ends us before the terminal shows again what is typed. Who was only stopped is asked again. */
static ssize_t ask(int tty, const char *prompt, uint8_t *buf, size_t room)
{
	sigset_t held, old;
	ssize_t n;

	ask_signals(&held);
	do {
		sigprocmask(SIG_BLOCK, &held, &old);
		n = ask_quietly(tty, prompt, &held, buf, room);
		sigprocmask(SIG_SETMASK, &old, NULL);
	} while (n < 0 && errno == EINTR);
	return n;
}

static int pass_from_terminal(struct tool *t, bool confirm, struct seal_secret *s)
{
	uint8_t again[sizeof(s->bytes)];
	int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	ssize_t n, m;
	int rc;

	if (tty < 0)
		return tool_usage(t, "a key is needed: --key-file or --passphrase-file");
	m = n = ask(tty, "Passphrase: ", s->bytes, sizeof(s->bytes) - 1);
	if (n > 0 && confirm)
		m = ask(tty, "The same again: ", again, sizeof(again));
	if (n < 0 || m < 0)
		rc = tool_file_error(t, "/dev/tty", "read", errno);
	else if (confirm && n > 0 && (n != m || memcmp(s->bytes, again, (size_t)n)))
		rc = tool_error(t, NULL, "the passphrases differ");
	else
		rc = set_pass(t, NULL, s, (size_t)n);
	seal_wipe(again, sizeof(again));
	close(tty);
	return rc;
}

int seal_secret_get(struct tool *t, const struct seal_source *src, bool confirm, struct seal_secret *s)
{
	if ((src->key_file != NULL) + (src->pass_file != NULL) + src->ask > 1)
		return tool_usage(t, "give one of --key-file, --passphrase-file and --passphrase");
	if (src->key_file)
		return key_from_file(t, src->key_file, s);
	if (src->pass_file)
		return pass_from_file(t, src->pass_file, s);
	return pass_from_terminal(t, confirm, s);
}

int seal_generate(struct tool *t, const char *path, unsigned int bits)
{
	uint8_t key[32];
	char text[66];
	size_t n = bits / 8;
	int fd, rc = 0;

	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return tool_file_error(t, path, "getrandom", errno);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == EEXIST)
		return tool_error(t, path, "exists already; a key is never replaced");
	if (fd < 0)
		return tool_file_error(t, path, "create", errno);
	out_hex(text, key, n);
	text[2 * n] = '\n';
	if (write(fd, text, 2 * n + 1) != (ssize_t)(2 * n + 1) || fsync(fd))
		rc = tool_file_error(t, path, "write", errno);
	if (close(fd) && !rc)
		rc = tool_file_error(t, path, "close", errno);
	if (rc)
		unlink(path);
	seal_wipe(key, sizeof(key));
	seal_wipe(text, sizeof(text));
	return rc;
}
