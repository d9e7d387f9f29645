# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# mixtures.sh - kernels as distributions compose them: an old one with some of the
# APIs of later ones. No probe may take one answer for another.
#
# Sourced by tests/compat/run. A mixture is a function mix_NAME that edits a copy of
# the headers of a real kernel; laid over that kernel's own, the module must compile
# without a warning: the sources that the edits are about, or with MIXTURES=whole
# all of them. The name says which kernel: old_ is one whose RDMA operations are in
# struct ib_device (Linux 4.4: a tree in ~/.cache/rxe/trees or KDIR, or Ubuntu's), mid_
# an early one with a table for them (Ubuntu's 5.4), and new_ a later (Debian's 6.1).

# shellcheck disable=SC2016 # what looks like the shell's is Perl's

MIXTURES=${MIXTURES:-}

# edit FILE PERL: change a header; that nothing changes is a mistake
edit() {
	local file=$MIX/include/$1 before

	before=$(sha1sum <"$file")
	perl -0pi -e "$2" "$file" || return
	[ "$before" != "$(sha1sum <"$file")" ] || { echo "mixture: $1 is as before after: $2"; return 1; }
}

# ---- on Linux 4.4 -----------------------------------------------------------------

# Linux 4.7: counters of the core
mix_old_hw_stats() {
	edit rdma/ib_verbs.h 's/(?=struct ib_device \{)/
#define RDMA_HW_STATS_DEFAULT_LIFESPAN 10
struct rdma_hw_stats {
	unsigned long timestamp;
	unsigned long lifespan;
	const char * const *names;
	int num_counters;
	u64 value[];
};
/' && edit rdma/ib_verbs.h 's/(struct ib_device \{\n)/$1
	struct rdma_hw_stats *(*alloc_hw_stats)(struct ib_device *device, u8 port_num);
	int (*get_hw_stats)(struct ib_device *device, struct rdma_hw_stats *stats, u8 port, int index);
/'
}

# Linux 4.10: an address handle has data for the user library
mix_old_ah_udata() {
	edit rdma/ib_verbs.h 's/(\(\*create_ah\)\(struct ib_pd \*pd,\s*struct \w+ \*ah_attr)\)/$1, struct ib_udata *udata)/'
}

# Linux 4.12: addresses of several kinds, read by functions
mix_old_ah_attr() {
	edit rdma/ib_verbs.h 's/struct ib_ah_attr \{.*?\n\};/
enum rdma_ah_attr_type { RDMA_AH_ATTR_TYPE_UNDEFINED, RDMA_AH_ATTR_TYPE_IB, RDMA_AH_ATTR_TYPE_ROCE };
struct ib_ah_attr { u16 dlid; u8 src_path_bits; };
struct roce_ah_attr { u8 dmac[ETH_ALEN]; };
struct rdma_ah_attr {
	struct ib_global_route grh;
	u8 sl;
	u8 static_rate;
	u8 port_num;
	u8 ah_flags;
	enum rdma_ah_attr_type type;
	union { struct ib_ah_attr ib; struct roce_ah_attr roce; };
};
static inline const struct ib_global_route *rdma_ah_read_grh(const struct rdma_ah_attr *attr)
{ return &attr->grh; }
static inline u8 rdma_ah_get_ah_flags(const struct rdma_ah_attr *attr) { return attr->ah_flags; }
static inline u8 rdma_ah_get_port_num(const struct rdma_ah_attr *attr) { return attr->port_num; }/s' &&
		edit rdma/ib_verbs.h 's/struct ib_ah_attr(\s+\*?(alt_)?ah_attr)/struct rdma_ah_attr$1/g'
}

# Linux 4.19: work requests are not written to
mix_old_const_wr() {
	edit rdma/ib_verbs.h 's/(\(\*post_(send|recv|srq_recv)\)\([^;]*?)(struct ib_\w+_wr \*\w+,\s*)(struct ib_\w+_wr \*\*)/$1const $3const $4/g'
}

# Linux 4.20: it is not asked on which link layer a QP changes its state
mix_old_modify_qp() {
	edit rdma/ib_verbs.h 's/(int ib_modify_qp_is_ok\([^;]*mask),\s*enum rdma_link_layer ll\)/$1)/'
}

# Linux 4.5: GIDs with a type, and nothing else of RoCE v2
mix_old_gid_type() {
	edit rdma/ib_verbs.h 's/struct ib_gid_attr \{/
enum ib_gid_type {
	IB_GID_TYPE_IB = 0,
	IB_GID_TYPE_ROCE = 0,
	IB_GID_TYPE_ROCE_UDP_ENCAP = 1,
	IB_GID_TYPE_SIZE
};
struct ib_gid_attr {
	enum ib_gid_type gid_type;/' && edit rdma/ib_cache.h \
		's/(int ib_find_cached_gid_by_port\([^;]*?union ib_gid \*gid,)/$1 enum ib_gid_type gid_type,/'
}

# Linux 4.5: a core that knows RoCE v2, its datagrams and its ports
mix_old_roce_v2() {
	mix_old_gid_type &&
		edit rdma/ib_verbs.h 's/(IB_WC_WITH_VLAN\s*= \(1<<5\),)/$1\n\tIB_WC_WITH_NETWORK_HDR_TYPE = (1<<6),/' &&
		edit rdma/ib_verbs.h 's/(struct ib_wc \{.*?u16\s+vlan_id;)/$1\n\tu8 network_hdr_type;/s' &&
		edit rdma/ib_verbs.h 's/(?=enum ib_wc_flags \{)/
enum rdma_network_type {
	RDMA_NETWORK_IB,
	RDMA_NETWORK_ROCE_V1 = RDMA_NETWORK_IB,
	RDMA_NETWORK_IPV4,
	RDMA_NETWORK_IPV6
};
/' && edit rdma/ib_verbs.h 's/(#define RDMA_CORE_CAP_PROT_ROCE\s)/#define RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP 0x00800000\n$1/'
}

# Linux 4.6 and 4.7: memory windows with udata, fast registration with an offset
mix_old_mw_sg() {
	edit rdma/ib_verbs.h 's/(\(\*alloc_mw\)\(struct ib_pd \*pd,\s*enum ib_mw_type type)\)/$1, struct ib_udata *udata)/' &&
		edit rdma/ib_verbs.h 's/(\(\*map_mr_sg\)\([^;]*?int sg_nents)\)/$1, unsigned int *sg_offset)/' &&
		edit rdma/ib_verbs.h 's/(int ib_sg_to_pages\([^;]*?int sg_nents,)/$1 unsigned int *sg_offset,/'
}

# Linux 4.17: the driver says who it is; a GID has its place with it
mix_old_driver_id() {
	edit rdma/ib_verbs.h 's/(?=struct ib_device \{)/
enum rdma_driver_id { RDMA_DRIVER_UNKNOWN, RDMA_DRIVER_RXE = 14 };
/' && edit rdma/ib_verbs.h 's/(struct ib_device \{\n)/$1\tenum rdma_driver_id driver_id;\n/' &&
		edit rdma/ib_verbs.h 's/\(\*del_gid\)\([^;]*?\)/(*del_gid)(const struct ib_gid_attr *attr, void **context)/s' &&
		edit rdma/ib_verbs.h 's/\(\*add_gid\)\([^;]*?\)/(*add_gid)(const union ib_gid *gid, const struct ib_gid_attr *attr, void **context)/s'
}

# Helpers that are carried back one by one: 4.5 to 5.4
mix_old_helpers() {
	edit linux/gfp.h 's/(#define GFP_KERNEL\s)/#define GFP_KERNEL_ACCOUNT GFP_KERNEL\n$1/' &&
		edit linux/random.h 's/(extern void get_random_bytes\()/u32 get_random_u32(void);\n$1/' &&
		edit linux/compiler.h 's/(#endif \/\* __LINUX_COMPILER_H \*\/)/#define fallthrough do {} while (0)\n$1/' &&
		edit linux/timer.h 's/(#define setup_timer\()/
#define timer_setup(timer, callback, flags) \\
	__setup_timer(timer, (void (*)(unsigned long))(callback), (unsigned long)(timer), flags)
#define from_timer(var, timer, member) container_of(timer, typeof(*var), member)
$1/' && edit linux/dma-mapping.h \
		's/(struct dma_map_ops \{.*?\n\};)/$1 =~ s{struct dma_attrs \*attrs}{unsigned long attrs}gr/se'
}

# All at once
mix_old_everything() {
	mix_old_hw_stats && mix_old_ah_attr && mix_old_ah_udata && mix_old_const_wr && mix_old_modify_qp &&
		mix_old_roce_v2 && mix_old_mw_sg && mix_old_driver_id
}

# ---- on Linux 5.4 -------------------------------------------------------------------

# Linux 5.5: memory is pinned for udata, as before, but without the last argument
mix_mid_umem_udata() {
	edit rdma/ib_umem.h 's/(struct ib_umem \*ib_umem_get\()struct ib_device \*device/$1struct ib_udata *udata/g'
}

# Up to Linux 5.4: with it
mix_mid_umem_dmasync() {
	mix_mid_umem_udata &&
		edit rdma/ib_umem.h 's/(struct ib_umem \*ib_umem_get\([^;{]*?int access)\)/$1, int dmasync)/g'
}

# Up to Linux 5.3: numbers have no names
mix_mid_phys_state() {
	edit rdma/ib_verbs.h 's/enum ib_port_phys_state \{.*?\};//s'
}

# ---- on Linux 6.1 -------------------------------------------------------------------

# missing FILE NAME: a stable release may have it already
missing() { ! grep -qw "$2" "$MIX/include/$1"; }

# Linux 6.13 to 6.17: timers and work queues under new names
mix_new_timers() {
	if missing linux/timer.h timer_container_of; then
		edit linux/timer.h 's/(\n#endif\s*)$/
#define timer_container_of(var, timer, member) container_of(timer, typeof(*var), member)
$1/' || return
	fi
	if missing linux/workqueue.h WQ_PERCPU; then
		edit linux/workqueue.h 's/(WQ_SYSFS\s*=)/WQ_PERCPU = 1 << 8,\n\t$1/' || return
	fi
	if missing linux/hrtimer.h hrtimer_setup; then
		edit linux/hrtimer.h 's/(extern void hrtimer_start_range_ns\()/
static inline void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
$1/'
	fi
}

# Linux 6.17: DMA handles, on a core without what came between
mix_new_dmah() {
	edit rdma/ib_verbs.h 's/(struct ib_mr \*\(\*reg_user_mr\)\([^;]*?)(struct ib_udata \*udata\))/$1struct ib_dmah *dmah, $2/' &&
		edit rdma/ib_verbs.h 's/(?=struct ib_device_ops \{)/struct ib_dmah;\n/'
}

# Linux 5.8: before, pages of a process were listed in another form
mix_new_no_hmm() { edit linux/hmm.h 's/\bhmm_pfns\b/pfns/g'; }

# mixture NAME KDIR HEADERS SOURCES...: HEADERS is the include directory that is edited
mixture() {
	local name=$1 kdir=$2 headers=$3 MIX=$TMP/mix objects log=$TMP/mix.log

	shift 3
	rm -rf "$MIX" "$TMP/copy"
	mkdir -p "$MIX/include" "$TMP/copy"
	cp -R "$headers/rdma" "$headers/linux" "$MIX/include/"
	if ! "mix_$name" >"$log" 2>&1; then
		failed "mixture/$name: the headers have another form"
		sed 's/^/  /' "$log"
		return
	fi
	cp -R "$TOP"/{Kbuild,Makefile,dkms.conf,compat,drivers} "$TMP/copy/"
	rm -rf "$TMP/copy/compat/generated"
	objects=()
	[ "$MIXTURES" = whole ] || objects=("rdma_rxe-y=drivers/rxe/main.o $*")
	# Laid over the kernel's headers where nobody else sees it.
	# shellcheck disable=SC2016 # expanded inside
	if ! unshare -m bash -c '
		mount -t overlay -o "lowerdir=$1:$2" mixture "$2" || exit
		shift 2
		exec make "$@"' bash "$MIX/include" "$headers" \
		-C "$TMP/copy" KDIR="$kdir" "-j$(nproc)" KBUILD_MODPOST_WARN=1 KBUILD_MODPOST_NOFINAL=1 \
		"${objects[@]}" >"$log" 2>&1 </dev/null; then
		failed "mixture/$name: does not compile"
		grep -E 'error|rxe:' "$log" | head -n 12 | sed 's/^/  /'
	elif grep -E '(drivers/rxe|compat)/[^:]*:[0-9:]+ warning:' "$log"; then
		failed "mixture/$name: warnings"
	else
		passed "mixture/$name: $(grep -c '^  CC' "$log") files, $(grep -c ' 0$' "$TMP/copy/compat/generated/rxe_features.h") shims"
	fi
}

# packaged NAME: that kernel's headers, seen from here
packaged() {
	local kdir

	kdir=$("$TOP/tests/vm/kernels" field "$1" headers) || return
	echo "$("$TOP/tests/vm/kernels" field "$1" chroot)$kdir"
}

mixtures() {
	local kdir old='' mid new

	if [ "$(id -u)" -ne 0 ]; then
		skipped "mixture: laying headers over a kernel's own needs root"
		return
	fi
	for kdir in "$@" "$CACHE"/trees/*/; do
		if [ -f "$kdir/include/rdma/ib_verbs.h" ] && [ -s "$kdir/.config" ] &&
			! grep -q 'struct ib_device_ops\|gid_type' "$kdir/include/rdma/ib_verbs.h"; then
			old=$(realpath "$kdir")
		fi
	done
	[ -n "$old" ] || old=$(packaged 4.4) || { failed "mixture/old: no headers of Linux 4.4"; return; }
	kdir=${old%-generic}/include
	mixture old_hw_stats "$old" "$kdir" compat/ib_sysfs.o compat/ib_ops_old.o
	mixture old_ah_udata "$old" "$kdir" compat/ib_ops_old.o
	mixture old_ah_attr "$old" "$kdir" compat/ib_ops_old.o drivers/rxe/ah.o drivers/rxe/net.o
	mixture old_const_wr "$old" "$kdir" compat/ib_ops_old.o compat/ib_datagram.o
	mixture old_modify_qp "$old" "$kdir" drivers/rxe/qp.o
	mixture old_helpers "$old" "$kdir" compat/ib_device.o drivers/rxe/qp.o drivers/rxe/requester.o
	mixture old_gid_type "$old" "$kdir" compat/ib_cache.o compat/ib_sysfs.o drivers/rxe/ah.o
	mixture old_roce_v2 "$old" "$kdir" compat/ib_cache.o compat/ib_datagram.o drivers/rxe/{cq,verbs}.o
	mixture old_mw_sg "$old" "$kdir" compat/ib_ops_old.o drivers/rxe/{mr,mw}.o
	mixture old_driver_id "$old" "$kdir" compat/ib_ops_old.o drivers/rxe/verbs.o
	mixture old_everything "$old" "$kdir" compat/ib_{cache,datagram,ops_old,sysfs}.o drivers/rxe/qp.o

	mid=$(packaged 5.4) || { failed "mixture/mid: no headers"; return; }
	kdir=${mid%-generic}/include
	mixture mid_umem_udata "$mid" "$kdir" compat/ib_umem.o
	mixture mid_umem_dmasync "$mid" "$kdir" compat/ib_umem.o
	mixture mid_phys_state "$mid" "$kdir" drivers/rxe/verbs.o

	new=$(packaged 6.1) || { failed "mixture/new: no headers"; return; }
	mixture new_timers "$new" "${new%-*}-common/include" drivers/rxe/qp.o drivers/rxe/task.o
	mixture new_dmah "$new" "${new%-*}-common/include" compat/ib_ops.o drivers/rxe/{mr,verbs}.o
	mixture new_no_hmm "$new" "${new%-*}-common/include" drivers/rxe/{odp,mr,verbs}.o
}
