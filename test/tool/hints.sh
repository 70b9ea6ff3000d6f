# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# What is no checkpoint, or not of the format that was asked for: the tool says what to give in its place.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
formats=$data/formats
dcp=$formats/dcp/torch-2.15/one_process
nested=$formats/torch/torch-2.15/nested.pt

# hints PATTERN ARGUMENT...: inspect refuses it so, and with nothing behind that.
hints() {
    local pattern=$1
    shift
    refuses 3 "$pattern\$" inspect "$@"
}

# warns PATTERN: the last command said so.
warns() {
    grep -Eq "$1" errors || report "no warning $1: $(cat errors)"
}

# A format that was asked for and is not there: what it is known by, and what is there.
looks="in this directory; it looks like torch_dcp, which has .metadata"
hints ": torch_save was asked for, and there is no pytorch_model.bin.index.json, pytorch_model.bin, .* in this directory; it looks like torch_dcp, which has .metadata" "$dcp" --from torch_save
hints ": huggingface was asked for, and there is no model.safetensors.index.json, model.safetensors, adapter_model.safetensors, .* or weights.safetensors $looks" "$dcp" --from huggingface
hints ": megatron_torch_dist was asked for, and there is no metadata.json $looks" "$dcp" --from megatron_torch_dist
hints ": paddle_flex was asked for, and there is no 0.metadata $looks" "$dcp" --from paddle_flex
hints ": deepspeed_universal was asked for, and there is no zero/PARAMETER/fp32.pt $looks" "$dcp" --from deepspeed_universal
hints ": gguf was asked for, and there is no [*].gguf $looks" "$dcp" --from gguf
hints ": npy was asked for, which is a file, and this is a directory; it looks like torch_dcp, which has .metadata" "$dcp" --from npy
hints ": torch_dcp was asked for, which is a directory with .metadata, and this is a file; it looks like torch_save, which the end of its name says" \
    "$nested" --from torch_dcp
hints ": huggingface was asked for, .* it looks like paddle_flex, which has 0.metadata" \
    "$formats/paddle/paddle-3.3/safetensors" --from huggingface
hints ": huggingface was asked for, .* it looks like unified_checkpoint, which has master_weights.safetensors.index.json" \
    "$formats/unified/masters_alone" --from huggingface
cp "$nested" unnamed
hints "^unnamed: torch_dcp was asked for, which is a directory with .metadata, and this is a file" unnamed --from torch_dcp
hints "^nothing: there is no such file or directory" nothing --from torch_dcp
succeeds 1 inspect unnamed --from torch_save
succeeds 1 inspect "$formats/megatron/core-0.16/torch_dist" --from torch_dcp
for from in huggingface unified_checkpoint; do
    succeeds 1 inspect "$formats/unified/all_three" --from $from
done

# One file of many, which is not the whole.
for file in .metadata __0_0.distcp; do
    hints "$file: this is a file of a checkpoint of the format torch_dcp; give its directory, .*one_process" "$dcp/$file"
done

# Megatron-LM's form for its own ranks, and what was saved last.
mkdir -p megatron/iter_0000010/mp_rank_0{0,1}
for rank in 0 1; do
    cp "$nested" megatron/iter_0000010/mp_rank_0$rank/model_optim_rng.pt
done
echo 10 >megatron/latest_checkpointed_iteration.txt
own="of Megatron-LM for its own ranks .*, or"
give="$own say with --source-layout FILE which parts of the tensors the files of the ranks have"
hints "^megatron: .* not a checkpoint; give megatron/iter_0000010, which latest_checkpointed_iteration.txt names" megatron
hints "$give" megatron/iter_0000010
hints ": torch_dcp was asked for, and there is no .metadata in this directory; this is .* $give" megatron/iter_0000010 --from torch_dcp
succeeds 1 inspect megatron/iter_0000010/mp_rank_01/model_optim_rng.pt
warns "by its name this is one of several parts of a model, .* read with --source-layout FILE"
cp -r megatron/iter_0000010 second
rm -r megatron/iter_0000010/mp_rank_01 second/mp_rank_00
hints "$own give megatron/iter_0000010/mp_rank_00/model_optim_rng.pt, which is the only one" megatron/iter_0000010
hints "$give" second
echo release >megatron/latest_checkpointed_iteration.txt
hints "; latest_checkpointed_iteration.txt names release, which is not there" megatron
mkdir megatron/release
hints "; give megatron/release, which latest_checkpointed_iteration.txt names" megatron
for text in "../.." $'a\nb' "" "$(printf 1%.0s {1..300})"; do
    echo "$text" >megatron/latest_checkpointed_iteration.txt
    hints "not a checkpoint: it has no files that are read" megatron
done

# DeepSpeed's.
mkdir deepspeed
cp -r "$formats/deepspeed/ds-0.19/zero_1" deepspeed/global_step1_universal
printf global_step1 >deepspeed/latest
hints "; give deepspeed/global_step1_universal, which looks like deepspeed_universal" deepspeed
mkdir deepspeed/global_step1
hints "; give deepspeed/global_step1, which latest names" deepspeed
printf global_step1_universal >deepspeed/latest_universal
hints "; give deepspeed/global_step1_universal, which latest_universal names" deepspeed

# Directories of checkpoints, and files that are one each; what a trainer keeps beside is none.
mkdir steps
cp -r "$dcp" steps/step_1
hints "; give steps/step_1, which looks like torch_dcp" steps
cp -r "$dcp" steps/step_2
hints "; give steps/step_2, which looks like torch_dcp, or the other one" steps
cp -r "$dcp" steps/step_3
hints "; give steps/step_3, which looks like torch_dcp, or one of 2 others" steps
cp -r "$dcp" steps/step_20
hints "; give steps/step_20, which looks like torch_dcp, or one of 3 others" steps
mkdir files
cp "$nested" files/scheduler.pt
hints "^files: this is a directory with 'scheduler.pt', not a checkpoint: it has no files that are read" files
cp "$formats/paddle/paddle-3.3/model.pdparams" files
hints "; give files/model.pdparams itself, which looks like paddle_params" files
cp "$nested" files
hints "; give files/model.pdparams itself, which looks like paddle_params, or the other one; if each has its parts of the same tensors, say which with --source-layout FILE" files

# Safetensors files without the one that says what is in them.
cp -r "$formats/paddle/paddle-3.3/safetensors" paddle
rm paddle/0.metadata
hints "^paddle: this save of PaddlePaddle is not finished, or lost 0.metadata, which says what is in '0_0.safetensors' and 3 more; give another checkpoint" paddle
cp -r "$formats/unified/all_three" unified
rm unified/model.safetensors.index.json
lost="model.safetensors.index.json is missing, which says which tensors are in 'model-00001-of-00002.safetensors' and 1 more"
hints "^unified: $lost" unified
rm unified/{optimizer,master}*
hints "^unified: $lost" unified
mkdir alone
cp "$formats/unified/single_files/model.safetensors" alone/x.safetensors
unknown="the file has no DCP_SHARDING_INFO, so where its tensors belong is not known"
hints "^alone/x.safetensors: $unknown; there is 1 safetensors file and no model.safetensors.index.json; give the file itself" alone
cp alone/x.safetensors alone/y.safetensors
hints "^alone/x.safetensors: $unknown; there are 2 safetensors files and no model.safetensors.index.json; give one of them itself, if each is a model of its own" alone

# Files that are parts, by their names: half a model is never what to give, and a part that is given is said to be one.
inspects_part() {
    succeeds 1 inspect "$1"
    warns "^warning: $1: by its name this is one of several parts of a model, and the other parts are not read; $2\$"
}
layout="files of ranks that do not say which parts of the tensors they have are read with --source-layout FILE, which says it"
part=$formats/unified/single_files/model.safetensors
for names in "consolidated.00.pth consolidated.01.pth" "model_rank0.pt model_rank1.pt" "tp_0.ckpt tp_1.ckpt" \
    "model_state.tp00_pp00.pdparams model_state.tp01_pp00.pdparams" "x_mp_rank_00.pt x_mp_rank_01.pt" \
    "model_world_size_2_rank_0.pt model_world_size_2_rank_1.pt" \
    "model-rank-0-part-0.safetensors model-rank-1-part-0.safetensors" \
    "w_pp-rank-0-of-1_tp-rank-0-of-2.safetensors w_pp-rank-0-of-1_tp-rank-1-of-2.safetensors"; do
    read -r first second <<<"$names"
    rm -rf parts
    mkdir parts
    case $first in
    *.safetensors) from=$part says="^parts/$first: $unknown; .* by their names they are of ranks, .*--source-layout FILE" ;;
    *.pdparams) from=$formats/paddle/paddle-3.3/model.pdparams says="by their names '$first' and 1 more are files of ranks, .* --source-layout FILE" ;;
    *) from=$nested says="by their names '$first' and 1 more are files of ranks, .* --source-layout FILE" ;;
    esac
    cp "$from" "parts/$first"
    cp "$from" "parts/$second"
    hints "$says" parts
    inspects_part "parts/$second" "$layout"
done
mkdir whole llama
cp "$nested" whole/model_world_size_1_rank_0.pt
cp "$nested" llama/consolidated.00.pth
hints "; give whole/model_world_size_1_rank_0.pt itself, which looks like torch_save" whole
hints "; give llama/consolidated.00.pth itself, which looks like torch_save" llama
succeeds 1 inspect llama/consolidated.00.pth
grep -q warning errors && report "a whole model is called a part"
mkdir -p nanotron/model
echo '{}' >nanotron/checkpoint_metadata.json
hints "it is of nanotron, .* --source-layout FILE" nanotron
mkdir -p nanotron/model/a nanotron/model/b
for part in a b; do
    python3 "$here/support/write_safetensors.py" nanotron/model/$part/model_weight_pp-rank-0-of-1_tp-rank-0-of-2.safetensors \
        '{"data": {"dtype": "F32", "shape": [2]}}'
done
hints "it is of nanotron, .* --source-layout FILE" nanotron/model
mkdir bins
cp "$nested" bins/x-00001-of-00002.bin
hints "^bins: x.bin.index.json is missing, which says which tensors are in 'x-00001-of-00002.bin'" bins
inspects_part bins/x-00001-of-00002.bin "give the directory, with the index that lists all parts"

# The cache of Hugging Face, with links to files that are there or are not, and pointers of Git LFS.
mkdir -p cache/blobs cache/refs cache/snapshots/12ab cache/snapshots/34cd
cp "$nested" cache/blobs/a
ln -s ../../blobs/a cache/snapshots/34cd/pytorch_model.bin
hints "; give cache/snapshots/34cd, which looks like torch_save" cache
printf 12ab >cache/refs/main
hints "; give cache/snapshots/12ab, which refs/main names" cache
ln -s ../../blobs/b cache/snapshots/12ab/model.safetensors
hints "; 'model.safetensors' is a link to a file that is not there; fetch it again" cache/snapshots/12ab
succeeds 1 inspect cache/snapshots/34cd
mkdir pointers
for name in model.safetensors pytorch_model.bin; do
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n' >pointers/$name
    hints "this is a pointer of Git LFS and not the file; fetch that with git lfs pull\).*" pointers/$name
done

# What other libraries of arrays wrote is named, and so is a directory of such.
mkdir -p orbax/7/default ocdbt zarr/w
touch orbax/7/_CHECKPOINT_METADATA orbax/7/default/manifest.ocdbt ocdbt/manifest.ocdbt zarr/.zgroup zarr/w/.zarray
arrays="which is not read; restore it in Python with the library that wrote it, and save its arrays as safetensors or .npz"
hints "it is a checkpoint of Orbax, $arrays" orbax/7
hints "orbax/7 is a checkpoint of Orbax, $arrays" orbax
hints "it is an OCDBT database of TensorStore, as Orbax writes it, $arrays" ocdbt
hints "it is a zarr group, $arrays" zarr
hints "it is a zarr array, $arrays" zarr/w

conclude
