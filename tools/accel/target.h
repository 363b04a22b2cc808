/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * accel target: virtual controllers of nvme-accel-passthru and their exports by the inbox target.
 *
 * One form for all: a JSON document, as it is saved (Documentation/man/accel-target.1, FILES). create, add and export make a
 * small one from their options, restore reads one; each is checked as a whole, then applied. What an application changes
 * is written down step by step and undone if a later step fails.
 */
#ifndef ACCEL_TARGET_H
#define ACCEL_TARGET_H

#include "tool.h"

#define TG_PATH		1280
#define TG_VALUE	2048
#define TG_MAX_NSID	1024u
#define TG_FILE		"/etc/nvme-accel/target.json"
#define TG_MODULE	"nvme-accel-passthru"
#define TG_SECTION	"nvme_accel_passthru"

struct tg_undo;

struct target {
	struct tool *t;
	const char *root;		/* --root: sys, dev and run are below it; "" otherwise */
	const char *configfs;		/* --configfs, or NULL */
	const char *module, *job;	/* the module that is configured; the command, which is the name of its lock, too */
	bool no_modprobe, force;
	char cfs[512], sys[224], run[256];
	int lock, kmsg;			/* -1: not open */
	struct tg_undo *undo;		/* newest first */
	struct json_object *paused;	/* by tg_pause(): what there was */
};

/* ---- target_env.c: what must be there before anything is done ---- */

extern const struct tool_opt tg_common_opts[];
void tg_init(struct target *g, struct tool *t);
/* Takes an option of that table; false: it is none. */
bool tg_option(struct target *g, int c);
/*
 * Paths; TG_ROOT: and rights. TG_LOCK: and nobody else changes anything meanwhile. TG_CHANGE: and configfs and the module
 * are there (without them there is nothing to look at, or to take away). 0 or an exit code.
 */
enum tg_purpose { TG_LOOK, TG_ROOT, TG_LOCK, TG_CHANGE };
int tg_begin(struct target *g, enum tg_purpose purpose);
/* nvmet and the transport's module (tcp, rdma, loop; NULL: none). */
int tg_need_nvmet(struct target *g, const char *trtype);
/* False: it did not load, or was not tried; modprobe has said why. */
bool tg_modprobe(struct target *g, const char *module);
/* Undoes what was done if rc is not 0, releases all; returns rc. */
int tg_end(struct target *g, int rc);

/* ---- target_cfs.c: configfs, one step at a time. Each says what failed and why, and returns an exit code. ---- */

/* Path below configfs; paths that are too long become "", which nothing has. */
char *tg_path(const struct target *g, char *buf, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The text of an attribute without blanks at its ends; its length or a negative errno, without message. */
int tg_read(const char *path, char *buf, size_t n);
bool tg_exists(const char *path);
int tg_mkdir(struct target *g, const char *path);
int tg_rmdir(struct target *g, const char *path);
int tg_link(struct target *g, const char *target, const char *path);
int tg_unlink(struct target *g, const char *path);
/* Nothing happens if the value is there already. */
int tg_write(struct target *g, const char *path, const char *value);
void tg_rollback(struct target *g);
void tg_keep(struct target *g);		/* what was done stays */

struct tg_names {
	char **v;
	size_t n;
};

/* Names in a directory, in natural order; none if it is not there. */
void tg_list(const char *path, struct tg_names *names);
void tg_list_free(struct tg_names *names);

/* ---- target_own.c: which ports, hosts and subsystems are ours ---- */

/* kind: "port", "host", "subsystem". note: the controller's name. The directory exists. */
int tg_own(struct target *g, const char *kind, const char *name, const char *note);
/* Makes the directory, which is ours from its first moment on. */
int tg_mkdir_own(struct target *g, const char *kind, const char *name, const char *note);
/* With the lock: notes about what is not there any more go. */
void tg_forget_gone(struct target *g);
bool tg_is_own(struct target *g, const char *kind, const char *name, char *note, size_t n);
/* The virtual controller that a subsystem exports: by its passthru device, or by what we have made. False: none. */
bool tg_export_of(struct target *g, const char *nqn, char *ctrl, size_t n);
/* /dev/nvmeX of a virtual controller that is enabled, or false. */
bool tg_ctrl_device(struct target *g, const char *ctrl, char *dev, size_t n);

/* ---- target_attr.c: what there is to set, and in which bounds ---- */

enum tg_type { TG_NUM, TG_TEXT, TG_NQN, TG_UUID, TG_NGUID, TG_WORD, TG_PATHNAME };

struct tg_attr {
	const char *name;
	enum tg_type type;
	uint64_t min, max;		/* of a number; of a text's length */
	const char *words;		/* TG_WORD: those that there are, between blanks; TG_NUM: what 0 means, if it may be 0, too */
};

extern const struct tg_attr tg_ctrl_attrs[], tg_ns_attrs[], tg_subsys_attrs[], tg_addr_attrs[], tg_param_attrs[],
	tg_passthru_attrs[], tg_dhchap_attrs[];
const struct tg_attr *tg_attr(const struct tg_attr *table, const char *name);
/* The text for configfs in buf (TG_VALUE), or false and what is wrong in buf. */
bool tg_value(const struct tg_attr *a, struct json_object *value, char *buf);
bool tg_good_name(const char *name);
bool tg_good_nqn(const char *nqn);
/* Reads what the table has from DIR/PREFIX*; strings: numbers are strings, too. */
struct json_object *tg_read_attrs(const char *dir, const char *prefix, const struct tg_attr *table, bool strings);
/* Writes what obj has of the table, in the table's order. */
int tg_write_attrs(struct target *g, const char *dir, const char *prefix, const struct tg_attr *table,
		   struct json_object *obj);

/* JSON: NULL, "" or 0 if it is not there. */
struct json_object *tg_get(struct json_object *o, const char *key);
const char *tg_str(struct json_object *o, const char *key);
int64_t tg_int(struct json_object *o, const char *key);
size_t tg_len(struct json_object *o, const char *key);
struct json_object *tg_at(struct json_object *o, const char *key, size_t i);
bool tg_has_str(struct json_object *o, const char *key, const char *text);
/* The member of an array of objects whose key has this text (a number's decimal), or NULL. */
struct json_object *tg_find(struct json_object *o, const char *array, const char *key, const char *text);
/* The array o[key], made if there is none. */
struct json_object *tg_array(struct json_object *o, const char *key);

/* ---- target_lower.c: namespaces of other controllers ---- */

/*
 * /dev/nvmeXnY, /dev/ngXnY or /dev/nvmeX (then nsid is its namespace): device_path and device_nsid into ns["attr"], what
 * identifies it wherever it is into ns["identity"].
 */
int tg_lower_named(struct target *g, const char *path, uint32_t nsid, struct json_object *ns);
/* "identity" of what a namespace has below it now, or NULL. */
struct json_object *tg_lower_identity(struct target *g, const char *path, uint32_t nsid);
/* Whether a controller (nvmeX) has that namespace. */
bool tg_lower_has(struct target *g, const char *ctrl, uint32_t nsid);
/* Waits until all that a document has below it is there, for wait_s seconds at most. */
void tg_lower_wait(struct target *g, struct json_object *doc, unsigned int wait_s);
/* Resolves all of a document by identity. */
int tg_lower_resolve(struct target *g, struct json_object *doc);

/* ---- The document ---- */

/* target_model.c: what there is. */
struct json_object *tg_model(struct target *g);
struct json_object *tg_model_ctrl(struct target *g, const char *name);
/* target_check.c: 0 or TOOL_FAILED after a message that names the place. */
int tg_check(struct target *g, const char *file, struct json_object *doc);
/* target_save.c: 0, or TOOL_FAILED after a message: restore could not make again what doc, a document of what there is, says. */
int tg_worth_saving(struct target *g, const char *file, struct json_object *doc);
/* target_file.c */
struct json_object *tg_load(struct target *g, const char *file);
int tg_save(struct target *g, const char *file, struct json_object *doc);
/* target_apply.c: makes what doc says, and nothing else. */
int tg_apply(struct target *g, struct json_object *doc);
int tg_wait_live(struct target *g, const char *ctrl);
/*
 * target_pause.c: a controller is disabled for changes that it does not take otherwise, and enabled again; its export
 * follows. tg_pause() remembers what was exported; tg_resume() goes on, or back if rc is not 0; it returns rc, or what failed.
 */
int tg_pause(struct target *g, const char *ctrl);
int tg_resume(struct target *g, const char *ctrl, int rc);
/* Enables one that is disabled; its export follows. */
int tg_enable(struct target *g, const char *ctrl);
/* target_clear.c */
int tg_unexport(struct target *g, const char *ctrl);
int tg_delete(struct target *g, const char *ctrl);
/* What is ours and of no use: left by one who was killed between two steps. */
void tg_sweep(struct target *g);
/* Whether somebody uses a block device of it (nsid 0: any): said so, TOOL_BUSY. */
int tg_in_use(struct target *g, const char *ctrl, uint32_t nsid);

/* target_opts.c: documents from options. */
struct tg_export {
	const char *trtype, *address;	/* NULL: none */
	struct json_object *hosts;	/* array of NQNs */
	const char *nqn;
	bool any_host, clear_ids;
	uint64_t port_id;		/* 0: any */
};

/*
 * An option of TG_NS_OPTS (target_opts.h): a namespace more in ctrl, or a limit of all of them. -1: it is none, else 0 or
 * TOOL_USAGE.
 */
int tg_ns_option(struct target *g, int c, struct json_object *ctrl);
/* After the last option: numbers for those that have none. used: the controller as it is, or NULL. */
int tg_ns_finish(struct target *g, struct json_object *ctrl, struct json_object *used);
int tg_export_option(struct target *g, int c, struct tg_export *e);
/* Whether it is complete. */
int tg_export_check(struct target *g, const struct tg_export *e);
/* Adds hosts, subsystem and port to doc, whose controller is ctrl; ctrl_nqn: its NQN. */
int tg_export_doc(struct target *g, const struct tg_export *e, struct json_object *doc, struct json_object *ctrl,
		  const char *ctrl_nqn);
/* 0, or TOOL_NODEV after a message. */
int tg_ctrl_exists(struct target *g, const char *name);
/* The commands with which hosts connect, on stdout. */
void tg_print_connect(struct json_object *doc);

extern const struct verb verb_target_create, verb_target_add, verb_target_remove, verb_target_set, verb_target_export,
	verb_target_unexport, verb_target_delete, verb_target_list, verb_target_show;

#endif
