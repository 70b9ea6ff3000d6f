# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Files byte by byte: `inspect --compatible` judges them as the reference reader does, `inspect` is stricter.
# Pickles whose values stand in so many places that they would fill memory are refused before.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

mkdir cases
python3 "$here/support/write_case.py" "$data/safetensors-cases.jsonl" cases >verdicts ||
    report "the cases cannot be written"

strict=0
while read -r name verdict; do
    path=cases/$name.safetensors
    if [ "$verdict" = ok ]; then
        succeeds 1 inspect "$path" --compatible
        on 1 "$tool" inspect "$path" >output 2>errors && strict=$((strict + 1))
    else
        refuses_on 1 3 "^$path: .*\[${verdict%%(*}\]" "$tool" inspect "$path" --compatible
        refuses_on 1 3 "^$path: " "$tool" convert "$path" out/x
    fi
done <verdicts

checks=$((checks + 1))
[ "$strict" -gt 10 ] || report "strict mode accepts only $strict files"
grep -v ' ok$' verdicts | head -3 >some
while read -r name verdict; do
    refuses_on 3 3 "^cases/$name.safetensors: .*\[${verdict%%(*}\]" "$tool" inspect "cases/$name.safetensors"
done <some

# Dicts each of which has the one before it twice, with short names and with long ones; and arrays that
# Paddle has cut into the same parts.
python3 - <<'PYTHON' || report "the pickles cannot be written"
import pickle, struct, zipfile

def dicts(path, times, first, second):
    value = {"a": 1}
    for _ in range(times):
        value = {first: value, second: value}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", pickle.dumps(value, 2))

dicts("many.pt", 22, "a", "b")
dicts("long.pt", 16, "a" * 2000, "b" * 2000)

def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()

# An array of no elements, which is 6000 times a part of each of 6000 arrays.
dtype = b"cnumpy\ndtype\n(" + text("u1") + b"\x89\x88tR(K\x03" + text("|") + b"NNNtb"
array = (b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tC\x01btR"
         b"(K\x01(K\x00t" + dtype + b"\x89C\x00tb")
cut = (b"}(" + text("OriginShape") + b"(K\x00t" + text("slices") + b"](" + text("z") + b"q\x05"
       + b"h\x05" * 5999 + b"euq\x06")
arrays = text("0") + cut + b"".join(text(str(i)) + b"h\x06" for i in range(1, 6000))
with open("cut.pdparams", "wb") as file:
    file.write(b"\x80\x03}(" + text("z") + array + text("UnpackBigParamInfor@@") + b"}(" + arrays + b"uu.")
PYTHON
bounded='ulimit -v 1000000; exec "$0" "$@"'
grep -q __asan_init "$tool" && bounded='exec "$0" "$@"' # it takes addresses without end
refuses_on 1 3 '^many.pt: more than [0-9]+ (values|bytes of names), ' \
    bash -c "$bounded" "$tool" inspect many.pt
refuses_on 1 3 '^long.pt: more than [0-9]+ bytes of names, ' bash -c "$bounded" "$tool" inspect long.pt
refuses_on 1 3 "^cut.pdparams: tensor '0': its slice 'z' occurs twice" \
    bash -c "$bounded" "$tool" inspect cut.pdparams

conclude
