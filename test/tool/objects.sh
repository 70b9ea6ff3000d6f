# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Values that are no tensors: compared by what they say, and never lost without a word.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python
formats=$data/formats

# differs PATTERN A B: two checkpoints differ, and the tool says it so.
differs() {
    checks=$((checks + 1))
    on 1 "$tool" diff "$2" "$3" >output 2>errors
    [ $? = 1 ] || report "diff of $2 and $3 does not end with 1"
    grep -Eq -- "$1" output || { report "diff of $2 and $3 does not say /$1/" && cat output errors; }
}

# Files as torch.save writes them: what values say counts, not how they were pickled.
python3 - <<'PYTHON'
import argparse, collections, pickle, zipfile

def save(name, value, protocol=2):
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("x/data.pkl", pickle.dumps(value, protocol))


def state(order=1, **changed):
    args = argparse.Namespace()
    for key, value in list({"seed": 3, "sizes": {"a": 1, "b": 2}, "names": {"x", "y"}}.items())[::order]:
        setattr(args, key, value)
    args.sizes = dict(list(args.sizes.items())[::order])
    return {"lr": 0.1, "epoch": 3, "name": "run", "raw": b"\x00\xffz", "none": None, "args": args, **changed}

save("a.pt", state())
save("same.pt", collections.OrderedDict(state(-1)), 4)
save("lr.pt", state(lr=0.2))
save("whole.pt", state(epoch=3.0))
save("raw.pt", state(raw=b"\x00\xfez"))
other = argparse.Namespace(seed=4, sizes={"a": 1, "b": 2}, names={"x", "y"})
save("args.pt", state(args=other, lr=0.3))
save("more.pt", state(step=7))
save("large.pt", state(seed=2**70))
save("larger.pt", state(seed=2**71))
save("below.pt", state(seed=-2**70))
save("none.pt", {})
for step in 1, 2:
    save(f"many{step}.pt", {f"v{i}": step * i for i in range(1, 31)})
PYTHON
succeeds 3 diff a.pt same.pt
succeeds 1 diff a.pt same.pt --json
expects output "d['equal'], sorted(d['objects'].items())" \
    "(True, [('a', 6), ('b', 6), ('compared', True), ('different', []), ('only_a', []), ('only_b', []), ('unread', [])])"
differs "^'lr': 0.1 in a.pt, 0.2 in lr.pt$" a.pt lr.pt
differs "^'epoch': 3 in a.pt, 3.0 in whole.pt$" a.pt whole.pt
differs "^'raw': b'.x00.xffz' in a.pt, b'.x00.xfez' in raw.pt$" a.pt raw.pt
differs "^'args': .*'seed': 3.* in a.pt, .*'seed': 4.* in args.pt$" a.pt args.pt
grep -q "^'lr': 0.1 in a.pt, 0.3 in args.pt$" output || report "a second value that differs is not named"
differs "^'v12': 12 in many1.pt, 24 in many2.pt$" many1.pt many2.pt
[ "$(grep -c "^'v" output)" = 5 ] || report "other than five values that differ are named"
grep -q "^25 more values that are no tensors differ$" output || report "values that differ are not counted"

# What they say is shown, the beginning of it.
succeeds 1 inspect a.pt
for line in "lr = 0.1" "epoch = 3" "name = 'run'" "none = None" "args = argparse.Namespace.*[.][.][.]"; do
    grep -q "^not a tensor: $line$" output || report "inspect does not say $line"
done
succeeds 1 inspect many1.pt
[ "$(grep -c "^not a tensor: " output)" = 20 ] || report "other than 20 values are shown"
grep -q "^and 10 more values that are no tensors; --all shows them$" output || report "values that are not shown are not counted"
succeeds 1 inspect many1.pt --all
[ "$(grep -c "^not a tensor: v[0-9]* = [0-9]*$" output)" = 30 ] || report "--all does not show all values"
succeeds 1 inspect "$formats/dcp/torch-2.15/objects"
grep -q "^not a tensor: lr = 0.5$" output || { report "inspect does not say the values of torch.distributed.checkpoint" && cat output; }
succeeds 1 inspect "$formats/gguf/types.gguf"
grep -q "^not a tensor: [a-z._]*$" output || report "inspect does not list values that it does not read"
differs "^no tensors, and only in more.pt: 'step'$" a.pt more.pt
differs "^no tensors, and only in a.pt: 'args', .* and 2 more$" a.pt none.pt
for ranks in 1 3; do
    checks=$((checks + 1))
    on $ranks "$tool" diff lr.pt more.pt --data --json >output 2>errors
    [ $? = 1 ] || report "on $ranks: diff of other values does not end with 1"
    expects output "d['equal'], d['first'], d['only_a'], d['only_b']" "(False, None, [], [])"
    expects output "d['objects']['only_a'], d['objects']['only_b'], d['objects']['different']" \
        "([], ['step'], [{'key': 'lr', 'a': '0.2', 'b': '0.1'}])"
done

# Names in the values that DeepSpeed has beside a module follow it, and have the new shapes.
echo 'module.0.weight^T -> module.first' >deepspeed.aoa
succeeds 1 convert "$formats/deepspeed/ds-0.19/zero_1/mp_rank_00_model_states.pt" deepspeed.pt --program deepspeed.aoa --without module.1.bias
succeeds 1 inspect deepspeed.pt --all
[ "$(grep '^not a tensor: param_shapes' output)" = 'not a tensor: param_shapes.0.first = torch.Size(4, 6)
not a tensor: param_shapes.0.1.weight = torch.Size(3, 4)' ] || { report "names beside a module do not follow" && cat output; }
# A parameter that is left out with its state is in no list of parameters any more.
succeeds 1 convert "$formats/dcp/torch-2.15/fsdp2" fewer --to torch_dcp --without '**.0.weight' --without '**.0.weight.**'
succeeds 1 inspect fewer
grep -q "^not a tensor: optim.param_groups.0.params = .'1.weight'.$" output || { report "a parameter that is left out is in a list" && cat output; }
succeeds 1 convert "$formats/dcp/torch-2.15/fsdp2" alone --to torch_dcp --only 'optim.**'
succeeds 1 inspect alone
grep -q "^not a tensor: optim.param_groups.0.params = .'0.weight', '1.weight'.$" output || { report "a list loses parameters" && cat output; }

# State follows its parameter, and so do the names of parameters in values: torch wrote these.
fsdp2=$formats/dcp/torch-2.15/fsdp2
succeeds 1 convert "$fsdp2" net --to torch_dcp --rename 'model.**=model.net.**' --strict-warnings
succeeds 1 inspect net --all --json
states="[f'optim.state.net.{i}.weight.{s}' for i in (0, 1) for s in ('exp_avg', 'exp_avg_sq', 'step')]"
expects output "sorted(d['tensors']) == [f'model.net.{i}.weight' for i in (0, 1)] + $states" True
succeeds 1 inspect net
grep -q "^not a tensor: optim.param_groups.0.params = .'net.0.weight', 'net.1.weight'.$" output ||
    { report "names in a list of parameters do not follow" && cat output; }
echo 'model.0.weight -> model.first' >first.aoa
for ranks in 1 2; do
    succeeds $ranks convert "$fsdp2" first$ranks --to torch_dcp --program first.aoa
    succeeds 1 inspect first$ranks
    grep -q "^not a tensor: optim.param_groups.0.params = .'first', '1.weight'.$" output || report "a program does not rename values"
    succeeds 1 inspect first$ranks --json
    expects output "[k for k in sorted(d['tensors']) if k.startswith('optim.state.first.')]" \
        "['optim.state.first.exp_avg', 'optim.state.first.exp_avg_sq', 'optim.state.first.step']"
done

# torch itself pickled these, in three ways.
for protocol in 3 4 5; do
    succeeds 1 diff "$formats/torch/torch-2.15/nested.pt" "$formats/torch/torch-2.15/nested_protocol$protocol.pt" --json
    expects output "d['equal'], d['objects']['a'], d['objects']['unread']" "(True, 11, [])"
done

# NumPy pickles an array in another way in each protocol, and under another name in each version.
run_state=torch/torch-2.15/run_state
for other in ${run_state}_protocol4 ${run_state}_protocol5 torch/torch-2.0/run_state; do
    succeeds 1 diff "$formats/$run_state.pt" "$formats/$other.pt" --json
    expects output "d['equal'], d['objects']['different'], d['objects']['unread']" "(True, [], [])"
done
python3 - <<'PYTHON'
import pickle, zipfile

for protocol in 2, 5:
    with zipfile.ZipFile(f"bytearray{protocol}.pt", "w") as archive:
        archive.writestr("x/data.pkl", pickle.dumps({"none": bytearray(), "one": bytearray(b"\xff")}, protocol))
PYTHON
succeeds 1 diff bytearray2.pt bytearray5.pt

# What is not read is named.
differs "^'seed': 0x400000000000000000 in large.pt, 0x800000000000000000 in larger.pt$" large.pt larger.pt
differs "^'seed': 0x400000000000000000 in large.pt, -0x400000000000000000 in below.pt$" large.pt below.pt
succeeds 1 diff "$formats/gguf/types.gguf" "$formats/gguf/types.gguf"
grep -q "note: not compared, .* (values of gguf are only listed)" errors || report "nothing is said of a header of GGUF"

for step in 1 2; do
    python3 - $step <<'PYTHON'
import pickle, sys, zipfile

with zipfile.ZipFile(f"opaque{sys.argv[1]}.pt", "w") as archive:
    archive.writestr("x/data.pkl", pickle.dumps({"lr": 1, "error": [ValueError, KeyError][int(sys.argv[1]) - 1]}, 2))
PYTHON
done
differs "^not known to be equal$" opaque1.pt opaque2.pt
grep -q "^not compared, since they cannot be read: 'error'$" output || report "a value that is not compared is not named"
on 3 "$tool" diff opaque1.pt opaque2.pt --json >output 2>errors
expects output "d['equal'], d['not_compared'], d['objects']['unread']" "(False, ['error'], ['error'])"

# Values that are carried are what they were; a format that has none is no difference.
succeeds 1 convert "$formats/torch/torch-2.15/nested.pt" carried --to torch_dcp
succeeds 1 diff "$formats/torch/torch-2.15/nested.pt" carried
[ -s errors ] && grep -q "not compared, since" errors && report "carried values are not compared"
succeeds 1 convert "$formats/torch/torch-2.15/nested.pt" dropped --to torch_dcp --no-objects
differs "^no tensors, and only in .*nested.pt: 'empty_list', .* and 7 more$" "$formats/torch/torch-2.15/nested.pt" dropped
succeeds 1 convert "$formats/torch/torch-2.15/nested.pt" plain --no-objects
succeeds 1 diff "$formats/torch/torch-2.15/nested.pt" plain
grep -q "note: .*nested.pt has 11 values that are no tensors, and plain has 0 values .*: the two formats" errors ||
    { report "values that a format has no place for are not counted" && cat errors; }

# A key may be empty: it is one as any other.
python3 - <<'PYTHON'
import pickle, zipfile

with zipfile.ZipFile("key.pt", "w") as archive:
    archive.writestr("x/data.pkl", pickle.dumps({"k": 5, "lr": 0.1}, 2))
PYTHON
succeeds 1 convert key.pt no_key --to torch_dcp
python3 - <<'PYTHON'
with open("no_key/.metadata", "rb+") as file:
    text = file.read()
    assert text.count(b"X\1\0\0\0k") == 1
    file.seek(0)
    file.write(text.replace(b"X\1\0\0\0k", b"X\0\0\0\0"))
    file.truncate()
PYTHON
for format in torch_dcp megatron_torch_dist; do
    succeeds 1 convert no_key "no_key_$format" --to $format
    succeeds 1 diff no_key "no_key_$format" --json
    expects output "d['equal'], d['objects']['a'], d['objects']['b']" "(True, 2, 2)"
done

# Tensors that have no names, since they are in what is no tensor, are not left out without a word.
cat >tensors.py <<'PYTHON'
import argparse, collections, io, pickle, sys, types, zipfile

torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
sys.modules.update({"torch": torch, "torch._utils": utils})
torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})


def _rebuild_tensor_v2(*arguments):
    pass


_rebuild_tensor_v2.__module__ = "torch._utils"
utils._rebuild_tensor_v2 = _rebuild_tensor_v2


class Storage:
    pass


class Tensor:
    def __reduce__(self):
        return _rebuild_tensor_v2, (Storage(), 0, (2,), (1,), False, collections.OrderedDict())


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        return ("storage", torch.FloatStorage, "0", "cpu", 2) if isinstance(value, Storage) else None


def save(name, value):
    pickled = io.BytesIO()
    Pickler(pickled, 2).dump(value)
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("x/data.pkl", pickled.getvalue())
        archive.writestr("x/data/0", bytes(8))
PYTHON
python3 - <<'PYTHON'
exec(open("tensors.py").read())
deque, namespace = collections.deque([(), (Tensor(),)]), argparse.Namespace(t={"a": Tensor()})
save("within.pt", {"w": Tensor(), "hist": deque, "ns": namespace, "plain": (3, argparse.Namespace(lr=0.1))})
save("within_one.pt", {"w": Tensor(), "hist": deque})
PYTHON
# What torch.distributed.checkpoint has is not copied unseen: a value of an unknown class is opaque there, too. Bytes in
# memory, as Transformer Engine has its extra state, are carried.
python3 - <<'PYTHON'
exec(open("tensors.py").read())
save("extra.pt", {"w": Tensor(), "args": argparse.Namespace(lr=0.1), "lr": 0.5, "extra": io.BytesIO(b"fp8\xff")})
PYTHON
succeeds 1 convert extra.pt extra --to torch_dcp --strict-warnings
succeeds 1 diff extra extra.pt --data
cp -r extra unknown
python3 - <<'PYTHON'
with open("unknown/__0_0.distcp", "rb+") as file:
    data = file.read()
    assert data.count(b"cargparse\nNamespace\n") == 1
    file.seek(0)
    file.write(data.replace(b"cargparse\nNamespace\n", b"cargparsX\nNamespace\n"))
PYTHON
succeeds 1 inspect unknown
grep -q "^not a tensor: args: names 'argparsX.Namespace', which is none of the classes" output || { report "inspect does not list an opaque value of a DCP" && cat output; }
for ranks in 1 3; do
    for to in torch_dcp torch_save; do
        target=known$ranks$([ $to = torch_save ] && echo .pt)
        succeeds $ranks convert unknown "$target" --to $to
        [ "$(grep -c "^warning: unknown: 'args' is left out: it names 'argparsX.Namespace'" errors)" = 1 ] || { report "$to: an opaque value of a DCP is not named" && cat errors; }
        succeeds 1 inspect "$target" --json
        expects output "sorted(d['tensors']), sorted(d['objects'])" "(['w'], ['extra', 'lr'])"
    done
done
refuses 3 "1 warning is refused" convert unknown out/x --to torch_dcp --strict-warnings
# A damaged one is refused, and only by who wants it.
cp -r extra damaged
python3 - <<'PYTHON'
with open("damaged/__0_0.distcp", "rb+") as file:
    data = file.read()
    file.seek(data.rindex(b"PK\3\4", 0, data.index(b"cargparse\nNamespace\n")))
    file.write(b"\xff")
PYTHON
refuses 3 "damaged/__0_0.distcp: object 'args': byte [0-9]+: the member '.*' should begin here" convert damaged out/x --to torch_dcp
succeeds 1 convert damaged undamaged --to torch_dcp --without args
within="within.pt: 'hist' and 1 more are no tensors, but hold some, which are not read: they are neither converted nor compared$"
succeeds 1 convert within.pt without --no-objects
grep -q "^warning: $within" errors || { report "convert does not warn of tensors in a deque" && cat errors; }
succeeds 1 diff within.pt without
grep -q "^warning: $within" errors || { report "diff does not warn of tensors in a deque" && cat errors; }
succeeds 1 inspect within.pt
grep -q "^warning: $within" errors || { report "inspect does not warn of tensors in a deque" && cat errors; }
refuses 3 "1 warning" convert within.pt refused --no-objects --strict-warnings
succeeds 1 convert within.pt selected --only w --strict-warnings
succeeds 1 convert within.pt excluded --to torch_dcp --without hist --without ns --strict-warnings
succeeds 1 inspect within_one.pt
grep -q "within_one.pt: 'hist' is no tensor, but holds some" errors || report "one value that holds tensors is not named"

# torch.distributed.checkpoint keeps a tuple whole, with the tensors in it: carried, but lost where it is left out.
tuple="one_process: 'tuple' is no tensor, but holds some, which are lost with it \(--no-objects\)$"
one=$formats/dcp/torch-2.15/one_process
for command in "convert $one leaves" "merge $one leaves.safetensors" "plan --source $one --target $one"; do
    # shellcheck disable=SC2086 # words
    succeeds 3 $command --no-objects
    [ "$(grep -Ec "^warning: .*$tuple" errors)" = 1 ] || report "${command%% *} does not warn of tensors in a tuple"
done
refuses 3 "1 warning is refused" convert "$one" out/x --no-objects --strict-warnings
refuses 3 "no place for them; leave out what is no tensor \(--no-objects\), with the tensors in 'tuple', or write torch_dcp$" convert "$one" out/x
succeeds 1 convert "$one" keeps --to torch_dcp
succeeds 1 diff "$one" keeps
grep -q "hold" errors && report "something is said of tensors that are carried in a tuple"
succeeds 1 convert "$formats/dcp/torch-2.15/dtensor" leaves_lr --no-objects
grep -q "hold" errors && report "a number is said to hold tensors"

# The outermost of a .pt is taken apart, which torch would not find.
python3 - <<'PYTHON'
exec(open("tensors.py").read())
save("tuple.pt", {"w": Tensor(), "t": (Tensor(), (Tensor(),), 3), "plain": (1, 2)})
save("list.pt", {"w": Tensor(), "t": [Tensor(), 3], "plain": (1, 2)})
PYTHON
apart="tuple.pt: 't' is a tuple with tensors, which torch keeps whole: what is in 't' is written with names of its own, 't.0',"
for to in torch_dcp megatron_torch_dist; do
    succeeds 3 convert tuple.pt "apart_$to" --to $to
    [ "$(grep -c "^warning: $apart" errors)" = 1 ] || report "nothing is said of a tuple that is taken apart for $to"
    succeeds 1 convert list.pt "list_$to" --to $to
    grep -q "^warning: " errors && report "a list is said to be kept whole"
done
succeeds 1 plan --source tuple.pt --target tuple.pt --to torch_dcp
grep -q "^warning: $apart" errors || report "plan says nothing of a tuple that is taken apart"
succeeds 1 convert tuple.pt apart --no-objects
grep -q "^warning: " errors && report "a tuple that is taken apart is a warning in safetensors"

# plan warns of what convert refuses, in the same words, and of nothing where it does not.
echo '{"mesh": [["tp", 2]], "rules": [{"match": "**", "shard": {}}]}' >two.json
nested=$formats/torch/torch-2.15/nested.pt
lost="'list.1.1' and 10 more are no tensors, and safetensors has no place for them; leave out .* \(--no-objects\), or write torch_dcp or torch_save$"
refuses 3 "nested.pt: $lost" convert "$nested" out/x --layout two.json
succeeds 1 plan --source "$nested" --target two.json
grep -Eq "^warning: .*nested.pt: $lost" errors || { report "plan does not warn of objects" && cat errors; }
refuses 3 "1 warning" plan --source "$nested" --target two.json --strict-warnings
for option in --no-objects "--to torch_dcp"; do
    # shellcheck disable=SC2086 # words
    succeeds 1 plan --source "$nested" --target two.json $option
    grep -q "no tensor" errors && report "plan warns of objects with $option"
done
succeeds 1 plan --source "$nested" --target two.json --to torch_dcp --json
expects output "[f['file'] for f in d['convert']['files_written']]" "['__0_0.distcp', '__1_0.distcp']"
succeeds 1 convert "$nested" two --layout two.json --to torch_dcp
checks=$((checks + 1))
[ -e two/__1_0.distcp ] || report "plan names files that convert does not write"
for to in npz huggingface unified_checkpoint zarr; do
    refuses 2 "reshard plan: --to: $to not in \{megatron_torch_dist,paddle_flex,sharded_safetensors,torch_dcp\}" \
        plan --source "$nested" --target two.json --to $to
done
echo '{"tensors": {"w": {"dtype": "F32", "shape": [1], "shards": [{"rank": 0, "offset": [0], "shape": [1]}]}}}' >one.json
refuses 2 "one.json: --to is the format in which a checkpoint is written" plan --source one.json --target one.json --to torch_dcp

# Values that no format takes are not said to have a place in another one.
refuses 3 "values of gguf are not carried to other formats; leave out what is no tensor \(--no-objects\)$" \
    convert "$formats/gguf/types.gguf" out/x
refuses 3 "values of paddle_params are not carried to other formats; leave out .* \(--no-objects\)$" \
    convert "$formats/paddle/paddle-3.3/nested.pdparams" out/x --to torch_dcp

# The arguments of a job of Megatron-LM have enumerators of its own, and a signal: they are carried as they
# are, and what they name is not run.
cat >enumerators.py <<'PYTHON'
import argparse, enum, io, pickle, signal, sys, types, zipfile

enums = types.ModuleType("megatron.core.transformer.enums")
for name in ("megatron", "megatron.core", "megatron.core.transformer"):
    sys.modules[name] = types.ModuleType(name)
sys.modules[enums.__name__] = enums
enums.AttnBackend = enum.Enum("AttnBackend", "flash auto", module=enums.__name__)
expected = {"args": argparse.Namespace(attention_backend=enums.AttnBackend.auto, exit_signal=signal.SIGTERM),
            "iteration": 3}
if sys.argv[1] == "write":
    with zipfile.ZipFile("enums/common.pt", "w") as archive:
        archive.writestr("common/data.pkl", pickle.dumps(expected, 2))
        archive.writestr("common/byteorder", "little")
        archive.writestr("common/version", "3\n")
else:
    with zipfile.ZipFile(sys.argv[2] + "/common.pt") as archive:
        name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
        assert pickle.load(io.BytesIO(archive.read(name))) == expected
PYTHON
cp -r "$formats/megatron/core-0.16/torch_dist" enums
chmod -R u+w enums
python3 enumerators.py write
succeeds 3 convert enums again --to megatron_torch_dist
python3 enumerators.py check again || report "arguments of a job are others in a copy"
succeeds 1 diff enums again --data
grep -q '^equal' output || report "arguments of a job are not equal to a copy of them"

# In a file of torch.save they stand beside the tensors, under names with dots.
training=$formats/torch/torch-2.15/training.pt
for ranks in 1 3; do
    succeeds $ranks convert "$training" "saved$ranks" --to torch_dcp
    succeeds $ranks convert "saved$ranks" "saved$ranks.pt"
    succeeds 1 diff "$training" "saved$ranks.pt" --json
    expects output "d['equal'], d['objects']['different']" "(True, [])"
done
checks=$((checks + 1))
python3 - <<'PYTHON' || report "a .pt does not have the values that were carried"
import pickle, zipfile

class Reader(pickle.Unpickler):
    """Without torch: a tensor is its shape."""
    def find_class(self, module, name):
        return (lambda storage, first, shape, *rest: shape) if name.startswith("_rebuild") else name if module == "torch" else dict
    def persistent_load(self, identity):
        return identity

archive = zipfile.ZipFile("saved1.pt")
state = Reader(archive.open("archive/data.pkl")).load()
assert state["optimizer.param_groups.0.betas"] == (0.9, 0.999), state["optimizer.param_groups.0.betas"]
assert state["optimizer.param_groups.1.params"] == [1, 2] and state["optimizer.param_groups.1.fused"] is None
assert isinstance(state["step"], int) and sum("param_groups" in key for key in state) == 24, sorted(state)
PYTHON
refuses 3 "'hist' has .*, which is not carried" convert within_one.pt out/x.pt

# Texts in the metadata of safetensors files are carried to such files, and their loss is a warning.
PYTHONPATH=$here/support python3 - <<'PYTHON'
import json, os
from write_safetensors import write

two = bytes(8)
lora = {"a.weight": ("F32", [2], two), "b.weight": ("F32", [2], two)}
write("lora.safetensors", lora, {"format": "pt", "alpha": '{"r": 4}', "title": "t", "total_size": "16", "epoch": "1"})
write("digits.safetensors", {"0": ("F32", [2], two), "1": ("F32", [2], two)}, {"format": "pt", "epoch": "1", "license": "mit"})
write("tied.safetensors", {"embed": ("F32", [2], two)}, {"format": "pt", "other": "embed"})
os.mkdir("disagree")
parts = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
for part, key, texts in zip(parts, "ab", ({"title": "x", "one": "1"}, {"title": "y", "two": "2"})):
    write("disagree/" + part, {key: ("F32", [2], two)}, {"format": "pt", "license": "mit", **texts})
json.dump({"metadata": {}, "weight_map": dict(zip("ab", parts))}, open("disagree/model.safetensors.index.json", "w"))
PYTHON

# has_texts FILE TEXTS: the texts in the file's metadata that are not the format's.
has_texts() {
    local found
    checks=$((checks + 1))
    found=$(python3 - "$1" <<'PYTHON'
import json, sys
header = open(sys.argv[1], "rb").read()
texts = json.loads(header[8:8 + int.from_bytes(header[:8], "little")])["__metadata__"]
print({name: texts[name] for name in sorted(texts) if name != "format" and not name.startswith(("RESHARD", "DCP"))})
PYTHON
    )
    [ "$found" = "$2" ] || report "$1 has the texts $found, not $2"
}

lora_texts="{'alpha': '{\"r\": 4}', 'epoch': '1', 'title': 't'}"
succeeds 3 convert lora.safetensors lora1.safetensors --strict-warnings
succeeds 1 convert lora.safetensors lora --strict-warnings --shard-size 8
succeeds 3 convert lora sharded --to sharded_safetensors --strict-warnings
succeeds 1 merge sharded merged.safetensors
for file in lora1.safetensors lora/model-00001-of-00002.safetensors lora/model-00002-of-00002.safetensors \
    sharded/*.safetensors merged.safetensors; do
    has_texts "$file" "$lora_texts"
done
succeeds 1 convert lora.safetensors none.safetensors --no-carry
has_texts none.safetensors "{}"
succeeds 1 convert lora.safetensors renamed.safetensors --rename 'a.weight=1' --strict-warnings
has_texts renamed.safetensors "$lora_texts"
succeeds 3 convert lora.safetensors misread.safetensors --rename 'a.weight=t'
has_texts misread.safetensors "{'alpha': '{\"r\": 4}', 'epoch': '1'}"
grep -q "readers would take them for names of tensors: 'title'$" errors || report "a text that would be misread is not named"
succeeds 1 inspect lora.safetensors
grep -q '^metadata: alpha = {"r": 4}$' output || report "texts in the metadata are not shown"
succeeds 1 diff lora.safetensors none.safetensors
grep -q "^note: texts in the metadata differ, and are not compared: 'alpha', 'epoch', 'title'$" errors ||
    report "nothing is said of texts that are not compared"

no_place="texts in the metadata are not carried, since torch_dcp has no place for them: 'alpha', 'epoch', 'title'"
succeeds 3 convert lora.safetensors lora_dcp --to torch_dcp
grep -q "^warning: lora.safetensors: $no_place$" errors || report "texts are lost without a word"
refuses 3 "1 warning is refused" convert lora.safetensors out/x --to torch_dcp --strict-warnings
succeeds 1 convert lora.safetensors lora_dcp2 --to torch_dcp --strict-warnings --no-carry
succeeds 1 plan --source lora.safetensors --target lora.safetensors --to torch_dcp
grep -q "^warning: lora.safetensors: $no_place$" errors || report "plan does not warn of texts"

for command in "convert disagree two1.safetensors" "merge disagree two2.safetensors"; do
    # shellcheck disable=SC2086 # words
    succeeds 3 $command
    has_texts "${command##* }" "{'license': 'mit', 'one': '1', 'two': '2'}"
    grep -q "^warning: disagree: texts in the metadata are not carried, since files have different values: 'title'$" errors ||
        report "a text that files disagree on is not named: $command"
done

# A text that is the key of a tensor makes no tensor of its name, if the key is a number and the name is none; else it is noted.
succeeds 1 convert digits.safetensors digits.npz --no-carry --json
expects output "d['keys']" 2
succeeds 1 convert digits.safetensors digits1.safetensors --strict-warnings
has_texts digits1.safetensors "{'epoch': '1', 'license': 'mit'}"
succeeds 3 convert tied.safetensors tied.npz
grep -q "^note: 'other' is written as a tensor: the metadata of the source say" errors || report "a new tensor is not noted"

# Values may be selected without tensors, if they are written.
succeeds 3 convert a.pt epoch.pt --only epoch
succeeds 1 inspect epoch.pt
grep -q "^not a tensor: epoch = 3$" output || report "a value that is selected alone is not written"
refuses 3 "no tensor is selected, but values" convert a.pt out/x.pt --only epoch --no-objects

conclude
