#!/bin/sh
# For digiKam's Batch Queue Manager, base tool "User Shell Script":
#
#     sh /path/to/queue.sh $INPUT $OUTPUT
#
# Tells tagloom the tags that a photo has in digiKam, writes the keywords that tagloom's users accepted to the photo's
# sidecar, and gives the queue an unchanged copy. digiKam has the tags in TAGSPATH: levels with "/", tags with ";"
# between. TAGLOOM names the program, TAGLOOM_PROJECT the project; default: the one that the photo lies in.
set -euf

input=$1 output=$2
program=${TAGLOOM:-tagloom}

# A tag as tagloom has it: "|" between levels, "\" before one that belongs to a name.
levels() { printf '%s' "$1" | sed 's/[\\|]/\\&/g; s/\//|/g'; }

cd -- "$(dirname -- "$input")" # here lies the project, or above
name=$PWD/$(basename -- "$input")
set --
IFS=';'
for tag in ${TAGSPATH-}; do
    [ -z "$tag" ] || set -- "$@" "--add=$(levels "$tag")"
done
if [ $# -gt 0 ]; then
    "$program" label --quiet --new "$@" -- "$name"
fi
"$program" write --quiet -- "$name"
cp -- "$name" "$output"
