/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nvme-core's private interface: types and prototypes from the build (nvme_btf.h, generated for this very kernel; with
 * KSRC= from the source), and here what no debug information has: the small inline functions, macros, and one name
 * where kernels have several. BTF tells layout and prototypes, not meaning: this file is gone through for every
 * kernel series (Documentation/kernel-build.rst says how).
 */
#ifndef NVME_PRIVATE_H
#define NVME_PRIVATE_H

#include "nvme_public.h"
#include "compat.h"

#ifdef NVME_KSRC
#include "nvme.h"
#endif
#include "nvme_btf.h"
#ifdef NVME_BTF_CHECK
#include "nvme_btf_check.h"
#endif

/* ---- What the code calls must have the parameters that it gives ---- */

#if BTF_HAVE_nvme_init_ctrl != 4 || BTF_HAVE_nvme_start_ctrl != 1 || BTF_HAVE_nvme_stop_ctrl != 1 || \
	BTF_HAVE_nvme_uninit_ctrl != 1 || BTF_HAVE_nvme_enable_ctrl != 1 || BTF_HAVE_nvme_change_ctrl_state != 2
#error "nvme-core of this kernel is not known: a controller's life"
#endif
#if BTF_HAVE_nvme_alloc_admin_tag_set != 4 || BTF_HAVE_nvme_alloc_io_tag_set != 5 || \
	BTF_HAVE_nvme_remove_admin_tag_set != 1 || BTF_HAVE_nvme_remove_io_tag_set != 1
#error "nvme-core of this kernel is not known: tag sets"
#endif
#if BTF_HAVE_nvme_setup_cmd != 2 || BTF_HAVE_nvme_complete_rq != 1 || BTF_HAVE_nvme_fail_nonready_command != 2 || \
	BTF_HAVE_nvme_init_request != 2 || BTF_HAVE_nvme_cleanup_cmd != 1 || BTF_HAVE_nvme_submit_sync_cmd != 4
#error "nvme-core of this kernel is not known: commands"
#endif
#if BTF_HAVE_nvme_find_get_ns != 2 || BTF_HAVE_nvme_put_ns != 1 || BTF_HAVE_nvme_ctrl_from_file != 1 || \
	BTF_HAVE_nvme_complete_async_event != 3 || BTF_HAVE_nvme_remove_namespaces != 1
#error "nvme-core of this kernel is not known: namespaces and events"
#endif

/* nvme_find_get_ns() and its like are for nvmet; who uses them says so, once in the module. */
#if COMPAT_NS_STRINGS
#define NVME_PRIVATE_IMPORT_NS() MODULE_IMPORT_NS("NVME_TARGET_PASSTHRU")
#else
#define NVME_PRIVATE_IMPORT_NS() MODULE_IMPORT_NS(NVME_TARGET_PASSTHRU)
#endif

/* ---- Inline functions and macros that a source's header has ---- */

#ifndef NVME_KSRC
#include "nvme_inline.h"
#elif !defined(BTF_INLINE_nvme_ctrl_state)	/* before 6.8 */
static inline enum nvme_ctrl_state nvme_ctrl_state(struct nvme_ctrl *ctrl)
{
	return READ_ONCE(ctrl->state);
}
#endif

/* ---- One name for what kernels have under several, or not at all ---- */

/* Older kernels do not ask whether the controller was suspended. */
#if BTF_HAVE_nvme_init_ctrl_finish == 1
#define nvme_init_ctrl_finish(ctrl, was_suspended) ((void)(was_suspended), nvme_init_ctrl_finish(ctrl))
#elif BTF_HAVE_nvme_init_ctrl_finish != 2
#error "nvme_init_ctrl_finish() of this kernel is not known"
#endif

/* shutdown: tell the controller that power goes, else only disable it. */
#if BTF_HAVE_nvme_disable_ctrl == 1 && defined(BTF_HAVE_nvme_shutdown_ctrl)
#define nvme_disable_ctrl(ctrl, shutdown) ((shutdown) ? nvme_shutdown_ctrl(ctrl) : nvme_disable_ctrl(ctrl))
#elif BTF_HAVE_nvme_disable_ctrl != 2
#error "nvme_disable_ctrl() of this kernel is not known"
#endif

/* Before 6.7 nvme_init_ctrl() makes the device node, too. */
#ifndef BTF_HAVE_nvme_add_ctrl
static inline int nvme_add_ctrl(struct nvme_ctrl *ctrl)
{
	return 0;
}
#elif BTF_HAVE_nvme_add_ctrl != 1
#error "nvme_add_ctrl() of this kernel is not known"
#endif

#ifndef BTF_HAVE_nvme_quiesce_io_queues		/* before 6.2 */
static inline void nvme_quiesce_io_queues(struct nvme_ctrl *ctrl)
{
	nvme_stop_queues(ctrl);
}

static inline void nvme_unquiesce_io_queues(struct nvme_ctrl *ctrl)
{
	nvme_start_queues(ctrl);
}

static inline void nvme_quiesce_admin_queue(struct nvme_ctrl *ctrl)
{
	nvme_stop_admin_queue(ctrl);
}

static inline void nvme_unquiesce_admin_queue(struct nvme_ctrl *ctrl)
{
	nvme_start_admin_queue(ctrl);
}
#endif

/* The older function also lets the queues run again, admin and I/O, so that what waits in them fails. */
#ifndef BTF_HAVE_nvme_mark_namespaces_dead
static inline void nvme_mark_namespaces_dead(struct nvme_ctrl *ctrl)
{
	nvme_kill_queues(ctrl);
}
#endif

#ifndef BTF_HAVE_nvme_execute_rq		/* 6.1 has it for itself alone */
/* Runs a request and waits: 0, an NVMe status (> 0), or a negative errno. */
static inline int nvme_execute_rq(struct request *rq, bool at_head)
{
	blk_status_t err = blk_execute_rq(rq, at_head);

	if (nvme_req(rq)->flags & NVME_REQ_CANCELLED)
		return -EINTR;
	return nvme_req(rq)->status ? nvme_req(rq)->status : blk_status_to_errno(err);
}
#elif BTF_HAVE_nvme_execute_rq != 2
#error "nvme_execute_rq() of this kernel is not known"
#endif

/* Formats of a namespace: of its head from 6.8 on, before that of the path. */
#ifdef BTF_HAVE_nvme_ns_head__lba_shift
static inline unsigned int compat_nvme_ns_lba_shift(const struct nvme_ns *ns)
{
	return ns->head->lba_shift;
}

static inline unsigned int compat_nvme_ns_metadata(const struct nvme_ns *ns)
{
	return ns->head->ms;
}
#elif defined(BTF_HAVE_nvme_ns__lba_shift)
static inline unsigned int compat_nvme_ns_lba_shift(const struct nvme_ns *ns)
{
	return ns->lba_shift;
}

static inline unsigned int compat_nvme_ns_metadata(const struct nvme_ns *ns)
{
	return ns->ms;
}
#else
#error "the block size of a namespace is nowhere in struct nvme_ns or nvme_ns_head"
#endif

/* Optional operations that a kernel calls without asking whether they are there. In struct nvme_ctrl_ops. */
#ifdef BTF_HAVE_nvme_ctrl_ops__get_virt_boundary
static inline unsigned long compat_nvme_virt_boundary(struct nvme_ctrl *ctrl, bool is_admin)
{
	return NVME_CTRL_PAGE_SIZE - 1;
}
#define COMPAT_NVME_CTRL_OPS .get_virt_boundary = compat_nvme_virt_boundary,
#else
#define COMPAT_NVME_CTRL_OPS
#endif

#endif
