// SPDX-License-Identifier: GPL-2.0-only
/* Runs are asked for, and told of, by a file of debugfs: see crypto_test.h. */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "crypto_test.h"

#define TEXT 2048u

static struct dentry *dir;

void ct_printf(struct ct_run *run, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	run->len += vscnprintf(run->text + run->len, TEXT - run->len, fmt, ap);
	va_end(ap);
}

/* ---- Words ---- */

static const struct {
	const char *name;
	size_t at;
	u64 min, max, preset;
} numbers[] = {
#define NUMBER(name, min, max, preset) { #name, offsetof(struct ct_opts, name), min, max, preset }
	NUMBER(rounds, 0, U64_MAX, 0),
	NUMBER(seconds, 0, 86400, 0),
	NUMBER(threads, 1, 16, 1),
	NUMBER(depth, 1, 4096, 1),
	NUMBER(min, 0, CT_MAX, 0),
	NUMBER(max, 1, CT_MAX, 65536),
	NUMBER(timeout, 1, 3600, 60),
	NUMBER(seed, 0, U64_MAX, 0),
	NUMBER(style, 0, CT_STYLES, CT_STYLES),
	NUMBER(fill, 0, CT_FILLS, CT_FILLS),
	NUMBER(backlog, 0, 2, 2),
	NUMBER(spoil, 0, 1, 0),
	NUMBER(bench, 0, 1, 0),
	NUMBER(size, 16, CT_MAX, 4096),
	NUMBER(back, 0, 1, 0),
};

static const struct ct_kind *const kinds[] = { &ct_acomp, &ct_ahash, &ct_aead, &ct_skcipher };

static u64 *number(struct ct_opts *o, unsigned int i)
{
	return (u64 *)((u8 *)o + numbers[i].at);
}

static int set_kind(struct ct_opts *o, const char *value)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i]->name, value))
			o->kind = kinds[i];
	return o->kind ? 0 : -EINVAL;
}

static int set(struct ct_opts *o, const char *name, const char *value)
{
	unsigned int i;
	u64 v;

	if (!strcmp(name, "kind"))
		return set_kind(o, value);
	if (!strcmp(name, "driver"))
		return strscpy(o->driver, value, sizeof(o->driver)) < 0 ? -ENAMETOOLONG : 0;
	if (!strcmp(name, "reference"))
		return strscpy(o->reference, value, sizeof(o->reference)) < 0 ? -ENAMETOOLONG : 0;
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcmp(numbers[i].name, name))
			continue;
		if (kstrtou64(value, 0, &v) || v < numbers[i].min || v > numbers[i].max)
			return -ERANGE;
		*number(o, i) = v;
		return 0;
	}
	return -EINVAL;
}

static int parse(struct ct_opts *o, char *text)
{
	char *word, *value;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		*number(o, i) = numbers[i].preset;
	while (!rc && (word = strsep(&text, " \n"))) {
		if (!*word)
			continue;
		value = strchr(word, '=');
		if (!value)
			return -EINVAL;
		*value++ = 0;
		rc = set(o, word, value);
		if (rc)
			pr_info("%s=%s: %d\n", word, value, rc);
	}
	if (!rc && (!o->kind || !*o->driver || o->min > o->max || (!o->rounds && !o->seconds)))
		return -EINVAL;
	if (o->bench)
		o->max = o->size;
	if (!o->seed)
		o->seed = get_random_u32();
	return rc;
}

/* ---- The file ---- */

static int run_open(struct inode *inode, struct file *file)
{
	struct ct_run *run = kvzalloc(sizeof(*run) + TEXT, GFP_KERNEL);

	if (!run)
		return -ENOMEM;
	run->text = (char *)(run + 1);
	file->private_data = run;
	return 0;
}

static int run_release(struct inode *inode, struct file *file)
{
	kvfree(file->private_data);
	return 0;
}

/* One run for each open file, for its state is not made new. */
static ssize_t run_write(struct file *file, const char __user *buf, size_t n, loff_t *pos)
{
	struct ct_run *run = file->private_data;
	char *text;
	int rc;

	if (!run || n >= PAGE_SIZE)
		return -EINVAL;
	if (run->o.kind)
		return -EBUSY;
	text = memdup_user_nul(buf, n);
	if (IS_ERR(text))
		return PTR_ERR(text);
	rc = parse(&run->o, text);
	kfree(text);
	if (!rc)
		rc = ct_run(run);
	/* What hangs may end later, and then needs all this. */
	if (rc == -ETIME)
		file->private_data = NULL;
	/* Where the text tells of a fault, the write has done its work. */
	return rc && rc != -EBADMSG ? rc : n;
}

static ssize_t run_read(struct file *file, char __user *buf, size_t n, loff_t *pos)
{
	struct ct_run *run = file->private_data;

	return run ? simple_read_from_buffer(buf, n, pos, run->text, run->len) : -ETIME;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = run_open,
	.release = run_release,
	.write = run_write,
	.read = run_read,
};

static int __init crypto_test_init(void)
{
	ct_comp_hold();
	dir = debugfs_create_dir("nvme-accel-crypto-test", NULL);
	debugfs_create_file("run", 0600, dir, NULL, &run_fops);
	return 0;
}

static void __exit crypto_test_exit(void)
{
	debugfs_remove(dir);
	ct_comp_release();
}

module_init(crypto_test_init);
module_exit(crypto_test_exit);
MODULE_DESCRIPTION("Tests of crypto drivers, by name");
MODULE_LICENSE("GPL");
