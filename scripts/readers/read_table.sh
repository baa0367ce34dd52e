#!/usr/bin/env bash
# Ask an Endtable file about positions, with h5dump, sha256sum, od and awk.
#
#     export HDF5_PLUGIN_PATH=...    # the folder of HDF5's Zstandard plugin; Python's hdf5plugin has one
#     read_table.sh TABLE.h5 < positions.txt
#
# (Debian: apt-get install hdf5-tools.) It prints a line for each position: the text, outcome, remoteness and
# Grundy value, separated by tabs, "-" where there is none. A text that is no position is an error line; the
# others are answered, and the exit code is 2. It is 1 if the file cannot be used. tables/FORMAT.md explains
# everything that is done here. Whole columns are dumped and checked, once for all positions.
set -euo pipefail
export LC_ALL=C  # sorts as the digests need it

if [ $# != 1 ]; then
    echo "usage: read_table.sh TABLE.h5 < positions.txt" >&2
    exit 2
fi
table=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "error: '$table' cannot be used: $*" >&2
    exit 1
}

# --- what the file says: one line an attribute, "column <tab> name <tab> value", strings in quotes ---------
# `-e` escapes quotes as JSON does, `-w 0` keeps long texts on one line. The column of the table's own
# attributes is "/". The number of bytes in a chunk is noted as if it were an attribute, without a value's
# place in the digest: its name begins with a dot.

h5dump -e -w 0 -p -A "$table" >"$folder/dump" 2>/dev/null || fail "it cannot be read as HDF5"
awk -F '"' '
    /^ *GROUP "/ { item = $2 }
    /^ *DATASET "/ { item = $2; digests = inside; bytes = 0 }
    /^ *GROUP "sha256"/ { inside = 1 }  # its datasets have no attributes, and come last
    /^ *ATTRIBUTE "/ { name = $2 }
    /^ *DATATYPE  H5T_STD_U/ { bytes = $0; gsub(/[^0-9]/, " ", bytes); split(bytes, word, " "); bytes = word[2] / 8 }
    /^ *CHUNKED \(/ { split($0, word, " "); print item "\t.chunk\t" word[3] * bytes }
    /^ *\(0\): / {
        sub(/^ *\(0\): /, "")
        sub(/(\\000)+"$/, "\"")  # what fills up a fixed length, so of an empty text
        print item "\t" name "\t" $0
    }
' "$folder/dump" >"$folder/attributes"

said() {  # said COLUMN NAME
    awk -F '\t' -v column="$1" -v name="$2" '$1 == column && $2 == name { print $3 }' "$folder/attributes"
}

[ "$(said / format)$(said / format_version)" = '"endtable"1' ] || fail "it is no table of format 1"
columns=$(awk -F '\t' '$2 == "bits" { print $1 }' "$folder/attributes")

# --- the columns, each chunk checked ----------------------------------------------------------------------

for column in $columns; do
    h5dump -d "/sha256/$column" -b -o "$folder/$column.sha256" "$table" >/dev/null 2>&1 ||
        fail "it has no digests of $column"
    h5dump -d "/$column" -b LE -o "$folder/$column" "$table" >/dev/null 2>&1 ||
        fail "$column cannot be decoded: it is damaged, or HDF5's Zstandard plugin is not in" \
            "HDF5_PLUGIN_PATH (${HDF5_PLUGIN_PATH-not set})"
    chunk=$(said "$column" .chunk)
    truncate -s "%$chunk" "$folder/$column"  # the last chunk is padded with zeros to full size
    cmp -s <(split -b "$chunk" --filter=sha256sum "$folder/$column" | cut -c 1-64) \
        <(od -An -v -w32 -tx1 "$folder/$column.sha256" | tr -d ' ') ||
        fail "$column does not match its digests: it is damaged, or HDF5's Zstandard plugin did not decode it"
done

# The digest of the table: of its metadata, as JSON of one form, and of all digests of chunks. h5dump has
# printed everything in alphabetical order.
metadata=$(awk -F '\t' '
    $1 == "/" && $2 != "digest" { own = own (own ? "," : "") "\"" $2 "\":" $3 }
    $1 != "/" && $2 !~ /^\./ {
        columns = columns ($1 == last ? "," : (last ? "}," : "") "\"" $1 "\":{") "\"" $2 "\":" $3
        last = $1
    }
    END { printf "%s", "{\"columns\":{" columns "}},\"table\":{" own "}}" }
' "$folder/attributes")
digest=$({ printf '%s' "$metadata" && cat "$folder"/*.sha256; } | sha256sum | cut -c 1-64)
[ "\"$digest\"" = "$(said / digest)" ] || fail "its metadata does not match its digest"

# --- positions: texts to indices, indices to values -------------------------------------------------------

awk -v folder="$folder" '
function parameter(name) { return number_in(said["/", "parameters"], name) }
function number_in(json, name,    found) {
    found = index(json, "\\\"" name "\\\":")
    return found ? substr(json, found + length(name) + 5) + 0 : 0
}
function text_of(name,    text) {
    text = said["/", name]
    return substr(text, 2, length(text) - 2)
}

# The index of a position, or -1. For "sticks-run", that of one segment after the other.
function parse(text) {
    if (game == "tactics") return parse_tactics(text, parameter("rows"), parameter("cols"))
    if (game == "rota") return parse_rota(text)
    if (game == "sticks-any") return gsub(/\|/, "", text)
    if (game == "sticks-special") return parse_special(text, parameter("length") + 1)
    if (game == "clock") return parse_clock(text, parameter("n"), parameter("k"))
    if (game == "winners-losers") return parse_letters(text, parameter("length"))
}
function parse_tactics(text, rows, cols,    row, cells, at, index_) {
    if (split(text, row, "/") != rows) return -1
    for (at = 1; at <= rows; at++) {
        if (length(row[at]) != cols || row[at] ~ /[^.X]/) return -1
        cells = cells row[at]
    }
    for (at = rows * cols; at >= 1; at--) index_ = 2 * index_ + (substr(cells, at, 1) == "X")
    return index_
}
function parse_rota(text,    mover, at, cell, x, o, index_) {
    if (text !~ /^[.xo][.xo][.xo]\/[.xo][.xo][.xo]\/[.xo][.xo][.xo] [xo]$/) return -1
    mover = substr(text, 13)
    for (at = 11; at >= 1; at--) {
        if (at % 4 == 0) continue
        cell = substr(text, at, 1)
        x += cell == "x"
        o += cell == "o"
        index_ = 3 * index_ + (cell == "." ? 0 : cell == mover ? 1 : 2)
    }
    # Until all six pieces are there their numbers say who moves. The table knows the other holes.
    return x == o + (mover == "o") || (x == 3 && o == 3) ? index_ : -1
}
# A segment of s sticks is a part s + 1 of a partition of N + 1, filled up with ones. Its index is its rank
# among all of them in lexicographic order.
function parse_special(text, rest,    number, segment, length_, many, rank) {
    number = split(text, segment, ".")
    for (; number >= 1; number--) many[length(segment[number])]++
    for (length_ = length(text); length_ >= 1; length_--)
        for (; many[length_] >= 1; many[length_]--) {
            if (length_ + 1 > rest) return -1
            rank += partitions(rest, length_)
            rest -= length_ + 1
        }
    return rank + 0
}
function partitions(total, most) {  # in how many ways a total is a sum of parts of at most so many
    if (total == 0 || most == 0) return total == 0
    if (!((total, most) in ways))
        ways[total, most] = partitions(total, most - 1) + (most <= total ? partitions(total - most, most) : 0)
    return ways[total, most]
}
function parse_clock(text, n, k,    digit, at, index_) {
    if (k < 10) gsub(/./, "&,", text)  # commas from k = 10 on
    else text = text ","
    if (split(text, digit, ",") != n + 1) return -1
    for (at = 1; at <= n; at++) {
        if (digit[at] !~ /^(0|[1-9][0-9]*)$/ || length(digit[at]) > 10 || digit[at] + 0 > k) return -1
        index_ = index_ * (k + 1) + digit[at]
    }
    return index_
}
function parse_letters(text, longest,    at, bits) {
    if (text !~ /^[WL]+$/ || length(text) > longest) return -1
    for (at = length(text); at >= 1; at--) bits = 2 * bits + (substr(text, at, 1) == "W")
    return 2 ^ length(text) - 2 + bits
}

# An index inside the table for one beyond it; the plies between them go to `plies`. -1 if there is none.
function folded(index_,    period, before, length_) {
    plies = 0
    if (index_ < said["/", "size"]) return index_
    period = said["/", "period"]
    if (period == "\"\"") return -1
    before = number_in(period, "preperiod")
    length_ = number_in(period, "period")
    plies = int((index_ - before) / length_) * number_in(period, "plies")
    return before + (index_ - before) % length_
}

# Two steps, since a column is read only once, from its beginning: `want` notes what is needed of it, `load`
# reads that, and then `item` is one number. Several share a byte if they are narrow, the first in the
# lowest bits.
function share(column) { return said[column, "bits"] < 8 ? 8 / said[column, "bits"] : 1 }
function has(column) { return (column, "bits") in said }
function want(column, number,    element) {
    if (!has(column)) return
    element = int(number / share(column))
    wanted[column, element] = wanted_lines[column, int(element / LINE)] = 1
}
function load(column,    bytes, command, line, at, part, element) {
    bytes = said[column, "bits"] < 8 ? 1 : said[column, "bits"] / 8
    command = "od -An -v --endian=little -w" LINE * bytes " -tu" bytes " " folder "/" column
    for (at = 0; (command | getline line) > 0; at += LINE) {
        if (!((column, at / LINE) in wanted_lines)) continue
        split(line, element, " ")
        for (part = 0; part < LINE; part++)
            if ((column, at + part) in wanted) wanted[column, at + part] = element[part + 1] + 0
    }
    close(command)
}
function item(column, number,    place) {
    place = number % share(column)
    return int(wanted[column, int(number / share(column))] / 2 ^ (said[column, "bits"] * place)) \
        % 2 ^ said[column, "bits"]
}
# With `classes`, a record is one symmetry class, and 0 stands for what is not a position.
function record(index_) { return has("classes") ? item("classes", index_) : index_ }

function nim_sum(one, other,    bit, sum) {
    for (bit = 1; one || other; bit *= 2) {
        if (one % 2 != other % 2) sum += bit
        one = int(one / 2)
        other = int(other / 2)
    }
    return sum + 0
}

function answer(number,    code, grundy, remoteness, part, at) {
    if (indices[number] < 0) return ""
    for (part = 1; part <= indices[number]; part++) {
        at = record(index_of[number, part])
        code = item("outcome", at)
        if (said["outcome", "bits"] == 1) code = code ? 3 : 1
        if (code == 0) return ""
        remoteness = has("remoteness") && code != 2 ? item("remoteness", at) + plies_of[number, part] : "-"
        # Segments of a row are independent games: nim-values add up by exclusive or.
        grundy = has("grundy") ? nim_sum(grundy, item("grundy", at)) : "-"
    }
    if (game == "sticks-run") return (grundy ? "win" : "loss") "\t-\t" (grundy + 0)
    return word[code] "\t" remoteness "\t" grundy
}

BEGIN {
    LINE = 64  # elements that are read at a time
    split("loss draw win", word, " ")
    while ((getline line < (folder "/attributes")) > 0) {
        split(line, field, "\t")
        said[field[1], field[2]] = field[3]
    }
    game = text_of("game")
    if (game !~ /^(tactics|rota|sticks-(any|run|special)|clock|winners-losers)$/) {
        print "error: this reader does not know the game \047" game "\047" >"/dev/stderr"
        failed = 1
        exit 1
    }
}

{
    text[NR] = $0
    count = 1
    if (game ~ /^sticks/ && ($0 == "" || $0 ~ /[^|.]/)) count = -1
    else if (game == "sticks-run") {
        count = 0
        for (at = split($0, segment, "."); at >= 1; at--)
            if (segment[at] != "") index_of[NR, ++count] = length(segment[at])
    } else if ((index_of[NR, 1] = parse($0)) < 0) count = -1
    indices[NR] = count
    for (part = 1; part <= count; part++) {
        index_of[NR, part] = folded(index_of[NR, part])
        plies_of[NR, part] = plies
        if (index_of[NR, part] < 0) indices[NR] = -1
        else want(has("classes") ? "classes" : "outcome", index_of[NR, part])
    }
}

END {
    if (failed) exit 1
    if (has("classes")) load("classes")
    for (key in index_of) {
        if (index_of[key] < 0) continue
        at = record(index_of[key])
        want("outcome", at)
        want("remoteness", at)
        want("grundy", at)
    }
    load("outcome")
    if (has("remoteness")) load("remoteness")
    if (has("grundy")) load("grundy")
    for (number = 1; number <= NR; number++) {
        if ((found = answer(number)) != "") {
            print text[number] "\t" found
            continue
        }
        print "error: \047" text[number] "\047 is not a position of " text_of("name") ": " text_of("notation") \
            >"/dev/stderr"
        code = 2
    }
    exit code
}
'
