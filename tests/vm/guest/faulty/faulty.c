// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults on purpose, to see that the debug kernel finds them: the word written to the module's parameter `do` names
 * one. Only for guests.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

size_t faulty_private_size(void);

static DEFINE_MUTEX(lock_a);
static DEFINE_MUTEX(lock_b);
static DEFINE_SPINLOCK(spin);
static volatile unsigned int shift = 40;

static void do_free(void)
{
	char *p = kmalloc(64, GFP_KERNEL);

	if (!p)
		return;
	kfree(p);
	/* The compiler must not see that this is wrong. */
	OPTIMIZER_HIDE_VAR(p);
	WRITE_ONCE(p[8], 1);
}

static void do_leak(void)
{
	int i;

	for (i = 0; i < 8; i++)
		pr_info("leaked %d\n", kmalloc(777, GFP_KERNEL) != NULL);
}

static void do_order(void)
{
	mutex_lock(&lock_a);
	mutex_lock(&lock_b);
	mutex_unlock(&lock_b);
	mutex_unlock(&lock_a);
	mutex_lock(&lock_b);
	mutex_lock(&lock_a);
	mutex_unlock(&lock_a);
	mutex_unlock(&lock_b);
}

static void do_sleep(void)
{
	spin_lock(&spin);
	/* It need not sleep to be found. */
	kfree(kmalloc(64, GFP_KERNEL));
	spin_unlock(&spin);
}

static void do_shift(void)
{
	pr_info("shifted: %u\n", 1u << shift);
}

static void timer_fn(struct timer_list *t)
{
}

static void do_timer(void)
{
	struct timer_list *t = kmalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return;
	timer_setup(t, timer_fn, 0);
	mod_timer(t, jiffies + 1000 * HZ);
	/* Still running. */
	kfree(t);
}

static const struct {
	const char *name;
	void (*run)(void);
} faults[] = {
	{ "free", do_free }, { "leak", do_leak }, { "order", do_order },
	{ "sleep", do_sleep }, { "shift", do_shift }, { "timer", do_timer },
};

static int set_do(const char *val, const struct kernel_param *kp)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (sysfs_streq(val, faults[i].name)) {
			faults[i].run();
			return 0;
		}
	}
	return -EINVAL;
}

static const struct kernel_param_ops do_ops = { .set = set_do };
module_param_cb(do, &do_ops, NULL, 0200);
MODULE_PARM_DESC(do, "the fault to make: free, leak, order, sleep, shift or timer");

static int __init faulty_init(void)
{
	pr_info("struct nvme_ctrl has %zu bytes\n", faulty_private_size());
	return 0;
}

static void __exit faulty_exit(void)
{
}

module_init(faulty_init);
module_exit(faulty_exit);
MODULE_DESCRIPTION("Faults on purpose, for the test of the debug kernel");
MODULE_LICENSE("GPL");
