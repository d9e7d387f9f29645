# stats.awk - what the tables and plots of tests/bench share: medians, names of sizes,
# and how it is said whether a target is reached.
#
# Read before table, loss-table, scale-table, profile-table or curves (awk -f stats.awk -f table).
# list[1..n] is what is sorted and looked at. part is what a table is to print:
#
#	tables   Markdown tables of what was measured
#	rows     rows of a Markdown table, one for each target
#	lines    the same as "ok ...", "not ok ..." and "skip ...", and then "summary ..."

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

# verdict(good, what, measured, wanted): a target
function verdict(good, what, measured, wanted) {
	if (part == "rows")
		print "| " what " | " measured " | " wanted " | " (good ? "reached" : "**NOT reached**") " |"
	if (part == "lines")
		print (good ? "ok" : "not ok") " bench/" what ": " (good ? "reached" : "NOT reached") ", " \
			measured ", " wanted " wanted"
}

# no_verdict(what, why): a target for which something is missing that is not ours
function no_verdict(what, why) {
	if (part == "rows")
		print "| " what " | " why " | | |"
	if (part == "lines")
		print "skip bench/" what ": " why
}

# did_not(what, how): this driver hung or failed, whatever was to be reached
function did_not(what, how) {
	if (part == "rows")
		print "| " what " | " how " | | **NOT reached** |"
	if (part == "lines")
		print "not ok bench/" what ": " how
}
