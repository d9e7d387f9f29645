# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# load.sh - the module loads, unloads and autoloads, and leaves nothing behind.

autoload() {
	core_makes_links || { skip "this kernel's RDMA core does not load drivers: modprobe first"; return; }
	ip link add veth0 type veth peer name veth1 || bad "no veth pair" || return
	rdma link add rxe0 type rxe netdev veth0 || bad "rdma link add fails" || return
	driver_is_ours || return
	link_delete rxe0 && ip link del veth0 && driver_unload
}

again_and_again() {
	local i

	for ((i = 0; i < 5; i++)); do
		driver_load && driver_unload || return
	done
	! grep -w rdma_rxe /proc/modules || bad "still loaded"
}

no_sockets_when_loaded() {
	driver_load || return
	[ "$(grep -c ':12B7 ' /proc/net/udp)" -eq 0 ] || bad "UDP port 4791 is open without a device" || return
	driver_unload
}

# documented: of each parameter in the manual that has a default: its name, and that
documented() {
	awk '
	function tell() {
		if (name == "")
			return
		if (match(text, /[a-z0-9]+ , the default:/))
			value = substr(text, RSTART, RLENGTH - length(" , the default:"))
		else if (match(text, /[Dd]efault[:,] [a-z0-9]+/))
			value = substr(text, RSTART + length("default: "), RLENGTH - length("default: "))
		else
			value = "none"
		if (value != "none")
			print name, value
		name = ""
	}
	/^\.SH/ { tell(); inside = $0 == ".SH PARAMETERS" }
	inside && /^\.TP/ { tell() }
	inside && /^\.BR [a-z]+= / { name = $2; sub(/=$/, "", name); text = ""; next }
	{ sub(/^\.[A-Z]+ /, ""); text = text " " $0 }
	' "$VM/../../man/rdma_rxe.4" | sort
}

# parameters: as the loaded driver has them, but for those that can be written only
parameters() {
	local file value

	for file in /sys/module/rdma_rxe/parameters/*; do
		[ "$(stat -c %a "$file")" != 200 ] || continue
		value=$(cat "$file") || return
		# of those that are yes or no
		case $value in
		Y) value=1 ;;
		N) value=0 ;;
		esac
		echo "${file##*/} $value"
	done | sort
}

# Without options every parameter is what the manual says, and it speaks of every one.
# insmod: modprobe takes options from /etc/modprobe.d, and from the kernel's command line.
defaults() {
	local depends

	IFS=, read -ra depends < <(modinfo -F depends rdma_rxe)
	# none where the kernel has all of it built in
	[ ${#depends[@]} -eq 0 ] || modprobe -a "${depends[@]}" ||
		bad "what the module depends on cannot be loaded: ${depends[*]}" || return
	insmod "$(modinfo -n rdma_rxe)" || bad "insmod fails" || return
	driver_is_ours || return
	documented >"$CASE_LOG.documented"
	parameters >"$CASE_LOG.parameters"
	driver_unload || return
	[ -s "$CASE_LOG.documented" ] || bad "no defaults found in man/rdma_rxe.4" || return
	diff -u "$CASE_LOG.documented" "$CASE_LOG.parameters" ||
		bad "the manual says: $(tr '\n' ';' <"$CASE_LOG.documented") they are: $(tr '\n' ';' <"$CASE_LOG.parameters")"
}

check load-unload again_and_again
check autoload autoload
check idle no_sockets_when_loaded
check defaults defaults
