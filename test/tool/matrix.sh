# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Every format into every other one: a scaled-down Llama with the state of its optimizer is equal, or is refused,
# as the table of doc/formats.md says. MATRIX=FILE writes that table.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python
page=$here/../../doc/formats.md

# What is read: FORMAT PATH. Those that are not written are files of other libraries.
python3 "$data/formats/make_llama.py" safetensors llama.safetensors
echo 'optim.step -> only' >one.aoa
grep -ao '"[^"]*": {"dtype"' llama.safetensors | cut -d'"' -f2 | grep -v '^optim.step$' | sed 's/$/ -> _/' >>one.aoa
echo '{"mesh": [["tp", 2], ["dp", 3]], "rules": [{"match": "**.exp_avg*", "shard": {"dp": {"axis": 0, "split": "ceil"}}},
    {"match": "**.q_proj.weight", "shard": {"tp": 0}}, {"match": "**"}]}' >layout.json
declare -A path=([gguf]=$data/formats/llama/model.gguf [paddle_params]=$data/formats/llama/model.pdparams
    [deepspeed_universal]=$data/formats/deepspeed/ds-0.19/zero_1
    [safetensors]=llama.safetensors [npy]=one.npy [npz]=model.npz [torch_save]=model.pt)
read_formats="deepspeed_universal gguf huggingface megatron_torch_dist npy npz paddle_flex paddle_params safetensors sharded_safetensors torch_dcp torch_save unified_checkpoint"
written_formats="gguf huggingface megatron_torch_dist npy npz paddle_flex safetensors sharded_safetensors torch_dcp torch_save unified_checkpoint"

# options_of FORMAT: what a conversion into it is told besides.
options_of() {
    case $1 in
    sharded_safetensors) echo "--layout layout.json" ;;
    esac
}

# NumPy has no bfloat16: its files are of the same numbers in float32.
grep -ao '"[^"]*": {"dtype": "BF16"' llama.safetensors | cut -d'"' -f2 | sed 's/.*/& -> &, dtype="float32"/' >wide.aoa
for format in huggingface megatron_torch_dist paddle_flex sharded_safetensors torch_dcp torch_save unified_checkpoint npz npy; do
    path[$format]=${path[$format]:-from_$format}
    program=
    [ $format = npz ] && program="--program wide.aoa"
    [ $format = npy ] && program="--program one.aoa"
    # shellcheck disable=SC2046,SC2086 # words
    succeeds 1 convert llama.safetensors "${path[$format]}" --to $format $(options_of $format) $program
done

# reason FROM TO: why it was refused, in the words of the page.
reason() {
    if grep -q "NumPy has no data type for elements of bfloat16" errors; then
        echo "no bfloat16"
    elif grep -q "a .npy file holds one tensor" errors; then
        echo "one tensor"
    elif grep -Eq "not a tensor, and .* has no place for it|are not carried to other formats" errors; then
        echo "$(cell "$1" "$2" --no-objects) without objects"
    else
        echo "?"
        echo "no reason is known for this: $(cat errors)" >>problems
    fi
}

# cell FROM TO OPTION...: `equal`, or why it is refused.
cell() {
    local from=$1 to=$2 target=target
    shift 2
    case $to in
    npy) target=files/one.npy ;;
    gguf | npz | safetensors) target=files/llama.$to ;;
    torch_save) target=files/llama.pt ;;
    esac
    rm -rf target files
    mkdir files
    # shellcheck disable=SC2046 # words
    if ! on 1 "$tool" convert "${path[$from]}" $target --to "$to" $(options_of "$to") "$@" >output 2>errors; then
        [ -e $target ] && echo "$from to $to was refused, and something is written" >>problems
        reason "$from" "$to"
    elif on 1 "$tool" diff --data "${path[$from]}" $target >output 2>errors; then
        echo equal
    else
        echo "$from to $to: $(head -n 3 output)" >>problems
        echo different
    fi
}

matrix() {
    echo "| from \\ to | ${written_formats// / | } |"
    echo "|---$(for to in $written_formats; do printf '|---'; done)|"
    for from in $read_formats; do
        row="| $from"
        for to in $written_formats; do
            row="$row | $(cell "$from" "$to")"
        done
        echo "$row |"
    done
}

touch problems
matrix >table
checks=$((checks + 99))
[ -s problems ] && report "$(head -n 5 problems)"
[ -n "${MATRIX:-}" ] && cp table "$MATRIX"
sed -n '/^| from \\ to/,/^$/p' "$page" | grep '^|' >printed
diff table printed >difference || { report "doc/formats.md has another table"; cat difference; }

conclude
