# SPDX-License-Identifier: BSD-2-Clause
#
# make            the library and the command, in build/
# make demo       on a fresh Debian machine: installs what is missing, builds, runs the main job
# make check      all tests
# make bench      ratios against other tools, side by side
# make install    PREFIX=/usr/local DESTDIR=
# make demo-vm    the same through the inbox NVMe driver, in a virtual machine
# make modules    the kernel modules for the running kernel; kernel/Makefile has the variables
#
# Variants: SAN=address,undefined builds into build-san/, FUZZ=1 (clang) the fuzz targets.

VERSION_MAJOR := 0
VERSION := 0.1.0
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
BINDIR ?= $(PREFIX)/bin
SBINDIR ?= $(PREFIX)/sbin
UNITDIR ?= $(PREFIX)/lib/systemd/system
UDEVDIR ?= $(PREFIX)/lib/udev
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
INCDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/nvme-accel

B := build
ifdef SAN
B := build-san
SANFLAGS := -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
ifdef FUZZ
B := build-fuzz
CC := clang
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZFLAGS := -fsanitize=fuzzer-no-link
endif

CC ?= cc
OPT ?= -O2
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -Wundef
CFLAGS ?= $(OPT) -g
ALL_CFLAGS := -std=gnu11 $(WARN) -fvisibility=hidden -fPIC -pthread -Iinclude -Iinclude/uapi \
	$(SANFLAGS) $(FUZZFLAGS) $(CFLAGS)
# Debian's shared libdeflate compresses at three quarters of the speed of the static one (measured, 1.14), so
# that is linked in where it can be; LIBDEFLATE=-ldeflate takes the shared one.
ifndef LIBDEFLATE
LIBDEFLATE := $(shell echo 'int libdeflate_crc32(int, void *, int); int f(void); \
	int f(void) { return libdeflate_crc32(0, 0, 0); }' | \
	$(CC) -shared -fPIC -x c - -x none -l:libdeflate.a -o /dev/null 2>/dev/null && \
	echo -l:libdeflate.a || echo -ldeflate)
endif
ENGINE_LIBS := -lisal $(LIBDEFLATE) -llz4 -lzstd -lz -lcrypto
LIBS := $(ENGINE_LIBS) -luring -pthread
TOOL_LIBS := -ljson-c -lcrypto

# Directories in the order of their dependencies; see Documentation/architecture.rst.
LAYERS := base sys wire engine model device nvmetcp transport p2p api
# The model and what it stands on is freestanding: it is compiled as a kernel module would have it.
FREESTANDING := base wire model

src = $(sort $(wildcard lib/$(1)/*.c))
obj = $(patsubst %.c,$(B)/%.o,$(call src,$(1)))
LIB_OBJS := $(foreach l,$(LAYERS),$(call obj,$(l)))
TOOL_OBJS := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tools/accel/*.c)))
# The daemon is the other end of the wire: it is made of the layers below the library's own ends.
ACCELD_OBJS := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tools/acceld/*.c)))
ACCELD_LAYERS := device nvmetcp model engine wire base

.PHONY: all demo demo-vm check bench install uninstall clean deps lint tests fuzz docs
all: $(B)/libaccel.so $(B)/libaccel.a $(B)/accel $(B)/accel_id $(if $(wildcard tools/acceld/main.c),$(B)/acceld)

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<

$(foreach l,$(FREESTANDING),$(eval $(B)/lib/$(l)/%.o: EXTRA_CFLAGS += -ffreestanding -Wframe-larger-than=1024))

# One archive a layer, so that a test of a layer links nothing above it.
define archive
$(B)/$(1).a: $$(call obj,$(1))
	@mkdir -p $$(@D)
	@rm -f $$@
	ar rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call archive,$(l))))

$(B)/libaccel.a: $(LIB_OBJS)
	@rm -f $@
	ar rcs $@ $^

$(B)/libaccel.so.$(VERSION): $(LIB_OBJS) lib/libaccel.map
	$(CC) -shared $(SANFLAGS) $(LDFLAGS) -Wl,-soname,libaccel.so.$(VERSION_MAJOR) \
		-Wl,--version-script=lib/libaccel.map $(if $(SAN),,-Wl,--no-undefined) -o $@ $(LIB_OBJS) $(LIBS)

$(B)/libaccel.so: $(B)/libaccel.so.$(VERSION)
	ln -sf libaccel.so.$(VERSION) $(B)/libaccel.so.$(VERSION_MAJOR)
	ln -sf libaccel.so.$(VERSION_MAJOR) $@

$(B)/accel: $(TOOL_OBJS) $(B)/libaccel.so
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $(TOOL_OBJS) -L$(B) -laccel $(TOOL_LIBS) -pthread \
		-Wl,-rpath,'$$ORIGIN:$$ORIGIN/../lib'

# What udev asks about nodes: the identity's decoder and no more.
$(B)/accel_id: $(B)/tools/accel-id/main.o $(B)/wire.a $(B)/base.a
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^

$(B)/acceld: $(ACCELD_OBJS) $(foreach l,$(ACCELD_LAYERS),$(B)/$(l).a)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(ENGINE_LIBS) -pthread

# Tests: tests/unit/test_LAYER_*.c links the layers up to its own; tests/api/*.c the whole library.
deps_of = $(strip $(if $(filter base,$(1)),base,$(if $(filter wire,$(1)),wire base,\
	$(if $(filter model,$(1)),model wire base,$(if $(filter engine,$(1)),engine wire base,\
	$(if $(filter nvmetcp,$(1)),nvmetcp base,$(if $(filter device,$(1)),device model engine wire base,\
	$(if $(filter p2p,$(1)),p2p sys base,api p2p transport device nvmetcp model engine wire sys base))))))))
layer_of = $(word 2,$(subst _, ,$(notdir $(1))))
UNIT := $(sort $(wildcard tests/unit/test_*.c))
APIT := $(sort $(wildcard tests/api/test_*.c))

define unit_rule
$(B)/$(1:.c=): $(B)/$(1:.c=.o) $(foreach l,$(call deps_of,$(call layer_of,$(1))),$(B)/$(l).a)
	$$(CC) $$(SANFLAGS) -o $$@ $$^ -lcmocka $$(LIBS)
endef
$(foreach t,$(UNIT),$(eval $(call unit_rule,$(t))))
$(patsubst %.c,$(B)/%,$(APIT)): %: %.o $(B)/libaccel.a
	$(CC) $(SANFLAGS) -o $@ $^ -lcmocka $(LIBS)
$(B)/tests/bench/%: $(B)/tests/bench/%.o $(B)/libaccel.a
	$(CC) $(SANFLAGS) -o $@ $^ $(LIBS)
TEST_BINS := $(patsubst %.c,$(B)/%,$(UNIT) $(APIT))
tests: $(TEST_BINS)

# Fuzz targets: tests/fuzz/fuzz_*.c, with clang (make fuzz FUZZ=1).
FUZZERS := $(patsubst %.c,$(B)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
$(FUZZERS): %: %.o $(B)/libaccel.a
	$(CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIBS)
fuzz: $(FUZZERS)

# A client for the soak test of the daemon.
$(B)/soak_client: $(B)/tests/daemon/soak_client.o $(B)/libaccel.a
	$(CC) $(SANFLAGS) -o $@ $^ $(LIBS)

# Calls that need devices, for the test of peer-to-peer in a guest.
$(B)/p2p_buf: $(B)/tests/vm/guest/p2p_buf.o $(B)/libaccel.a
	$(CC) $(SANFLAGS) -o $@ $^ $(LIBS)

deps:
	scripts/deps.sh
demo:
	scripts/demo.sh
demo-vm:
	scripts/demo-vm.sh
check:
	scripts/check.sh
bench:
	scripts/bench.sh

# The kernel modules have a Makefile of their own.
.PHONY: modules modules_install modules_sign dkms-tree
modules modules_install modules_sign dkms-tree:
	+@$(MAKE) --no-print-directory -C kernel $@ B=$(abspath $(B))

# Manual pages and documents as HTML, in build/man and build/html; the headers are the manual of the calls.
HEADERS := $(wildcard include/accel/*.h)
$(B)/man/man3/libaccel.3: scripts/mkman3.py $(HEADERS)
	@mkdir -p $(@D)
	@rm -f $(@D)/*.3
	python3 scripts/mkman3.py include/accel $(@D)
docs: $(B)/man/man3/libaccel.3
	@mkdir -p $(B)/html $(foreach n,1 5 8,$(B)/man/man$(n))
	for n in 1 5 8; do cp Documentation/man/*.$$n $(B)/man/man$$n/ || exit 1; done
	for f in Documentation/*.rst; do rst2html5 --strict --syntax-highlight=none $$f \
		$(B)/html/$$(basename $$f .rst).html || exit 1; done

# The rpath of the command in the build directory finds the library in an installed tree, too (../lib). The
# interface header goes beside the public ones, which do not need it, and not to linux/, which is the
# kernel's. Programs find the library after ldconfig, which is run unless a package is being made.
PC_SUBST = -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCDIR@|$(INCDIR)|' \
	-e 's|@VERSION@|$(VERSION)|' -e 's|@PRIVATE_LIBS@|$(LIBS)|'
SONAME := libaccel.so.$(VERSION_MAJOR)

install: all $(B)/man/man3/libaccel.3
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(BINDIR) $(DESTDIR)$(INCDIR)/accel
	install -m 755 $(B)/libaccel.so.$(VERSION) $(DESTDIR)$(LIBDIR)
	ln -sf libaccel.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libaccel.so
	install -m 644 $(B)/libaccel.a $(DESTDIR)$(LIBDIR)
	sed $(PC_SUBST) libaccel.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/libaccel.pc
	install -m 644 $(HEADERS) $(DESTDIR)$(INCDIR)/accel
	install -m 644 include/uapi/linux/nvme_accel.h include/uapi/linux/nvme_accel_p2p.h $(DESTDIR)$(INCDIR)/accel
	install -m 755 $(B)/accel $(DESTDIR)$(BINDIR)
	install -d $(DESTDIR)$(SBINDIR) $(DESTDIR)$(UNITDIR) $(DESTDIR)$(UDEVDIR)/rules.d $(DESTDIR)$(DOCDIR)
	install -m 755 $(B)/acceld $(DESTDIR)$(SBINDIR)
	sed 's|@SBINDIR@|$(SBINDIR)|' dist/acceld.service >$(DESTDIR)$(UNITDIR)/acceld.service
	sed 's|@BINDIR@|$(BINDIR)|' dist/accel-target.service >$(DESTDIR)$(UNITDIR)/accel-target.service
	sed 's|@BINDIR@|$(BINDIR)|' dist/accel-crypto@.service >$(DESTDIR)$(UNITDIR)/accel-crypto@.service
	install -m 644 dist/acceld.conf $(DESTDIR)$(DOCDIR)/acceld.conf.example
	install -m 755 $(B)/accel_id $(DESTDIR)$(UDEVDIR)/accel_id
	sed 's|@UDEVDIR@|$(UDEVDIR)|' dist/udev/59-accel.rules >$(DESTDIR)$(UDEVDIR)/rules.d/59-accel.rules
	install -d $(DESTDIR)$(SYSUSERSDIR)
	install -m 644 dist/udev/accel-sysusers.conf $(DESTDIR)$(SYSUSERSDIR)/accel.conf
	install -d $(foreach n,1 3 5 8,$(DESTDIR)$(MANDIR)/man$(n))
	for n in 1 5 8; do install -m 644 Documentation/man/*.$$n $(DESTDIR)$(MANDIR)/man$$n || exit 1; done
	install -m 644 $(B)/man/man3/*.3 $(DESTDIR)$(MANDIR)/man3
	[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || PATH=$$PATH:/sbin:/usr/sbin ldconfig

uninstall:
	rm -f $(DESTDIR)$(LIBDIR)/libaccel.so $(DESTDIR)$(LIBDIR)/libaccel.so.$(VERSION_MAJOR)*
	rm -f $(DESTDIR)$(LIBDIR)/libaccel.a $(DESTDIR)$(LIBDIR)/pkgconfig/libaccel.pc $(DESTDIR)$(BINDIR)/accel
	rm -rf $(DESTDIR)$(INCDIR)/accel
	rm -f $(DESTDIR)$(MANDIR)/man1/accel.1 $(DESTDIR)$(MANDIR)/man1/accel-*.1
	rm -f $(DESTDIR)$(MANDIR)/man3/accel_*.3 $(DESTDIR)$(MANDIR)/man3/libaccel.3
	rm -f $(DESTDIR)$(SBINDIR)/acceld $(DESTDIR)$(UNITDIR)/acceld.service $(DESTDIR)$(UDEVDIR)/accel_id
	rm -f $(DESTDIR)$(UNITDIR)/accel-target.service $(DESTDIR)$(UNITDIR)/accel-crypto@.service
	rm -f $(DESTDIR)$(UDEVDIR)/rules.d/59-accel.rules $(DESTDIR)$(MANDIR)/man8/acceld.8
	rm -f $(DESTDIR)$(MANDIR)/man5/acceld.conf.5 $(DESTDIR)$(SYSUSERSDIR)/accel.conf
	rm -rf $(DESTDIR)$(DOCDIR)

clean:
	rm -rf build build-san build-tsan build-fuzz

-include $(wildcard $(B)/lib/*/*.d $(B)/tools/*/*.d $(B)/tests/*/*.d)
