"""The models in the box: `pretrained/`, an agent with its abstractor and the rnn-ext that it began as.

    python -m checkpoints.pretrained --model_dir runs/cnndm/models/rl --ext_dir runs/cnndm/models/ext_rnn \\
                                     --tuning runs/cnndm/tuning

writes it in the released layout, with the released names, shapes and file format, so that the released code
loads it as well. Models can be added as they are finished: `--abs_dir` and `--ext_dir` alone write these two, from
which reinforcement learning can begin on any machine; what is not named stays as it is, and so does a file whose
weights are the same, whatever its name. The weights are rounded to half precision, which halves the files;
`load_state_dict` turns them into a network's own float32 again. What training needs beyond the weights stays behind.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from checkpoints.directory import best_checkpoint, checkpoints, load, read_checkpoint, write_description
from checkpoints.networks import ABSTRACTOR, AGENT, RNN_EXTRACTOR
from checkpoints.shipped import PRETRAINED
from checkpoints.tensor_files import save_tensors
from support.errors import UserError, run
from support.files import atomic_directory, read_json, write_json
from support.flags import flag, parse

TUNED = ("rnn_ext.json", "rnn_ext_abs.json")
NETS = {"": AGENT, "abstractor": ABSTRACTOR, "extractor": RNN_EXTRACTOR}  # part of the box -> its network


@dataclass(frozen=True, kw_only=True)
class Flags:
    model_dir: str | None = flag(None, "directory that train_full_rl.py wrote, with its abstractor")
    abs_dir: str | None = flag(None, "directory of an abstractor, while there is no agent yet")
    ext_dir: str | None = flag(None, "directory of the rnn extractor that the agent began as")
    tuning: str | None = flag(None, "folder of rnn_ext.json and rnn_ext_abs.json, by tune_n_ext.py, for these models")
    out: str = flag(str(PRETRAINED), "directory to write")


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    out = Path(flags.out).resolve()
    tuned = read_tuned(Path(flags.tuning)) if flags.tuning else {}
    with atomic_directory(out) as folder:  # from here on nobody else writes
        named = _named(flags, out)
        if out.is_dir():
            shutil.copytree(out, folder, dirs_exist_ok=True)
        worst = max(write_half(source, folder / part, NETS[part]) for part, source in named.items())
        _must_fit(folder, out)
        for name, content in tuned.items():
            (folder / "tuning").mkdir(exist_ok=True)
            write_json(folder / "tuning" / name, content)
        megabytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    print(f"{out}: {megabytes:.1f} MB; rounding changed no weight by more than {worst:.1g}")


def _named(flags: Flags, out: Path) -> dict[str, Path]:
    """Part of the box -> the model directory that it is written from."""
    if flags.model_dir and flags.abs_dir:
        raise UserError("--model_dir brings its own abstractor: leave --abs_dir out")
    if flags.abs_dir and (out / "meta.json").exists():
        raise UserError(f"the agent in {out} goes with its own abstractor: name both by --model_dir")
    if not flags.tuning and (out / "tuning").exists():
        raise UserError(f"{out / 'tuning'} may not fit: name it by --tuning if it is of these models, or remove it")
    abstractor = str(Path(flags.model_dir) / "abstractor") if flags.model_dir else flags.abs_dir
    sources = {"": flags.model_dir, "abstractor": abstractor, "extractor": flags.ext_dir}
    if not any(sources.values()):
        raise UserError("nothing to write: name a model by --model_dir, --abs_dir or --ext_dir")
    return {part: Path(source) for part, source in sources.items() if source}


def _must_fit(folder: Path, out: Path) -> None:
    """An agent has the sizes and words of the extractor that it began as; others were never one."""
    if not ((folder / "meta.json").exists() and (folder / "extractor").exists()):
        return
    agent, extractor = load(folder, nets=(AGENT,)), load(folder / "extractor", nets=(RNN_EXTRACTOR,))
    sizes = agent.meta["net_args"]["extractor"]["net_args"]
    if sizes != extractor.meta["net_args"] or agent.vocabulary.words != extractor.vocabulary.words:
        raise UserError(f"the agent for {out} did not begin as the extractor: name the right one by --ext_dir")


def read_tuned(folder: Path) -> dict[str, Any]:
    """The numbers of sentences of rnn-ext without and with the abstractor."""
    tuned = {name: read_json(folder / name) for name in TUNED}
    for name, content in tuned.items():
        if not (isinstance(content, dict) and isinstance(content.get("n_ext"), int)):
            raise UserError(f"{folder / name} has no number n_ext: tune_n_ext.py writes it")
    return tuned


def write_half(source: Path, target: Path, net: str) -> float:
    """Copies a model directory with its best checkpoint alone -> the largest change of a weight."""
    model = load(source, nets=(net,))
    best = best_checkpoint(source, highest=net == AGENT)
    content = read_checkpoint(best.path)
    weights = content["state_dict"]
    rounded = {name: weight.half() for name, weight in weights.items()}
    if not all(bool(weight.isfinite().all()) for weight in rounded.values()):
        raise UserError(f"{best.path} has weights that half precision cannot hold")
    write_description(target, model.meta, model.vocabulary, "agent_vocab.pkl" if net == AGENT else "vocab.pkl")
    content = {name: value for name, value in content.items() if name == "val_metric"} | {"state_dict": rounded}
    if not any(_holds(checkpoint.path, rounded) for checkpoint in checkpoints(target)):
        shutil.rmtree(target / "ckpt", ignore_errors=True)
        (target / "ckpt").mkdir()
        save_tensors(target / "ckpt" / best.path.name, content, legacy=True)
    return max(float((weight - rounded[name]).abs().max()) for name, weight in weights.items())


def _holds(path: Path, weights: dict[str, Tensor]) -> bool:
    """A damaged file holds nothing, and is replaced."""
    try:
        known = read_checkpoint(path)["state_dict"]
    except UserError:
        return False
    return known.keys() == weights.keys() and all(_same(known[name], weight) for name, weight in weights.items())


def _same(weight: Tensor, other: Tensor) -> bool:
    return weight.dtype == other.dtype and torch.equal(weight, other)


if __name__ == "__main__":
    run(main)
