# Draws the packages of the module by level, the highest first: a package imports lower ones alone.
# Input: go list -f '{{.ImportPath}}{{range .Imports}} {{.}}{{end}}' ./...
{
	for (i = 2; i <= NF; i++) if ($i ~ /^collabdata\//) imports[$1] = imports[$1] " " $i
	level[$1] = 0
}
END {
	do {
		changed = 0
		for (p in level) {
			of = split(imports[p], list, " ") > 0
			for (i in list) if (level[list[i]] + 1 > of) of = level[list[i]] + 1
			if (of != level[p]) { level[p] = of; changed = 1 }
			if (of > top) top = of
		}
	} while (changed)
	for (l = top; l >= 0; l--) {
		for (p in level) if (level[p] == l) {
			line = sprintf("%2d %s:%s", l, p, imports[p])
			gsub("collabdata/", "", line)
			print line | "sort -k 2"
		}
		close("sort -k 2")
	}
}
