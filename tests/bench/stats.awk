# stats.awk - what the tables and plots of tests/bench share: medians, names of sizes.
#
# Read before table, loss-table, scale-table or curves (awk -f stats.awk -f table).
# list[1..n] is what is sorted and looked at.

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

function sort_list(n,   i, j, x) {
	for (i = 2; i <= n; i++) {
		x = list[i]
		for (j = i - 1; j && list[j] > x; j--)
			list[j + 1] = list[j]
		list[j + 1] = x
	}
}

# median(n): of list[1..n], which is sorted then; 0 if there is nothing
function median(n) {
	sort_list(n)
	if (!n)
		return 0
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}

function number(x) {
	return x >= 100 ? sprintf("%.0f", x) : x >= 10 ? sprintf("%.1f", x) : sprintf("%.2f", x)
}

function size_name(s) {
	return s >= 1048576 ? s / 1048576 " MiB" : s >= 1024 ? s / 1024 " KiB" : s " B"
}

# driver_name(d): as a reader of tables knows it
function driver_name(d) {
	return d == "ours" ? "this driver" : d == "tcp" ? "TCP" : d
}
